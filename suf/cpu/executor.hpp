// The packed backend's executor: the order of a run's work.
#pragma once
#include "suf/cpu/bulk.hpp"
#include "suf/cpu/frame_progress.hpp"
#include "suf/cpu/group.hpp"
#include "suf/cpu/products.hpp"
#include "suf/cpu/registers.hpp"
#include "suf/cpu/tensors.hpp"
#include "suf/exec/pools.hpp"

namespace suf::cpu {

// One run of a plan, on threads that it leases. It knows the order of instructions and the lives of their values.
// Tensors has the values, GroupRunner runs groups, BulkOperations everything else.
class PackedExecutor : public pfss::Executor {
 public:
  PackedExecutor(const pfss::Schedule& s, Role role, std::shared_ptr<const ExecutionPlan> plan,
                 exec::Pools::Lease lease, ring::Isa variant, WeightCache& weights, Arena& arena);
  void Run(const pfss::Program& program, const pfss::Randomness& randomness, pfss::Io& io) override;
  std::vector<uint64_t> Result(int node) override { return tensors_.Result(node); }

 private:
  // Runs an instruction. Returns the fraction of its time, 0 to 1, that key sections and PRG words took.
  double Execute(const grouping::Instruction& ins, const pfss::Randomness& randomness, pfss::Io& io);

  const exec::Pools::Lease lease_;
  Role role_;
  std::shared_ptr<const ExecutionPlan> plan_;
  size_t next_ = 0;  // the next program
  Tensors tensors_;
  FrameProgress frames_;
  GroupRunner groups_;
  BulkOperations bulk_;
};

}  // namespace suf::cpu
