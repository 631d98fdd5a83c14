// Words of a composition's inputs, for parties of this process, and the comparison of its outputs.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "suf/gates/compose/composition.hpp"
#include "suf/run/inputs.hpp"

namespace suf::apps {

// Returns the inputs of each party, from the numbers of every input in order of the text. Shares of a shared input are
// random. Throws the errors of gates::InputWords.
std::array<run::Inputs, 2> InputsOfParties(const gates::Composition& c, const std::vector<gates::Ints>& inputs);

// Returns the outputs in order of the text, from the words of both parties (gates::OutputWords). Those that nobody
// learns are sums of shares. Throws Cause::kRefused if both parties learned an output and differ.
std::vector<gates::Ints> Joined(const gates::Composition& c, const std::array<std::vector<gates::Ints>, 2>& words);

// The numbers that differ from the gates' meaning.
struct WrongOutputs {
  int64_t count = 0;
  std::string first;  // the first of them: "s, number 3"
};
// Compares outputs in order of the text; those that are empty are not known. `meant` has every value, from
// gates::Evaluate.
WrongOutputs CompareOutputs(const gates::Composition& c, const std::vector<gates::Ints>& outputs,
                            const std::vector<gates::Ints>& meant);

}  // namespace suf::apps
