#include "suf/cpu/packed.hpp"

#include "suf/cpu/executor.hpp"
#include "suf/fss/prg.hpp"
#include "suf/grouping/element.hpp"
#include "suf/grouping/randomness.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

class PackedBackend : public pfss::Backend {
 public:
  PackedBackend(exec::Pool& pool, ring::Isa variant) : pool_(pool), variant_(variant) {
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
    return std::make_unique<PackedExecutor>(s, role, PlanFor(s, role), pool_, variant_, weights_, arena_);
  }
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
    std::lock_guard l(m_);
    auto& kept = plans_[{s.trace().digest(), int(role)}];
    if (!kept) kept = std::make_shared<const ExecutionPlan>(PlanOf(s, role));
    auto plan = kept;
    if (plans_.size() > 16) plans_.clear();
    return plan;
  }

  exec::Pool& pool_;
  ring::Isa variant_;
  pfss::Capabilities can_;
  WeightCache weights_;
  std::mutex m_;
  std::map<std::pair<Hash, int>, std::shared_ptr<const ExecutionPlan>> plans_;  // by trace and role
  Arena arena_;
};

}  // namespace

std::unique_ptr<pfss::Backend> MakePacked(exec::Pool& pool, ring::Isa variant) {
  return std::make_unique<PackedBackend>(pool, variant);
}

}  // namespace suf::cpu
