#include "suf/cpu/trees.hpp"

#include <algorithm>

#include "suf/fss/dcf.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/grouping/halves.hpp"
#include "suf/ring/modular.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

// Returns x less each threshold from attribute `first` on, for `count` rows.
std::vector<uint64_t> Points(const uint64_t* x, size_t count, const Node& n, size_t first) {
  std::vector<uint64_t> points;
  points.reserve(count * (n.attrs.size() - first));
  for (size_t i = 0; i < count; ++i)
    for (size_t j = first; j < n.attrs.size(); ++j) points.push_back(x[i] - uint64_t(n.attrs[j]));
  return points;
}

}  // namespace

void TreeOperations::Run(int i, const Randomness& randomness) {
  const TreeKey tree_key = randomness.TreeKey();
  switch (tensors_.node(i).op) {
    case Op::kDpfGen:
      return DpfKeys(i, tree_key);
    case Op::kDpfWindow:
    case Op::kDpfParity:
    case Op::kDpfDense:
      return DpfReads(i, tree_key);
    case Op::kDcfGen:
      return DcfKeys(i, tree_key);
    case Op::kDcfEval:
      return DcfShares(i, tree_key);
    default:
      SUF_CHECK(false);
  }
}

void TreeOperations::ByTiles(size_t keys, size_t grain, const std::function<void(size_t first, size_t count)>& f) {
  pool_.For((keys + fss::kDpfTile - 1) / fss::kDpfTile, grain, [&](size_t lo, size_t hi) {
    const size_t first = lo * fss::kDpfTile;
    f(first, std::min(keys, hi * fss::kDpfTile) - first);
  });
}

void TreeOperations::PutWords(const uint64_t* words, size_t count, int i, size_t at, uint8_t* to) const {
  const size_t bytes = size_t(tensors_.element(i));
  SUF_CHECK(bytes <= 8);
  loops_.move[3][Code(tensors_.element(i))](reinterpret_cast<const uint8_t*>(words), count, to + at * bytes);
}

void TreeOperations::DpfKeys(int i, const TreeKey& tree_key) {
  const Node& n = tensors_.node(i);
  fss::DpfContext ctx{tree_key, uint32_t(n.attrs[0]), tensors_.arg(n, 0).ring.bits};
  auto p = tensors_.Make(i);
  auto alpha = tensors_.Words<uint64_t>(n.args[0], true);
  ByTiles(tensors_.count(i), 4, [&](size_t first, size_t keys) {
    fss::DpfContext part = ctx;
    part.first_tile = first / fss::kDpfTile;
    fss::DpfGen(part, alpha.get() + first, tensors_.in(n, 1).at(first), tensors_.in(n, 2).at(first), keys,
                p.get() + first * size_t(tensors_.element(i)), variant_);
  });
}

void TreeOperations::DpfReads(int i, const TreeKey& tree_key) {
  const Node& n = tensors_.node(i);
  const int party = int(n.attrs[0]), m = n.op == Op::kDpfDense ? 1 : n.ring.bits;
  const int64_t program = n.attrs[n.op == Op::kDpfWindow ? 3 : 2];
  const fss::DpfContext ctx{tree_key, uint32_t(program), int(n.attrs[1])};
  const size_t words = size_t(m + 63) / 64;
  auto p = tensors_.Make(i);
  auto x = tensors_.Words<uint64_t>(n.args[2], true);
  std::shared_ptr<const uint64_t> table;
  if (n.op == Op::kDpfDense) table = tensors_.Words<uint64_t>(n.args[3], false);
  const size_t grain = n.op == Op::kDpfDense ? 16 : 4;  // each part prepares the table
  ByTiles(tensors_.count(i), grain, [&](size_t first, size_t keys) {
    fss::DpfContext part = ctx;
    part.first_tile = first / fss::kDpfTile;
    const uint8_t *root = tensors_.in(n, 0).at(first), *key = tensors_.in(n, 1).at(first);
    const uint64_t* at = x.get() + first;
    // Strings are written directly to the node's elements; a single word is narrowed to its width.
    WipedVector<uint64_t> narrow(words > 1 ? 0 : keys);
    uint64_t* const out = words > 1 ? As<uint64_t>(p.get() + first * size_t(tensors_.element(i))) : narrow.data();
    if (n.op == Op::kDpfWindow) {
      fss::DpfWindow(part, party, root, key, int(n.attrs[4]), at, keys, m, out, variant_);
    } else if (n.op == Op::kDpfParity) {
      fss::DpfParity(part, party, root, key, Points(at, keys, n, 3).data(), keys, m, out, variant_);
    } else {
      fss::DpfDense(part, party, root, key, at, table.get(), keys, out, variant_);
      for (uint64_t& w : narrow) w &= ring::Mask(n.ring.bits);
    }
    if (words == 1) PutWords(out, keys, i, first, p.get());
  });
}

void TreeOperations::DcfKeys(int i, const TreeKey& tree_key) {
  const Node& n = tensors_.node(i);
  const size_t rows = tensors_.count(i), words = size_t(tensors_.arg(n, 1).shape[0]);
  const bool halves = size_t(tensors_.count(n.args[0])) != rows;
  const int half = tensors_.arg(n, 0).ring.bits;
  const fss::DcfContext ctx{tree_key, uint32_t(n.attrs[0]), halves ? 2 * half : half, int(words),
                            FormOf(n.attrs[1]).bits};
  auto p = tensors_.Make(i);
  auto alpha = tensors_.Words<uint64_t>(n.args[0], true), beta = tensors_.Words<uint64_t>(n.args[1], false);
  ByTiles(rows, 4, [&](size_t first, size_t keys) {
    fss::DcfContext part = ctx;
    part.first_tile = first / fss::kDcfTile;
    WipedVector<uint64_t> payload(words * keys);
    for (size_t k = 0; k < words; ++k) std::copy_n(beta.get() + k * rows + first, keys, payload.data() + k * keys);
    const int64_t none[2] = {};
    WipedVector<uint64_t> joined;
    if (halves) joined = grouping::HalvesMinus(alpha.get() + first, alpha.get() + rows + first, keys, half, none);
    fss::DcfGen(part, halves ? joined.data() : alpha.get() + first, payload.data(), tensors_.in(n, 2).at(first),
                tensors_.in(n, 3).at(first), keys, p.get() + first * size_t(tensors_.element(i)), variant_);
  });
}

void TreeOperations::DcfShares(int i, const TreeKey& tree_key) {
  const Node& n = tensors_.node(i);
  const fss::DcfContext ctx{tree_key, uint32_t(n.attrs[4]), int(n.attrs[1]), int(n.attrs[2]), FormOf(n.attrs[3]).bits};
  const size_t rows = tensors_.count(n.args[0]);
  const bool halves = size_t(tensors_.count(n.args[2])) != rows;
  const std::span<const int64_t> thresholds(n.attrs.begin() + 5, n.attrs.end());
  const size_t m = thresholds.size() / (halves ? 2 : 1), planes = size_t(ctx.words) * m;
  auto p = tensors_.Make(i);
  auto x = tensors_.Words<uint64_t>(n.args[2], true);
  ByTiles(rows, 4, [&](size_t first, size_t keys) {
    fss::DcfContext part = ctx;
    part.first_tile = first / fss::kDcfTile;
    WipedVector<uint64_t> out(planes * keys);
    const uint64_t* at = x.get() + first;
    WipedVector<uint64_t> wide;
    std::vector<uint64_t> points;
    if (halves)
      wide = grouping::HalvesMinus(at, at + rows, keys, ctx.n / 2, thresholds);
    else
      points = Points(at, keys, n, 5);
    fss::DcfEval(part, int(n.attrs[0]), tensors_.in(n, 0).at(first), tensors_.in(n, 1).at(first),
                 halves ? wide.data() : points.data(), keys, int(m), out.data(), variant_);
    for (size_t q = 0; q < planes; ++q) PutWords(out.data() + q * keys, keys, i, q * rows + first, p.get());
  });
}

}  // namespace suf::cpu
