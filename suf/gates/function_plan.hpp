// What is public of a private function between two parties: the function, how it is lowered, where its number comes
// from and who learns what. Emit makes the trace that dealer and parties run. Not here: keys, sessions, files.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/func/split.hpp"
#include "suf/pfss/lint.hpp"

namespace suf::gates {

// Who brings x. kShared: each party brings an additive share modulo 2^n; one flight more.
enum class From : uint8_t { kP0, kP1, kShared };
// Who learns F(x). kShared: nobody; each party keeps its share of every channel.
enum class To : uint8_t { kP0, kP1, kBoth, kShared };

struct FunctionPlan {
  func::Function f;
  compiler::Choice choice;  // of a Split only the stages of its cut are read: numbers.stages
  From from = From::kP1;
  To to = To::kP1;
};

// The name of what a party that brings something brings: "values", or its "share"; words below 2^n.
inline const char* InputOf(From from) { return from == From::kShared ? "share" : "values"; }
// F of `count` numbers, and closes the trace. Throws Cause::kInput for a function without a channel,
// Cause::kRefused for a lowering that does not apply.
void Emit(pfss::Trace& t, const FunctionPlan& plan, int64_t count);
// What RunParty returns to a party that learns or keeps something, by channel: `count` words modulo
// 2^bits each, numbers or shares of numbers.
std::vector<std::vector<uint64_t>> ChannelWords(const FunctionPlan& plan, std::span<const uint64_t> results,
                                                int64_t count);

// What Emit's trace gives to whom.
pfss::Ending EndingOf(const FunctionPlan& plan);

// Of the plan's lowering: "Index/digits, Digits", of a Split "Bipartite/2" or "Product/2" by the stages of its
// cut.
std::string Name(const FunctionPlan& plan);
// The choice that Name gives this name. Throws Cause::kRefused for another one, or one that does not apply.
compiler::Choice ChoiceOf(const func::Function& f, const std::string& name);
// Every lowering of the plan's function between its two ends, for `count` numbers on a backend that can do this;
// the plan's choice is not read.
std::vector<compiler::Candidate> Price(const FunctionPlan& plan, const compiler::Prices& prices, int64_t count,
                                       const pfss::Capabilities& can = {});
// Returns whether P0 learns a result of values, or of shares, that P1 brings.
bool RevealsToP0(const FunctionPlan& plan);
// Picks among the candidates of Price: "auto" is the cheapest; else a name, one for numbers and one for bits, "NUMBERS,
// BITS" if F has both, and a part alone leaves the other to the prices. If P0 learns a result of P1's values,
// candidates with a steering come last, unless P0 is `semi_honest`. Throws Cause::kInput for a name that no lowering
// has, Cause::kRefused for one that does not apply, with why and those that do.
const compiler::Candidate& Pick(const FunctionPlan& plan, const std::vector<compiler::Candidate>& all,
                                const std::string& name, bool semi_honest);
// Throws Cause::kRefused if P0 learns a result of P1's values and, by altering its messages, more (pfss::Steering);
// the message names the candidates that prevent it.
void RefuseSteering(const FunctionPlan& plan, const compiler::Candidate& picked,
                    const std::vector<compiler::Candidate>& all);

}  // namespace suf::gates
