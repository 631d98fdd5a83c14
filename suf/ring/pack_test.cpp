#include "suf/ring/pack.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "suf/ring/modular.hpp"

namespace suf::ring {
namespace {

constexpr uint8_t kGuard = 0xa5;

template <class T>
class PackTest : public testing::Test {};
using PackWords = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(PackTest, PackWords);

// Every k, and every length up to more than two vectors. The reference takes one bit at a time, and guard bytes
// surround both outputs.
TYPED_TEST(PackTest, EveryVariantEqualsTheDefinition) {
  using T = TypeParam;
  std::mt19937_64 rng(1);
  for (Isa v : Supported()) {
    for (int k = 0; k <= int(8 * sizeof(T)); ++k) {
      for (size_t n = 0; n <= 150 || n == 1031; n = n == 150 ? 1031 : n + 1) {
        std::vector<T> x(n);
        for (T& e : x) e = T(rng());
        const size_t bytes = PackedBytes(n, k);
        ASSERT_EQ(bytes, (n * size_t(k) + 7) / 8);
        std::vector<uint8_t> want(bytes + 64, 0), got(bytes + 64, kGuard);
        for (size_t i = 0; i < n; ++i) {
          for (int j = 0; j < k; ++j)
            want[(i * size_t(k) + size_t(j)) / 8] |= uint8_t((x[i] >> j & 1) << ((i * size_t(k) + size_t(j)) % 8));
        }
        std::fill(want.begin() + std::ptrdiff_t(bytes), want.end(), kGuard);
        Pack(x.data(), n, k, got.data(), v);
        ASSERT_EQ(got, want) << Name(v) << " k " << k << " n " << n;
        std::vector<T> back(n + 8, T(0x5a5a5a5a5a5a5a5a)), low(n + 8, T(0x5a5a5a5a5a5a5a5a));
        for (size_t i = 0; i < n; ++i) low[i] = T(x[i] & Mask(k));
        std::vector<uint8_t> exact(got.begin(),
                                   got.begin() + std::ptrdiff_t(bytes));  // a sanitizer reports reads beyond
        Unpack(exact.data(), n, k, back.data(), v);
        ASSERT_EQ(back, low) << Name(v) << " k " << k << " n " << n;
      }
    }
  }
}

// Strings of more than 64 bits. The reference takes one bit at a time.
TEST(PackLong, EqualsTheDefinition) {
  std::mt19937_64 rng(2);
  for (int k : {65, 71, 72, 96, 127, 128, 129, 191, 192, 200, 766, 1000})
    for (size_t n : {0, 1, 2, 7, 8, 33}) {
      const size_t words = size_t(k + 63) / 64, bits = size_t(k), bytes = PackedBytes(n, k);
      std::vector<uint64_t> x(n * words), back(n * words + 1, 7);
      for (size_t i = 0; i < x.size(); ++i) x[i] = rng() & (i % words + 1 == words ? Mask((k - 1) % 64 + 1) : Mask(64));
      std::vector<uint8_t> want(bytes, 0), got(bytes, kGuard);
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < bits; ++j)
          want[(i * bits + j) / 8] |= uint8_t((x[i * words + j / 64] >> (j % 64) & 1) << ((i * bits + j) % 8));
      want.push_back(kGuard);
      got.push_back(kGuard);
      PackLong(x.data(), n, k, got.data());
      ASSERT_EQ(got, want) << "k " << k << " n " << n;
      std::vector<uint8_t> exact(got.begin(), got.end() - 1);  // a sanitizer reports reads beyond
      UnpackLong(exact.data(), n, k, back.data());
      x.push_back(7);
      ASSERT_EQ(back, x) << "k " << k << " n " << n;
    }
}

}  // namespace
}  // namespace suf::ring
