#include "suf/gpu/cuda/graphs.hpp"

#include <algorithm>

#include "suf/gpu/cuda/groups/printer.hpp"
#include "suf/gpu/cuda/memory.hpp"

namespace suf::gpu::cuda {

using exec::cuda::LaunchGraph;
using exec::cuda::StreamHandle;

void GroupKernels::Recheck() {
  if (lacks_ && cache_->filled() > filled_) stale_ = true;
}

bool GroupKernels::Load(const RunMemory& memory) {
  if (!std::exchange(stale_, false)) return false;
  texts_.clear();
  std::vector<size_t> of;
  for (size_t k = 0; k < printed_.size(); ++k) {
    if (!memory.codes().groups[k]) continue;
    PrintedKernel p = Print(memory.codes(), memory.base(), k);
    if (p.params.size() > kMostParams) continue;
    printed_[k].params = std::move(p.params);
    texts_.push_back(std::move(p.text));
    of.push_back(k);
  }
  filled_ = cache_->filled();
  const auto modules = cache_->Load(texts_, worth_);
  lacks_ = false;
  for (size_t i = 0; i < of.size(); ++i) {
    printed_[of[i]].module = modules[i];
    lacks_ |= !modules[i];
  }
  return true;
}

bool GroupKernels::Launch(size_t instruction, uint64_t rows, StreamHandle s) const {
  const GroupKernel& kernel = printed_[instruction];
  if (!kernel.module) return false;
  kernel.module->Launch(View(reinterpret_cast<const uint8_t*>(kernel.params.data()), 8 * kernel.params.size()),
                        unsigned((rows + kPrintedThreads - 1) / kPrintedThreads), kPrintedThreads, s);
  return true;
}

std::string GroupKernels::Lacks() const { return worth_ && lacks_ ? cache_->Lacks(texts_) : ""; }

LaunchGraph BatchGraphs::Describe(const pfss::Trace& t, const DevicePlan& plan, const LaunchBatch& batch,
                                  const EnqueueInstruction& enqueue) {
  LaunchGraph graph;
  std::vector<std::vector<int>> pieces(batch.end - batch.begin);  // by instruction: work that precedes later work
  for (size_t k = batch.begin; k < batch.end; ++k) {
    std::vector<int> after;
    for (int a : plan.plan.instructions[k].after)
      if (size_t(a) >= batch.begin)
        after.insert(after.end(), pieces[size_t(a) - batch.begin].begin(), pieces[size_t(a) - batch.begin].end());
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    auto& own = pieces[k - batch.begin];
    own = plan.Idle(t, k) ? after : std::vector<int>{graph.Add(after, [&](StreamHandle to) { enqueue(k, to); })};
  }
  graph.Ready();
  return graph;
}

void BatchGraphs::Launch(const pfss::Trace& t, const DevicePlan& plan, size_t b, const EnqueueInstruction& enqueue,
                         StreamHandle s) {
  auto& graph = graphs_[b];
  if (!graph) graph.emplace(Describe(t, plan, plan.batches[b], enqueue));  // kept only if it is complete
  graph->Launch(s);
}

void BatchGraphs::ResetAll() {
  for (auto& graph : graphs_) graph.reset();
}

}  // namespace suf::gpu::cuda
