// Outputs that a party learned, as words of func::Layout (`--packed`). The file has a line for each element, with that
// element of all outputs side by side:
//
//   packed 1 word: s signed 32, b bit 1
//   4294967301
//   8589934590
//
// The first line has the number of words of a line. The outputs follow, in order of the text, with their widths. Fields
// are placed by first fit in that order, from the low bit on. None crosses a word, and bits above them are zero. Words
// are decimal, with spaces between.
#pragma once
#include <string>
#include <vector>

#include "suf/func/suf.hpp"
#include "suf/gates/compose/composition.hpp"

namespace suf::apps {

// Returns a channel for each output that party p learns, in order of the text. A number has its width and sign, a mask
// is unsigned, and a bit has kind kBit. Throws Cause::kRefused, with the outputs and the remedy, if p keeps a share or
// learns no output. Throws it also if two outputs have different numbers of elements.
std::vector<func::OutputChannel> ChannelsOfOutputs(const gates::Composition& c, int party);

// Throws like ChannelsOfOutputs, or Cause::kResource if WritePacked cannot write `rows` rows. Leaves no file behind.
void ProbePacked(const gates::Composition& c, int party, const std::string& out, int64_t rows);
// Writes the file. `words` are all outputs in order of the text (gates::OutputWords); p's own are read. Only the owner
// can read the file.
void WritePacked(const gates::Composition& c, int party, const std::string& out, const std::vector<gates::Ints>& words);
// Reads a file of WritePacked. Returns all outputs in order of the text; those that p does not learn have no numbers.
// Throws Cause::kInput, with the line, for another header or number of words, and for bits above the fields. Throws it
// also if lines are missing.
std::vector<gates::Ints> ReadPacked(const gates::Composition& c, int party, const std::string& path);

}  // namespace suf::apps
