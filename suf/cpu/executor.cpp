#include "suf/cpu/executor.hpp"

#include <chrono>

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

PackedExecutor::PackedExecutor(const Schedule& s, Role role, std::shared_ptr<const ExecutionPlan> plan,
                               exec::Pools::Lease lease, ring::Isa variant, WeightCache& weights, Arena& arena)
    : lease_(std::move(lease)),
      role_(role),
      plan_(std::move(plan)),
      tensors_(s, LoopsFor(variant), lease_.pool(), arena),
      frames_(s, role),
      groups_(tensors_, frames_, *plan_, lease_.pool(), variant),
      bulk_(tensors_, groups_, *plan_, lease_.pool(), variant, weights) {}

double PackedExecutor::Execute(const grouping::Instruction& ins, const Randomness& randomness, Io& io) {
  if (ins.group) return groups_.Run(ins, io);
  if (ins.same >= 0)
    tensors_.Put(ins.node, tensors_.of(ins.same));
  else
    bulk_.Run(ins, randomness, io);
  return 0;
}

void PackedExecutor::Run(const Program& program, const Randomness& randomness, Io& io) {
  // Programs must be the schedule's own, in their order: their instructions were planned in advance.
  const grouping::GroupPlan& plan = plan_->plan;
  SUF_CHECK(next_ < plan.programs.size() && program.role == role_ && program.nodes == plan.programs[next_].nodes);
  if (next_ == 0) groups_.OpenSections(randomness);
  const size_t at = next_++;
  frames_.Begin(at);
  for (const grouping::Instruction& ins : plan.of(at)) {
    const auto begin = std::chrono::steady_clock::now();
    const double keys = Execute(ins, randomness, io);
    const std::vector<int> nodes = ins.computed();
    frames_.Done(nodes);
    frames_.Report(io);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    io.ReportTime(tensors_.node(nodes.back()).scope, {.compute = took * (1 - keys), .key = took * keys});
    for (int i : ins.read) io.Release(i);
    io.ReportDone(nodes);
    for (int i : ins.dead) tensors_.Drop(i);
  }
  for (int i : plan.unread[at]) io.Release(i);
}

}  // namespace suf::cpu
