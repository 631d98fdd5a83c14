// The work of instructions on a device.
#pragma once
#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda/device_plan.hpp"

namespace suf::gpu::cuda {

class GroupKernels;
struct Instance;
class LaunchCounts;
struct MemoryArray;
class ResidentInputs;
class RunMemory;

// Returns the least number of kernels of an instruction. One more runs if many parts of a product add to narrow words.
int LaunchesOf(const pfss::Schedule& s, const DevicePlan& plan, const grouping::Instruction& ins);
// Returns the bytes that an instruction needs in addition to its operands and result, for PlanOf.
size_t SpareOf(const pfss::Schedule& s, const grouping::Instruction& ins, const RegisterFrame& frame);

// Enqueues the work of instructions. It knows the kernels of each operation, and how they read and write values.
class DeviceOperations {
 public:
  using StreamHandle = exec::cuda::StreamHandle;
  DeviceOperations(const pfss::Schedule& s, Instance& instance);
  // Submits the work of instruction k of a batch to a stream, which may be captured.
  void Enqueue(const LaunchBatch& batch, size_t k, StreamHandle s) const;

 private:
  using Instruction = grouping::Instruction;
  const pfss::Node& node(int i) const { return s_.trace().node(i); }
  const pfss::Node& arg(const pfss::Node& n, size_t k) const { return node(n.args[k]); }
  uint64_t count(int i) const { return uint64_t(pfss::Size(node(i).shape)); }
  MemoryArray Value(int i) const;
  void Operation(const Instruction& ins, size_t k, uint8_t* spare, StreamHandle s) const;
  void Matmul(const Instruction& ins, uint8_t* spare, StreamHandle s) const;

  const pfss::Schedule& s_;
  const DevicePlan& plan_;
  const RunMemory& memory_;
  const ResidentInputs& inputs_;
  const GroupKernels& kernels_;
  LaunchCounts& launches_;
};

}  // namespace suf::gpu::cuda
