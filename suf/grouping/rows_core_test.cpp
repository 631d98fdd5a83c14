// Checks each row function against its definition, bit by bit, at every width. Checks messages at every bit offset, in
// any order. The file backends_test.cpp checks that rows computes the same as clear.
#include "suf/grouping/rows_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "suf/fss/prg.hpp"
#include "suf/ring/pack.hpp"

namespace suf::grouping::row {
namespace {

using Ws = std::vector<Word>;

class RowsCore : public testing::Test {
 protected:
  std::mt19937_64 rng{11};
  // Makes n strings of `bits` bits in whole words.
  Ws Strings(size_t n, int bits) {
    Ws v(n * size_t(WordsOf(bits)));
    for (Word& w : v) w = rng();
    for (size_t i = 1; i <= n; ++i) v[i * size_t(WordsOf(bits)) - 1] &= LowBits(TopBits(bits));
    return v;
  }
  static Word At(const Ws& v, size_t bit) { return v[bit / 64] >> bit % 64 & 1; }
};

// Emits rows in any order over bytes that held other data. No byte beyond the message is touched.
TEST_F(RowsCore, MessagesAtEveryBit) {
  std::vector<int> all(64);
  std::iota(all.begin(), all.end(), 1);
  for (int k : {65, 100, 127, 128, 129, 191, 766}) all.push_back(k);
  for (int k : all)
    for (size_t n : {1, 2, 13, 64}) {
      const size_t words = size_t(WordsOf(k)), bytes = (n * size_t(k) + 7) / 8;
      const Ws x = Strings(n, k);
      std::vector<uint8_t> want(bytes), got(bytes + 1, 0xa5);
      for (size_t i = 0; i < n; ++i)
        for (size_t b = 0; b < size_t(k); ++b)
          want[(i * size_t(k) + b) / 8] |= uint8_t((x[i * words + b / 64] >> b % 64 & 1) << (i * size_t(k) + b) % 8);
      std::vector<size_t> order(n);
      std::iota(order.begin(), order.end(), size_t{0});
      std::shuffle(order.begin(), order.end(), rng);
      for (size_t i : order) {
        Ws dirty(&x[i * words], &x[i * words] + words);  // numbers may be unreduced
        if (k % 64) dirty.back() |= ~LowBits(TopBits(k));
        Emit(dirty.data(), i * size_t(k), k, n * size_t(k), got.data());
      }
      EXPECT_EQ(got.back(), 0xa5);
      got.pop_back();
      ASSERT_EQ(got, want) << k << " bits, " << n << " rows";
      if (k <= 64) {
        std::vector<uint8_t> packed(bytes);
        ring::Pack(x.data(), n, k, packed.data());
        ASSERT_EQ(got, packed);
      }
      Ws back(x.size());
      for (size_t i : order) Receive(got.data(), i * size_t(k), k, &back[i * words]);
      ASSERT_EQ(back, x) << k << " bits, " << n << " rows";
    }
}

// A thread may write its rows to words of its own, and these to the message.
TEST_F(RowsCore, WholeWordsOfSeveralRows) {
  for (int k : {1, 7, 20, 33, 64}) {
    const size_t rows = 128;
    const Ws x = Strings(rows, k);
    std::vector<uint8_t> want(rows * size_t(k) / 8), got;
    for (size_t i = 0; i < rows; ++i) Emit(&x[i], i * size_t(k), k, 8 * want.size(), want.data());
    for (size_t from = 0; from < rows; from += 64) {
      std::vector<uint8_t> own(8 * size_t(k), 0xa5);
      for (size_t i = 0; i < 64; ++i) Emit(&x[from + i], i * size_t(k), k, 8 * own.size(), own.data());
      got.insert(got.end(), own.begin(), own.end());
    }
    EXPECT_EQ(got, want);
  }
}

TEST_F(RowsCore, PrgWords) {
  const fss::Prg prg(Secret(Hash{1}), Hash{2}, 0);
  const auto section = prg.At(5);
  auto block = [&](uint64_t i, uint8_t* to) { section.Fill(16 * i, {to, 16}); };
  for (int k : {1, 7, 8, 9, 16, 20, 32, 33, 63, 64, 65, 128, 130, 200, 256}) {
    const size_t bytes = fss::ElementBytes(k), words = size_t(WordsOf(k)), n = 21;
    std::vector<uint8_t> raw(n * bytes);
    section.Fill(0, raw);
    for (size_t i = 0; i < n; ++i) {
      Ws want(words), got(words, ~Word{0});
      std::memcpy(want.data(), &raw[i * bytes], bytes);
      want.back() &= LowBits(TopBits(k));
      Random(block, i * bytes, k, got.data());
      EXPECT_EQ(got, want) << k << " bits, element " << i;
    }
  }
}

TEST_F(RowsCore, TablesOfEveryWidth) {
  for (int w = 1; w <= 10; ++w)
    for (int turn = 0; turn < 20; ++turn) {
      const size_t size = size_t{1} << w, m = 1 + rng() % size;
      const Ws t = Strings(1, int(size)), columns = Strings(2 * size, 64);
      const Word x = rng() % size;
      SCOPED_TRACE(testing::Message() << w << " bits, place " << x);
      Ws hot(t.size(), ~Word{0});
      Hot(x, size, hot.data());
      Word above = 0, dense = 0;
      Ws select(2), selectx(2);
      for (size_t j = 0; j < size; ++j) {
        const Word bit = At(t, j);
        EXPECT_EQ(At(hot, j), Word(j == x));
        above ^= j > x ? bit : 0;
        if (bit) dense ^= columns[(x - j) % size];
        for (size_t c : {0, 1})
          if (bit) {
            select[c] += columns[c * size + (x - j) % size];
            selectx[c] += columns[c * size + (x ^ j)];
          }
      }
      EXPECT_EQ(w < 6 ? hot[0] >> size : 0, 0u);
      EXPECT_EQ(Point(t.data(), size, x), At(t, x));
      EXPECT_EQ(ParityAbove(t.data(), size, x), above);
      const std::vector<uint32_t> narrow(columns.begin(), columns.end());
      for (size_t many : {1, 2})
        for (bool swaps : {false, true}) {
          Ws got(many);
          std::vector<uint32_t> got32(many);
          const Word mask = LowBits(40);
          if (swaps) {
            SelectX(t.data(), size, x, columns.data(), many, mask, got.data());
            SelectX(t.data(), size, x, narrow.data(), many, mask, got32.data());
          } else {
            Select(t.data(), size, x, columns.data(), many, mask, got.data());
            Select(t.data(), size, x, narrow.data(), many, mask, got32.data());
          }
          for (size_t c = 0; c < many; ++c) {
            const Word want = (swaps ? selectx : select)[c];
            EXPECT_EQ(got[c], want & mask);
            EXPECT_EQ(got32[c], uint32_t(want));
          }
        }
      EXPECT_EQ(Dense(t.data(), size, x, columns.data()), dense);
      Ws turned(size_t(WordsOf(int(m))), ~Word{0});
      Rotate(t.data(), size, x, m, turned.data());
      for (size_t j = 0; j < 64 * turned.size(); ++j) EXPECT_EQ(At(turned, j), j < m ? At(t, (x + j) % size) : 0) << j;
      std::vector<int64_t> b(m);
      for (int64_t& v : b) v = int64_t(rng() % size);
      Above(t.data(), size, x, b.data(), m, turned.data());
      for (size_t j = 0; j < 64 * turned.size(); ++j)
        EXPECT_EQ(At(turned, j), j < m ? ParityAbove(t.data(), size, (x - Word(b[j])) % size) : 0) << j;
    }
}

TEST_F(RowsCore, Digits) {
  const int64_t widths[] = {3, 10, 1, 7, 6};
  for (int turn = 0; turn < 50; ++turn) {
    const Word z = rng() & LowBits(27);
    std::vector<Ws> t;
    const Word* tables[5];
    for (size_t j = 0; j < 5; ++j) {
      t.push_back(Strings(1, 1 << widths[j]));
      tables[j] = nullptr;
    }
    Word want = 0;
    for (size_t j = 0, shift = 0; j < 5; shift += size_t(widths[j++])) {
      const size_t size = size_t{1} << widths[j], at = z >> shift & (size - 1);
      tables[j] = t[j].data();
      for (size_t v = at + 1; v < size; ++v) want ^= At(t[j], v) << (2 * j);
      if (j) want |= At(t[j], at) << (2 * j - 1);
    }
    EXPECT_EQ(row::Digits(z, tables, widths, 5), want);
  }
}

TEST_F(RowsCore, Strings) {
  for (size_t m : {1, 7, 63, 64, 65, 130}) {
    const Ws x = RowsCore::Strings(1, int(m)), table = RowsCore::Strings(m, 64), masks = RowsCore::Strings(m, int(m));
    const std::vector<uint32_t> narrow(table.begin(), table.end());
    for (size_t first = 0; first < m; ++first) {
      Word sum = 0;
      for (size_t j = first; j < m; ++j) sum += At(x, j) ? table[j - first] : 0;
      EXPECT_EQ(Dot(x.data(), first, table.data(), m - first), sum);
      EXPECT_EQ(Dot(x.data(), first, narrow.data(), m - first), uint32_t(sum));
    }
    Ws mixed(x.size(), ~Word{0}), bits(m);
    Mix(x.data(), x.size(), masks.data(), m, mixed.data());
    Unbits(x.data(), m, bits.data());
    for (size_t i = 0; i < m; ++i) {
      Word parity = 0;
      for (size_t j = 0; j < m; ++j) parity ^= At(x, j) & masks[i * x.size() + j / 64] >> j % 64 & 1;
      EXPECT_EQ(At(mixed, i), parity);
      EXPECT_EQ(bits[i], At(x, i));
    }
    for (int k : {1, 5, 63, 64}) {
      const Word v = rng() & LowBits(k);
      std::vector<int64_t> b(m);
      for (int64_t& c : b) c = int64_t(rng() & LowBits(k));
      b[0] = int64_t(v);
      Less(v, b.data(), m, mixed.data());
      for (size_t j = 0; j < 64 * mixed.size(); ++j) EXPECT_EQ(At(mixed, j), j < m ? Word(v < Word(b[j])) : 0);
      EXPECT_EQ(Unit(v, v), 1u);
      EXPECT_EQ(Unit(v, v ^ 1), 0u);
    }
  }
}

// Compares with the borrow's recursion `b_j = lt_j + eq_j b_{j-1}` on the bits that h and rho hide. It does so as
// integers and modulo 2. With few digits all h and rho are tested.
TEST_F(RowsCore, BorrowPolynomial) {
  for (int digits = 1; digits <= pfss::kMostDigitsX; ++digits) {
    const int bits = 2 * digits - 1;
    const bool all = bits <= 5;
    for (Word turn = 0; turn < (all ? Word{1} << (2 * bits) : 300); ++turn) {
      const Word h = all ? turn & LowBits(bits) : rng() & LowBits(bits),
                 rho = all ? turn >> bits : rng() & LowBits(bits), t = h ^ rho;
      Word want = t & 1;
      for (int j = 1; j < digits; ++j) want = (t >> (2 * j) & 1) + (t >> (2 * j - 1) & 1) * want;
      std::vector<Ws> groups;
      std::vector<std::vector<uint32_t>> narrow;
      std::vector<const Word*> at;
      std::vector<const uint32_t*> at32;
      for (int j = 0; j < digits; ++j) {
        groups.emplace_back(size_t(pfss::GroupSize(j)));
        narrow.emplace_back(size_t(pfss::GroupSize(j)));
        Mono(rho, j, groups.back().data());
        Mono(rho, j, narrow.back().data());
      }
      for (auto& g : groups) at.push_back(g.data());
      for (auto& g : narrow) at32.push_back(g.data());
      if (digits <= pfss::kMostDigitsA) {
        ASSERT_EQ(BorrowA(h, at.data(), digits) + BorrowAt0(h, digits), want) << digits << " " << h << " " << rho;
        ASSERT_EQ(BorrowA(h, at32.data(), digits) + uint32_t(BorrowAt0(h, digits)), uint32_t(want));
      }
      std::vector<Ws> strings;
      at.clear();
      for (int j = 1; j < digits; ++j) {
        strings.emplace_back(size_t(WordsOf(pfss::GroupBits(j))), ~Word{0});
        MonoX(rho, j, strings.back().data());
        for (size_t g = 0; g < size_t(pfss::GroupBits(j)); ++g)
          ASSERT_EQ(At(strings.back(), g), groups[size_t(j)][g + 1]) << digits << " group " << j << " bit " << g;
      }
      for (auto& s : strings) at.push_back(s.data());
      ASSERT_EQ((BorrowX(h, rho, at.data(), digits) + BorrowAt0(h, digits)) & 1, want & 1) << digits << " " << h;
    }
  }
}

}  // namespace
}  // namespace suf::grouping::row
