// Functions prepared for emission, for plans of functions and for compositions. A Suf is compiled. A Split is read by
// two tables at two index wires (docs/mathematics.md#split).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "suf/gates/function.hpp"

namespace suf::gates {

// A function prepared for several emissions. It has one of `split` and `compiled`.
struct FunctionProgram {
  // Throws Cause::kInput if f does not verify or has no channel. A Split must outlive the program.
  explicit FunctionProgram(const func::Function& f);
  const func::Split* split = nullptr;
  std::optional<func::Suf> table;  // of a Split in which one index has no bits
  compiler::CompiledFunction compiled;
  std::vector<func::OutputChannel> channels;
  int ring = 1;  // of all numbers
};

// The stages in which the cut of a Split can be made.
inline constexpr Stages kSplitStages[] = {Stages::kOne, Stages::kTwo, Stages::kThree};
// Returns "Bipartite/2" or "Product/2", by the stages of the cut.
std::string NameOf(const func::Split& f, Stages stages);
// Returns whether the digits of a Split's cuts have a plan.
bool Applies(const func::Split& f, Stages stages);
// Emits a Split at a wire of f.n bits. The result is in Z_{2^ring}.
OwedWord LowerSplit(Trace& t, const func::Split& f, Stages stages, const Wire<kPub>& x, int ring);

// Returns the lowerings of numbers that apply, those with few flights and moderate keys first.
std::vector<compiler::Lowering> NumberLowerings(const compiler::CompiledFunction& c, const compiler::CutReading& entry,
                                                int ring);

}  // namespace suf::gates
