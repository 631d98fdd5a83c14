#include "suf/fss/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "suf/ring/modular.hpp"

namespace suf::fss {
namespace {

// n random tables of width w, indices, and the bits of the tables as an array. The bits of a byte that do not count are
// random.
struct Tables {
  int w;
  size_t n, size;
  std::vector<uint8_t> t;
  std::vector<uint16_t> a;
  Tables(int width, size_t count, std::mt19937_64& rng)
      : w(width), n(count), size(size_t{1} << width), t(TableBytes(width) * count), a(count) {
    for (uint8_t& b : t) b = uint8_t(rng());
    for (uint16_t& x : a) x = uint16_t(rng() % size);
  }
  int Bit(size_t i, size_t j) const { return t[i * TableBytes(w) + j / 8] >> (j % 8) & 1; }
};

template <class T>
std::vector<T> Poisoned(size_t n) {
  return std::vector<T>(n + 1, T(0xa5a5a5a5a5a5a5a5));
}

void ExpectReads(const Tables& t, Isa v) {
  auto got = Poisoned<uint8_t>(t.n), want = got, point = got, bit = got;
  for (size_t i = 0; i < t.n; ++i) {
    int above = 0;
    for (size_t j = size_t(t.a[i]) + 1; j < t.size; ++j) above ^= t.Bit(i, j);
    bit[i] = uint8_t(t.Bit(i, t.a[i]));
    want[i] = uint8_t(above | bit[i] << 1);
  }
  Cmp(t.w, t.t.data(), t.a.data(), t.n, got.data(), v);
  ASSERT_EQ(got, want) << ring::Name(v) << " w " << t.w;
  Point(t.w, t.t.data(), t.a.data(), t.n, point.data(), v);
  ASSERT_EQ(point, bit) << ring::Name(v) << " w " << t.w;
  for (int m : {1, 7, int(t.size), 64, 65, 200}) {
    const size_t words = size_t(m + 63) / 64;
    auto turned = Poisoned<uint64_t>(t.n * words), expect = turned;
    for (size_t i = 0; i < t.n * words; ++i) expect[i] = 0;
    for (size_t i = 0; i < t.n; ++i) {
      for (size_t j = 0; j < size_t(m); ++j) {
        expect[i * words + j / 64] |= uint64_t(t.Bit(i, (t.a[i] + j) % t.size)) << (j % 64);
      }
    }
    Rotate(t.w, t.t.data(), t.a.data(), m, t.n, turned.data(), v);
    ASSERT_EQ(turned, expect) << ring::Name(v) << " w " << t.w << " m " << m;
  }
}

// Expects that `select` of one column and of two reads column[place(i, j)] if bit j of table i is set.
template <class T, class Select, class Place>
void ExpectColumns(const Tables& t, Isa v, std::mt19937_64& rng, Select select, Place place) {
  std::vector<T> column[2];
  std::vector<T> want[2], got[2];
  for (int c = 0; c < 2; ++c) {
    column[c].resize(t.size);
    want[c] = got[c] = Poisoned<T>(t.n);
    for (T& x : column[c]) x = T(rng());
    for (size_t i = 0; i < t.n; ++i) {
      want[c][i] = 0;
      for (size_t j = 0; j < t.size; ++j) want[c][i] += T(t.Bit(i, j)) * column[c][place(i, j)];
    }
  }
  const T* const columns[] = {column[0].data(), column[1].data()};
  T* const out[] = {got[0].data(), got[1].data()};
  select(std::span(columns).first(1), out);
  ASSERT_EQ(got[0], want[0]) << ring::Name(v) << " w " << t.w;
  std::fill(got[0].begin(), got[0].end() - 1, T(7));
  select(std::span(columns), out);
  ASSERT_EQ(got[0], want[0]) << ring::Name(v) << " w " << t.w;
  ASSERT_EQ(got[1], want[1]) << ring::Name(v) << " w " << t.w;
}
template <class T>
void ExpectSelect(const Tables& t, Isa v, std::mt19937_64& rng) {
  ExpectColumns<T>(
      t, v, rng,
      [&](std::span<const T* const> columns, T* const* out) {
        Select<T>(t.w, t.t.data(), t.a.data(), columns, t.n, out, v);
      },
      [&](size_t i, size_t j) { return (t.a[i] - j) & (t.size - 1); });
}
template <class T>
void ExpectSelectX(const Tables& t, Isa v, std::mt19937_64& rng) {
  ExpectColumns<T>(
      t, v, rng,
      [&](std::span<const T* const> columns, T* const* out) {
        SelectX<T>(t.w, t.t.data(), t.a.data(), columns, t.n, out, v);
      },
      [&](size_t i, size_t j) { return t.a[i] ^ j; });
}

void ExpectLists(const Tables& t, Isa v, std::mt19937_64& rng) {
  for (size_t m : {1, 7, 63, 64, 65, 200}) {
    std::vector<uint16_t> b(m);
    for (uint16_t& x : b) x = uint16_t(rng() % t.size);
    const size_t words = (m + 63) / 64;
    auto got = Poisoned<uint64_t>(t.n * words), want = got;
    for (size_t i = 0; i < t.n * words; ++i) want[i] = 0;
    for (size_t i = 0; i < t.n; ++i)
      for (size_t j = 0; j < m; ++j)
        for (size_t u = ((t.a[i] - b[j]) & (t.size - 1)) + 1; u < t.size; ++u)
          want[i * words + j / 64] ^= uint64_t(t.Bit(i, u)) << (j % 64);
    Above(t.w, t.t.data(), t.a.data(), b, t.n, got.data(), v);
    ASSERT_EQ(got, want) << ring::Name(v) << " w " << t.w << " m " << m;
  }
  std::vector<uint64_t> table(t.size);
  for (uint64_t& x : table) x = rng();
  for (int bits : {1, 7, 33, 64}) {
    auto got = Poisoned<uint64_t>(t.n), want = got;
    for (size_t i = 0; i < t.n; ++i) {
      want[i] = 0;
      for (size_t j = 0; j < t.size; ++j)
        if (t.Bit(i, j)) want[i] ^= table[(t.a[i] - j) & (t.size - 1)] & ring::Mask(bits);
    }
    Dense(t.w, t.t.data(), t.a.data(), table.data(), bits, t.n, got.data(), v);
    ASSERT_EQ(got, want) << ring::Name(v) << " w " << t.w << " bits " << bits;
  }
}

TEST(Table, EveryVariantEqualsTheDefinition) {
  std::mt19937_64 rng(10);
  for (Isa v : ring::Supported()) {
    for (int w = 1; w <= kMaxTableWidth; ++w) {
      for (size_t n : {0, 1, 7, 63, 64, 65, 200}) {
        const Tables t(w, n, rng);
        ExpectReads(t, v);
        ExpectSelect<uint32_t>(t, v, rng);
        ExpectSelect<uint64_t>(t, v, rng);
        ExpectSelectX<uint32_t>(t, v, rng);
        ExpectSelectX<uint64_t>(t, v, rng);
        if (n <= 65) ExpectLists(t, v, rng);
      }
    }
  }
}

// w <= 3: tests every table at every index.
TEST(Table, Exhaustive) {
  std::mt19937_64 rng(11);
  for (Isa v : ring::Supported()) {
    for (int w = 1; w <= 3; ++w) {
      const size_t size = size_t{1} << w;
      Tables t(w, size << size, rng);
      for (size_t i = 0; i < t.n; ++i) {
        t.t[i] = uint8_t(i >> w);
        t.a[i] = uint16_t(i & (size - 1));
      }
      ExpectReads(t, v);
      ExpectSelect<uint32_t>(t, v, rng);
      ExpectSelect<uint64_t>(t, v, rng);
      ExpectSelectX<uint32_t>(t, v, rng);
      ExpectSelectX<uint64_t>(t, v, rng);
      ExpectLists(t, v, rng);
    }
  }
}

// Tests the use of tables: both parties read their shares of a hot table at every index. Their reads add up to
// comparisons and to table values.
TEST(Table, SharesOfAHotTableCompareAndSelect) {
  std::mt19937_64 rng(12);
  for (Isa v : ring::Supported()) {
    for (int w = 1; w <= kMaxTableWidth; ++w) {
      const size_t size = size_t{1} << w, n = w <= 6 ? size * size : 3000;
      Tables t(w, n, rng);
      std::vector<uint16_t> b(n);
      for (size_t i = 0; i < n; ++i) {
        b[i] = uint16_t(w <= 6 ? i / size : rng() % size);
        t.a[i] = uint16_t(w <= 6 ? i % size : t.a[i]);
      }
      auto hot = Poisoned<uint8_t>(n * TableBytes(w));
      Hot(w, b.data(), n, hot.data(), v);
      ASSERT_EQ(hot.back(), 0xa5);
      Tables other = t;
      for (size_t i = 0; i + 1 < hot.size(); ++i) other.t[i] ^= hot[i];
      std::vector<uint8_t> x(n), y(n);
      Cmp(w, t.t.data(), t.a.data(), n, x.data(), v);
      Cmp(w, other.t.data(), t.a.data(), n, y.data(), v);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(x[i] ^ y[i], (t.a[i] < b[i]) | (t.a[i] == b[i]) << 1);
    }
  }
}

// Tests three kinds of tables: any; with sums that fit 32 bits; with `equal` equal entries at the start.
template <class T>
void ExpectDots(Isa v, std::mt19937_64& rng, int entry_bits, int equal) {
  for (int first : {0, 1, 17, 63, 64, 100}) {
    for (int m : {0, 1, 3, 8, 15, 16, 17, 63, 64, 65, 128, 200, 500}) {
      const size_t n = 5, stride = size_t(first + m + 63) / 64;
      std::vector<uint64_t> bits(n * stride);
      std::vector<T> table(static_cast<size_t>(m));
      for (uint64_t& x : bits) x = rng();
      for (T& x : table) x = T(rng()) >> (8 * int(sizeof(T)) - entry_bits);
      for (size_t j = 1; j < table.size() && j < size_t(equal); ++j) table[j] = table[0];
      auto got = Poisoned<T>(n), want = got;
      for (size_t i = 0; i < n; ++i) {
        want[i] = 0;
        for (size_t j = 0; j < size_t(m); ++j) {
          const size_t at = size_t(first) + j;
          want[i] += T(bits[i * stride + at / 64] >> (at % 64) & 1) * table[j];
        }
      }
      Dot(bits.data(), stride, first, m, table.data(), n, got.data(), v);
      ASSERT_EQ(got, want) << ring::Name(v) << " first " << first << " m " << m;
    }
  }
}

TEST(Table, DotsEqualTheDefinition) {
  std::mt19937_64 rng(13);
  for (Isa v : ring::Supported()) {
    for (int equal : {1, 63, 64, 65, 129, 500}) {
      for (int entry_bits : {20, 32}) ExpectDots<uint32_t>(v, rng, entry_bits, equal);
      for (int entry_bits : {20, 31, 64}) ExpectDots<uint64_t>(v, rng, entry_bits, equal);
    }
  }
}

}  // namespace
}  // namespace suf::fss
