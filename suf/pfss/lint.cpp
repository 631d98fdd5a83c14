#include "suf/pfss/lint.hpp"

#include <algorithm>
#include <map>

namespace suf::pfss {

LintReport Lint(const Schedule& s) {
  const Trace& t = s.trace();
  LintReport report;
  std::map<std::pair<int64_t, int64_t>, int> used;  // PRG section {party, number} -> its message or key section
  auto check = [&](int message, int reader) {
    const Node& m = t.node(message);
    bool send = m.op == Op::kSend;
    auto fault = [&](const char* why) {
      report.faults.push_back(Str(send ? "message %" : "key section %", message, " \"", t.name(m.label), "\" of ",
                                  t.name(m.scope), ": ", why));
    };
    auto once = [&](const Node& pad) {
      auto [it, fresh] = used.emplace(std::pair{pad.attrs[0], pad.attrs[1]}, message);
      return fresh || it->second == message;  // a section for both parties is checked twice
    };
    int payload = m.args[0];
    while (t.node(payload).op == Op::kLow) payload = t.node(payload).args[0];
    const Node& sum = t.node(payload);
    if (!send && (sum.op == Op::kDpfGen || sum.op == Op::kDcfGen)) {
      const size_t secrets = sum.args.size() - 2;  // alpha, and the payload of a DCF; then the roots
      const int seeds = sum.op == Op::kDpfGen
                            ? 128
                            : fss::DcfRootBits(int(t.node(sum.args[1]).shape[0]), FormOf(sum.attrs[1]).scheme);
      const int youngest = *std::max_element(sum.args.begin(), sum.args.end() - 2);
      for (int p : {0, 1}) {
        const int at = sum.args[secrets + size_t(p)];
        const Node& root = t.node(at);
        if (root.op != Op::kRand || root.attrs[0] != p || at < youngest)
          return fault("a root of its trees is not a PRG tensor of its party, drawn after alpha and the payload");
        // each key reads its own element of a root
        if (root.ring != Xor(seeds) || root.shape != sum.shape)
          return fault("a root of its trees does not have one seed of 128 bits for each tree");
        if (!once(root)) return fault("a root of its trees serves elsewhere");
      }
      return void(++report.trees);
    }
    for (const Trace::Result& r : t.results(reader)) {
      if (!send || r.kept) continue;  // a kept share excuses no message
      const std::vector<int>& shares = t.node(r.node).args;
      if (std::find(shares.begin(), shares.end(), message) != shares.end()) return void(++report.results);
    }
    if (sum.op != (send ? Op::kAdd : Op::kSub) && !(sum.op == Op::kAdd && m.ring.kind == Ring::kXor))
      return fault("it has no pad");
    int value = sum.args[0], pad = sum.args[1];
    const Node& p = t.node(pad);
    int owner =
        send ? int(m.attrs[0]) : 1 - reader;  // the PRG of the sender or, for a key, of the party that does not get it
    if (p.op != Op::kRand) return fault("its last term is not a PRG tensor");
    if (pad < value) return fault("its pad is older than the value under it");
    if (p.attrs[0] != owner) return fault("its pad is known to the reader");
    if (p.ring.kind != m.ring.kind || p.ring.bits < m.ring.bits || p.shape != m.shape)
      return fault("its pad does not cover it");
    if (!once(p)) return fault("its pad also covers another message");
    ++report.padded;
  };
  for (auto& f : s.frames())
    for (auto& part : f.parts) check(part.node, 1 - f.sender);
  for (int p : {0, 1})
    for (auto& part : s.key(p)) check(part.node, p);
  return report;
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

// Returns the nodes that the results of party p depend on, and the shares that its peer keeps.
std::vector<bool> Needed(const Trace& t, int p) {
  std::vector<bool> needed(t.nodes().size());
  for (const Trace::Result& r : t.results(p)) needed[size_t(r.node)] = true;
  for (const Trace::Result& r : t.results(1 - p))
    if (r.kept) needed[size_t(r.node)] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (int a : t.node(int(i)).args) needed[size_t(a)] = true;
  return needed;
}

}  // namespace

std::string Steering(const Trace& t, int p) {
  if (t.results(p).empty()) return "";
  const std::vector<bool> needed = Needed(t, p);
  std::vector<int> by(needed.size(), -1);  // a message of p that the node depends on, except the opening of its input
  int opening = -1;
  bool secret = false;  // the peer has an input
  auto named = [&](int i) {
    const std::string& scope = t.name(t.node(i).scope);
    return Str("message ", i, " \"", t.name(t.node(i).label), scope.empty() ? "\"" : "\" in " + scope);
  };
  std::string found;
  for (int i = 0; i < int(needed.size()); ++i) {
    const Node& n = t.node(i);
    for (int a : n.args) by[size_t(i)] = std::max(by[size_t(i)], by[size_t(a)]);
    secret |= n.op == Op::kInput && n.know == Party(1 - p);
    if (n.op != Op::kSend) continue;
    if (n.attrs[0] != p) {
      if (needed[size_t(i)] && by[size_t(i)] >= 0 && found.empty())
        found = Str(named(i), " depends on P", p, "'s ", named(by[size_t(i)]));
    } else if (opening < 0 && OpensInput(t, n, p)) {
      opening = i;
    } else {
      by[size_t(i)] = i;
    }
  }
  for (const Trace::Result& r : t.results(1 - p))
    if (r.kept && by[size_t(r.node)] >= 0 && found.empty())
      found = Str("the share that P", 1 - p, " keeps depends on P", p, "'s ", named(by[size_t(r.node)]));
  return secret ? found : "";
}

Ending EndingOf(const Trace& t) {
  Ending e;
  for (size_t p : {0, 1})
    for (const Trace::Result& r : t.results(int(p))) ++(r.kept ? e.kept : e.learned)[p];
  return e;
}

}  // namespace suf::pfss
