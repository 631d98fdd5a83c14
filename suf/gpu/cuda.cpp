#include "suf/gpu/cuda.hpp"

#include <unistd.h>

#if SUF_CUDA
#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda/backend.hpp"
#endif

namespace suf::gpu {

#if SUF_CUDA

std::string CudaBuilt() { return SUF_CUDA_BUILT; }

std::string CudaWhyNot(int index) {
  const std::string why_not = exec::cuda::WhyNot(index);
  return why_not.empty() ? "" : "the backend cuda " + why_not;
}

#else

std::string CudaBuilt() { return ""; }

std::string CudaWhyNot(int) { return "this suf was built without CUDA; build it where nvcc is"; }

#endif

bool CudaPresent() { return access("/proc/driver/nvidia/version", F_OK) == 0; }

pfss::Capabilities CudaCapabilities() { return {"cuda", "the trace on an NVIDIA device"}; }

std::unique_ptr<pfss::Backend> MakeCuda(int index, [[maybe_unused]] bool printed) {
  if (const std::string why_not = CudaWhyNot(index); !why_not.empty())
    Fail(Cause::kResource, why_not, ", or use packed");
#if SUF_CUDA
  return cuda::MakeBackend(CudaCapabilities(), index, printed ? cuda::Groups::kPrinted : cuda::Groups::kAuto);
#else
  return nullptr;
#endif
}

void SetLogSink([[maybe_unused]] std::function<void(const std::string&)> to) {
#if SUF_CUDA
  cuda::SetLogSink(std::move(to));
#endif
}

DeviceCost DeviceCostOf([[maybe_unused]] const pfss::Schedule& s, [[maybe_unused]] Role role,
                        [[maybe_unused]] const pfss::Backend::InputBytes& bytes_of) {
  if (CudaBuilt().empty()) Fail(Cause::kResource, CudaWhyNot());
#if SUF_CUDA
  return cuda::DeviceCostOf(s, role, bytes_of);
#else
  return {};
#endif
}

KernelsMade MakeKernels([[maybe_unused]] const pfss::Schedule& s, [[maybe_unused]] Role role,
                        [[maybe_unused]] const std::string& architecture, [[maybe_unused]] const std::string& folder,
                        [[maybe_unused]] const std::function<void(size_t, size_t)>& done) {
  if (CudaBuilt().empty()) Fail(Cause::kResource, CudaWhyNot());
#if SUF_CUDA
  return cuda::MakeKernels(s, role, architecture, folder, done);
#else
  return {};
#endif
}

}  // namespace suf::gpu
