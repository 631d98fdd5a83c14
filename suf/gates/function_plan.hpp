// The public part of a private function between two parties. It has the function, its lowering, the owner of the inputs
// and the party that learns the results. Emit writes the trace that dealer and parties run.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/func/split.hpp"
#include "suf/pfss/lint.hpp"

namespace suf::gates {

// The owner of x. kShared: each party brings an additive share modulo 2^n, which takes one flight more.
enum class Origin : uint8_t { kP0, kP1, kShared };
// The party that learns F(x). kShared: neither; each party keeps its share of every channel.
enum class To : uint8_t { kP0, kP1, kBoth, kShared };

// A function with its lowering and ends.
struct FunctionPlan {
  func::Function f;
  compiler::Choice choice;  // of a Split only numbers.stages is used, the stages of its cut
  Origin from = Origin::kP1;
  To to = To::kP1;
};

// Returns the name of a party's input, which has words below 2^n: "values", or "share".
inline const char* InputOf(Origin from) { return from == Origin::kShared ? "share" : "values"; }
// Emits F of `count` numbers and closes the trace. Throws Cause::kInput if the function has no channel, and
// Cause::kRefused if the lowering does not apply.
void Emit(pfss::Trace& t, const FunctionPlan& plan, int64_t count);
// Splits the result of RunParty by channel. Each channel has `count` words modulo 2^bits: numbers, or shares of
// numbers.
std::vector<std::vector<uint64_t>> ChannelWords(const FunctionPlan& plan, std::span<const uint64_t> results,
                                                int64_t count);

// Returns the number of results that each party learns or keeps in Emit's trace.
pfss::Ending EndingOf(const FunctionPlan& plan);

// Returns the name of the plan's lowering: "Index/digits, Digits". A Split has "Bipartite/2" or "Product/2", by the
// stages of its cut.
std::string Name(const FunctionPlan& plan);
// Returns the choice with this name. Throws Cause::kRefused if there is none or it does not apply.
compiler::Choice ChoiceOf(const func::Function& f, const std::string& name);
// Prices every lowering of the plan's function between its ends, for `count` numbers on a backend with these
// capabilities. The choice of the plan is ignored.
std::vector<compiler::Candidate> Price(const FunctionPlan& plan, const compiler::Prices& prices, int64_t count,
                                       const pfss::Capabilities& can = {});
// Returns whether P0 learns a result of values or shares of P1.
bool RevealsToP0(const FunctionPlan& plan);
// Picks among the candidates of Price by name. "auto" is the cheapest. If F has numbers and bits, a name is "NUMBERS,
// BITS", or one part alone, and prices decide the other. If RevealsToP0, candidates with a steering come last, unless
// P0 is `semi_honest`. Throws Cause::kInput if no lowering has the name. Throws Cause::kRefused if it does not apply,
// with the reason and the names that do.
const compiler::Candidate& Pick(const FunctionPlan& plan, const std::vector<compiler::Candidate>& all,
                                const std::string& name, bool semi_honest);
// Throws Cause::kRefused if RevealsToP0 and P0 can learn more by altering its messages (pfss::Steering). The error
// message names the candidates that prevent this.
void RefuseSteering(const FunctionPlan& plan, const compiler::Candidate& picked,
                    const std::vector<compiler::Candidate>& all);

}  // namespace suf::gates
