// The room's kernels against the host's arithmetic. Outputs are poisoned before and have guard words around them.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "suf/ring/cuda/pack.hpp"
#include "suf/ring/cuda/products.hpp"
#include "suf/ring/words.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::Memory;
using exec::cuda::Queue;

constexpr size_t kGuard = 256;
constexpr uint8_t kPoison = 0xa5;

std::mt19937_64& Rng() {
  static std::mt19937_64 rng(2024);
  return rng;
}
std::vector<uint8_t> RandomBytes(size_t n) {
  std::vector<uint8_t> out(n);
  for (uint8_t& b : out) b = uint8_t(Rng()());
  return out;
}

// Guarded: memory of the device with guards on both sides.
class Guarded {
 public:
  Guarded(size_t bytes, const Queue& q) : memory_(bytes + 2 * kGuard), bytes_(bytes), q_(q) {
    exec::cuda::Set(memory_.data(), kPoison, memory_.size(), q.stream());
  }
  Guarded(const std::vector<uint8_t>& v, const Queue& q) : Guarded(v.size(), q) {
    exec::cuda::Upload(data(), v.data(), v.size(), q.stream());
    q.Wait();
  }
  uint8_t* data() const { return memory_.data() + kGuard; }
  std::vector<uint8_t> Read() const {
    std::vector<uint8_t> all(memory_.size());
    exec::cuda::Download(all.data(), memory_.data(), all.size(), q_.stream());
    q_.Wait();
    for (size_t i = 0; i < kGuard; ++i) {
      EXPECT_EQ(all[i], kPoison) << "before, " << i;
      EXPECT_EQ(all[kGuard + bytes_ + i], kPoison) << "behind, " << i;
    }
    return {all.begin() + kGuard, all.begin() + long(kGuard + bytes_)};
  }

 private:
  Memory memory_;
  size_t bytes_;
  const Queue& q_;
};

uint64_t WordAt(const std::vector<uint8_t>& v, int bytes, bool is_signed, size_t i) {
  uint64_t x = 0;
  std::memcpy(&x, &v[i * size_t(bytes)], size_t(bytes));
  if (is_signed && bytes < 8 && x >> (8 * bytes - 1)) x |= ~uint64_t{0} << (8 * bytes);
  return x;
}

struct Case {
  int m, n, k;
  size_t batch = 1;
  bool one = false, transposed = false;
  int b_bytes = 8;
  bool b_signed = false;
  bool ones = false;  // all bits set
};

void Check(const Case& c, int bits) {
  SCOPED_TRACE(testing::Message() << c.m << " x " << c.k << " x " << c.n << ", batch " << c.batch
                                  << (c.one ? " one" : "") << (c.transposed ? " transposed" : "") << ", " << bits
                                  << " bits, right " << (c.b_signed ? "int" : "uint") << 8 * c.b_bytes);
  const Queue q;
  const int a_bytes = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8, c_bytes = a_bytes;
  const int b_bytes = c.b_signed ? c.b_bytes : std::max(a_bytes, 1);
  const size_t b_batch = c.one ? 1 : c.batch, m = size_t(c.m), n = size_t(c.n), k = size_t(c.k);
  auto a = RandomBytes(c.batch * m * k * size_t(a_bytes)), b = RandomBytes(b_batch * n * k * size_t(b_bytes));
  if (c.ones) std::fill(a.begin(), a.end(), 0xff), std::fill(b.begin(), b.end(), 0xff);
  const Limbs la = LimbsOf(a_bytes, false, false, c.m, c.k, c.batch, bits);
  const Limbs lb = LimbsOf(b_bytes, c.b_signed, true, c.n, c.k, b_batch, bits);
  const Guarded da(a, q), db(b, q), pa(la.bytes(), q), pb(lb.bytes(), q);
  const Guarded spare(MultiplySpare(la, lb, bits, c_bytes), q), out(c.batch * m * n * size_t(c_bytes), q);
  Split(la, da.data(), a_bytes, false, false, false, pa.data(), q.stream());
  Split(lb, db.data(), b_bytes, c.b_signed, false, c.transposed, pb.data(), q.stream());
  Multiply(la, pa.data(), lb, pb.data(), bits, out.data(), c_bytes, spare.data(), q.stream());
  (void)pa.Read(), (void)pb.Read(), (void)spare.Read();
  const auto got = out.Read();
  const uint64_t mask = Mask(bits);
  // all entries of small ones, some of large
  const size_t entries = c.batch * m * n, step = std::max<size_t>(1, entries * k / 4000000);
  for (size_t e = 0; e < entries; e += step) {
    const size_t s = e / (m * n), row = e / n % m, col = e % n;
    uint64_t want = 0;
    for (size_t d = 0; d < k; ++d) {
      const size_t at = (c.one ? 0 : s) * n * k + (c.transposed ? d * n + col : col * k + d);
      want += WordAt(a, a_bytes, false, (s * m + row) * k + d) * WordAt(b, b_bytes, c.b_signed, at);
    }
    ASSERT_EQ(WordAt(got, c_bytes, false, e) & mask, want & mask) << "entry " << e;
  }
}

TEST(Products, EveryWidth) {
  for (int bits = 1; bits <= 64; ++bits) {
    Check({17, 33, 70}, bits);
    Check({5, 40, 130, 1, false, true, 2, true}, bits);
  }
}

TEST(Products, Shapes) {
  for (int bits : {7, 16, 24, 32, 40, 48, 56, 64})
    for (const Case& c : {Case{1, 1, 1}, Case{3, 7, 5}, Case{129, 65, 257}, Case{64, 32, 64}, Case{65, 33, 64},
                          Case{1, 100, 768}, Case{128, 96, 3072}, Case{7, 5, 3, 12}, Case{30, 20, 64, 6, true},
                          Case{33, 31, 65, 3, false, true}, Case{20, 70, 90, 1, false, true, 2, true},
                          Case{20, 70, 90, 1, false, false, 2, true}, Case{9, 17, 33, 2, true, true, 4, true}})
      Check(c, bits);
}

TEST(Products, LongSumsDoNotOverflow) {
  for (int bits : {16, 32, 33, 64}) {
    Check({3, 5, 30522, 1, false, true}, bits);
    Check({2, 3, 10000, 1, false, false, 8, false, true}, bits);
    Check({2, 3, 10000, 1, false, true, 2, true, true}, bits);
  }
}

TEST(Packing, EveryWidth) {
  const Queue q;
  std::vector<int> all;
  for (int k = 1; k <= 64; ++k) all.push_back(k);
  for (int k : {65, 100, 127, 128, 190, 766, 1000, 7424, 100000}) all.push_back(k);
  for (int k : all)
    for (size_t n : {size_t{1}, size_t{31}, size_t{32}, size_t{33}, size_t{1000}}) {
      if (k > 8000 && n > 33) continue;
      for (size_t skew : {0, 1, 5}) {
        SCOPED_TRACE(testing::Message() << k << " bits, " << n << " elements, " << skew << " bytes off");
        const int bytes = k > 64 ? (k + 63) / 64 * 8 : k <= 8 ? 1 : k <= 16 ? 2 : k <= 32 ? 4 : 8;
        const auto words = RandomBytes(n * size_t(bytes));
        const size_t packed = (n * size_t(k) + 7) / 8;
        const Guarded in(words, q), string(packed + skew, q), back(words.size(), q);
        Pack(in.data(), bytes, n, k, string.data() + skew, q.stream());
        Unpack(string.data() + skew, n, k, back.data(), bytes, q.stream());
        const auto bits = string.Read(), again = back.Read();
        for (size_t b = 0; b < skew; ++b) ASSERT_EQ(bits[b], kPoison);
        const auto bit = [](const std::vector<uint8_t>& v, size_t at) { return v[at / 8] >> (at % 8) & 1; };
        for (size_t i = 0; i < n; ++i)
          for (size_t j = 0; j < size_t(bytes) * 8; ++j) {
            const int want = j < size_t(k) ? bit(words, i * size_t(bytes) * 8 + j) : 0;
            if (j < size_t(k)) {
              ASSERT_EQ(bit(bits, skew * 8 + i * size_t(k) + j), want) << i << " " << j;
            }
            ASSERT_EQ(bit(again, i * size_t(bytes) * 8 + j), want) << i << " " << j;
          }
        for (size_t at = n * size_t(k); at < packed * 8; ++at) ASSERT_EQ(bit(bits, skew * 8 + at), 0);
      }
    }
}

}  // namespace
}  // namespace suf::ring::cuda
