// Kernels and graphs that an instance keeps for its batches.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "suf/gpu/cuda/device_plan.hpp"
#include "suf/gpu/cuda/groups/code.hpp"
#include "suf/gpu/cuda/groups/kernels.hpp"

namespace suf::gpu::cuda {

class RunMemory;

// Knows which groups of an instance have a kernel of their own, and why the others have none.
class GroupKernels {
 public:
  // If `cache` is null, the interpreter runs all groups. `worth` says whether missing kernels are compiled.
  GroupKernels(size_t instructions, KernelCache* cache, bool worth)
      : cache_(cache), worth_(worth), printed_(instructions), stale_(cache != nullptr) {}
  // Marks the kernels for loading, because the codes have changed.
  void Renew() { stale_ = cache_ != nullptr; }
  // Marks the kernels for loading if more may be available than before. Called between runs.
  void Recheck();
  // Loads the kernels if they are marked. Returns whether it did, so that graphs must be made again.
  bool Load(const RunMemory& memory);
  // Launches the kernel of a group. Returns false if it has none.
  bool Launch(size_t instruction, uint64_t rows, exec::cuda::StreamHandle s) const;
  // Returns why some groups will have no kernels although they are worth it. Empty if all have or will have theirs.
  std::string Lacks() const;

 private:
  struct GroupKernel {
    const exec::cuda::Module* module = nullptr;
    std::vector<Word> params;
  };
  KernelCache* const cache_;
  const bool worth_;
  std::vector<GroupKernel> printed_;  // by instruction
  bool stale_, lacks_ = false;
  std::vector<std::string> texts_;  // of all kernels, since the last load
  int filled_ = 0;                  // of the cache, at the last load
};

// Counts the kernels of instructions and chapters when they are enqueued, or described as part of a graph.
class LaunchCounts {
 public:
  LaunchCounts(size_t instructions, size_t chapters) : instruction_(instructions), chapter_(chapters) {}
  template <class F>
  void CountInstruction(size_t k, F enqueue) {
    instruction_[k] = Count(enqueue);
  }
  template <class F>
  void CountChapter(size_t c, F enqueue) {
    chapter_[c] = Count(enqueue);
  }
  int64_t OfInstruction(size_t k) const { return instruction_[k]; }
  int64_t OfChapter(size_t c) const { return chapter_[c]; }

 private:
  template <class F>
  static int64_t Count(F enqueue) {
    const int64_t before = exec::cuda::Launches();
    enqueue();
    return exec::cuda::Launches() - before;
  }
  std::vector<int64_t> instruction_, chapter_;
};

// Knows the graph of each batch. A batch gets one when it runs for the second time.
class BatchGraphs {
 public:
  explicit BatchGraphs(size_t batches) : graphs_(batches), runs_(batches) {}
  // Counts a run of a batch. Returns whether it is the first one.
  bool CountRun(size_t b) { return !runs_[b]++; }
  // Submits the work of an instruction to a stream.
  using EnqueueInstruction = std::function<void(size_t k, exec::cuda::StreamHandle s)>;
  // Runs batch b of a plan as a graph, which is made if it is missing.
  void Launch(const pfss::Trace& t, const DevicePlan& plan, size_t b, const EnqueueInstruction& enqueue,
              exec::cuda::StreamHandle s);
  // Drops the graph of a batch, because an address in it has changed.
  void Reset(size_t b) { graphs_[b].reset(); }
  void ResetAll();

 private:
  static exec::cuda::LaunchGraph Describe(const pfss::Trace& t, const DevicePlan& plan, const LaunchBatch& batch,
                                          const EnqueueInstruction& enqueue);
  std::vector<std::optional<exec::cuda::LaunchGraph>> graphs_;
  std::vector<int> runs_;
};

}  // namespace suf::gpu::cuda
