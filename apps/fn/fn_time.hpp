// Measures traces between two parties on this machine: of functions, and of gates. Dealer and parties are three roles
// of one process, each on one core. The parties communicate over TLS on the loopback. Also measures the units of the
// cost model (docs/mathematics.md#cost-model).
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/ring/cpu.hpp"
#include "suf/run/inputs.hpp"

namespace suf::apps {

// Seconds of work. cpu: processor time of the thread, which other load does not change. wall: time by the clock.
struct Duration {
  double cpu = 0, wall = 0;
};
// Times of one run.
struct TraceTimes {
  // `deal`: makes both keys. `carry`: sends the larger key over TLS, at the end that takes longer. `keep`: writes the
  // larger key to a file in tagged chunks and reads it back.
  Duration deal, carry, keep;
  // From the first online step to the last.
  std::array<Duration, 2> party;
  // Seconds by the clock, from the first party's start to the later end.
  double both = 0;
};
// Returns the least of each time, because noise only adds.
TraceTimes Least(const TraceTimes& a, const TraceTimes& b);

// The measured prices of this machine.
struct Machine {
  compiler::Prices prices;
  // Seconds of a flight in which a processor works, at both ends together.
  double busy = 0;
  // Returns the seconds of a flight in which no processor of ours works.
  double wait() const { return std::max(0.0, prices.flight - busy); }
};

// Returns the measured seconds in the model's sense: parties take turns, and keys come from a file. If `now`, the
// dealer makes and sends them meanwhile.
double MeasuredSeconds(const TraceTimes& t, const compiler::Bill& bill, const Machine& m, bool now);

// The words that each party learns or keeps.
using PartyWords = std::array<std::vector<uint64_t>, 2>;
// A trace to time, with its inputs.
struct TrialInput {
  std::function<void(pfss::Trace&)> emit;  // writes the trace and closes it
  std::array<run::Inputs, 2> inputs;       // by party
  // Throws Cause::kRefused if a word is wrong.
  std::function<void(const PartyWords&)> verify;
};
// Returns the trace of a plan from p0 or p1, not from shared. Its verification compares every value with the function's
// meaning.
TrialInput TrialOf(const gates::FunctionPlan& plan, const std::vector<uint64_t>& x);

// A trace, ready for repeated runs.
class Trial;
const compiler::Bill& BillOf(const Trial& t);

// The set-up: one TLS session between the parties, a file for keys, a backend and a core for each role.
class TraceBench {
 public:
  explicit TraceBench(ring::Isa variant);
  ~TraceBench();
  // Writes the trace. Throws the errors of `emit`.
  std::shared_ptr<Trial> Prepare(TrialInput in);
  // Runs once, verifies the results, and frees `verify`. At most once per trial. Throws the error of `verify`.
  void Verify(Trial& trial);
  // Runs once with fresh keys.
  TraceTimes Run(Trial& trial);
  // Measures a flight and a byte on the session, a byte of a kept key, and an AES block. The price of a word stays 0,
  // because no program consists of words alone.
  Machine Measure();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::apps
