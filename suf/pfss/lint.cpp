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

// Returns whether a message of party p opens an input of its own: input + pad, word for word.
bool OpensInput(const Trace& t, const Node& message, int p) {
  const Node& sum = t.node(message.args[0]);
  if (sum.op != Op::kAdd) return false;
  const Node &input = t.node(sum.args[0]), &pad = t.node(sum.args[1]);
  return input.op == Op::kInput && input.know == Party(p) && pad.op == Op::kRand && pad.attrs[0] == p &&
         input.ring == sum.ring && pad.ring == sum.ring && input.shape == sum.shape && pad.shape == sum.shape;
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

// Returns the inputs of party p, and the pads of those of its messages that depend on one.
std::vector<bool> Hiding(const Trace& t, int p) {
  std::vector<bool> depends(t.nodes().size()), hiding(t.nodes().size());
  for (size_t i = 0; i < depends.size(); ++i) {
    const Node& n = t.node(int(i));
    depends[i] = hiding[i] = n.op == Op::kInput && n.know == Party(p);
    for (int a : n.args) depends[i] = depends[i] || depends[size_t(a)];
    if (n.op != Op::kSend || n.attrs[0] != p || !depends[i]) continue;
    for (int term : t.node(n.args[0]).args)
      if (t.node(term).op == Op::kRand) hiding[size_t(term)] = true;
  }
  return hiding;
}

// Returns a clause about a message of p's peer that the results need and that depends on one of p. One
// opening of an input of p is excepted. If the results are `kept`, the peer's shares of them count as messages.
std::string SteeringOf(const Trace& t, int p, const std::vector<bool>& needed, bool kept) {
  std::vector<int> by(needed.size(), -1);  // a message of p that the node depends on, except that opening
  int opening = -1;
  auto named = [&](int i) {
    const std::string& scope = t.name(t.node(i).scope);
    return Str("message ", i, " \"", t.name(t.node(i).label), scope.empty() ? "\"" : "\" in " + scope);
  };
  for (int i = 0; i < int(needed.size()); ++i) {
    const Node& n = t.node(i);
    for (int a : n.args) by[size_t(i)] = std::max(by[size_t(i)], by[size_t(a)]);
    if (n.op != Op::kSend || !needed[size_t(i)]) continue;
    if (n.attrs[0] != p) {
      if (by[size_t(i)] >= 0) return Str(named(i), " depends on P", p, "'s ", named(by[size_t(i)]));
    } else if (opening < 0 && OpensInput(t, n, p)) {
      opening = i;
    } else {
      by[size_t(i)] = i;
    }
  }
  for (const Trace::Result& r : t.results(1 - p))
    if (kept && r.kept && by[size_t(r.node)] >= 0)
      return Str("the share that P", 1 - p, " keeps depends on P", p, "'s ", named(by[size_t(r.node)]));
  return "";
}

}  // namespace

std::string Steering(const Trace& t, int p) {
  std::vector<int> learned, kept;
  for (const Trace::Result& r : t.results(p)) (r.kept ? kept : learned).push_back(r.node);
  for (const Trace::Result& r : t.results(1 - p))
    if (r.kept) kept.push_back(r.node);
  std::vector<std::vector<int>> apart;
  for (int r : learned) apart.push_back({r});
  if (learned.empty() && !t.results(p).empty()) apart.push_back(kept);
  const std::vector<bool> hiding = Hiding(t, 1 - p);
  for (const std::vector<int>& results : apart) {
    const std::vector<bool> needed = Needed(t, results);
    bool reads = false;  // an input of the peer, or its pad
    for (size_t i = 0; i < needed.size(); ++i) reads |= needed[i] && hiding[i];
    const std::string found = reads ? SteeringOf(t, p, needed, learned.empty()) : "";
    if (!found.empty()) return found;
  }
  return "";
}

Ending EndingOf(const Trace& t) {
  Ending e;
  for (size_t p : {0, 1})
    for (const Trace::Result& r : t.results(int(p))) ++(r.kept ? e.kept : e.learned)[p];
  return e;
}

}  // namespace suf::pfss
