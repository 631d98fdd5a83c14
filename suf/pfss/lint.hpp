// The lint proves on a trace that a party's messages and keys are uniform, whatever the values are
// (docs/mathematics.md#lint). Each payload must be v + pad or v - pad. The pad is a whole PRG tensor of the right
// party and ring. It is emitted after v and pads only v. Then the map from pads to messages is triangular with
// units on the diagonal. There are two exceptions. The share of a result has no pad. Correction words of a DPF or DCF
// are as secure as the tree. Its two roots must be emitted after all its secrets, and have no other use.
#pragma once
#include <string>
#include <vector>

#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

struct LintReport {
  int padded = 0;                   // messages and key sections with a pad of their own
  int results = 0, trees = 0;       // the two exceptions
  std::vector<std::string> faults;  // one sentence each; if there is none, the proof holds
};

LintReport Lint(const Schedule& s);

// How party p, by altering its messages, can learn more than its results.
struct SteeringReport {
  int messages = 0;   // messages of p that a result with a steering needs, less the excepted one
  std::string first;  // a clause that names the first; empty if there is none
};
// Checks whether party p can learn more than its results for one input of its choice. Each result that p learns is
// checked apart. If p learns none, it checks the shares that both keep. An empty report proves that p cannot, if the
// trace passes the lint and is right for every input (docs/mathematics.md#steering).
SteeringReport ReadSteering(const Trace& t, int p);
inline std::string Steering(const Trace& t, int p) { return ReadSteering(t, p).first; }

// The number of results of each party: values that it learns, and kept shares of values that no party learns.
struct Ending {
  std::array<int, 2> learned{}, kept{};
  bool operator==(const Ending&) const = default;
};
Ending EndingOf(const Trace& t);

// Emissions that gates cannot make, for tests that plant faults.
struct Trace::Raw {
  Trace& t;
  int rand(int party, Ring ring, const Shape& shape) { return t.Rand(party, ring, shape); }
  int send(int v, int party) { return t.Send(v, party, "planted"); }
  // Returns a node of a closed trace, to be altered. The digest does not change.
  Node& node(int id) { return t.nodes_[size_t(id)]; }
  int tell(int v, int party) { return t.Tell(v, Party(party), -1); }
};

}  // namespace suf::pfss
