// products_bench: limbs, products and packed bits, each verified before it is timed. Prints one JSON line per
// measurement. Times are medians of replays of a graph of twenty repetitions.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/bytes.hpp"
#include "suf/ring/cuda/pack.hpp"
#include "suf/ring/cuda/products.hpp"
#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"

namespace suf::ring::cuda {
namespace {

using bench::Verify;
using exec::cuda::DeviceMemory;
using exec::cuda::DeviceStream;
using exec::cuda::Event;

// Returns the microseconds of the work that f(stream) submits once.
double Micros(const std::function<void(StreamHandle)>& f) {
  constexpr int kTimes = 20, kRuns = 9, kWarm = 2;
  exec::cuda::LaunchGraph graph;
  int last = -1;
  for (int i = 0; i < kTimes; ++i) last = graph.Add(std::span(&last, size_t(i > 0)), f);
  graph.Ready();
  const DeviceStream q;
  const Event from(true), to(true);
  std::vector<double> seconds;
  for (int i = 0; i < kRuns + kWarm; ++i) {
    from.Record(q.stream());
    graph.Launch(q.stream());
    to.Record(q.stream());
    to.Wait();
    if (i >= kWarm) seconds.push_back(Event::Between(from, to));
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return 1e6 * seconds[kRuns / 2] / kTimes;
}

template <class T>
DeviceMemory On(const std::vector<T>& x) {
  DeviceMemory out(x.size() * sizeof(T) + 32);  // reads of packed bits may go beyond the end
  const DeviceStream q;
  exec::cuda::Upload(out.data(), x.data(), x.size() * sizeof(T), q.stream());
  q.Wait();
  return out;
}
Bytes Back(const void* from, size_t bytes) {
  Bytes out(bytes);
  const DeviceStream q;
  exec::cuda::Download(out.data(), from, bytes, q.stream());
  q.Wait();
  return out;
}

struct Shape {
  int m, depth, n;
  size_t batch = 1;
};

// Times a product of random words. `weight_bytes` is the size of signed words on the right, 0 if they are like those on
// the left.
void Time(const Shape& x, int bits, int weight_bytes) {
  const int bytes = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  const size_t m = size_t(x.m), n = size_t(x.n), depth = size_t(x.depth), words = x.batch * m * n;
  std::mt19937_64 rng(1);
  std::vector<uint64_t> a(x.batch * m * depth), b(x.batch * depth * n);
  for (uint64_t& w : a) w = rng();
  for (uint64_t& w : b) w = weight_bytes ? uint64_t(Signed(rng(), 8 * weight_bytes)) : rng();
  const auto narrow = [](const std::vector<uint64_t>& v, int each) {
    std::vector<uint8_t> out(v.size() * size_t(each));
    for (size_t i = 0; i < v.size(); ++i) std::memcpy(&out[i * size_t(each)], &v[i], size_t(each));
    return out;
  };
  const int b_bytes = weight_bytes ? weight_bytes : bytes;
  const DeviceMemory da = On(narrow(a, bytes)), db = On(narrow(b, b_bytes));
  const Limbs la = LimbsOf(bytes, false, false, x.m, x.depth, x.batch, bits);
  const Limbs lb = LimbsOf(b_bytes, weight_bytes > 0, true, x.n, x.depth, x.batch, bits);
  const DeviceMemory pa(la.bytes()), pb(lb.bytes()), c(words * size_t(bytes)),
      spare(MultiplySpare(la, lb, bytes) + 1);
  const ZeroRange sums = Sums(la, lb, c.data(), bytes, spare.data());
  const auto left = [&](StreamHandle s) { Split({la, da.data(), bytes, false, false, false, pa.data()}, {}, sums, s); };
  const auto right = [&](StreamHandle s) {
    Split({lb, db.data(), b_bytes, weight_bytes > 0, false, true, pb.data()}, {}, {}, s);
  };
  const auto product = [&](StreamHandle s) {
    Multiply(la, pa.data(), lb, pb.data(), bits, c.data(), bytes, spare.data(), s);
  };
  const DeviceStream q;
  exec::cuda::Set(c.data(), 0xa5, c.size(), q.stream());
  right(q.stream());
  left(q.stream());
  product(q.stream());  // the splits clear the sums; products alone would add up
  q.Wait();
  const Bytes got = Back(c.data(), c.size());
  for (int i = 0; i < 300; ++i) {
    const size_t matrix = rng() % x.batch, row = rng() % m, column = rng() % n;
    uint64_t want = 0, is = 0;
    for (size_t d = 0; d < depth; ++d) want += a[(matrix * m + row) * depth + d] * b[(matrix * depth + d) * n + column];
    std::memcpy(&is, &got[((matrix * m + row) * n + column) * size_t(bytes)], size_t(bytes));
    Verify(((is ^ want) & Mask(bits)) == 0, "a product");
  }
  const double us = Micros(product), split = Micros(left), turned = Micros(right);
  const double both = Micros([&](StreamHandle s) {
    left(s);
    product(s);
  });
  const double macs = double(words) * double(depth);
  std::printf(
      "{\"bench\":\"products\",\"shape\":\"%zux%dx%dx%d\",\"bits\":%d,\"right\":\"%s%d\",\"us\":%.2f,"
      "\"tmac_per_s\":%.2f,\"split_left_us\":%.2f,\"split_right_turned_us\":%.2f,\"with_split_left_us\":%.2f,"
      "\"with_split_left_tmac_per_s\":%.2f}\n",
      x.batch, x.m, x.depth, x.n, bits, weight_bytes ? "int" : "uint", 8 * b_bytes, us, macs / us / 1e6, split, turned,
      both, macs / both / 1e6);
  std::fflush(stdout);
}

// Times packing of n elements of k bits, at an odd byte of a string.
void TimePacking(size_t n, int k) {
  const int bytes = k > 64 ? (k + 63) / 64 * 8 : k <= 8 ? 1 : k <= 16 ? 2 : k <= 32 ? 4 : 8;
  const size_t packed = (n * size_t(k) + 7) / 8;
  std::mt19937_64 rng(2);
  std::vector<uint8_t> words(n * size_t(bytes));
  for (uint8_t& w : words) w = uint8_t(rng());
  for (size_t i = 0; i < n; ++i)
    for (int j = k; j < 8 * bytes; ++j) words[i * size_t(bytes) + size_t(j / 8)] &= uint8_t(~(1u << (j % 8)));
  const DeviceMemory from = On(words), string(packed + 64), back(words.size());
  uint8_t* const at = string.data() + 17;
  const auto pack = [&](StreamHandle s) { Pack(from.data(), bytes, n, k, at, s); };
  const auto unpack = [&](StreamHandle s) { Unpack(at, n, k, back.data(), bytes, s); };
  const DeviceStream q;
  pack(q.stream());
  unpack(q.stream());
  q.Wait();
  const Bytes string_now = Back(at, packed), again = Back(back.data(), words.size());
  Verify(std::equal(words.begin(), words.end(), again.begin()), "a packed string");
  for (int i = 0; i < 1000; ++i) {
    const size_t e = rng() % n, j = rng() % size_t(k), bit = e * size_t(k) + j;
    Verify((string_now[bit / 8] >> (bit % 8) & 1) == (words[e * size_t(bytes) + j / 8] >> (j % 8) & 1), "packing");
  }
  const double us = Micros(pack), un = Micros(unpack), all = double(packed + words.size());
  std::printf(
      "{\"bench\":\"packing\",\"elements\":%zu,\"bits\":%d,\"pack_us\":%.2f,\"pack_gb_per_s\":%.0f,\"unpack_us\":%.2f,"
      "\"unpack_gb_per_s\":%.0f}\n",
      n, k, us, all / us / 1e3, un, all / un / 1e3);
  std::fflush(stdout);
}

void Main() {
  const Shape dense{128, 768, 3072};
  for (int bits : {8, 16, 24, 32, 40, 48, 56, 64}) {
    Time(dense, bits, 0);
    if (bits > 16) Time(dense, bits, 2);
  }
  Time(dense, 32, 1);
  for (const Shape& x :
       {Shape{128, 3072, 768}, Shape{128, 768, 768}, Shape{128, 64, 128, 12}, Shape{128, 128, 64, 12}}) {
    for (int bits : {32, 40, 64}) Time(x, bits, 0);
    if (x.batch == 1) Time(x, 32, 2);
  }
  Time({1024, 1024, 1024}, 32, 0);
  Time({1024, 1024, 1024}, 32, 2);
  Time({1024, 1024, 1024}, 64, 0);
  for (int bits : {16, 32}) Time({128, 30522, 768}, bits, 0);
  for (int m : {1, 5, 7})
    for (int bits : {32, 64}) Time({m, 768, 3072}, bits, 0);
  for (int k : {1, 7, 12, 13, 32, 37, 64}) TimePacking(size_t{1} << 22, k);
  for (int k : {100, 766, 7424}) TimePacking((size_t{1} << 27) / size_t(k), k);
}

}  // namespace
}  // namespace suf::ring::cuda

int main() {
  try {
    suf::ring::cuda::Main();
  } catch (const suf::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
