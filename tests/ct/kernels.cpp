#include <algorithm>
#include <random>

#include "suf/base/digest.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/fss/prg.hpp"
#include "suf/fss/table.hpp"
#include "suf/ring/gemm.hpp"
#include "suf/ring/pack.hpp"
#include "tests/ct/secrets.hpp"

namespace suf::ct {
namespace {

std::mt19937_64 rng(1);

template <class T>
std::vector<T> Random(size_t n) {
  std::vector<T> v(n);
  for (T& x : v) x = T(rng());
  return v;
}
template <class T>
std::vector<T> Secret(size_t n) {
  std::vector<T> v = Random<T>(n);
  Hide(v);
  return v;
}

// Poisoned results are no proof that secrets arrived: outputs start as known zeros and must end hidden.
template <class T>
void Arrived(const std::vector<T>& out) {
  SUF_CHECK(Hidden(out) >= out.size() / 2);
}

void Streams(ring::Variant v) {
  Hash key = RandomHash(), rho{};
  Hide(key);
  fss::Prg prg(::suf::Secret(View(key)), rho, 0, v);
  auto section = prg.At(3);
  for (size_t bytes : {16, 100, 5000}) {
    Bytes out(bytes);
    section.Fill(32, out);
    Arrived(out);
  }
}

void Trees(ring::Variant v) {
  constexpr size_t kKeys = 2 * fss::kDpfTile + 3;
  for (int n : {8, 9, 33, 64}) {
    fss::DpfContext ctx{{1, 2, 3}, 7, n};
    auto alpha = Secret<uint64_t>(kKeys);
    auto root0 = Secret<uint8_t>(16 * kKeys), root1 = Secret<uint8_t>(16 * kKeys);
    Bytes cw(kKeys * fss::DpfKeyBytes(n));
    fss::DpfGen(ctx, alpha.data(), root0.data(), root1.data(), kKeys, cw.data(), v);
    Arrived(cw);
    auto x = Secret<uint64_t>(kKeys);
    std::vector<uint64_t> bit(kKeys);
    fss::DpfPoint(ctx, 0, root0.data(), cw.data(), x.data(), kKeys, bit.data(), v);
    Arrived(bit);
    for (int m : {64, 200}) {
      auto lo = Random<uint64_t>(kKeys);
      for (uint64_t& a : lo) a &= n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
      std::vector<uint64_t> out(kKeys * size_t((m + 63) / 64));
      fss::DpfWindow(ctx, 1, root1.data(), cw.data(), lo.data(), kKeys, m, out.data(), v);
      Arrived(out);
    }
  }
}

template <class T>
void Lookups(int w, const Bytes& tables, const std::vector<uint16_t>& at, ring::Variant v) {
  const size_t n = at.size();
  auto a = Random<T>(size_t{1} << w), b = Random<T>(size_t{1} << w);  // public: they travel in the plan
  std::vector<T> x(n), y(n);
  const T* columns[] = {a.data(), b.data()};
  T* out[] = {x.data(), y.data()};
  fss::Select<T>(w, tables.data(), at.data(), columns, n, out, v);
  Arrived(x), Arrived(y);
  auto bits = Secret<uint64_t>(n * 16);
  std::fill(x.begin(), x.end(), T(0));
  fss::Dot<T>(bits.data(), 16, 5, std::min(1 << w, 700), a.data(), n, x.data(), v);
  Arrived(x);
}

void Tables(ring::Variant v) {
  constexpr size_t kTables = 77;
  for (int w = 1; w <= fss::kMaxTableWidth; ++w) {
    auto pos = Secret<uint16_t>(kTables);
    Bytes tables(kTables * fss::TableBytes(w));
    fss::Hot(w, pos.data(), kTables, tables.data(), v);
    Arrived(tables);
    auto at = Random<uint16_t>(kTables);
    for (uint16_t& x : at) x &= uint16_t((1 << w) - 1);
    Bytes out(kTables);
    fss::Cmp(w, tables.data(), at.data(), kTables, out.data(), v);
    Arrived(out);
    std::fill(out.begin(), out.end(), uint8_t{0});
    fss::Point(w, tables.data(), pos.data(), kTables, out.data(), v);
    Arrived(out);
    for (int m : {1, 1 << w}) {
      std::vector<uint64_t> words(kTables * size_t((m + 63) / 64));
      fss::Rotate(w, tables.data(), at.data(), m, kTables, words.data(), v);
      Arrived(words);
    }
    Lookups<uint32_t>(w, tables, at, v), Lookups<uint64_t>(w, tables, at, v);
  }
}

template <class T>
void Words(ring::Variant v) {
  constexpr size_t kWords = 333;
  for (int k = 1; k <= int(8 * sizeof(T)); ++k) {
    auto x = Secret<T>(kWords);
    Bytes packed(ring::PackedBytes(kWords, k));
    ring::Pack<T>(x.data(), kWords, k, packed.data(), v);
    Arrived(packed);
    std::vector<T> back(kWords);
    ring::Unpack<T>(packed.data(), kWords, k, back.data(), v);
    Arrived(back);
  }
}

template <class T>
void Products(ring::Variant v, std::initializer_list<int> rings) {
  constexpr size_t kM = 5, kN = 19, kK = 33;
  exec::Pool pool(1);
  for (int bits : rings) {
    auto a = Secret<T>(kM * kK), b = Secret<T>(kK * kN);
    for (auto layout : {ring::Layout::kPlain, ring::Layout::kTransposed}) {
      std::vector<T> c(kM * kN);
      ring::Gemm<T>(kM, kN, kK, a.data(), kK, b.data(), layout == ring::Layout::kPlain ? kN : kK, layout, c.data(), kN,
                    false, pool, bits, v);
      Arrived(c);
    }
    std::vector<T> c(kM * kN);
    ring::Multiply<T>(a.data(), kK, kM, ring::Prepare<T>(b.data(), kK, kN, kN, bits, v), c.data(), kN, true, pool);
    Arrived(c);
  }
}

}  // namespace

void Kernels(ring::Variant v) {
  Streams(v), Trees(v), Tables(v);
  Words<uint8_t>(v), Words<uint16_t>(v), Words<uint32_t>(v), Words<uint64_t>(v);
  Products<uint16_t>(v, {16}), Products<uint32_t>(v, {32}), Products<uint64_t>(v, {52, 64});
}

}  // namespace suf::ct
