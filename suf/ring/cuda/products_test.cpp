// Products and limbs against a plain product of words on the host. Outputs are poisoned first and lie between guards.
#include "suf/ring/cuda/products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "suf/base/bytes.hpp"
#include "suf/ring/modular.hpp"

namespace suf::ring::cuda {
namespace {

using exec::cuda::DeviceMemory;
using exec::cuda::DeviceStream;

constexpr size_t kGuard = 256;
constexpr uint8_t kPoison = 0xa5;

// Poisoned bytes of the device between guards.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : memory_(bytes + 2 * kGuard), bytes_(bytes) {
    exec::cuda::Set(memory_.data(), kPoison, memory_.size(), queue_.stream());
    queue_.Wait();
  }
  explicit Guarded(const Bytes& v) : Guarded(v.size()) {
    exec::cuda::Upload(data(), v.data(), v.size(), queue_.stream());
    queue_.Wait();
  }
  uint8_t* data() const { return memory_.data() + kGuard; }
  // Reads the bytes, after all queues are done. The guards must be unchanged.
  Bytes Read() const {
    Bytes all(memory_.size());
    exec::cuda::Download(all.data(), memory_.data(), all.size(), queue_.stream());
    queue_.Wait();
    for (size_t i = 0; i < kGuard; ++i) {
      if (all[i] != kPoison || all[kGuard + bytes_ + i] != kPoison) {
        ADD_FAILURE() << "guard " << i << " was written";
        break;
      }
    }
    return Bytes(all.begin() + kGuard, all.end() - kGuard);
  }

 private:
  DeviceStream queue_;
  DeviceMemory memory_;
  size_t bytes_;
};

// An operand of words of `bytes` bytes, signed or not, as (batch, rows, depth) or, if transposed, (batch, depth, rows).
struct Operand {
  int bytes = 8;
  bool is_signed = false, transposed = false, splat = false;
  size_t batch = 1;
};
struct Case {
  int m, depth, n;
  Operand a = {}, b = {};
  bool ones = false;  // all bits of all words are set
  int c_bytes = 0;    // 0 for the smallest
};

int BytesFor(int bits) { return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8; }

uint64_t WordAt(const Bytes& v, int bytes, bool is_signed, size_t i) {
  uint64_t x = 0;
  std::memcpy(&x, &v[i * size_t(bytes)], size_t(bytes));
  return is_signed ? uint64_t(Signed(x, 8 * bytes)) : x;
}

// A matrix: its words in the order of (batch, rows, depth), and their planes on the device, made by Split.
struct Matrix {
  std::vector<uint64_t> words;
  Limbs form;
  Guarded planes;
};
Matrix Make(const Operand& o, bool right, int rows, int depth, int bits, bool ones, std::mt19937_64& rng) {
  const size_t each = size_t(rows) * size_t(depth), count = o.batch * each;
  Bytes source((o.splat ? 1 : count) * size_t(o.bytes));
  for (uint8_t& x : source) x = ones ? 0xff : uint8_t(rng());
  const Limbs form = LimbsOf(o.bytes, o.is_signed, right, rows, depth, o.batch, bits);
  Matrix out{std::vector<uint64_t>(count), form, Guarded(form.bytes())};
  for (size_t i = 0; i < count; ++i) {
    const size_t r = i % each / size_t(depth), d = i % size_t(depth);
    const size_t at = o.splat ? 0 : o.transposed ? i / each * each + d * size_t(rows) + r : i;
    out.words[i] = WordAt(source, o.bytes, o.is_signed, at);
  }
  const Guarded from(source);
  const DeviceStream q;
  Split({form, from.data(), o.bytes, o.is_signed, o.splat, o.transposed, out.planes.data()}, {}, {}, q.stream());
  q.Wait();
  (void)out.planes.Read();
  return out;
}

void Check(const Case& c, int bits) {
  const int c_bytes = c.c_bytes ? c.c_bytes : BytesFor(bits);
  SCOPED_TRACE(testing::Message() << c.m << " x " << c.depth << " x " << c.n << ", " << bits << " bits in " << c_bytes
                                  << " bytes, batch " << c.a.batch << " and " << c.b.batch << ", left "
                                  << (c.a.is_signed ? "signed " : "") << c.a.bytes << (c.a.transposed ? " turned" : "")
                                  << ", right " << (c.b.is_signed ? "signed " : "") << c.b.bytes
                                  << (c.b.transposed ? " turned" : "") << (c.b.splat ? " splat" : ""));
  std::mt19937_64 rng(uint64_t(bits) * 1000003 + uint64_t(c.m) * 1009 + uint64_t(c.depth));
  const Matrix a = Make(c.a, false, c.m, c.depth, bits, c.ones, rng);
  const Matrix b = Make(c.b, true, c.n, c.depth, bits, c.ones, rng);
  const size_t m = size_t(c.m), n = size_t(c.n), depth = size_t(c.depth), words = c.a.batch * m * n;
  const Guarded spare(MultiplySpare(a.form, b.form, c_bytes)), out(words * size_t(c_bytes));
  const DeviceStream q;
  Split({}, {}, Sums(a.form, b.form, out.data(), c_bytes, spare.data()), q.stream());
  Multiply(a.form, a.planes.data(), b.form, b.planes.data(), bits, out.data(), c_bytes, spare.data(), q.stream());
  q.Wait();
  (void)spare.Read();
  const Bytes got = out.Read();
  for (size_t i = 0; i < words; ++i) {
    const size_t matrix = i / (m * n), row = i / n % m, column = i % n;
    const uint64_t* const x = &a.words[(matrix * m + row) * depth];
    const uint64_t* const y = &b.words[((c.b.batch > 1 ? matrix * n : 0) + column) * depth];
    uint64_t want = 0;
    for (size_t d = 0; d < depth; ++d) want += x[d] * y[d];
    ASSERT_EQ(WordAt(got, c_bytes, false, i) & Mask(bits), want & Mask(bits))
        << "row " << row << ", column " << column << " of matrix " << matrix;
  }
}

// Returns an operand with the words of a ring of `bits` bits.
Operand Words(int bits, bool transposed = false, size_t batch = 1) {
  return {BytesFor(bits), false, transposed, false, batch};
}
Operand Weight(int bytes, bool transposed = true) { return {bytes, true, transposed, false, 1}; }

TEST(Products, EveryWidthEveryKindOfOperand) {
  for (int bits = 1; bits <= 64; ++bits) {
    Check({3, 5, 7, Words(bits), Words(bits)}, bits);
    Check({17, 70, 33, Words(bits), Words(bits, true)}, bits);
    Check({18, 129, 35, Words(bits, true), Words(bits)}, bits);
    Check({9, 64, 40, Words(bits, false, 3), Words(bits, true, 3)}, bits);
    Check({9, 40, 66, Words(bits, false, 3), Words(bits, false, 1)}, bits);
    for (int bytes : {1, 2, 4}) Check({19, 200, 31, Words(bits), Weight(bytes)}, bits);
  }
}

TEST(Products, OddShapes) {
  for (int bits : {5, 16, 24, 32, 40, 48, 56, 64}) {
    for (bool transposed : {false, true}) {
      for (const auto& [m, depth, n] : {std::array{1, 1, 1},
                                        {2, 3, 1},
                                        {129, 257, 65},
                                        {64, 64, 64},
                                        {65, 63, 33},
                                        {1, 768, 100},
                                        {5, 768, 96},
                                        {7, 300, 31},
                                        {128, 1024, 32},
                                        {1, 2, 300}}) {
        Check({m, depth, n, Words(bits, transposed), Words(bits, transposed)}, bits);
        Check({m, depth, n, Words(bits), Weight(2, transposed)}, bits);
        Check({m, depth, n, Words(bits), Weight(1, transposed)}, bits);
      }
    }
    Check({128, 64, 128, Words(bits, false, 12), Words(bits, false, 12)}, bits);
    Check({20, 65, 30, Words(bits), {BytesFor(bits), false, false, true, 1}}, bits);
    Check({20, 65, 30, {2, true, false, false, 2}, {8, false, true, false, 2}}, bits);
    Check({20, 300, 30, Words(bits), Words(bits), false, 8}, bits);
    if (bits <= 32) Check({20, 300, 30, Words(bits), Words(bits), false, 4}, bits);
  }
}

// Sums of the largest limbs: all bits set, and weights that are the least signed numbers.
TEST(Products, LongSumsAreExact) {
  for (int bits : {1, 8, 16, 32, 33, 40, 48, 56, 64}) {
    Check({3, 30522, 5, Words(bits), Words(bits, true)}, bits);
    Check({2, 30522, 33, Words(bits), Weight(2)}, bits);
    for (int depth : {4096, 4097, 8200, 10000}) {
      Check({3, depth, 2, Words(bits), Words(bits), true}, bits);
      Check({3, depth, 2, Words(bits), Weight(2), true}, bits);
      Check({3, depth, 2, Words(bits), Weight(1), true}, bits);
    }
  }
}

// A graph that is replayed writes its result each time, over any earlier bytes.
TEST(Products, GraphsAreReplayed) {
  std::mt19937_64 rng(4);
  for (int bits : {16, 32, 64}) {
    const Matrix a = Make(Words(bits), false, 9, 2000, bits, false, rng);
    const Matrix b = Make(Words(bits), true, 21, 2000, bits, false, rng);
    const int bytes = BytesFor(bits);
    const size_t size = 9 * 21 * size_t(bytes);
    const Guarded spare(MultiplySpare(a.form, b.form, bytes)), out(size);
    const auto product = [&](StreamHandle s) {
      Split({}, {}, Sums(a.form, b.form, out.data(), bytes, spare.data()), s);
      Multiply(a.form, a.planes.data(), b.form, b.planes.data(), bits, out.data(), bytes, spare.data(), s);
    };
    const DeviceStream q;
    product(q.stream());
    q.Wait();
    const Bytes want = out.Read();
    exec::cuda::LaunchGraph graph;
    graph.Add({}, product);
    graph.Ready();
    for (int i = 0; i < 3; ++i) {
      exec::cuda::Set(out.data(), kPoison, size, q.stream());
      graph.Launch(q.stream());
      q.Wait();
      EXPECT_EQ(out.Read(), want) << bits;
    }
  }
}

}  // namespace
}  // namespace suf::ring::cuda
