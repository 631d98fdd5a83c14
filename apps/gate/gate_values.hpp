// Files of a composition's inputs and outputs: whole numbers, one a line, under a line `mod 2^K` with their width.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "suf/gates/compose/composition.hpp"

namespace suf::apps {

// The numbers of inputs, in order of the text. An input that the reader does not bring has none.
using GateValues = std::vector<gates::Ints>;

// Splits each "x=FILE" at its first `=`. Throws Cause::kInput for another form, an unknown input, or one named twice.
// Returns the file of each input, in order of the text; empty if there is none.
std::vector<std::string> FilesOfInputs(const gates::Composition& c, const std::vector<std::string>& values);

// Reads numbers within the input's range. Throws Cause::kInput, with file and line.
gates::Ints ReadInput(const std::string& path, const gates::InputStatement& in);
// Reads a party's share of an input: words below 2^bits.
gates::Ints ReadShare(const std::string& path, const gates::InputStatement& in);

// Writes an output that a party learned, or its share, for ReadInput or ReadShare. Only the owner can read the file.
void WriteOutput(const std::string& path, const gates::ValueType& type, const gates::Ints& words, bool share);
// Reads a file of WriteOutput.
gates::Ints ReadOutput(const std::string& path, const gates::ValueType& type, bool share);
// Returns the file of each output statement that party p ends with: OUT, or OUT.NAME if there are several. The others
// have none.
std::vector<std::string> FilesOfOutputs(const gates::Composition& c, int p, const std::string& out);
// Throws Cause::kInput if a file of party p's outputs is one of --values, which it would replace.
void RefuseReplacing(const gates::Composition& c, int p, const std::string& out,
                     const std::vector<std::string>& values);
// Throws Cause::kResource unless WriteOutput can write the outputs of `rows` rows. Leaves no file behind.
void ProbeOutputs(const gates::Composition& c, int p, const std::string& out, int64_t rows);
// Writes all outputs of a party, `words` in order of the text (gates::OutputWords).
void WriteOutputs(const gates::Composition& c, int p, const std::string& out, const std::vector<gates::Ints>& words);

}  // namespace suf::apps
