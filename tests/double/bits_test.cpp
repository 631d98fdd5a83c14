// Packed bits of kernels on the host: the device's own text, lane after lane in any order, against the row functions.
// A lane sees what the others hold, as they hand on nothing that a lane has made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

#include "suf/backends/lower/rows_core.hpp"

namespace {

struct {
  unsigned x;
} threadIdx;
const uint64_t* held;  // word 0 of each lane's element
size_t words_each;
uint64_t __shfl_sync(unsigned, uint64_t, int lane) { return held[size_t(lane) * words_each]; }
uint64_t __shfl_down_sync(unsigned all, uint64_t, int by) { return __shfl_sync(all, 0, int(threadIdx.x + by) & 31); }
unsigned __ballot_sync(unsigned, uint64_t) {
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane) bits |= unsigned(held[lane] & 1) << lane;
  return bits;
}

}  // namespace

#define __device__ [[maybe_unused]]
#include "suf/ring/cuda/bits_core.hpp"
#undef __device__

namespace suf::ring::cuda {
namespace {

namespace row = backends::row;

class Bits : public testing::Test {
 protected:
  // A warp's elements of k bits. Of lanes beyond `rows` PackShort takes zeros, and PackLong takes nothing.
  std::vector<uint64_t> Elements(int k, int rows) {
    std::vector<uint64_t> x(size_t(32 * row::WordsOf(k)));
    for (size_t i = 0; i < size_t((k > 64 ? 32 : rows) * row::WordsOf(k)); ++i) x[i] = rng_();
    for (size_t i = 1; i <= 32; ++i) x[i * size_t(row::WordsOf(k)) - 1] &= row::LowBits(row::TopBits(k));
    held = x.data(), words_each = size_t(row::WordsOf(k));
    return x;
  }
  void ExpectPacked(int k, int rows, int offset) {
    SCOPED_TRACE(testing::Message() << rows << " elements of " << k << " bits, " << offset << " bytes beyond a word");
    const auto x = Elements(k, rows);
    std::vector<uint64_t> want(size_t(32 * k) / 64 + 4, 0xa5a5a5a5a5a5a5a5), got = want;
    const auto bytes = [&](std::vector<uint64_t>& v) { return reinterpret_cast<uint8_t*>(v.data()) + offset; };
    for (int i = 0; i < rows; ++i)
      row::Emit(&x[size_t(i) * words_each], uint64_t(i) * uint64_t(k), k, uint64_t(rows) * uint64_t(k), bytes(want));
    std::vector<unsigned> order(32);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), rng_);
    for (unsigned lane : order) threadIdx.x = lane, WarpPack(&x[lane * words_each], k, rows, bytes(got));
    ASSERT_EQ(got, want);
    for (int i = 0; i < rows; ++i)
      for (int w = 0; w < int(words_each); ++w)
        ASSERT_EQ(ReadWord(bytes(got), uint64_t(i) * uint64_t(k) + uint64_t(64 * w), std::min(k - 64 * w, 64)),
                  x[size_t(i) * words_each + size_t(w)]);
    for (int i = 0; i < rows && k <= 32; ++i)
      ASSERT_EQ(ReadShort(bytes(got), uint64_t(i) * uint64_t(k), k), x[size_t(i)]);
  }
  std::mt19937_64 rng_{5};
};

TEST_F(Bits, OfEveryWidth) {
  for (int k = 1; k <= 64; ++k)
    for (int rows : {1, 3, 8, 31, 32})
      for (int offset : {0, 1, 4, 7}) ExpectPacked(k, rows, offset);
}

// The last group of a borrow has 766 bits, a table 1024.
TEST_F(Bits, OfLongStrings) {
  for (int k = 65; k <= 1100; k += k < 200 || k > 1000 ? 1 : 7)
    for (int rows : {1, 2, 7, 8, 32})
      for (int offset : {0, 1, 2, 3, 4}) ExpectPacked(k, rows, offset);
}

}  // namespace
}  // namespace suf::ring::cuda
