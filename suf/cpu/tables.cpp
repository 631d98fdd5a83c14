// Bulk operations on tables: reads at public places, sums of rotated vectors.
#include <algorithm>
#include <optional>

#include "suf/cpu/bulk.hpp"
#include "suf/cpu/lane.hpp"
#include "suf/fss/table.hpp"
#include "suf/pfss/poly.hpp"
#include "suf/ring/modular.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

void PackedExecutor::Take(int i) {
  const Node& n = node(i);
  size_t m = size_t(arg(n, 0).shape.back());
  auto at = Words<uint32_t>(n.args[1], true);
  auto p = Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = Words<T>(n.args[0], false);
    for (size_t k = 0; k < count(i); ++k) {
      SUF_CHECK(at.get()[k] < m);
      As<T>(p.get())[k] = x.get()[k * m + at.get()[k]];
    }
  });
}

void PackedExecutor::RotSum(const Instruction& ins, Host& host) {
  const int i = ins.node;
  const Node& n = node(i);
  const Shape& sa = arg(n, 0).shape;
  size_t m = size_t(sa.back()), len = size_t(sa[sa.size() - 2]), rows = count(i) / m;
  const size_t packed = n.attrs.empty() ? 0 : size_t(n.attrs[0]);  // rows of a triangle
  const size_t most = m * (packed ? packed : len);
  auto at = Words<uint32_t>(n.args[1], true);
  auto p = Make(i);
  std::optional<Cut> drawn;
  if (!ins.members.empty()) drawn.emplace(CutOf(ins, host));
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = drawn ? nullptr : Words<T>(n.args[0], false);
    pool_.For(rows, std::max<size_t>(1, kGrain / (m * len)), [&](size_t lo, size_t hi) {
      const auto add = strips_.binary[Code(sizeof(T))][kPlus];
      std::vector<T> sum(m);
      WipedVector<T> terms(drawn ? most : 0);
      for (size_t r = lo; r < hi; ++r) {
        std::fill(sum.begin(), sum.end(), T(0));
        size_t row = packed ? r % packed : 0, begin = packed ? r / packed * len + row * (row + 1) / 2 : r * len;
        const size_t count = packed ? row + 1 : len;
        const T* u = drawn ? terms.data() : x.get() + begin * m;
        if (drawn) Draw(ins, *drawn, host, begin * m, count * m, sizeof(T), terms.data());
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

void PackedExecutor::Turn(int i) {
  const Node& n = node(i);
  const int width = arg(n, 0).ring.bits;
  const size_t size = size_t{1} << width;
  auto r = Words<uint64_t>(n.args[0], true);
  auto p = Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto table = Words<T>(n.args[1], false);
    pool_.For(count(i) / size, std::max<size_t>(1, kGrain / size), [&](size_t lo, size_t hi) {
      WipedVector<T> spare(size);
      for (size_t k = lo; k < hi; ++k)
        strips_.turn[Code(sizeof(T))](table.get(), r.get()[k], width, spare.data(), As<T>(p.get()) + k * size);
    });
  });
}

void PackedExecutor::Unbits(int i) {
  const Node& n = node(i);
  const size_t stride = size_t(element(n.args[0])), m = size_t(n.shape[0]), rows = count(n.args[0]);
  auto p = Make(i);
  const PackedTensor& x = in(n, 0);
  SUF_CHECK(!x.splat && x.element == int(stride) && element(i) == 1);
  pool_.For(rows, std::max<size_t>(64, kGrain * 64 / m / 64 * 64),
            [&](size_t lo, size_t hi) { strips_.unbits(x.at(lo), stride, m, rows, hi - lo, p.get() + lo); });
}

}  // namespace suf::cpu
