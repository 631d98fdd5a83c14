// Keys of DPFs and DCFs and their reads, of clear: all keys of a node in one call.
#include "suf/grouping/halves.hpp"
#include "suf/reference/clear_executor.hpp"
#include "suf/ring/modular.hpp"

namespace suf::reference {

using namespace pfss;  // NOLINT: the whole file speaks of traces

WordVector ClearExecutor::Tree(const Node& n) const {
  switch (n.op) {
    case Op::kDcfGen:
      return DcfKeys(n);
    case Op::kDcfEval:
      return DcfShares(n);
    case Op::kDpfGen:
      return DpfKeys(n);
    default:
      return DpfReads(n);
  }
}

KeyBatch ClearExecutor::BatchOf(int64_t program, int bits, const Shape& keys) const {
  return {randomness_->TreeKey(), uint32_t(program), bits, size_t(Size(keys))};
}

const uint8_t* ClearExecutor::BytesOf(const Node& n, size_t k) const {
  return reinterpret_cast<const uint8_t*>(In(n, k).data());
}

WordVector ClearExecutor::Points(const Node& n, size_t first) const {
  WordVector all;
  for (uint64_t v : In(n, 2))
    for (size_t j = first; j < n.attrs.size(); ++j)
      all.push_back((v - uint64_t(n.attrs[j])) & ring::Mask(int(n.attrs[1])));
  return all;
}

WordVector ClearExecutor::DpfKeys(const Node& n) const {
  WordVector out(size_t(Size(n.shape) * WordsOf(n.ring)));
  kernels_.DpfGen(BatchOf(n.attrs[0], Arg(n, 0).ring.bits, n.shape), In(n, 0).data(), {BytesOf(n, 1), BytesOf(n, 2)},
                  reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

WordVector ClearExecutor::DpfReads(const Node& n) const {
  WordVector out(size_t(Size(n.shape) * WordsOf(n.ring)));
  const KeyBatch b = BatchOf(n.attrs[n.op == Op::kDpfWindow ? 3 : 2], int(n.attrs[1]), Arg(n, 0).shape);
  const int party = n.attrs[0] == 1;
  const uint8_t *root = BytesOf(n, 0), *key = BytesOf(n, 1);
  if (n.op == Op::kDpfWindow) {
    kernels_.DpfWindow(b, party, root, key, int(n.attrs[4]), In(n, 2).data(), int(n.attrs[2]), out.data());
  } else if (n.op == Op::kDpfParity) {
    kernels_.DpfParity(b, party, root, key, Points(n, 3).data(), int(n.attrs.size()) - 3, out.data());
  } else {
    SUF_CHECK(n.op == Op::kDpfDense);
    kernels_.DpfDense(b, party, root, key, In(n, 2).data(), In(n, 3).data(), out.data());
    for (uint64_t& v : out) v &= ring::Mask(n.ring.bits);
  }
  return out;
}

WordVector ClearExecutor::DcfKeys(const Node& n) const {
  WordVector out(size_t(Size(n.shape) * WordsOf(n.ring)));
  const WordVector& x = In(n, 0);
  const int bits = Arg(n, 0).ring.bits;
  KeyBatch b = BatchOf(n.attrs[0], bits, n.shape);
  b.words = int(Arg(n, 1).shape[0]);
  b.bits = FormOf(n.attrs[1]).bits;
  WordVector joined;
  const bool halves = x.size() == 2 * b.count;
  if (halves) {
    b.n *= 2;
    const int64_t none[2] = {};
    joined = grouping::HalvesMinus(x.data(), x.data() + b.count, b.count, bits, none);
  }
  kernels_.DcfGen(b, halves ? joined.data() : x.data(), In(n, 1).data(), {BytesOf(n, 2), BytesOf(n, 3)},
                  reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

WordVector ClearExecutor::DcfShares(const Node& n) const {
  WordVector out(size_t(Size(n.shape) * WordsOf(n.ring)));
  const WordVector& x = In(n, 2);
  KeyBatch b = BatchOf(n.attrs[4], int(n.attrs[1]), Arg(n, 0).shape);
  b.words = int(n.attrs[2]);
  b.bits = FormOf(n.attrs[3]).bits;
  const std::span<const int64_t> thresholds(n.attrs.begin() + 5, n.attrs.end());
  const bool halves = x.size() == 2 * b.count;
  const WordVector points =
      halves ? grouping::HalvesMinus(x.data(), x.data() + b.count, b.count, b.n / 2, thresholds) : Points(n, 5);
  kernels_.DcfEval(b, n.attrs[0] == 1, BytesOf(n, 0), BytesOf(n, 1), points.data(),
                   int(thresholds.size() / (halves ? 2 : 1)), out.data());
  return out;
}

}  // namespace suf::reference
