// The backend cuda: the trace on an NVIDIA device.
#pragma once
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

}  // namespace suf::backends
