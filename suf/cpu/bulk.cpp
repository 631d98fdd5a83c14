#include "suf/cpu/bulk.hpp"

#include <algorithm>
#include <optional>

#include "suf/ring/modular.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

void BulkOperations::Run(const grouping::Instruction& ins, const Randomness& randomness, Io& io) {
  const int i = ins.node;
  switch (node(i).op) {
    case Op::kConst:
      return Constant(i);
    case Op::kInput:
      return tensors_.PutInput(i, io.Input(i), !plan_.as_words.contains(i));
    case Op::kMatmul:
      return products_.Matmul(i);
    case Op::kSum:
      return Sum(i);
    case Op::kSuffix:
      return Suffix(i);
    case Op::kTake:
      return Take(i);
    case Op::kRotSum:
      return RotSum(ins, io);
    case Op::kTurn:
      return Turn(i);
    case Op::kUnbits:
      return Unbits(i);
    case Op::kPack:
    case Op::kUnpack:
      return Triangle(i);
    default:
      return trees_.Run(i, randomness);
  }
}

void BulkOperations::Constant(int i) {
  const Node& n = node(i);
  if (n.data->size() == 1) {
    auto p = tensors_.Scratch(8);
    std::memcpy(p.get(), n.data->data(), 8);
    tensors_.Put(i, {p, element(i), true});
    return;
  }
  auto p = tensors_.Make(i);
  loops_.move[3][Code(element(i))](n.data->data(), n.data->size(), p.get());
}

void BulkOperations::Sum(int i) {
  const Node& n = node(i);
  const Shape& sa = arg(n, 0).shape;
  size_t axis = size_t(n.attrs[0]), len = size_t(sa[axis]), inner = 1;
  for (size_t d = axis + 1; d < sa.size(); ++d) inner *= size_t(sa[d]);
  size_t outer = count(i) / inner;
  auto p = tensors_.Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = tensors_.Words<T>(n.args[0], false);
    T* out = As<T>(p.get());
    pool_.For(outer, std::max<size_t>(1, kGrain / (len * inner)), [&](size_t lo, size_t hi) {
      for (size_t o = lo; o < hi; ++o) {
        const T* from = x.get() + o * len * inner;
        T* to = out + o * inner;
        if (inner == 1) {
          *to = T(loops_.sum[Code(sizeof(T))](from, len));
          continue;
        }
        std::copy_n(from, inner, to);
        for (size_t j = 1; j < len; ++j) loops_.binary[Code(sizeof(T))][kPlus](to, from + j * inner, inner, to);
      }
    });
  });
}

void BulkOperations::Suffix(int i) {
  const Node& n = node(i);
  size_t len = size_t(n.shape.back());
  auto p = tensors_.Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = tensors_.Words<T>(n.args[0], false);
    T* out = As<T>(p.get());
    for (size_t r = 0; r < count(i) / len; ++r) {
      T sum = 0;
      for (size_t j = len; j-- > 0;) out[r * len + j] = sum += x.get()[r * len + j];
    }
  });
}

void BulkOperations::Triangle(int i) {
  const Node& n = node(i);
  const bool pack = n.op == Op::kPack;
  const size_t e = size_t(element(i)), m = size_t(pack ? arg(n, 0).shape.back() : n.attrs[0]), pairs = m * (m + 1) / 2;
  auto p = tensors_.Make(i);
  auto x = tensors_.Raw(n.args[0], int(e));
  pool_.For(count(i) / (pack ? pairs : m * m), std::max<size_t>(1, kGrain / pairs), [&](size_t lo, size_t hi) {
    for (size_t b = lo; b < hi; ++b)
      for (size_t row = 0; row < m; ++row) {
        size_t at = b * pairs + row * (row + 1) / 2, square = (b * m + row) * m;
        std::memcpy(p.get() + (pack ? at : square) * e, x.get() + (pack ? square : at) * e, (row + 1) * e);
        if (!pack) std::memset(p.get() + (square + row + 1) * e, 0, (m - row - 1) * e);
      }
  });
}

void BulkOperations::Take(int i) {
  const Node& n = node(i);
  size_t m = size_t(arg(n, 0).shape.back());
  auto at = tensors_.Words<uint32_t>(n.args[1], true);
  auto p = tensors_.Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = tensors_.Words<T>(n.args[0], false);
    for (size_t k = 0; k < count(i); ++k) {
      SUF_CHECK(at.get()[k] < m);
      As<T>(p.get())[k] = x.get()[k * m + at.get()[k]];
    }
  });
}

void BulkOperations::RotSum(const grouping::Instruction& ins, Io& io) {
  const int i = ins.node;
  const Node& n = node(i);
  const Shape& sa = arg(n, 0).shape;
  size_t m = size_t(sa.back()), len = size_t(sa[sa.size() - 2]), rows = count(i) / m;
  const size_t packed = n.attrs.empty() ? 0 : size_t(n.attrs[0]);  // rows of a triangle
  const size_t most = m * (packed ? packed : len);
  auto at = tensors_.Words<uint32_t>(n.args[1], true);
  auto p = tensors_.Make(i);
  std::optional<StripDivision> drawn;
  if (!ins.members.empty()) drawn.emplace(groups_.Divide(ins, io));
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = drawn ? nullptr : tensors_.Words<T>(n.args[0], false);
    pool_.For(rows, std::max<size_t>(1, kGrain / (m * len)), [&](size_t lo, size_t hi) {
      const auto add = loops_.binary[Code(sizeof(T))][kPlus];
      std::vector<T> sum(m);
      WipedVector<T> terms(drawn ? most : 0);
      for (size_t r = lo; r < hi; ++r) {
        std::fill(sum.begin(), sum.end(), T(0));
        size_t row = packed ? r % packed : 0, begin = packed ? r / packed * len + row * (row + 1) / 2 : r * len;
        const size_t count = packed ? row + 1 : len;
        const T* u = drawn ? terms.data() : x.get() + begin * m;
        if (drawn) groups_.Draw(ins, *drawn, io, begin * m, count * m, sizeof(T), terms.data());
        // Adds up u[(i + v) mod m] in sum[v], which is mirrored at the end.
        for (size_t j = begin; j < begin + count; ++j, u += m) {
          size_t first = at.get()[j] % m, rest = m - first;
          add(sum.data(), u + first, rest, sum.data());
          add(sum.data() + rest, u, first, sum.data() + rest);
        }
        T* out = As<T>(p.get()) + r * m;
        out[0] = sum[0];
        std::reverse_copy(sum.begin() + 1, sum.end(), out + 1);
      }
    });
  });
}

void BulkOperations::Turn(int i) {
  const Node& n = node(i);
  const int width = arg(n, 0).ring.bits;
  const size_t size = size_t{1} << width;
  auto r = tensors_.Words<uint64_t>(n.args[0], true);
  auto p = tensors_.Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto table = tensors_.Words<T>(n.args[1], false);
    pool_.For(count(i) / size, std::max<size_t>(1, kGrain / size), [&](size_t lo, size_t hi) {
      WipedVector<T> spare(size);
      for (size_t k = lo; k < hi; ++k)
        loops_.turn[Code(sizeof(T))](table.get(), r.get()[k], width, spare.data(), As<T>(p.get()) + k * size);
    });
  });
}

void BulkOperations::Unbits(int i) {
  const Node& n = node(i);
  const size_t stride = size_t(element(n.args[0])), m = size_t(n.shape[0]), rows = count(n.args[0]);
  auto p = tensors_.Make(i);
  const PackedTensor& x = tensors_.in(n, 0);
  SUF_CHECK(!x.splat && x.element == int(stride) && element(i) == 1);
  pool_.For(rows, std::max<size_t>(64, kGrain * 64 / m / 64 * 64),
            [&](size_t lo, size_t hi) { loops_.unbits(x.at(lo), stride, m, rows, hi - lo, p.get() + lo); });
}

}  // namespace suf::cpu
