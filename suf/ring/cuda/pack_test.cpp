// Packed bits on a device against the processor's, and long elements against the definition. Outputs are poisoned first
// and lie between guards.
#include "suf/ring/cuda/pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "suf/base/bytes.hpp"
#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::DeviceMemory;
using exec::cuda::DeviceStream;

constexpr size_t kGuard = 64, kMost = 40 << 20;
constexpr uint8_t kPoison = 0xa5;

// A fixture with device memory for one input and one output.
class Packing : public testing::Test {
 protected:
  // Returns the `bytes` bytes that f(input, output, stream) writes at an address `skew` beyond a multiple of 256. The
  // input lies at an address `in_skew` beyond one.
  template <class F>
  Bytes Ran(const Bytes& input, size_t in_skew, size_t bytes, size_t skew, F f) {
    EXPECT_LE(std::max(input.size(), bytes) + 1024, kMost);
    const StreamHandle s = queue_.stream();
    uint8_t *const from = in_.data() + 256 + in_skew, *const to = out_.data() + 256 + skew;
    exec::cuda::Set(in_.data(), kPoison, input.size() + 1024, s);
    exec::cuda::Set(out_.data(), kPoison, bytes + 1024, s);
    exec::cuda::Upload(from, input.data(), input.size(), s);
    f(from, to, s);
    Bytes all(bytes + 2 * kGuard);
    exec::cuda::Download(all.data(), to - kGuard, all.size(), s);
    queue_.Wait();
    const auto poison = [](uint8_t b) { return b == kPoison; };
    EXPECT_TRUE(std::all_of(all.begin(), all.begin() + kGuard, poison)) << "bytes before";
    EXPECT_TRUE(std::all_of(all.end() - kGuard, all.end(), poison)) << "bytes behind";
    return Bytes(all.begin() + kGuard, all.end() - kGuard);
  }

 private:
  DeviceStream queue_;
  DeviceMemory in_{kMost}, out_{kMost};
};

template <class T>
Bytes Raw(const std::vector<T>& x) {
  const auto* p = reinterpret_cast<const uint8_t*>(x.data());
  return Bytes(p, p + x.size() * sizeof(T));
}

constexpr size_t kCounts[] = {1, 7, 31, 32, 33, 255, 1031}, kSkews[] = {0, 1, 3, 5, 7};

class Short : public Packing {
 protected:
  template <class T>
  void Check() {
    std::mt19937_64 rng(sizeof(T));
    for (int k = 1; k <= int(8 * sizeof(T)); ++k) {
      for (size_t n : kCounts) {
        std::vector<T> x(n), low(n);
        for (size_t i = 0; i < n; ++i) {
          x[i] = T(rng());
          low[i] = T(x[i] & Mask(k));
        }
        Bytes want(PackedBytes(n, k));
        ring::Pack(x.data(), n, k, want.data());
        const size_t skew = kSkews[(n + size_t(k)) % 5],
                     aside = n % 3 * sizeof(T);  // words need not be 16-byte aligned
        const Bytes got = Ran(Raw(x), aside, want.size(), skew, [&](const uint8_t* from, uint8_t* to, StreamHandle s) {
          Pack(from, sizeof(T), n, k, to, s);
        });
        ASSERT_EQ(got, want) << "k " << k << ", n " << n << ", bytes " << sizeof(T) << ", skew " << skew;
        const Bytes back = Ran(want, skew, n * sizeof(T), aside, [&](const uint8_t* from, uint8_t* to, StreamHandle s) {
          Unpack(from, n, k, to, sizeof(T), s);
        });
        ASSERT_EQ(back, Raw(low)) << "k " << k << ", n " << n << ", bytes " << sizeof(T) << ", skew " << skew;
      }
    }
  }
};
TEST_F(Short, EveryWidthOfBytes) { Check<uint8_t>(); }
TEST_F(Short, EveryWidthOf16Bits) { Check<uint16_t>(); }
TEST_F(Short, EveryWidthOf32Bits) { Check<uint32_t>(); }
TEST_F(Short, EveryWidthOf64Bits) { Check<uint64_t>(); }

using Long = Packing;
TEST_F(Long, EqualsTheDefinition) {
  std::mt19937_64 rng(3);
  for (int k : {65, 71, 72, 96, 127, 128, 129, 191, 192, 200, 766, 1000, 4096, 7424, 65537, 100000}) {
    for (size_t n : {1, 2, 31, 32, 33, 65}) {
      const size_t parts = size_t(k + 63) / 64, bytes = parts * 8, skew = kSkews[(n + size_t(k)) % 5];
      std::vector<uint64_t> x(n * parts), low(x);
      Bytes want((n * size_t(k) + 7) / 8);
      for (uint64_t& w : x) w = rng();
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < size_t(k); ++j) {
          const uint64_t bit = x[i * parts + j / 64] >> (j % 64) & 1;
          low[i * parts + j / 64] |= bit << (j % 64);
          want[(i * size_t(k) + j) / 8] |= uint8_t(bit << ((i * size_t(k) + j) % 8));
        }
      }
      const Bytes got = Ran(Raw(x), 0, want.size(), skew, [&](const uint8_t* from, uint8_t* to, StreamHandle s) {
        Pack(from, int(bytes), n, k, to, s);
      });
      ASSERT_EQ(got, want) << "k " << k << ", n " << n << ", skew " << skew;
      const Bytes back = Ran(want, skew, n * bytes, 0, [&](const uint8_t* from, uint8_t* to, StreamHandle s) {
        Unpack(from, n, k, to, int(bytes), s);
      });
      ASSERT_EQ(back, Raw(low)) << "k " << k << ", n " << n << ", skew " << skew;
    }
  }
}

// More threads than fit into one block and into one wave.
TEST_F(Short, ManyElements) {
  std::mt19937_64 rng(5);
  const size_t n = 3000001;
  std::vector<uint64_t> x(n), low(n);
  for (int k : {13, 37, 64}) {
    for (size_t i = 0; i < n; ++i) {
      x[i] = rng();
      low[i] = x[i] & Mask(k);
    }
    Bytes want(PackedBytes(n, k));
    ring::Pack(x.data(), n, k, want.data());
    const Bytes got = Ran(Raw(x), 0, want.size(), 1,
                          [&](const uint8_t* from, uint8_t* to, StreamHandle s) { Pack(from, 8, n, k, to, s); });
    ASSERT_TRUE(got == want) << k;
    const Bytes back =
        Ran(want, 1, n * 8, 0, [&](const uint8_t* from, uint8_t* to, StreamHandle s) { Unpack(from, n, k, to, 8, s); });
    ASSERT_TRUE(back == Raw(low)) << k;
  }
}

}  // namespace
}  // namespace suf::ring::cuda
