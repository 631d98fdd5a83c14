// Which kernel variants this processor runs. A variant is one compilation of a kernel (cmake/rooms.cmake has the
// flags); all variants of a kernel give the same bytes, and every kernel takes one by value, Best() by default.
//   portable  x86-64 baseline, AES bit-sliced
//   avx2      AVX2, BMI2, FMA, AES-NI ("aesni" in fss)
//   avx512    x86-64-v4 with VAES, IFMA, VNNI, VBMI2, GFNI, BITALG, VPOPCNTDQ ("vaes512" in fss)
#pragma once
#include <string_view>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::ring {

enum class Variant { kPortable, kAvx2, kAvx512 };

const char* Name(Variant v);
bool Supports(Variant v);
// The fastest supported variant, or the one that this process chose.
Variant Best();
// What Best is from now on. At most once, before anybody asks for it, so that all kernels of a process agree;
// it is the program's alone (--kernels), tests name variants.
void Choose(Variant v);
// Every variant this processor runs, portable first.
std::vector<Variant> Supported();
// By any name of the list above; throws Cause::kInput for another name, Cause::kResource where it cannot
// run.
Variant VariantNamed(std::string_view name);

// Pick: entry v of a table with one kernel for each variant.
template <class F>
F Pick(F const (&table)[3], Variant v) {
  SUF_CHECK(Supports(v));
  return table[int(v)];
}

}  // namespace suf::ring
