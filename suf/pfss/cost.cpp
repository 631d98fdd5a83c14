// What a schedule costs: keys, messages, AES blocks and elements, by scope and role.
#include <algorithm>

#include "suf/fss/sizes.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

int64_t AesBlocks(const Trace& t, int i) {
  const Node& n = t.node(i);
  const auto& a = n.attrs;
  const int64_t size = Size(n.shape);
  switch (n.op) {
    case Op::kRand:
      return (size * int64_t(fss::ElementBytes(n.ring.bits)) + 15) / 16;
    case Op::kDpfGen:
      return size * fss::DpfGenBlocks(t.node(n.args[0]).ring.bits);
    case Op::kDpfWindow:
      return size * fss::DpfWindowBlocks(int(a[1]), a[2], int(a[4]));
    case Op::kDpfParity:
      return size * n.ring.bits * fss::DpfPathBlocks(int(a[1]));
    case Op::kDpfDense:
      return size * fss::DpfDomainBlocks(int(a[1]));
    case Op::kDcfGen: {
      const Form f = FormOf(a[1]);
      return size * fss::DcfGenBlocks(t.node(n.args[0]).ring.bits, int(t.node(n.args[1]).shape[0]), f.bits, f.scheme);
    }
    case Op::kDcfEval: {  // the words of an element and threshold come together
      const Form f = FormOf(a[3]);
      return size / a[2] * fss::DcfEvalBlocks(int(a[1]), int(a[2]), f.bits, f.scheme);
    }
    default:
      return 0;
  }
}

Cost CostOf(const Schedule& s) {
  const Trace& t = s.trace();
  Cost c;
  std::map<int, size_t> at;
  auto row = [&](const Node& n) -> Cost::Row& {
    auto [it, fresh] = at.try_emplace(n.scope, c.rows.size());
    if (fresh) c.rows.push_back({t.name(n.scope)});
    return c.rows[it->second];
  };
  c.total.scope = "total";
  for (int p : {0, 1})
    for (auto& part : s.key(p)) {
      const Node& n = t.node(part.node);
      int64_t bits = Size(n.shape) * n.ring.bits;
      row(n).key[p] += bits, c.total.key[p] += bits;
    }
  for (auto& f : s.frames())
    for (auto& part : f.parts) {
      const Node& n = t.node(part.node);
      int64_t bits = Size(n.shape) * n.ring.bits;
      for (Cost::Row* r : {&row(n), &c.total}) {
        (f.tick < 0 ? r->offline : r->online[f.sender]) += bits;
        if (f.tick >= 0) r->ticks = {std::min(r->ticks[0], f.tick + 1), std::max(r->ticks[1], f.tick + 1)};
      }
    }
  for (Role role : {Role::kModel, Role::kData, Role::kDealer})
    for (int i : s.live(role)) {
      const Node& n = t.node(i);
      if (Info(n.op).cls == OpClass::kGiven) continue;
      const int64_t aes = AesBlocks(t, i), words = Size(n.shape);
      for (Cost::Row* r : {&row(n), &c.total}) r->aes[size_t(role)] += aes, r->words[size_t(role)] += words;
    }
  return c;
}

}  // namespace suf::pfss
