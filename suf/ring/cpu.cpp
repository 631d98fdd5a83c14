#include "suf/ring/cpu.hpp"

#include <atomic>
#include <optional>

namespace suf::ring {
namespace {

bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("lzcnt") &&
         __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("vaes") &&
         __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("gfni") &&
         __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}

constexpr Isa kAll[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512};
constexpr const char* kNames[] = {"portable", "avx2", "avx512"};
constexpr const char* kAesNames[] = {"portable", "aesni", "vaes512"};

}  // namespace

const char* Name(Isa v) { return kNames[int(v)]; }

bool Supports(Isa v) {
  static const bool kHas[] = {true, HasAvx2(), HasAvx512()};
  return kHas[int(v)];
}

namespace {

std::optional<Isa>& Chosen() {
  static std::optional<Isa> chosen;
  return chosen;
}
std::atomic<bool> asked{false};

}  // namespace

Isa Best() {
  static const Isa kBest = [] {
    asked = true;
    return Chosen().value_or(Supported().back());
  }();
  return kBest;
}

void Choose(Isa v) {
  SUF_CHECK(Supports(v) && !asked && !Chosen());
  Chosen() = v;
}

std::vector<Isa> Supported() {
  std::vector<Isa> out;
  for (Isa v : kAll) {
    if (Supports(v)) out.push_back(v);
  }
  return out;
}

Isa VariantNamed(std::string_view name) {
  for (Isa v : kAll) {
    if (name != kNames[int(v)] && name != kAesNames[int(v)]) continue;
    if (!Supports(v))
      Fail(Cause::kResource, "this processor does not run the ", name, " kernels; use ", Name(Supported().back()));
    return v;
  }
  Fail(Cause::kInput, "no kernel variant is called '", name,
       "'; the names are portable, avx2 (aesni) and avx512 (vaes512)");
}

}  // namespace suf::ring
