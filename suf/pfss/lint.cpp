#include "suf/pfss/lint.hpp"

#include <algorithm>
#include <map>

namespace suf::pfss {

namespace {

// A check of messages and key sections, one by one.
class Linter {
 public:
  explicit Linter(const Trace& t) : t_(t) {}
  // Checks a message or key section that party `reader` receives.
  void Check(int message, int reader) {
    const Node& m = t_.node(message);
    const bool send = m.op == Op::kSend;
    int payload = m.args[0];
    while (t_.node(payload).op == Op::kLow) payload = t_.node(payload).args[0];
    const Node& sum = t_.node(payload);
    const char* fault = nullptr;
    if (!send && (sum.op == Op::kDpfGen || sum.op == Op::kDcfGen)) {
      fault = FaultOfRoots(message, sum);
      report_.trees += !fault;
    } else if (send && IsShareOfResult(message, reader)) {
      ++report_.results;
    } else {
      fault = FaultOfPad(message, sum, reader);
      report_.padded += !fault;
    }
    if (fault)
      report_.faults.push_back(Str(send ? "message %" : "key section %", message, " \"", t_.name(m.label), "\" of ",
                                   t_.name(m.scope), ": ", fault));
  }
  const LintReport& report() const { return report_; }

 private:
  // Returns why the roots do not protect the key that `gen` makes, or null.
  const char* FaultOfRoots(int message, const Node& gen) {
    const size_t secrets = gen.args.size() - 2;  // alpha, and the payload of a DCF; then the roots
    const int seeds =
        gen.op == Op::kDpfGen ? 128 : fss::DcfRootBits(int(t_.node(gen.args[1]).shape[0]), FormOf(gen.attrs[1]).scheme);
    const int youngest = *std::max_element(gen.args.begin(), gen.args.end() - 2);
    for (int p : {0, 1}) {
      const int at = gen.args[secrets + size_t(p)];
      const Node& root = t_.node(at);
      if (root.op != Op::kRand || root.attrs[0] != p || at < youngest)
        return "a root of its trees is not a PRG tensor of its party, drawn after alpha and the payload";
      // each key reads its own element of a root
      if (root.ring != Xor(seeds) || root.shape != gen.shape)
        return "a root of its trees does not have one seed of 128 bits for each tree";
      if (!Claim(root, message)) return "a root of its trees serves elsewhere";
    }
    return nullptr;
  }
  // Returns why a payload `sum` has no pad that hides it from `reader`, or null.
  const char* FaultOfPad(int message, const Node& sum, int reader) {
    const Node& m = t_.node(message);
    const bool send = m.op == Op::kSend;
    if (sum.op != (send ? Op::kAdd : Op::kSub) && !(sum.op == Op::kAdd && m.ring.kind == Ring::kXor))
      return "it has no pad";
    const int value = sum.args[0], pad = sum.args[1];
    const Node& p = t_.node(pad);
    // the PRG of the sender or, for a key, of the party that does not get it
    const int owner = send ? int(m.attrs[0]) : 1 - reader;
    if (p.op != Op::kRand) return "its last term is not a PRG tensor";
    if (pad < value) return "its pad is older than the value under it";
    if (p.attrs[0] != owner) return "its pad is known to the reader";
    if (p.ring.kind != m.ring.kind || p.ring.bits < m.ring.bits || p.shape != m.shape)
      return "its pad does not cover it";
    if (!Claim(p, message)) return "its pad also covers another message";
    return nullptr;
  }
  // Returns whether a message is a share of a result that `reader` learns. A kept share excuses no message.
  bool IsShareOfResult(int message, int reader) const {
    for (const Trace::Result& r : t_.results(reader)) {
      const std::vector<int>& shares = t_.node(r.node).args;
      if (!r.kept && std::find(shares.begin(), shares.end(), message) != shares.end()) return true;
    }
    return false;
  }
  // Books a PRG section for a message; returns whether no other message has it.
  bool Claim(const Node& pad, int message) {
    auto [it, fresh] = used_.emplace(std::pair{pad.attrs[0], pad.attrs[1]}, message);
    return fresh || it->second == message;  // a section for both parties is checked twice
  }

  const Trace& t_;
  LintReport report_;
  std::map<std::pair<int64_t, int64_t>, int> used_;  // PRG section {party, number} -> its message or key section
};

}  // namespace

LintReport Lint(const Schedule& s) {
  Linter linter(s.trace());
  for (auto& f : s.frames())
    for (auto& part : f.parts) linter.Check(part.node, 1 - f.sender);
  for (int p : {0, 1})
    for (auto& part : s.key(p)) linter.Check(part.node, p);
  return linter.report();
}

namespace {

// Returns which messages of party p open its half of a shared input, word for word: input + pad. Such an input has
// every word of its ring, whatever p sends.
std::vector<bool> InputOpenings(const Trace& t, int p) {
  std::vector<bool> out(t.nodes().size());
  for (const Trace::WireNodes& w : t.wires()) {
    if (w.sent[0] < 0 || w.sent[1] < 0) continue;
    const Node& sum = t.node(t.node(w.sent[size_t(p)]).args[0]);
    if (sum.op != Op::kAdd) continue;
    const Node &input = t.node(sum.args[0]), &pad = t.node(sum.args[1]);
    out[size_t(w.sent[size_t(p)])] = input.op == Op::kInput && input.know == Party(p) && pad.op == Op::kRand &&
                                     pad.attrs[0] == p && input.ring == sum.ring && pad.ring == sum.ring &&
                                     input.shape == sum.shape && pad.shape == sum.shape;
  }
  return out;
}

// Returns the nodes that some results depend on.
std::vector<bool> Needed(const Trace& t, const std::vector<int>& results) {
  std::vector<bool> needed(t.nodes().size());
  for (int r : results) needed[size_t(r)] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (int a : t.node(int(i)).args) needed[size_t(a)] = true;
  return needed;
}

// Returns the inputs of party p, and the words that hide them. These are pads of its messages that depend on an input.
// They are also its words that pad sections of the peer's key under which such a word lies.
std::vector<bool> Hiding(const Trace& t, int p) {
  const size_t count = t.nodes().size();
  std::vector<bool> hiding(count);
  for (bool more = true; more;) {
    more = false;
    std::vector<bool> depends(count);
    for (size_t i = 0; i < count; ++i) {
      const Node& n = t.node(int(i));
      if (n.op == Op::kInput && n.know == Party(p)) hiding[i] = true;
      depends[i] = hiding[i];
      for (int a : n.args) depends[i] = depends[i] || depends[size_t(a)];
      const bool message = n.op == Op::kSend && n.attrs[0] == p, key = n.op == Op::kTell && n.attrs[0] == Party(1 - p);
      if (!(message || key) || !depends[i]) continue;
      int sum = n.args[0];
      while (t.node(sum).op == Op::kLow) sum = t.node(sum).args[0];
      for (int term : t.node(sum).args) {
        const Node& pad = t.node(term);
        if (pad.op != Op::kRand || pad.attrs[0] != p || hiding[size_t(term)]) continue;
        hiding[size_t(term)] = more = true;
      }
    }
  }
  return hiding;
}

// Reads what the results need: messages of p's peer that depend on a message of p. `openings` are excepted, as long as
// all results have the same one, `only`. If the results are `kept`, the peer's shares of them count as messages.
void ReadMessages(const Trace& t, int p, const std::vector<bool>& needed, const std::vector<bool>& openings, bool kept,
                  int* only, SteeringReport* out) {
  std::vector<int> by(needed.size(), -1);  // a message of p that the node depends on, except that opening
  auto named = [&](int i) {
    const std::string& scope = t.name(t.node(i).scope);
    return Str("message ", i, " \"", t.name(t.node(i).label), scope.empty() ? "\"" : "\" in " + scope);
  };
  int altered = 0;   // messages of p, except that opening
  bool any = false;  // whether the peer shows more
  auto found = [&](const std::string& what, int cause) {
    any = true;
    if (out->first.empty()) out->first = Str(what, " depends on P", p, "'s ", named(cause));
  };
  for (int i = 0; i < int(needed.size()); ++i) {
    const Node& n = t.node(i);
    for (int a : n.args) by[size_t(i)] = std::max(by[size_t(i)], by[size_t(a)]);
    if (n.op != Op::kSend || !needed[size_t(i)]) continue;
    if (n.attrs[0] != p) {
      if (by[size_t(i)] >= 0) found(named(i), by[size_t(i)]);
    } else if (openings[size_t(i)] && (*only < 0 || *only == i)) {
      *only = i;
    } else {
      by[size_t(i)] = i;
      ++altered;
    }
  }
  for (const Trace::Result& r : t.results(1 - p))
    if (kept && r.kept && by[size_t(r.node)] >= 0) found(Str("the share that P", 1 - p, " keeps"), by[size_t(r.node)]);
  if (any) out->messages += altered;
}

}  // namespace

SteeringReport ReadSteering(const Trace& t, int p) {
  std::vector<int> learned, kept;
  for (const Trace::Result& r : t.results(p)) (r.kept ? kept : learned).push_back(r.node);
  for (const Trace::Result& r : t.results(1 - p))
    if (r.kept) kept.push_back(r.node);
  std::vector<std::vector<int>> apart;
  for (int r : learned) apart.push_back({r});
  if (learned.empty() && !t.results(p).empty()) apart.push_back(kept);
  SteeringReport out;
  if (apart.empty()) return out;
  const std::vector<bool> hiding = Hiding(t, 1 - p), openings = InputOpenings(t, p);
  int only = -1;
  for (const std::vector<int>& results : apart) {
    const std::vector<bool> needed = Needed(t, results);
    bool reads = false;  // an input of the peer, or a word that hides one
    for (size_t i = 0; i < needed.size(); ++i) reads |= needed[i] && hiding[i];
    if (reads) ReadMessages(t, p, needed, openings, learned.empty(), &only, &out);
  }
  return out;
}

Ending EndingOf(const Trace& t) {
  Ending e;
  for (size_t p : {0, 1})
    for (const Trace::Result& r : t.results(int(p))) ++(r.kept ? e.kept : e.learned)[p];
  return e;
}

}  // namespace suf::pfss
