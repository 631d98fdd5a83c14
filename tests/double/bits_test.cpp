// Packed bits of kernels on the host: the device's own text, compared with the row functions. Its lanes take turns in
// any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "suf/grouping/rows_core.hpp"
#include "tests/double/lanes.hpp"
// A kernel's text, which needs the headers above.
#include "suf/ring/cuda/bits_core.hpp"

namespace suf::ring::cuda {
namespace {

namespace row = grouping::row;

class Bits : public testing::Test {
 protected:
  // Elements of a warp, k bits each. For lanes beyond `rows` PackShort takes zeros, and PackLong takes nothing.
  std::vector<uint64_t> Elements(int k, int rows) {
    std::vector<uint64_t> x(size_t(32 * row::WordsOf(k)));
    for (size_t i = 0; i < size_t((k > 64 ? 32 : rows) * row::WordsOf(k)); ++i) x[i] = rng_();
    for (size_t i = 1; i <= 32; ++i) x[i * size_t(row::WordsOf(k)) - 1] &= row::LowBits(row::TopBits(k));
    return x;
  }
  void ExpectPacked(int k, int rows, int offset) {
    SCOPED_TRACE(testing::Message() << rows << " elements of " << k << " bits, " << offset << " bytes beyond a word");
    const auto x = Elements(k, rows);
    const size_t words_each = size_t(row::WordsOf(k));
    std::vector<uint64_t> want(size_t(32 * k) / 64 + 4, 0xa5a5a5a5a5a5a5a5), got = want;
    const auto bytes = [&](std::vector<uint64_t>& v) { return reinterpret_cast<uint8_t*>(v.data()) + offset; };
    for (int i = 0; i < rows; ++i)
      row::Emit(&x[size_t(i) * words_each], uint64_t(i) * uint64_t(k), k, uint64_t(rows) * uint64_t(k), bytes(want));
    const struct {
      const uint64_t* x;
      size_t words;
      int k, rows;
      uint8_t* to;
    } warp{x.data(), words_each, k, rows, bytes(got)};
    std::shuffle(std::begin(lanes::turns.of), std::end(lanes::turns.of), rng_);
    lanes::Run(
        1, lanes::kLanes,
        [](const void* p) {
          const auto& w = *static_cast<const decltype(warp)*>(p);
          WarpPack(w.x + threadIdx.x * w.words, w.k, w.rows, w.to);
        },
        &warp);
    ASSERT_EQ(got, want);
    for (int i = 0; i < rows; ++i)
      for (int w = 0; w < int(words_each); ++w)
        ASSERT_EQ(ReadWord(bytes(got), uint64_t(i) * uint64_t(k) + uint64_t(64 * w), std::min(k - 64 * w, 64)),
                  x[size_t(i) * words_each + size_t(w)]);
    // Reads from words, where the string may begin within a word.
    const auto at = [&](int i) { return uint32_t(8 * offset + i * k); };
    for (int i = 0; i < rows && k <= 64; ++i) ASSERT_EQ(ReadWord(got.data(), at(i), row::LowBits(k)), x[size_t(i)]);
    for (int i = 0; i < rows && k <= 32; ++i)
      ASSERT_EQ(ReadShort(reinterpret_cast<const uint32_t*>(got.data()), at(i), uint32_t(row::LowBits(k))),
                x[size_t(i)]);
  }
  std::mt19937_64 rng_{5};
};

TEST_F(Bits, OfEveryWidth) {
  for (int k = 1; k <= 64; ++k)
    for (int rows : {1, 3, 8, 31, 32})
      for (int offset : {0, 1, 4, 7}) ExpectPacked(k, rows, offset);
}

// A device divides with an error of two units of the last place. Here that is within 1/128, which is allowed for.
TEST_F(Bits, InverseDividesWhateverAFloatIsRoundedTo) {
  for (uint32_t d = 33; d <= 64; ++d) {
    for (double error : {-1.0 / 128, 0.0, 1.0 / 128})
      ASSERT_EQ(Inverse(int(d)), uint32_t(double(1 << 20) / d + error + 1.0078125)) << d;
    for (uint32_t n = 0; n < 1 << 11; ++n) ASSERT_EQ(n * Inverse(int(d)) >> 20, n / d) << n << " by " << d;
  }
}

// The last group of a borrow has 766 bits, a table 1024.
TEST_F(Bits, OfLongStrings) {
  for (int k = 65; k <= 1100; k += k < 200 || k > 1000 ? 1 : 7)
    for (int rows : {1, 2, 7, 8, 32})
      for (int offset : {0, 1, 2, 3, 4}) ExpectPacked(k, rows, offset);
}

}  // namespace
}  // namespace suf::ring::cuda
