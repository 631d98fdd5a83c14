// One role's run of a trace on a device.
#pragma once
#include <functional>
#include <memory>

#include "suf/gpu/cuda/frames.hpp"
#include "suf/gpu/cuda/instance.hpp"
#include "suf/gpu/cuda/keys.hpp"
#include "suf/gpu/cuda/operations.hpp"

namespace suf::gpu::cuda {

// Runs the programs of a role. It knows the order of work: which copies a batch waits for, and which ones run beside
// kernels. Its parts know the rest.
class CudaExecutor : public pfss::Executor {
 public:
  // Takes the instance back after the run.
  using InstanceReturn = std::function<void(std::unique_ptr<Instance>)>;
  CudaExecutor(const pfss::Schedule& s, Role role, int device, DeviceWeightCache& weights,
               std::unique_ptr<Instance> instance, InstanceReturn done);
  ~CudaExecutor() override;
  void Run(const pfss::Program& program, const pfss::Randomness& randomness, pfss::Io& io) override;
  std::vector<uint64_t> Result(int node) override;

 private:
  void Begin(const pfss::Randomness& randomness, pfss::Io& io);
  void OpenKeys(const pfss::Randomness& randomness);
  void Prepare(size_t b, pfss::Io& io);
  void Submit(const DeviceStep& step, size_t b, const pfss::Randomness& randomness, pfss::Io& io);
  void Launch(size_t b);
  void Move(const DeviceStep& step, size_t b, bool before, pfss::Io& io);

  const pfss::Schedule& s_;
  const Role role_;
  const int device_;
  std::unique_ptr<Instance> in_;
  const DevicePlan& plan_;
  InstanceReturn done_;
  size_t next_ = 0;      // the next program
  size_t prepared_ = 0;  // the number of prepared batches
  InputFeed inputs_;
  KeyFeed keys_;
  WordFeed words_;
  FrameMover frames_;
  TimeReport times_;
  DeviceOperations operations_;
};

}  // namespace suf::gpu::cuda
