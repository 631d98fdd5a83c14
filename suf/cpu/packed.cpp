#include "suf/cpu/packed.hpp"

#include "suf/base/lru_cache.hpp"
#include "suf/cpu/executor.hpp"
#include "suf/fss/prg.hpp"
#include "suf/grouping/element.hpp"
#include "suf/grouping/randomness.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

class PackedBackend : public pfss::Backend {
 public:
  PackedBackend(const exec::Pools& pools, ring::Isa variant) : pools_(pools), variant_(variant) {
    can_.name = std::string("packed/") + ring::Name(variant);
    can_.what = "the CPU engine";
  }
  std::string name() const override { return can_.name; }
  const pfss::Capabilities& capabilities() const override { return can_; }
  uint32_t prg() const override { return fss::kPrgId; }
  std::unique_ptr<pfss::Randomness> Expand(pfss::BundleSecrets m) override {
    return grouping::MakeRandomness(std::move(m), variant_);
  }
  std::unique_ptr<pfss::Executor> Start(const pfss::Schedule& s, Role role) override {
    RefuseLacking(can_, s.trace());
    return std::make_unique<PackedExecutor>(s, role, PlanFor(s, role), pools_.Take(), variant_, weights_, arena_);
  }
  void KeepPlans(uint64_t bytes) override { plans_.SetLimit(bytes); }
  int64_t ValueBytes(const pfss::Schedule& s, Role role) override {
    const pfss::Trace& t = s.trace();
    return grouping::Peak(PlanFor(s, role)->plan, [&](int i) {
      const pfss::Node& n = t.node(i);
      const bool computed = n.op != pfss::Op::kInput && n.op != pfss::Op::kConst;
      return computed ? pfss::Size(n.shape) * grouping::Element(s, i) : 0;
    });
  }

 private:
  std::shared_ptr<const ExecutionPlan> PlanFor(const pfss::Schedule& s, Role role) {
    return plans_.Get({s.trace().digest(), int(role)}, [&] {
      auto plan = std::make_shared<const ExecutionPlan>(PlanOf(s, role));
      uint64_t bytes = grouping::MemoryOf(plan->plan) + HeapBytes(plan->registers);
      for (const Registers& r : plan->registers) bytes += HeapBytes(r.members);
      return std::pair(std::move(plan), bytes);
    });
  }

  const exec::Pools pools_;
  ring::Isa variant_;
  pfss::Capabilities can_;
  WeightCache weights_;
  LruCache<std::pair<Hash, int>, ExecutionPlan> plans_{kPlanBytes};  // by trace and role
  Arena arena_;
};

}  // namespace

std::unique_ptr<pfss::Backend> MakePacked(const exec::Pools& pools, ring::Isa variant) {
  return std::make_unique<PackedBackend>(pools, variant);
}

}  // namespace suf::cpu
