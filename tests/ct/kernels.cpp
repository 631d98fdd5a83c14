#include <algorithm>
#include <random>

#include "suf/base/bytes.hpp"
#include "suf/fss/dcf.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/fss/prg.hpp"
#include "suf/fss/table.hpp"
#include "suf/ring/gemm.hpp"
#include "suf/ring/pack.hpp"
#include "tests/ct/cases.hpp"

namespace suf::ct {
namespace {

class Maker {
 public:
  explicit Maker(ring::Isa v) : v_(v) {}
  void Streams();
  void Trees();
  void Comparisons();
  void Tables();
  template <class T>
  void Words();
  template <class T>
  void Products(std::initializer_list<int> rings);
  std::vector<Case> Take() { return std::move(cases_); }

 private:
  template <class T>
  std::vector<T> Public(size_t n) {
    std::vector<T> x(n);
    for (T& w : x) w = T(rng_());
    return x;
  }
  template <class T>
  void Lookups(int w, size_t tables, const std::vector<uint16_t>& at);
  void Add(Case c, std::function<void()> run) {
    c.run = std::move(run);
    cases_.push_back(std::move(c));
  }

  ring::Isa v_;
  std::mt19937_64 rng_{1};
  std::vector<Case> cases_;
};

void Maker::Streams() {
  for (size_t bytes : {16, 100, 5000}) {
    Case c{Str("prg ", bytes, " bytes")};
    auto key = c.Secret<uint8_t>(32), out = c.Out<uint8_t>(bytes);
    Add(c, [=, v = v_] { fss::Prg(::suf::Secret(View(*key)), Hash{}, 0, v).At(3).Fill(32, *out); });
  }
}

void Maker::Trees() {
  constexpr size_t kKeys = 2 * fss::kDpfTile + 3;
  for (int n : {8, 9, 33, 64}) {
    const fss::DpfContext ctx{{1, 2, 3}, 7, n};
    const size_t key_bytes = kKeys * fss::DpfKeyBytes(n);
    {
      Case c{Str("dpf gen ", n)};
      auto alpha = c.Secret<uint64_t>(kKeys);
      auto root0 = c.Roots(kKeys), root1 = c.Roots(kKeys), cw = c.Out<uint8_t>(key_bytes);
      Add(c, [=, v = v_] { fss::DpfGen(ctx, alpha->data(), root0->data(), root1->data(), kKeys, cw->data(), v); });
    }
    for (int level : {0, 3, 7, 8}) {
      if (level == n) continue;  // the party itself evaluates these
      Case c{Str("dpf point ", n, ", level ", level)};
      auto root = c.Roots(kKeys), cw = c.Secret<uint8_t>(key_bytes);
      auto x = c.Secret<uint64_t>(kKeys), bit = c.Out<uint64_t>(kKeys);
      Add(c, [=, v = v_] { fss::DpfPoint(ctx, 0, root->data(), cw->data(), level, x->data(), kKeys, bit->data(), v); });
    }
    const uint64_t low = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    for (int m : {64, 200}) {
      for (int level : {0, 5, 9}) {
        if (n < 33 && level) continue;
        Case c{Str("dpf window ", n, ", ", m, ", level ", level)};
        auto root = c.Roots(kKeys), cw = c.Secret<uint8_t>(key_bytes);
        auto lo = Public<uint64_t>(kKeys);
        for (uint64_t& a : lo) a &= low;
        auto out = c.Out<uint64_t>(kKeys * size_t((m + 63) / 64));
        Add(c, [=, v = v_] {
          fss::DpfWindow(ctx, 1, root->data(), cw->data(), level, lo.data(), kKeys, m, out->data(), v);
        });
      }
    }
    {
      Case c{Str("dpf parity ", n)};
      auto root = c.Roots(kKeys), cw = c.Secret<uint8_t>(key_bytes);
      auto x = Public<uint64_t>(3 * kKeys);
      auto out = c.Out<uint64_t>(kKeys);
      Add(c, [=, v = v_] { fss::DpfParity(ctx, 1, root->data(), cw->data(), x.data(), kKeys, 3, out->data(), v); });
    }
    if (n > 9) continue;
    {
      Case c{Str("dpf domain ", n)};
      auto root = c.Roots(kKeys), cw = c.Secret<uint8_t>(key_bytes);
      const std::vector<uint64_t> lo(kKeys);
      auto out = c.Out<uint64_t>(kKeys << (n - 6));
      Add(c, [=, v = v_] {
        fss::DpfWindow(ctx, 0, root->data(), cw->data(), 0, lo.data(), kKeys, 1 << n, out->data(), v);
      });
    }
    Case c{Str("dpf dense ", n)};
    auto root = c.Roots(kKeys), cw = c.Secret<uint8_t>(key_bytes);
    auto x = Public<uint64_t>(kKeys), table = Public<uint64_t>(size_t{1} << n);
    auto out = c.Out<uint64_t>(kKeys);
    Add(c, [=, v = v_] {
      fss::DpfDense(ctx, 0, root->data(), cw->data(), x.data(), table.data(), kKeys, out->data(), v);
    });
  }
}

void Maker::Comparisons() {
  constexpr size_t kKeys = fss::kDpfTile + 7;
  for (int n : {1, 33, 64, 121}) {
    for (auto [words, bits] : {std::pair{1, 64}, {1, 20}, {3, 64}, {5, 31}}) {
      const fss::DcfContext ctx{{1, 2, 3}, 7, n, words, bits};
      const size_t key_bytes = kKeys * fss::ElementBytes(int(fss::DcfKeyBits(n, words, bits)));
      {
        Case c{Str("dcf gen ", n, ", ", words, " words of ", bits)};
        auto alpha = c.Secret<uint64_t>(kKeys * fss::DcfWords(n)), beta = c.Secret<uint64_t>(kKeys * size_t(words));
        auto root0 = c.Roots(kKeys), root1 = c.Roots(kKeys);
        auto key = c.Out<uint8_t>(key_bytes);
        Add(c, [=, v = v_] {
          fss::DcfGen(ctx, alpha->data(), beta->data(), root0->data(), root1->data(), kKeys, key->data(), v);
        });
      }
      Case c{Str("dcf eval ", n, ", ", words, " words of ", bits)};
      auto root = c.Roots(kKeys), key = c.Secret<uint8_t>(key_bytes);
      auto x = Public<uint64_t>(2 * kKeys * fss::DcfWords(n));
      auto out = c.Out<uint64_t>(2 * kKeys * size_t(words));
      Add(c, [=, v = v_] { fss::DcfEval(ctx, 1, root->data(), key->data(), x.data(), kKeys, 2, out->data(), v); });
    }
  }
}

template <class T>
void Maker::Lookups(int w, size_t tables, const std::vector<uint16_t>& at) {
  const size_t n = at.size();
  auto a = Public<T>(size_t{1} << w), b = Public<T>(size_t{1} << w);  // tables are part of the plan
  {
    Case c{Str("select ", w, ", u", 8 * sizeof(T))};
    auto t = c.Secret<uint8_t>(tables);
    auto x = c.Out<T>(n), y = c.Out<T>(n);
    Add(c, [=, v = v_] {
      const T* columns[] = {a.data(), b.data()};
      T* out[] = {x->data(), y->data()};
      fss::Select<T>(w, t->data(), at.data(), columns, n, out, v);
    });
  }
  {
    Case c{Str("selectx ", w, ", u", 8 * sizeof(T))};
    auto t = c.Secret<uint8_t>(tables);
    auto x = c.Out<T>(n), y = c.Out<T>(n);
    Add(c, [=, v = v_] {
      const T* columns[] = {a.data(), b.data()};
      T* out[] = {x->data(), y->data()};
      fss::SelectX<T>(w, t->data(), at.data(), columns, n, out, v);
    });
  }
  Case c{Str("dot ", w, ", u", 8 * sizeof(T))};
  auto bits = c.Secret<uint64_t>(n * 16);
  auto x = c.Out<T>(n);
  Add(c, [=, v = v_] { fss::Dot<T>(bits->data(), 16, 5, std::min(1 << w, 700), a.data(), n, x->data(), v); });
}

void Maker::Tables() {
  constexpr size_t kTables = 77;
  for (int w = 1; w <= fss::kMaxTableWidth; ++w) {
    const size_t bytes = kTables * fss::TableBytes(w);
    auto at = Public<uint16_t>(kTables);
    for (uint16_t& x : at) x &= uint16_t((1 << w) - 1);
    {
      Case c{Str("hot ", w)};
      auto pos = c.Secret<uint16_t>(kTables);
      auto t = c.Out<uint8_t>(bytes);
      Add(c, [=, v = v_] { fss::Hot(w, pos->data(), kTables, t->data(), v); });
    }
    {
      Case c{Str("cmp ", w)};
      auto t = c.Secret<uint8_t>(bytes), out = c.Out<uint8_t>(kTables);
      Add(c, [=, v = v_] { fss::Cmp(w, t->data(), at.data(), kTables, out->data(), v); });
    }
    {
      Case c{Str("point ", w)};
      auto t = c.Secret<uint8_t>(bytes), out = c.Out<uint8_t>(kTables);
      auto pos = c.Secret<uint16_t>(kTables);
      Add(c, [=, v = v_] { fss::Point(w, t->data(), pos->data(), kTables, out->data(), v); });
    }
    for (int m : {1, 1 << w}) {
      Case c{Str("rotate ", w, ", ", m)};
      auto t = c.Secret<uint8_t>(bytes);
      auto words = c.Out<uint64_t>(kTables * size_t((m + 63) / 64));
      Add(c, [=, v = v_] { fss::Rotate(w, t->data(), at.data(), m, kTables, words->data(), v); });
    }
    {
      Case c{Str("above ", w)};
      auto t = c.Secret<uint8_t>(bytes);
      auto words = c.Out<uint64_t>(2 * kTables);
      Add(c, [=, v = v_] { fss::Above(w, t->data(), at.data(), at, kTables, words->data(), v); });
    }
    {
      Case c{Str("dense ", w)};
      auto t = c.Secret<uint8_t>(bytes);
      auto words = c.Out<uint64_t>(kTables);
      auto table = Public<uint64_t>(size_t{1} << w);
      Add(c, [=, v = v_] { fss::Dense(w, t->data(), at.data(), table.data(), 5, kTables, words->data(), v); });
    }
    Lookups<uint32_t>(w, bytes, at);
    Lookups<uint64_t>(w, bytes, at);
  }
}

template <class T>
void Maker::Words() {
  constexpr size_t kWords = 333;
  for (int k = 1; k <= int(8 * sizeof(T)); ++k) {
    {
      Case c{Str("pack u", 8 * sizeof(T), ", ", k)};
      auto x = c.Secret<T>(kWords);
      auto packed = c.Out<uint8_t>(ring::PackedBytes(kWords, k));
      Add(c, [=, v = v_] { ring::Pack<T>(x->data(), kWords, k, packed->data(), v); });
    }
    Case c{Str("unpack u", 8 * sizeof(T), ", ", k)};
    auto packed = c.Secret<uint8_t>(ring::PackedBytes(kWords, k));
    auto x = c.Out<T>(kWords);
    Add(c, [=, v = v_] { ring::Unpack<T>(packed->data(), kWords, k, x->data(), v); });
  }
}

template <class T>
void Maker::Products(std::initializer_list<int> rings) {
  constexpr size_t kM = 5, kN = 19, kK = 33;
  // Prepare tests whether all weights fit 16 bits, which is public. Weights of 0xa5 bytes do not, as random ones.
  constexpr uint8_t kLarge = 0xa5;
  auto pool = std::make_shared<exec::Pool>(1);
  for (int bits : rings) {
    for (auto layout : {ring::MatrixOrder::kPlain, ring::MatrixOrder::kTransposed}) {
      Case c{Str("gemm u", 8 * sizeof(T), ", ", bits, layout == ring::MatrixOrder::kPlain ? "" : ", transposed")};
      c.fixed = kLarge;
      auto a = c.Secret<T>(kM * kK), b = c.Secret<T>(kK * kN), out = c.Out<T>(kM * kN);
      Add(c, [=, v = v_] {
        ring::Gemm<T>(kM, kN, kK, a->data(), kK, b->data(), layout == ring::MatrixOrder::kPlain ? kN : kK, layout,
                      out->data(), kN, false, *pool, bits, v);
      });
    }
    Case c{Str("multiply u", 8 * sizeof(T), ", ", bits)};
    c.fixed = kLarge;
    auto a = c.Secret<T>(kM * kK), b = c.Secret<T>(kK * kN), out = c.Out<T>(kM * kN);
    Add(c, [=, v = v_] {
      ring::Multiply<T>(a->data(), kK, kM, ring::Prepare<T>(b->data(), kK, kN, kN, bits, v), out->data(), kN, true,
                        *pool);
    });
  }
}

}  // namespace

std::vector<Case> Cases(ring::Isa v) {
  Maker m(v);
  m.Streams();
  m.Trees();
  m.Comparisons();
  m.Tables();
  m.Words<uint8_t>();
  m.Words<uint16_t>();
  m.Words<uint32_t>();
  m.Words<uint64_t>();
  m.Products<uint16_t>({16});
  m.Products<uint32_t>({32});
  m.Products<uint64_t>({52, 64});
  return m.Take();
}

}  // namespace suf::ct
