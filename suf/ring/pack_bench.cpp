// pack_bench [variant]: packing and unpacking, in billions of elements per second. One JSON line per figure.
#include <random>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"

namespace {

using namespace suf;
using namespace suf::ring;

template <class T>
void Report(int k, Isa v) {
  const size_t n = 8000;
  std::mt19937_64 rng(1);
  std::vector<T> x(n), back(n);
  std::vector<uint8_t> bytes(PackedBytes(n, k));
  for (T& e : x) e = T(rng() & Mask(k));
  Pack(x.data(), n, k, bytes.data(), v);
  Unpack(bytes.data(), n, k, back.data(), v);
  bench::Verify(x == back, "packing");
  const double pack = bench::BestSeconds([&] { Pack(x.data(), n, k, bytes.data(), v); });
  const double unpack = bench::BestSeconds([&] { Unpack(bytes.data(), n, k, back.data(), v); });
  std::printf(
      "{\"bench\":\"pack\",\"word\":%zu,\"k\":%d,\"variant\":\"%s\",\"pack_g_per_s\":%.2f,\"unpack_g_per_s\":%.2f}\n",
      8 * sizeof(T), k, Name(v), double(n) / pack / 1e9, double(n) / unpack / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const Isa v = argc > 1 ? VariantNamed(argv[1]) : Best();
  for (int k : {1, 3, 7}) Report<uint8_t>(k, v);
  for (int k : {4, 9, 13}) Report<uint16_t>(k, v);
  for (int k : {1, 12, 20, 27, 31}) Report<uint32_t>(k, v);
  for (int k : {20, 37, 48, 63}) Report<uint64_t>(k, v);
}
