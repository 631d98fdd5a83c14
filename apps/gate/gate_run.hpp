// Runs a composition between two parties of this machine, and compares it with the gates' meaning.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "suf/gates/compose/composition.hpp"

namespace suf::apps {

// The result of a run. Outputs are in order of the text; those that nobody learns are sums of shares.
struct GateRun {
  std::vector<gates::Ints> outputs;
  std::array<std::vector<gates::Ints>, 2> words;  // outputs or shares of each party
  compiler::Bill bill;
  Hash trace{};
  double seconds = 0;  // dealing and online part
  double online = 0;   // seconds of P1's online part if the roles are processes, else 0
  int64_t wrong = 0;   // numbers that differ from the gates' meaning
  std::string first;   // the first of them: "s, number 3"
};
// Stores what both parties ended with, and compares it with gates::Evaluate. Throws Cause::kRefused if both learned an
// output and differ.
void CompareGates(const gates::Composition& c, const std::vector<gates::Ints>& inputs, int64_t rows,
                  std::array<std::vector<gates::Ints>, 2> words, GateRun* out);
// Throws Cause::kResource if `rows` rows do not fit into memory, before any of them is made.
void RefuseRows(const gates::Composition& c, const gates::GateChoices& choices, int64_t rows);
// Runs dealer, P0 and P1 in this process, with inputs in order of the text. Shares of shared inputs are random. Writes
// the opened wires to the folder `mirror`, if it is named. Throws Cause::kResource if memory is short, and
// Cause::kRefused if the trace fails the lint.
GateRun RunGates(const gates::Composition& c, const gates::GateChoices& choices, const std::vector<gates::Ints>& inputs,
                 int64_t rows, pfss::Backend& backend, const std::string& mirror = {});
// Returns random values of every input, in its range.
std::vector<gates::Ints> RandomInputs(const gates::Composition& c, int64_t rows);
// Returns every tuple of inputs, one a row, if a row has one number of each. Returns nothing if they are over `most`.
std::vector<gates::Ints> EveryInput(const gates::Composition& c, int64_t most);

}  // namespace suf::apps
