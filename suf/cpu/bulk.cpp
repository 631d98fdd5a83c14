// Bulk operations: everything that is no chain of elementwise words. Each operation is split over the pool by rows.
#include "suf/cpu/bulk.hpp"

#include <algorithm>

#include "suf/fss/sizes.hpp"
#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

void PackedExecutor::Bulk(const Instruction& ins, Host& host) {
  const int i = ins.node;
  const Node& n = node(i);
  switch (n.op) {
    case Op::kConst:
      return Constant(i);
    case Op::kInput: {
      const pfss::Io::Data data = host.io.Input(i);
      values_[size_t(i)] = {
          std::shared_ptr<const uint8_t>(static_cast<const uint8_t*>(data.words), [](const uint8_t*) {}), data.bytes,
          false, data.is_signed};
      versions_[i] = data.version;
      return;
    }
    case Op::kMatmul:
      return Matmul(i);
    case Op::kSum:
      return Sum(i);
    case Op::kSuffix:
      return Suffix(i);
    case Op::kTake:
      return Take(i);
    case Op::kRotSum:
      return RotSum(ins, host);
    case Op::kTurn:
      return Turn(i);
    case Op::kUnbits:
      return Unbits(i);
    case Op::kPack:
    case Op::kUnpack:
      return Triangle(i);
    case Op::kDpfGen:
      return DpfKeys(i, host);
    case Op::kDpfWindow:
    case Op::kDpfParity:
    case Op::kDpfDense:
      return DpfReads(i, host);
    case Op::kDcfGen:
      return DcfKeys(i, host);
    case Op::kDcfEval:
      return DcfShares(i, host);
    default:
      SUF_CHECK(false);
  }
}

uint64_t PackedExecutor::WordIn(const PackedTensor& v, size_t i) {
  return WordOf({v.at(i), v.element, v.is_signed, 0}, 0);
}

void PackedExecutor::Widen(const PackedTensor& v, size_t lo, size_t n, int element, void* to) const {
  const auto& move = v.is_signed ? strips_.extend : strips_.move;
  move[Code(v.element)][Code(element)](v.at(lo), n, to);
}

template <class T>
std::shared_ptr<const T> PackedExecutor::Words(int a, bool canonical) {
  const PackedTensor& v = values_[size_t(a)];
  SUF_CHECK(v.data && v.element <= 8);
  size_t n = count(a);
  int bits = node(a).ring.bits;
  bool reduced =
      !canonical || node(a).ring.kind == Ring::kXor || bits >= 8 * (v.is_signed ? int(sizeof(T)) : v.element);
  if (v.element == int(sizeof(T)) && !v.splat && reduced) return {v.data, As<T>(v.data.get())};
  std::shared_ptr<uint8_t> p = arena_.Take(n * sizeof(T));
  pool_.For(n, kGrain, [&](size_t lo, size_t hi) {
    if (v.splat)
      strips_.splat[Code(sizeof(T))](WordIn(v, 0), hi - lo, p.get() + lo * sizeof(T));
    else
      Widen(v, lo, hi - lo, int(sizeof(T)), p.get() + lo * sizeof(T));
    uint8_t* part = p.get() + lo * sizeof(T);
    if (!reduced) strips_.shift[Code(sizeof(T))][1](part, 0, ring::Mask(bits), hi - lo, part);
  });
  return {p, As<T>(p.get())};
}
template std::shared_ptr<const uint8_t> PackedExecutor::Words(int, bool);
template std::shared_ptr<const uint16_t> PackedExecutor::Words(int, bool);
template std::shared_ptr<const uint32_t> PackedExecutor::Words(int, bool);
template std::shared_ptr<const uint64_t> PackedExecutor::Words(int, bool);

void PackedExecutor::Constant(int i) {
  const Node& n = node(i);
  if (n.data->size() == 1) {
    auto p = arena_.Take(8);
    std::memcpy(p.get(), n.data->data(), 8);
    values_[size_t(i)] = {p, element(i), true};
    return;
  }
  auto p = Make(i);
  strips_.move[3][Code(element(i))](n.data->data(), n.data->size(), p.get());
}

template <class T>
void PackedExecutor::MatmulAs(int i, PackedWeights<T>& cache) {
  const Node& n = node(i);
  const Shape& sa = arg(n, 0).shape;
  size_t m = size_t(n.shape[n.shape.size() - 2]), cols = size_t(n.shape.back()), k = size_t(sa.back()),
         batch = count(i) / (m * cols);
  bool plain = !n.attrs[0], one = arg(n, 1).shape.size() == 2;
  int bits = sizeof(T) == 8 && s_.width(i) <= 52 ? 52 : int(8 * sizeof(T));  // the widths that the kernels distinguish
  auto a = Words<T>(n.args[0], false);
  std::shared_ptr<uint8_t> p = arena_.Take(count(i) * sizeof(T));
  T* c = As<T>(p.get());
  if (arg(n, 1).op == Op::kInput && one && plain) {  // a weight: packed once
    std::shared_ptr<const ring::PackedOperand<T>> prepared;
    {
      std::lock_guard l(weights_.m);
      auto& [version, slot] = cache[{t_.name(arg(n, 1).label), bits}];
      if (uint64_t now = versions_.at(n.args[1]); !slot || version != now) {
        auto b = Words<T>(n.args[1], false);
        version = now;
        slot = std::make_shared<const ring::PackedOperand<T>>(ring::Prepare<T>(b.get(), k, cols, cols, bits, variant_));
      }
      prepared = slot;
    }
    ring::Multiply<T>(a.get(), k, m * batch, *prepared, c, cols, false, pool_);
  } else {
    auto b = Words<T>(n.args[1], false);
    auto product = [&](size_t s, exec::Pool& pool) {
      ring::Gemm<T>(m, cols, k, a.get() + s * m * k, k, b.get() + (one ? 0 : s * k * cols), plain ? cols : k,
                    plain ? ring::MatrixOrder::kPlain : ring::MatrixOrder::kTransposed, c + s * m * cols, cols, false,
                    pool, bits, variant_);
    };
    if (batch == 1)
      product(0, pool_);
    else
      pool_.For(batch, 1, [&](size_t lo, size_t hi) {
        for (size_t s = lo; s < hi; ++s) product(s, pool_);
      });
  }
  if (element(i) == int(sizeof(T))) {
    values_[size_t(i)] = {p, element(i), false};
  } else {
    auto out = Make(i);
    strips_.move[Code(sizeof(T))][Code(element(i))](p.get(), count(i), out.get());
  }
}

void PackedExecutor::Matmul(int i) {
  int bits = s_.width(i);
  if (bits <= 16)
    MatmulAs<uint16_t>(i, weights_.p16);
  else if (bits <= 32)
    MatmulAs<uint32_t>(i, weights_.p32);
  else
    MatmulAs<uint64_t>(i, weights_.p64);
}

void PackedExecutor::Sum(int i) {
  const Node& n = node(i);
  const Shape& sa = arg(n, 0).shape;
  size_t axis = size_t(n.attrs[0]), len = size_t(sa[axis]), inner = 1;
  for (size_t d = axis + 1; d < sa.size(); ++d) inner *= size_t(sa[d]);
  size_t outer = count(i) / inner;
  auto p = Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = Words<T>(n.args[0], false);
    T* out = As<T>(p.get());
    pool_.For(outer, std::max<size_t>(1, kGrain / (len * inner)), [&](size_t lo, size_t hi) {
      for (size_t o = lo; o < hi; ++o) {
        const T* from = x.get() + o * len * inner;
        T* to = out + o * inner;
        if (inner == 1) {
          *to = T(strips_.sum[Code(sizeof(T))](from, len));
          continue;
        }
        std::copy_n(from, inner, to);
        for (size_t j = 1; j < len; ++j) strips_.binary[Code(sizeof(T))][kPlus](to, from + j * inner, inner, to);
      }
    });
  });
}

void PackedExecutor::Suffix(int i) {
  const Node& n = node(i);
  size_t len = size_t(n.shape.back());
  auto p = Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = Words<T>(n.args[0], false);
    T* out = As<T>(p.get());
    for (size_t r = 0; r < count(i) / len; ++r) {
      T sum = 0;
      for (size_t j = len; j-- > 0;) out[r * len + j] = sum += x.get()[r * len + j];
    }
  });
}

std::shared_ptr<const uint8_t> PackedExecutor::Raw(int a, int element) {
  const PackedTensor& v = values_[size_t(a)];
  if (v.element == element && !v.splat) return v.data;
  std::shared_ptr<const uint8_t> out;
  By(element, [&](auto zero) {
    auto w = Words<decltype(zero)>(a, false);
    out = {w, reinterpret_cast<const uint8_t*>(w.get())};
  });
  return out;
}

void PackedExecutor::Triangle(int i) {
  const Node& n = node(i);
  const bool pack = n.op == Op::kPack;
  const size_t e = size_t(element(i)), m = size_t(pack ? arg(n, 0).shape.back() : n.attrs[0]), pairs = m * (m + 1) / 2;
  auto p = Make(i);
  auto x = Raw(n.args[0], int(e));
  pool_.For(count(i) / (pack ? pairs : m * m), std::max<size_t>(1, kGrain / pairs), [&](size_t lo, size_t hi) {
    for (size_t b = lo; b < hi; ++b)
      for (size_t row = 0; row < m; ++row) {
        size_t at = b * pairs + row * (row + 1) / 2, square = (b * m + row) * m;
        std::memcpy(p.get() + (pack ? at : square) * e, x.get() + (pack ? square : at) * e, (row + 1) * e);
        if (!pack) std::memset(p.get() + (square + row + 1) * e, 0, (m - row - 1) * e);
      }
  });
}

}  // namespace suf::cpu
