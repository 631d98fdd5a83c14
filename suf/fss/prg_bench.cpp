// prg_bench [variant]: expansion in GB/s and as a fraction of AES in registers only, and the cost of a section. Prints
// JSON lines.
#include <numeric>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/fss/internal/aes_kernels.hpp"
#include "suf/fss/prg.hpp"

int main(int argc, char** argv) {
  using namespace suf;
  using namespace suf::fss;
  const Isa v = argc > 1 ? ring::VariantNamed(argv[1]) : ring::Best();
  const internal::AesKernels* const kTable[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
  const auto& aes = *ring::Pick(kTable, v);
  const Prg prg(Secret(), Hash{}, 0, v);
  const auto section = prg.At(1);
  Bytes room(32768 + 64), part(100);
  const std::span<uint8_t> out(room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64,
                               32768);  // aligned like registers
  section.Fill(0, out);
  section.Fill(160, part);
  bench::Verify(std::equal(part.begin(), part.end(), out.begin() + 160), "an offset");
  const uint64_t blocks = v == Isa::kPortable ? 4000 : 40000;
  double bound = 1e300, fill = 1e300;
  volatile uint64_t sink = 0;
  for (int i = 0; i < 5; ++i) {  // interleaved, so that other load affects both
    bound = std::min(bound, bench::BestSeconds([&] { sink = aes.bound(blocks); }, 3) / double(blocks));
    fill = std::min(fill, bench::BestSeconds([&] { section.Fill(0, out); }, 3) / double(out.size() / 16));
  }
  const double at = bench::BestSeconds([&] { (void)prg.At(3); });
  std::vector<uint32_t> sections(1000);
  std::iota(sections.begin(), sections.end(), 7);
  const double many = bench::BestSeconds([&] { (void)prg.KeysOf(sections); }) / double(sections.size());
  std::printf(
      "{\"bench\":\"prg\",\"prg\":\"%s\",\"variant\":\"%s\",\"gb_per_s\":%.2f,\"aes_bound_gb_per_s\":%.2f,\"fraction\":"
      "%.2f,"
      "\"section_us\":%.2f,\"section_of_many_us\":%.2f}\n",
      kPrgName, ring::Name(v), 16e-9 / fill, 16e-9 / bound, bound / fill, at * 1e6, many * 1e6);
}
