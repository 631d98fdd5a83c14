// Kernels from text at run time: NVRTC, which is loaded when it is first asked for, and modules of machine code.
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

// Of the compiler that Compile calls, with its version; empty where it is not on this machine.
std::string CompilerName();
// A translation unit for devices of one architecture, as in "sm_90"; headers: texts by the names by which they
// are included. Thread-safe. Throws Cause::kRefused with the compiler's first complaint.
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
    std::swap(module_, o.module_), std::swap(kernel_, o.kernel_);
    return *this;
  }
  // Params: the kernel's one parameter, which is copied.
  void Launch(View params, unsigned blocks, unsigned threads, Stream s) const;

 private:
  CUmod_st* module_ = nullptr;
  CUfunc_st* kernel_ = nullptr;
};

}  // namespace suf::exec::cuda
