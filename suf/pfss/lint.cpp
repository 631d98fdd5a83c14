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
      return fresh || it->second == message;  // a section told to both parties comes twice
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
        // a root is read for each key
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
        send ? int(m.attrs[0]) : 1 - reader;  // whose PRG: the sender's, or the party's that the key does not go to
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

Ending EndingOf(const Trace& t) {
  Ending e;
  for (size_t p : {0, 1})
    for (const Trace::Result& r : t.results(int(p))) ++(r.kept ? e.kept : e.learned)[p];
  return e;
}

}  // namespace suf::pfss
