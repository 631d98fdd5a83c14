// The kernel variants that this processor runs. A variant is one compilation of a kernel (cmake/modules.cmake has the
// flags). All variants of a kernel give the same bytes. Every kernel has a variant as a parameter, by default Best().
//
//     portable  x86-64 baseline, AES bit-sliced
//     avx2      AVX2, BMI2, FMA, AES-NI ("aesni" in fss)
//     avx512    x86-64-v4 with VAES, IFMA, VNNI, VBMI2, GFNI, BITALG, VPOPCNTDQ ("vaes512" in fss)
#pragma once
#include <string_view>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::ring {

enum class Isa { kPortable, kAvx2, kAvx512 };

const char* Name(Isa v);
bool Supports(Isa v);
// Returns the fastest supported variant, or the one that this process chose.
Isa Best();
// Sets the result of Best. Called at most once and before Best, so that all kernels of a process agree. Only the
// program calls it (--kernels); tests name variants.
void Choose(Isa v);
// Returns every variant that this processor runs, portable first.
std::vector<Isa> Supported();
// Returns the variant with this name, any of the list above. Throws Cause::kInput for another name, Cause::kResource if
// the processor does not run the variant.
Isa VariantNamed(std::string_view name);

// Returns entry v of a table with one kernel per variant.
template <class F>
F Pick(F const (&table)[3], Isa v) {
  SUF_CHECK(Supports(v));
  return table[int(v)];
}

}  // namespace suf::ring
