// The backend cuda: the trace on an NVIDIA device.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "suf/pfss/backend.hpp"

namespace suf::backends {

// CudaBuilt: what this build has it for, as in "nvcc 13.0 for sm_80, sm_90, compute_90"; empty where it was left out.
std::string CudaBuilt();
// CudaWhyNot: why it does not run on device `index` here: a sentence that names what is needed, what was found and what
// to do, which a comma and another backend may follow; empty where it runs. Asks the driver once a process and device.
std::string CudaWhyNot(int index = 0);
pfss::Capabilities CudaCapabilities();
// MakeCuda: on device `index`; printed: every group is a kernel of its own, however small the trace. Throws
// Cause::kResource with CudaWhyNot.
std::unique_ptr<pfss::Backend> MakeCuda(int index = 0, bool printed = false);

// KernelsMade: how many texts a role's groups have, and how many of them have machine code now.
struct KernelsMade {
  size_t texts = 0, there = 0;
};
// MakeKernels: puts the kernels of a role's groups for devices of `architecture`, as in "sm_90", into `folder` (empty:
// the user's, where the backend looks), all cores at once, without a device. done: called with how many of all are
// through. Throws Cause::kResource where this build or this machine has no compiler for them.
KernelsMade MakeKernels(const pfss::Schedule& s, Role role, const std::string& architecture, const std::string& folder,
                        const std::function<void(size_t done, size_t all)>& done);

}  // namespace suf::backends
