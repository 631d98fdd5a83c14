// What a function costs on this machine: dealer and parties as three roles of one process, each on one core, the two
// parties over TLS of the loopback; and what this machine takes for the units of the cost model
// (docs/mathematics.md#cost-model).
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::apps {

// Seconds. cpu: of the thread that did it, whatever else the machine does meanwhile. wall: by the clock.
struct Took {
  double cpu = 0, wall = 0;
};
// Of one run. carry: the larger key over TLS, at the end that takes longer. keep: the larger key into a file
// in tagged chunks, and back. party: from the first online step to the last. both: by the clock, from both parties'
// start to the later end.
struct FnTimes {
  Took deal, carry, keep;
  std::array<Took, 2> party;
  double both = 0;
};
// The least of each, as noise only adds.
FnTimes Least(const FnTimes& a, const FnTimes& b);

// The prices of this machine, and the part of a flight in which a processor works, at both ends together.
struct Machine {
  compiler::Prices prices;
  double busy = 0;
  // wait: the part of a flight in which no processor of ours works.
  double wait() const { return std::max(0.0, prices.flight - busy); }
};

// One plan for so many values, ready to run again and again.
class Trial;
const compiler::Bill& BillOf(const Trial& t);

// Certificates, one TLS session between the parties, a file for keys, a backend and a core for each role.
class FnBench {
 public:
  explicit FnBench(ring::Variant variant);
  ~FnBench();
  // Of a plan from p0 or p1. Throws what Emit throws.
  std::shared_ptr<Trial> Prepare(const gates::FunctionPlan& plan, const std::vector<uint64_t>& x);
  // Runs once and compares every value with the function's meaning. Throws Cause::kRefused.
  void Verify(Trial& trial);
  // With fresh keys.
  FnTimes Run(Trial& trial);
  // A flight and a byte on the session, a byte of a key kept, an AES block of the PRG. A word is left 0, as no
  // program is words alone.
  Machine Measure();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::apps
