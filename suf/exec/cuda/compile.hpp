// Kernels compiled from text at run time, and modules of machine code. The compiler, NVRTC, is loaded at its first use.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/exec/cuda/device.hpp"

struct CUmod_st;
struct CUfunc_st;

namespace suf::exec::cuda {

// Returns the name and version of the compiler that Compile calls, or nothing if this machine has none.
std::string CompilerName();
// Compiles a translation unit for devices of one architecture, such as "sm_90". `headers` has texts by the names by
// which they are included. Thread-safe. Throws Cause::kRefused with the compiler's first error.
Bytes Compile(const std::string& text, std::span<const std::pair<const char*, const char*>> headers,
              const std::string& architecture);

// Machine code on the current device, and its one kernel.
class Module {
 public:
  Module() = default;
  Module(View code, const char* kernel);
  ~Module();
  Module(Module&& o) noexcept
      : module_(std::exchange(o.module_, nullptr)), kernel_(std::exchange(o.kernel_, nullptr)) {}
  Module& operator=(Module&& o) noexcept {
    std::swap(module_, o.module_);
    std::swap(kernel_, o.kernel_);
    return *this;
  }
  // Launches the kernel. `params` is its one parameter, which is copied.
  void Launch(View params, unsigned blocks, unsigned threads, StreamHandle s) const;

 private:
  CUmod_st* module_ = nullptr;
  CUfunc_st* kernel_ = nullptr;
};

}  // namespace suf::exec::cuda
