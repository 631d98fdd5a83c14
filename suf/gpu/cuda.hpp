// The backend cuda: the trace on an NVIDIA device.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "suf/pfss/backend.hpp"

namespace suf::gpu {

// What this build has it for, as in "nvcc 13.0 for sm_80, sm_90, compute_90"; empty where it was left out.
std::string CudaBuilt();
// Why it does not run on device `index` here: a sentence that names what is needed, what was found and what
// to do, which a comma and another backend may follow; empty where it runs. Asks the driver once a process and device.
std::string CudaWhyNot(int index = 0);
// Whether this machine has an NVIDIA driver, so that it is worth saying why cuda does not run.
bool CudaPresent();
pfss::Capabilities CudaCapabilities();
// On device `index`; printed: every group is a kernel of its own, however small the trace. Throws
// Cause::kResource with CudaWhyNot.
std::unique_ptr<pfss::Backend> MakeCuda(int index = 0, bool printed = false);

// Who hears, once a run, of groups that the interpreter runs, as they have no kernels and will have none.
void CudaTells(std::function<void(const std::string& line)> to);

// What a role's run of a trace has on a device, in bytes, at least, and how many kernels it runs.
struct DeviceCost {
  int64_t values = 0;   // with frames, key sections and words of the PRG: one piece of memory
  int64_t codes = 0;    // of groups, constants, keys of sections
  int64_t weights = 0;  // as products read them; they stay
  int64_t inputs = 0;   // as everything else reads them
  int64_t launches = 0;
  int64_t bytes() const { return values + codes + weights + inputs; }
};
// Needs no device. bytes_of: of a word of a 2-D input, by its name, as the host keeps it; negative:
// signed. Throws Cause::kResource where this build has no CUDA.
DeviceCost DeviceCostOf(const pfss::Schedule& s, Role role, const pfss::Backend::InputBytes& bytes_of);

// How many texts a role's groups have, and how many of them have machine code now.
struct KernelsMade {
  size_t texts = 0, there = 0;
};
// Puts the kernels of a role's groups for devices of `architecture`, as in "sm_90", into `folder` (empty:
// the user's, where the backend looks), all cores at once, without a device. done: called with how many of all are
// through. Throws Cause::kResource where this build or this machine has no compiler for them.
KernelsMade MakeKernels(const pfss::Schedule& s, Role role, const std::string& architecture, const std::string& folder,
                        const std::function<void(size_t done, size_t all)>& done);

}  // namespace suf::gpu
