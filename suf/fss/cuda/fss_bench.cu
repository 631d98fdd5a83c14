// fss_bench: AES in registers, the PRG to memory, and trees with their keys on the device. Each runs with both sizes of
// tables and is verified before it is timed. Prints one JSON line per measurement; times are medians of events.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/digest.hpp"
#include "suf/fss/cuda/aes.cuh"
#include "suf/fss/dcf.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

namespace suf::fss::cuda {
namespace {

using exec::cuda::DeviceMemory;
using suf::bench::Verify;

// Returns the median time of `runs` runs of f(stream), after two runs to warm up.
double Seconds(const std::function<void(StreamHandle)>& f, int runs = 9) {
  const exec::cuda::DeviceStream q;
  cudaEvent_t from, to;
  SUF_CUDA_CHECK(cudaEventCreate(&from));
  SUF_CUDA_CHECK(cudaEventCreate(&to));
  std::vector<float> ms(size_t(runs) + 2);
  for (float& t : ms) {
    SUF_CUDA_CHECK(cudaEventRecord(from, q.stream()));
    f(q.stream());
    SUF_CUDA_CHECK(cudaEventRecord(to, q.stream()));
    SUF_CUDA_CHECK(cudaEventSynchronize(to));
    SUF_CUDA_CHECK(cudaEventElapsedTime(&t, from, to));
  }
  SUF_CUDA_CHECK(cudaEventDestroy(from));
  SUF_CUDA_CHECK(cudaEventDestroy(to));
  std::sort(ms.begin() + 2, ms.end());
  return 1e-3 * double(ms[2 + size_t(runs) / 2]);
}

template <class T>
DeviceMemory On(const std::vector<T>& x) {
  const exec::cuda::DeviceStream q;
  DeviceMemory memory(x.size() * sizeof(T));
  exec::cuda::Upload(memory.data(), x.data(), memory.size(), q.stream());
  q.Wait();
  return memory;
}
template <class T>
std::vector<T> Back(const void* from, size_t count) {
  const exec::cuda::DeviceStream q;
  std::vector<T> x(count);
  SUF_CUDA_CHECK(cudaDeviceSynchronize());
  exec::cuda::Download(x.data(), from, count * sizeof(T), q.stream());
  q.Wait();
  return x;
}
const uint64_t* Words(const DeviceMemory& m) { return reinterpret_cast<const uint64_t*>(m.data()); }
uint64_t* Out(const DeviceMemory& m) { return reinterpret_cast<uint64_t*>(m.data()); }

void Print(const char* name, const char* of, double count, double seconds, double giga, const char* unit) {
  std::printf("{\"bench\":\"%s\",\"of\":\"%s\",\"tables\":%d,\"count\":%.0f,\"us\":%.1f,\"%s\":%.4g}\n", name, of,
              LaunchGrid(1).tables, count, 1e6 * seconds, unit, giga);
  std::fflush(stdout);
}

// ---- Memory: the ceiling of a kernel that only reads

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
__global__ void __launch_bounds__(1024) FillKernel(uint64_t* out, uint64_t count) {
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += uint64_t(gridDim.x) * blockDim.x)
    out[i] = i * kOdd;
}
__global__ void __launch_bounds__(1024) ReadKernel(const ulonglong2* x, uint64_t count, unsigned long long* sum) {
  unsigned long long all = 0;
#pragma unroll 8
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += uint64_t(gridDim.x) * blockDim.x)
    all += x[i].x + x[i].y;
  for (int by = 16; by; by /= 2) all += __shfl_xor_sync(~0u, all, by);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, all);
}
void Read() {
  constexpr uint64_t kCount = uint64_t{1} << 29;
  const DeviceMemory words(8 * kCount), sum(8);
  const unsigned blocks = 2 * unsigned(exec::cuda::Find(0).processors);
  FillKernel<<<blocks, 1024>>>(Out(words), kCount);
  const auto run = [&](StreamHandle s) {
    exec::cuda::Set(sum.data(), 0, sum.size(), s);
    ReadKernel<<<blocks, 1024, 0, s>>>(reinterpret_cast<const ulonglong2*>(words.data()), kCount / 2,
                                       reinterpret_cast<unsigned long long*>(sum.data()));
  };
  run(nullptr);
  Verify(Back<uint64_t>(sum.data(), 1)[0] == kCount / 2 * (kCount - 1) * kOdd, "a sum of what was read");
  const double t = Seconds(run);
  Print("memory", "read", 8.0 * kCount, t, 8e-9 * kCount / t, "gb_per_s");
}

// ---- AES in registers

template <int kTables>
__global__ void __launch_bounds__(kThreads, 1) ChainKernel(int length, uint4* out) {
  Aes<kTables> aes;
  aes.SetKey({0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c});
  Quad s = {blockIdx.x * blockDim.x + threadIdx.x, 1, 2, 3};
#pragma unroll 1
  for (int i = 0; i < length; ++i) s = aes.Encrypt(s);
  Store(out + blockIdx.x * blockDim.x + threadIdx.x, s);
}

void Chain() {
  const unsigned threads = unsigned(exec::cuda::Find(0).processors) * kThreads;
  const DeviceMemory out(16 * size_t{threads});
  const auto run = [&](int length, StreamHandle s) {
    Launch("ChainKernel", ChainKernel<4>, ChainKernel<2>, kThreads, threads, s, length,
           reinterpret_cast<uint4*>(out.data()));
  };
  run(3, nullptr);
  const auto got = Back<Prg::SectionKeys>(out.data(), 1);  // 11 blocks and more
  uint8_t key[16], round_keys[176];
  for (int i = 0; i < 16; ++i) key[i] = uint8_t(i);
  portable::kAes.expand(key, round_keys);
  for (uint32_t i = 0; i < 11; ++i) {
    uint32_t block[4] = {i, 1, 2, 3};
    uint8_t* const b = reinterpret_cast<uint8_t*>(block);
    for (int k = 0; k < 3; ++k) portable::kAes.encrypt(round_keys, b, b, 1);
    Verify(std::equal(b, b + 16, got[0].round_keys.begin() + 16 * i), "a chain");
  }
  const double t = Seconds([&](StreamHandle s) { run(2000, s); });
  Print("aes", "a chain in registers", 2000.0 * threads, t, 2e-6 * threads / t, "g_blocks_per_s");
  Print("launch", "tables and nothing else", 0, Seconds([&](StreamHandle s) { run(0, s); }, 51), 0, "none");
}

// ---- The PRG

void ExpandSections(const char* of, const std::vector<uint64_t>& blocks) {
  const Prg prg(Secret(View(HashOf({AsView("key")}))), HashOf({AsView("rho")}), 1);
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < blocks.size(); ++i) numbers.push_back(uint32_t(i));
  const auto made = prg.KeysOf(numbers);
  const DeviceMemory keys = On(std::vector<Prg::SectionKeys>(made.begin(), made.end()));
  uint64_t all = 0;
  for (uint64_t b : blocks) all += b;
  const DeviceMemory out(16 * all);
  exec::cuda::Set(out.data(), 0xa5, out.size(), nullptr);
  std::vector<PrgSpan> pieces;
  uint64_t at = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (uint64_t b = 0; b < blocks[i]; b += kPieceBlocks, at += 16 * pieces.back().blocks) {
      pieces.push_back({reinterpret_cast<const Prg::SectionKeys*>(keys.data()) + i, out.data() + at, uint32_t(b),
                        uint32_t(std::min<uint64_t>(kPieceBlocks, blocks[i] - b))});
    }
  }
  const DeviceMemory list = On(pieces);
  const auto run = [&](StreamHandle s) { Expand(reinterpret_cast<const PrgSpan*>(list.data()), pieces.size(), s); };
  run(nullptr);
  at = 0;
  for (size_t i = 0; i < blocks.size(); at += 16 * blocks[i], ++i) {
    if (i % 97 && blocks.size() - i > 3) continue;
    Bytes want(16 * blocks[i]);
    prg.At(uint32_t(i)).Fill(0, want);
    const auto got = Back<uint8_t>(out.data() + at, want.size());
    Verify(std::equal(got.begin(), got.end(), want.begin()), "a section");
  }
  const double t = Seconds(run);
  Print("expand", of, double(16 * all), t, 1e-9 * double(16 * all) / t, "gb_per_s");
}

void Sections() {
  ExpandSections("pieces of 4096 blocks", std::vector<uint64_t>(40, uint64_t{1} << 21));
  std::mt19937_64 rng(1);
  std::vector<uint64_t> sizes;  // from one block to a few MB: 2500 sections, most of the bytes in few
  double sum = 0;
  for (int i = 0; i < 2500; ++i) {
    const double x = double(rng() >> 11) / 9007199254740992.0;
    sizes.push_back(i % 5 < 2 ? 1 + rng() % 100 : uint64_t(std::exp(17 * x)));
    sum += double(sizes.back());
  }
  for (uint64_t& s : sizes) s = std::max<uint64_t>(1, uint64_t(double(s) * 87.5e6 / sum));
  ExpandSections("2500 sections of all sizes", sizes);
  ExpandSections("100000 sections of one to 64 blocks", [&] {
    std::vector<uint64_t> small(100000);
    for (uint64_t& s : small) s = 1 + rng() % 64;
    return small;
  }());
}

// ---- Trees

std::vector<uint64_t> Random(size_t n, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<uint64_t> x(n);
  for (uint64_t& w : x) w = rng();
  return x;
}

void Dpfs(int n, size_t count, int m) {
  const std::vector<uint64_t> alpha = Random(count, 2);
  std::vector<uint64_t> x = Random(count, 3), thresholds(size_t(m), 0);
  for (size_t i = 0; i < count; ++i) {
    if (i % 2) x[i] = alpha[i] + i % 5 - 2;
  }
  for (size_t j = 0; j < size_t(m); ++j) thresholds[j] = j;
  const DeviceMemory tree_key = On(Random(2, 4)), root0 = On(Random(2 * count, 5)), root1 = On(Random(2 * count, 6)),
                     on_alpha = On(alpha), on_x = On(x), on_thresholds = On(thresholds);
  const DeviceMemory key(DpfKeyBytes(n) * count), out0(8 * count), out1(8 * count);
  const DeviceKeyBatch b{tree_key.data(), 7, n, count};
  const auto gen = [&](StreamHandle s) { DpfGen(b, Words(on_alpha), root0.data(), root1.data(), key.data(), s); };
  const auto parity = [&](int p, StreamHandle s) {
    DpfParity(b, p, p ? root1.data() : root0.data(), key.data(), Words(on_x), Words(on_thresholds), m,
              Out(p ? out1 : out0), s);
  };
  gen(nullptr);
  parity(0, nullptr);
  parity(1, nullptr);
  const auto a = Back<uint64_t>(out0.data(), count), c = Back<uint64_t>(out1.data(), count);
  const uint64_t mask = ~uint64_t{0} >> (64 - n);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < size_t(m); ++j) {
      Verify(((a[i] ^ c[i]) >> j & 1) == (((x[i] - j) & mask) < (alpha[i] & mask)), "a comparison");
    }
  }
  char of[64];
  std::snprintf(of, sizeof of, "%d bits, %d thresholds", n, m);
  const double all = double(count) * m;
  if (m == 1) {
    const double t = Seconds(gen);
    Print("dpf_gen", of, all, t, 1e-9 * all / t, "g_keys_per_s");
  }
  const double t = Seconds([&](StreamHandle s) { parity(0, s); });
  Print("dpf_parity", of, all, t, 1e-9 * all / t, "g_per_s");
}

void Windows(int n, size_t count, int level, int m) {
  const std::vector<uint64_t> alpha = Random(count, 2), mask{~uint64_t{0} >> (64 - n)};
  std::vector<uint64_t> lo(count);
  for (size_t i = 0; i < count; ++i) lo[i] = ((alpha[i] & mask[0]) >> level) - i % size_t(m);
  const DeviceMemory tree_key = On(Random(2, 4)), root0 = On(Random(2 * count, 5)), root1 = On(Random(2 * count, 6)),
                     on_alpha = On(alpha), on_lo = On(lo);
  const size_t words = size_t(m + 63) / 64;
  const DeviceMemory key(DpfKeyBytes(n) * count), out0(8 * words * count), out1(8 * words * count);
  const DeviceKeyBatch b{tree_key.data(), 7, n, count};
  DpfGen(b, Words(on_alpha), root0.data(), root1.data(), key.data(), nullptr);
  const auto window = [&](int p, StreamHandle s) {
    DpfWindow(b, p, p ? root1.data() : root0.data(), key.data(), level, Words(on_lo), m, Out(p ? out1 : out0), s);
  };
  window(0, nullptr);
  window(1, nullptr);
  const auto a = Back<uint64_t>(out0.data(), words * count), c = Back<uint64_t>(out1.data(), words * count);
  for (size_t i = 0; i < words * count; ++i) {
    const size_t at = i / words % size_t(m);
    Verify((a[i] ^ c[i]) == (at / 64 == i % words ? uint64_t{1} << at % 64 : 0), "a window");
  }
  char of[64];
  std::snprintf(of, sizeof of, "%d bits, level %d, %d points", n, level, m);
  const double t = Seconds([&](StreamHandle s) { window(0, s); });
  Print("dpf_window", of, double(count), t, 1e-9 * double(count) / t, "g_keys_per_s");
}

void Dense(int n, size_t count) {
  const std::vector<uint64_t> alpha = Random(count, 2), x = Random(count, 3), table = Random(size_t{1} << n, 7);
  const DeviceMemory tree_key = On(Random(2, 4)), root0 = On(Random(2 * count, 5)), root1 = On(Random(2 * count, 6)),
                     on_alpha = On(alpha), on_x = On(x), on_table = On(table);
  const DeviceMemory key(DpfKeyBytes(n) * count), out0(8 * count), out1(8 * count);
  const DeviceKeyBatch b{tree_key.data(), 7, n, count};
  DpfGen(b, Words(on_alpha), root0.data(), root1.data(), key.data(), nullptr);
  const auto dense = [&](int p, StreamHandle s) {
    DpfDense(b, p, p ? root1.data() : root0.data(), key.data(), Words(on_x), Words(on_table), Out(p ? out1 : out0), s);
  };
  dense(0, nullptr);
  dense(1, nullptr);
  const auto a = Back<uint64_t>(out0.data(), count), c = Back<uint64_t>(out1.data(), count);
  for (size_t i = 0; i < count; ++i) {
    Verify((a[i] ^ c[i]) == table[(x[i] - alpha[i]) & (table.size() - 1)], "a dense read");
  }
  char of[64];
  std::snprintf(of, sizeof of, "%d bits", n);
  const double t = Seconds([&](StreamHandle s) { dense(0, s); });
  Print("dpf_dense", of, double(count), t, 1e-9 * double(count) / t, "g_keys_per_s");
}

void Dcfs(int n, int words, int bits, size_t count) {
  const std::vector<uint64_t> alpha = Random(count, 2), beta = Random(count * size_t(words), 8);
  std::vector<uint64_t> x = Random(count, 3);
  for (size_t i = 0; i < count; ++i) {
    if (i % 2) x[i] = alpha[i] + i % 5 - 2;
  }
  const DeviceMemory tree_key = On(Random(2, 4)), root0 = On(Random(2 * count, 5)), root1 = On(Random(2 * count, 6)),
                     on_alpha = On(alpha), on_beta = On(beta), on_x = On(x), zero = On(std::vector<uint64_t>(2));
  const DeviceMemory key(ElementBytes(int(DcfKeyBits(n, words, bits))) * count), out0(8 * size_t(words) * count),
      out1(8 * size_t(words) * count);
  const DeviceKeyBatch b{tree_key.data(), 7, n, count, words, bits};
  const auto gen = [&](StreamHandle s) {
    DcfGen(b, Words(on_alpha), Words(on_beta), root0.data(), root1.data(), key.data(), s);
  };
  const auto eval = [&](int p, StreamHandle s) {
    DcfEval(b, p, p ? root1.data() : root0.data(), key.data(), Words(on_x), Words(zero), 1, Out(p ? out1 : out0), s);
  };
  gen(nullptr);
  eval(0, nullptr);
  eval(1, nullptr);
  const auto a = Back<uint64_t>(out0.data(), size_t(words) * count),
             c = Back<uint64_t>(out1.data(), size_t(words) * count);
  const uint64_t mask = ~uint64_t{0} >> (64 - n), low = ~uint64_t{0} >> (64 - bits);
  for (size_t k = 0; k < a.size(); ++k) {
    const bool less = (x[k % count] & mask) < (alpha[k % count] & mask);
    Verify(((a[k] + c[k]) & low) == (less ? beta[k] & low : 0), "a comparison with a payload");
  }
  char of[64];
  std::snprintf(of, sizeof of, "%d bits, %d words of %d bits", n, words, bits);
  const double t = Seconds(gen), u = Seconds([&](StreamHandle s) { eval(0, s); });
  Print("dcf_gen", of, double(count), t, 1e-9 * double(count) / t, "g_keys_per_s");
  Print("dcf_eval", of, double(count), u, 1e-9 * double(count) / u, "g_per_s");
}

void All() {
  Read();
  Chain();
  Sections();
  for (size_t count : {1024u, 1u << 17, 1u << 20, 1u << 22}) Dpfs(64, count, 1);
  Dpfs(32, 1 << 20, 1);
  Dpfs(16, 1 << 20, 4);
  Dpfs(37, 1 << 16, 40);
  Dpfs(37, 1 << 18, 40);
  Windows(64, 1 << 18, 0, 1);
  Windows(64, 1 << 18, 0, 256);
  Windows(37, 1 << 18, 12, 64);
  Windows(12, 1 << 16, 0, 4096);
  Windows(16, 1 << 12, 0, 1 << 16);
  Dense(8, 1 << 20);
  Dense(12, 1 << 16);
  Dense(16, 1 << 12);
  Dcfs(64, 1, 64, 1 << 20);
  Dcfs(32, 2, 32, 1 << 20);
  Dcfs(64, 3, 40, 1 << 18);
}

}  // namespace
}  // namespace suf::fss::cuda

int main() {
  using namespace suf::fss::cuda;
  for (int tables : {4, 2}) {
    most_tables = tables;
    All();
  }
}
