// Bulk operations on tables: unit vectors and one-hot strings, their reads, the borrow polynomial's monomials, trees.
// Each splits over the pool by rows.
#include <algorithm>

#include "suf/backends/internal/bulk.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/fss/table.hpp"
#include "suf/pfss/poly.hpp"
#include "suf/ring/words.hpp"

namespace suf::backends::internal {

using namespace pfss;  // NOLINT: the whole file speaks of traces

void PackedExecutor::Unit(int i) {
  const Node& n = node(i);
  size_t m = size_t(n.attrs[0]), rows = count(i) / m;
  auto x = Words<uint32_t>(n.args[0], true);
  auto p = Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    T* out = As<T>(p.get());
    // every place is compared: the index is a secret
    pool_.For(rows, std::max<size_t>(1, kGrain / m), [&](size_t lo, size_t hi) {
      for (size_t r = lo; r < hi; ++r)
        for (size_t v = 0; v < m; ++v) out[r * m + v] = T(uint32_t(v) == x.get()[r]);
    });
  });
}

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

void PackedExecutor::RotSum(int i) {
  const Node& n = node(i);
  const Shape& sa = arg(n, 0).shape;
  size_t m = size_t(sa.back()), len = size_t(sa[sa.size() - 2]), rows = count(i) / m;
  auto at = Words<uint32_t>(n.args[1], true);
  auto p = Make(i);
  By(element(i), [&](auto zero) {
    using T = decltype(zero);
    auto x = Words<T>(n.args[0], false);
    pool_.For(rows, std::max<size_t>(1, kGrain / (m * len)), [&](size_t lo, size_t hi) {
      std::vector<T> sum(m);
      for (size_t r = lo; r < hi; ++r) {
        std::fill(sum.begin(), sum.end(), T(0));
        // sum[v] over u[(i + v) mod m]: two runs; mirrored at the end
        for (size_t j = 0; j < len; ++j) {
          const T* u = x.get() + (r * len + j) * m;
          size_t k = at.get()[r * len + j] % m;
          for (size_t v = 0; v < m - k; ++v) sum[v] += u[k + v];
          for (size_t v = 0; v < k; ++v) sum[m - k + v] += u[v];
        }
        for (size_t v = 0; v < m; ++v) As<T>(p.get())[r * m + v] = sum[(m - v) % m];
      }
    });
  });
}

void PackedExecutor::Hot(int i) {
  const Node& n = node(i);
  auto x = Words<uint16_t>(n.args[0], true);
  auto p = Make(i);
  pool_.For(count(i), kGrain, [&](size_t lo, size_t hi) {
    fss::Hot(Log2(n.ring.bits), x.get() + lo, hi - lo, p.get() + lo * size_t(element(i)), variant_);
  });
}

void PackedExecutor::Digits(int i) {
  const Node& n = node(i);
  const Tensor& z = in(n, 0);
  SUF_CHECK(z.element <= 8 && !z.splat);
  auto p = Make(i);
  int wide = z.element == 8;
  pool_.For(count(i), kGrain, [&](size_t a, size_t b) {
    uint64_t words[kStrip];
    uint16_t digit[kStrip];
    uint8_t cmp[kStrip];
    uint32_t h[kStrip];
    for (size_t lo = a; lo < b; lo += kStrip) {
      size_t m = std::min(kStrip, b - lo);
      strips_.move[Code(z.element)][wide ? 3 : 2](z.at(lo), m, words);
      int shift = 0;
      for (size_t j = 0; j < n.attrs.size(); ++j) {
        int w = int(n.attrs[j]);
        strips_.digit[wide](words, shift, w, m, digit);
        fss::Cmp(w, in(n, j + 1).at(lo), digit, m, cmp, variant_);
        strips_.file(cmp, int(j), m, h);
        shift += w;
      }
      strips_.move[2][Code(element(i))](h, m, p.get() + lo * size_t(element(i)));
    }
  });
}

void PackedExecutor::Mono(int i) {
  size_t rows = count(node(i).args[0]), e = size_t(element(i));
  auto rho = Words<uint32_t>(node(i).args[0], true);
  auto p = Make(i);
  pool_.For(rows, kGrain / 4, [&](size_t a, size_t b) {
    for (size_t lo = a; lo < b; lo += kStrip)
      strips_.mono(rho.get() + lo, int(node(i).attrs[0]), int(e), rows, std::min(kStrip, b - lo), p.get() + lo * e);
  });
}

void PackedExecutor::MonoX(int i) {
  auto rho = Words<uint32_t>(node(i).args[0], true);
  auto p = Make(i);
  size_t e = size_t(element(i));
  SUF_CHECK(e <= 64);
  pool_.For(count(i), kGrain / 4, [&](size_t lo, size_t hi) {
    strips_.monox(rho.get() + lo, int(node(i).attrs[0]), e, hi - lo, p.get() + lo * e);
  });
}

void PackedExecutor::BorrowX(int i) {
  const Node& n = node(i);
  auto h = Words<uint32_t>(n.args[0], true);
  auto rho = Words<uint32_t>(n.args[1], true);
  auto p = Make(i);
  pool_.For(count(i), kGrain / 4, [&](size_t lo, size_t hi) {
    const uint8_t* groups[16];
    size_t stride[16];
    for (size_t j = 2; j < n.args.size(); ++j)
      groups[j - 2] = in(n, j).at(lo), stride[j - 2] = size_t(in(n, j).element);
    strips_.borrowx(h.get() + lo, rho.get() + lo, groups, stride, int(n.attrs[0]), hi - lo, p.get() + lo);
  });
}

void PackedExecutor::Reads(int i) {
  const Node& n = node(i);
  const Tensor& t = in(n, 0);
  size_t rows = count(n.args[0]);
  int w = Log2(arg(n, 0).ring.bits);
  if (n.op == Op::kDot) {
    auto p = Make(i);
    const std::vector<uint64_t>& table = *arg(n, 1).data;
    std::shared_ptr<const uint64_t> words;  // short strings, one a word
    if (t.element < 8) words = Words<uint64_t>(n.args[0], true);
    const uint64_t* b = words ? words.get() : As<uint64_t>(t.data.get());
    size_t stride = size_t(std::max(8, t.element)) / 8;
    std::vector<uint64_t> out(rows);
    pool_.For(rows, 64, [&](size_t lo, size_t hi) {
      fss::Dot<uint64_t>(b + lo * stride, stride, int(n.attrs[0]), int(table.size()), table.data(), hi - lo,
                         out.data() + lo, variant_);
    });
    strips_.move[3][Code(element(i))](out.data(), rows, p.get());
    return;
  }
  auto at = Words<uint16_t>(n.args[1], true);
  auto row = [&](size_t lo) { return t.at(lo); };
  if (n.op == Op::kPoint) {
    auto p = Make(i);
    pool_.For(rows, kGrain,
              [&](size_t lo, size_t hi) { fss::Point(w, row(lo), at.get() + lo, hi - lo, p.get() + lo, variant_); });
  } else if (n.op == Op::kRotate) {
    auto p = Make(i);
    size_t words = size_t(n.ring.bits + 63) / 64;
    std::vector<uint64_t> out(rows * words);
    pool_.For(rows, 256, [&](size_t lo, size_t hi) {
      fss::Rotate(w, row(lo), at.get() + lo, int(n.attrs[0]), hi - lo, out.data() + lo * words, variant_);
    });
    if (element(i) >= 8)
      std::memcpy(p.get(), out.data(), out.size() * 8);
    else
      strips_.move[3][Code(element(i))](out.data(), rows, p.get());
    Wipe(out.data(), out.size() * 8);
  } else {
    const Node& tables = arg(n, 2);
    size_t columns = size_t(tables.shape[0]), m = size_t(tables.shape[1]);
    auto p = Make(i);
    auto select = [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> table(tables.data->begin(), tables.data->end());
      std::shared_ptr<uint8_t> room = element(i) == int(sizeof(T)) ? p : arena_.Take(columns * rows * sizeof(T));
      pool_.For(rows, 1024, [&](size_t lo, size_t hi) {
        for (size_t c = 0; c < columns; c += 2) {
          const T* tab[2] = {table.data() + c * m, table.data() + (c + 1) * m};
          T* out[2] = {As<T>(room.get()) + c * rows + lo, As<T>(room.get()) + (c + 1) * rows + lo};
          size_t now = std::min<size_t>(2, columns - c);
          fss::Select<T>(w, row(lo), at.get() + lo, std::span<const T* const>(tab, now), hi - lo, out, variant_);
        }
      });
      if (room != p) strips_.move[Code(sizeof(T))][Code(element(i))](room.get(), columns * rows, p.get());
    };
    if (element(i) <= 4)
      select(uint32_t{});
    else
      select(uint64_t{});
  }
}

void PackedExecutor::Trees(int i, Host& host) {
  const Node& n = node(i);
  size_t rows = count(i);
  auto p = Make(i);
  fss::DpfContext ctx{host.randomness.TreeKey(), 0, 0};
  if (n.op == Op::kDpfGen) {
    ctx.program = uint32_t(n.attrs[0]), ctx.n = arg(n, 0).ring.bits;
    auto alpha = Words<uint64_t>(n.args[0], true);
    fss::DpfGen(ctx, alpha.get(), in(n, 1).data.get(), in(n, 2).data.get(), rows, p.get(), variant_);
    return;
  }
  ctx.program = uint32_t(n.attrs[3]), ctx.n = int(n.attrs[1]);
  int m = int(n.attrs[2]);
  size_t words = size_t(m + 63) / 64;
  auto lo = Words<uint64_t>(n.args[2], true);
  std::vector<uint64_t> out(rows * words);
  fss::DpfWindow(ctx, int(n.attrs[0]), in(n, 0).data.get(), in(n, 1).data.get(), lo.get(), rows, m, out.data(),
                 variant_);
  if (element(i) >= 8)
    std::memcpy(p.get(), out.data(), out.size() * 8);
  else
    strips_.move[3][Code(element(i))](out.data(), rows, p.get());
  Wipe(out.data(), out.size() * 8);
}

}  // namespace suf::backends::internal
