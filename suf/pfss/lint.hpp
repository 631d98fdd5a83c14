// Lint: a proof, on the trace itself, that what a party receives is uniform whatever the values are. Every payload of
// a message or a key section is v + pad or sec - pad, with pad a whole PRG tensor of the right party and ring, emitted
// after v, padding nothing else. In the order of the pads the map pads -> messages is then triangular with units on the
// diagonal. (docs/mathematics.md#lint.) What is left over must be the result and the correction words of DPFs and
// DCFs, whose security is the tree's, under two roots that are younger than all secrets in it and serve nothing else.
#pragma once
#include <string>
#include <vector>

#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

struct LintReport {
  int padded = 0;                   // messages and key sections under a pad of their own
  int results = 0, trees = 0;       // the two exceptions
  std::vector<std::string> faults;  // one sentence each; empty = proven
};

LintReport Lint(const Schedule& s);

// Reads whether party p, if it alters its messages, learns more than its results of one input of its own choice.
// Returns a clause that names the first message (or kept share) of the peer that shows more; empty is the proof that
// none does. Holds for a trace that passes the lint and that computes its function for every input.
// (docs/mathematics.md#steering.)
std::string Steering(const Trace& t, int p);

// Who learns what, by party: values learned, and shares kept of what nobody learns.
struct Ending {
  std::array<int, 2> learned{}, kept{};
  bool operator==(const Ending&) const = default;
};
Ending EndingOf(const Trace& t);

// Emissions that gates do not have, for tests that plant faults.
struct Trace::Raw {
  Trace& t;
  int rand(int party, Ring ring, const Shape& shape) { return t.Rand(party, ring, shape); }
  int send(int v, int party) { return t.Send(v, party, "planted"); }
  // node: of a closed trace, to be altered; the digest stays.
  Node& node(int id) { return t.nodes_[size_t(id)]; }
  int tell(int v, int party) { return t.Tell(v, Party(party), -1); }
};

}  // namespace suf::pfss
