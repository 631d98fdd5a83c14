// The backend cuda: the trace on an NVIDIA device.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "suf/pfss/backend.hpp"

namespace suf::gpu {

// Returns the compiler and targets of this build, as in "nvcc 13.0 for sm_80, sm_90, compute_90"; empty without CUDA.
std::string CudaBuilt();
// Returns why it does not run on device `index`, or an empty string if it runs. The text names the requirement, the
// finding and a remedy. A comma and another backend may follow it. Queries the driver once per process and device.
std::string CudaWhyNot(int index = 0);
// Returns whether this machine has an NVIDIA driver, so that the reason why cuda does not run is of interest.
bool CudaPresent();
pfss::Capabilities CudaCapabilities();
// Makes the backend on device `index`. With `printed`, every group is a kernel of its own, even in a small trace.
// Throws Cause::kResource with CudaWhyNot.
std::unique_ptr<pfss::Backend> MakeCuda(int index = 0, bool printed = false);

// Sets the receiver of a line about groups that the interpreter runs because they will have no kernels. It is called at
// most once per run.
void SetLogSink(std::function<void(const std::string& line)> to);

// The least memory of a role's run of a trace on a device, in bytes, and its number of kernels.
struct DeviceCost {
  int64_t values = 0;   // one piece of memory, with frames, key sections and PRG words
  int64_t codes = 0;    // of groups, constants, keys of sections
  int64_t weights = 0;  // in the form that products read; they stay
  int64_t inputs = 0;   // in the form that other operations read
  int64_t launches = 0;
  int64_t bytes() const { return values + codes + weights + inputs; }
};
// Returns the cost; needs no device. `bytes_of(name)` is the bytes of a word of a 2-D input in the host's form,
// negative if signed. Throws Cause::kResource if this build has no CUDA.
DeviceCost DeviceCostOf(const pfss::Schedule& s, Role role, const pfss::Backend::InputBytes& bytes_of);

// The number of texts of a role's groups, and of those that have machine code now.
struct KernelsMade {
  size_t texts = 0, there = 0;
};
// Compiles the kernels of a role's groups for devices of `architecture`, as in "sm_90", into `folder`. If `folder` is
// empty, it is the user's, which the backend reads. Uses all cores and no device. Calls done(number done, number of
// all). Throws Cause::kResource if this build or this machine has no compiler for them.
KernelsMade MakeKernels(const pfss::Schedule& s, Role role, const std::string& architecture, const std::string& folder,
                        const std::function<void(size_t done, size_t all)>& done);

}  // namespace suf::gpu
