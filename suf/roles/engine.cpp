#include "suf/roles/engine.hpp"

#include <algorithm>

#include "suf/pfss/lint.hpp"
#include "suf/roles/files.hpp"

namespace suf::roles {

nn::Plan LoadPlan(const std::string& path) {
  return nn::Parse(ReadFile(path, "the plan ", "compile one, or check the path"));
}

Engine::Engine(nn::Plan plan, pfss::Backend& backend, Emit emit)
    : plan_(std::move(plan)),
      emit_(std::move(emit)),
      hash_(nn::PlanHash(plan_)),
      masked_(nn::MaskedWeights(plan_)),
      backend_(backend) {}

std::shared_ptr<const Work> Engine::At(int n) {
  std::lock_guard l(m_);
  if (auto it = works_.find(n); it != works_.end()) return it->second;
  (void)plan_.For(n);
  std::shared_ptr<Work> work(new Work);
  emit_(work->trace, plan_, n);
  work->schedule = std::make_unique<pfss::Schedule>(work->trace);
  // nothing leaves before the trace is proven to send only padded words and the result
  pfss::LintReport lint = pfss::Lint(*work->schedule);
  if (!lint.faults.empty() || lint.results != 1 || work->trace.result(1) < 0 || !work->trace.results(0).empty())
    Fail(Cause::kRefused, "the trace of this plan does not pass the lint (",
         lint.faults.empty() ? "it reveals more than the result" : lint.faults[0], "); make a new plan");
  if (works_.size() >= 8) works_.erase(works_.begin());
  works_[n] = work;
  return work;
}

std::string Engine::Section(int n, int p, uint64_t byte) {
  auto work = At(n);
  const auto& key = work->schedule->key(p);
  auto after = std::upper_bound(key.begin(), key.end(), byte,
                                [](uint64_t b, const pfss::Part& part) { return b < uint64_t(part.at); });
  SUF_CHECK(after != key.begin());
  const pfss::Node& node = work->trace.node(std::prev(after)->node);
  return Str("key section ", after - key.begin(), " of ", key.size(), ", of ", work->trace.name(node.scope));
}

proto::BundlePlan Engine::ForProto() {
  proto::BundlePlan p;
  p.version = nn::kPlanVersion;
  p.prg = backend_.prg();
  p.max_tokens = uint32_t(plan_.max_tokens);
  p.hash = hash_;
  for (auto& m : masked_) p.setup_bytes += uint64_t(m.bytes());
  p.task = [this](const store::Job& job) {
    auto work = At(int(job.tokens));
    return proto::Task{work->trace.digest(),
                       {uint64_t(work->schedule->key_bytes(0)), uint64_t(work->schedule->key_bytes(1))}};
  };
  return p;
}

}  // namespace suf::roles
