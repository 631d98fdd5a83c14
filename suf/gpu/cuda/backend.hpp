// The executors of a device behind pfss::Backend.
#pragma once
#include <memory>

#include "suf/gpu/cuda.hpp"

namespace suf::gpu::cuda {

// The way to run groups: by kernels of their own if compiling pays, by the interpreter, or always by kernels.
enum class Groups { kAuto, kInterpreted, kPrinted };
std::unique_ptr<pfss::Backend> MakeBackend(pfss::Capabilities can, int index, Groups groups);

// Sets the receiver of log lines, as gpu::SetLogSink does.
void SetLogSink(std::function<void(const std::string&)> to);

KernelsMade MakeKernels(const pfss::Schedule& s, Role role, const std::string& architecture, const std::string& folder,
                        const std::function<void(size_t done, size_t all)>& done);

DeviceCost DeviceCostOf(const pfss::Schedule& s, Role role, const pfss::Backend::InputBytes& bytes_of);
struct DevicePlan;
DeviceCost DeviceCostOf(const pfss::Schedule& s, Role role, const DevicePlan& plan,
                        const pfss::Backend::InputBytes& bytes_of);

}  // namespace suf::gpu::cuda
