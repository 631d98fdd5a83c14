// The cost of a schedule: keys, messages, AES blocks and elements, by scope and role.
#include <algorithm>
#include <bit>

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
      const DcfForm f = FormOf(a[1]);
      const Node &alpha = t.node(n.args[0]), &beta = t.node(n.args[1]);
      const int bits = alpha.shape.size() == beta.shape.size() ? 2 * alpha.ring.bits : alpha.ring.bits;
      return size * fss::DcfGenBlocks(bits, int(beta.shape[0]), f.bits, f.scheme);
    }
    case Op::kDcfEval: {  // one evaluation returns all words of an element and threshold
      const DcfForm f = FormOf(a[3]);
      return size / a[2] * fss::DcfEvalBlocks(int(a[1]), int(a[2]), f.bits, f.scheme);
    }
    default:
      return 0;
  }
}

namespace {

// Returns the work to read or make a one-hot table. A table of up to 64 bits is one word of a strip.
int64_t TableWords(int bits) { return bits <= 64 ? 1 : bits / 16; }

// Returns the work of the inner product of a string and a table. Equal entries at the begin of the table are counted,
// and the others are added up.
int64_t DotWords(const std::vector<uint64_t>& table) {
  constexpr int64_t kCounted = 32, kAdded = 8;
  const auto end = std::find_if(table.begin(), table.end(), [&](uint64_t x) { return x != table[0]; });
  return (end - table.begin()) / kCounted + (table.end() - end) / kAdded;
}

// Returns the work of a tree operation beside its AES blocks: corrections, sides, and levels that wait for each other.
int64_t TreeWords(const Trace& t, int i) {
  // Work for each AES block of a path, a DCF, a whole domain and a window. A whole domain has a key in each lane. In a
  // window above level 0 each place takes its own walk.
  constexpr int64_t kBlock = 4, kDcfBlock = 6, kLaneBlock = 1, kLevelBlock = 16;
  constexpr int64_t kLanes = 16, kCut = 16;  // keys that a DCF takes together; bits that are cut at once
  const Node& n = t.node(i);
  const int64_t size = Size(n.shape), blocks = AesBlocks(t, i);
  switch (n.op) {
    case Op::kDpfWindow: {
      const int64_t bits = n.attrs[1], places = n.attrs[2], level = n.attrs[4];
      if (fss::DpfReadsDomain(int(bits), places, int(level))) return size * (1 + places / kCut) + kLaneBlock * blocks;
      return size + (places > 1 && level > 0 ? kLevelBlock : kBlock) * blocks;
    }
    case Op::kDcfGen:
      return size + kDcfBlock * blocks;
    case Op::kDcfEval: {  // with few keys some lanes are empty
      const int64_t keys = Size(t.node(n.args[0]).shape);
      return size + kDcfBlock * (blocks / keys) * std::max(keys, kLanes);
    }
    default:
      return size + kBlock * blocks;
  }
}

// Returns the work of one element of any other operation.
int64_t ElementWords(const Trace& t, const Node& n) {
  constexpr int64_t kMixed = 2, kEntries = 8;
  auto arg = [&](size_t k) -> const Node& { return t.node(n.args[k]); };
  int64_t words = 1;
  switch (n.op) {
    case Op::kDot:
      return words + DotWords(*arg(1).data);
    case Op::kHot:
      return TableWords(n.ring.bits);
    case Op::kPoint:
    case Op::kRotate:
    case Op::kAbove:
      return TableWords(arg(0).ring.bits);
    case Op::kDigits:
      for (int64_t width : n.attrs) words += TableWords(1 << width);
      return words;
    case Op::kMonoX:
      return n.ring.bits;
    case Op::kBorrowX:
      for (size_t k = 1; k < n.args.size(); ++k) words += arg(k).ring.bits;
      return words;
    case Op::kLess:
      return int64_t(n.attrs.size());
    case Op::kMix:
      for (uint64_t mask : *arg(1).data) words += kMixed * std::popcount(mask);
      return words;
    case Op::kSelect:  // adds several entries at once
    case Op::kSelectX:
    case Op::kDense:
      return words + arg(0).ring.bits / kEntries;
    default:
      return words;
  }
}

}  // namespace

// Weights are multiples of the time of one element of a strip, fitted to `suf fn bench`
// (docs/design/lowering.md#by-cost).
int64_t Words(const Trace& t, int i) {
  constexpr int64_t kNode = 800;  // start of a node of any size
  const Node& n = t.node(i);
  const int64_t size = Size(n.shape);
  if (Info(n.op).cls == OpClass::kTree) return kNode + TreeWords(t, i);
  if (n.op == Op::kSum || n.op == Op::kTake) return kNode + std::max(size, Size(t.node(n.args[0]).shape));
  return kNode + size * ElementWords(t, n);
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
      row(n).key[p] += bits;
      c.total.key[p] += bits;
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
      const int64_t aes = AesBlocks(t, i), words = Words(t, i);
      for (Cost::Row* r : {&row(n), &c.total}) {
        r->aes[size_t(role)] += aes;
        r->words[size_t(role)] += words;
      }
    }
  return c;
}

}  // namespace suf::pfss
