#include "suf/roles/engine.hpp"

#include <algorithm>

#include "suf/roles/files.hpp"

namespace suf::roles {

nn::Plan LoadPlan(const std::string& path) {
  return nn::Parse(ReadFile(path, "the plan ", "compile one, or check the path"));
}

Engine::Engine(Subject subject, pfss::Backend& backend) : subject_(std::move(subject)), backend_(backend) {}

std::shared_ptr<const Work> Engine::At(int n) {
  std::lock_guard l(m_);
  if (auto it = works_.find(n); it != works_.end()) return it->second;
  std::shared_ptr<Work> work(new Work);
  subject_.emit(work->trace, n);
  work->schedule = std::make_unique<pfss::Schedule>(work->trace);
  // nothing leaves before the trace is proven to send only padded words and the results that the plan names
  pfss::LintReport lint = pfss::Lint(*work->schedule);
  const pfss::Ending& due = subject_.ending;
  if (!lint.faults.empty() || pfss::EndingOf(work->trace) != due || lint.results != due.learned[0] + due.learned[1])
    Fail(Cause::kRefused, "the trace of this plan does not pass the lint (",
         lint.faults.empty() ? "it reveals or keeps other results than the plan names" : lint.faults[0],
         "); make a new plan");
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
  p.version = nn::kPlanVersion;  // one for plans of models and of functions: their traces change together
  p.prg = backend_.prg();
  p.max_tokens = subject_.most, p.unit = subject_.unit;
  p.hash = subject_.hash;
  for (auto& m : subject_.masked) p.setup_bytes += uint64_t(m.bytes());
  p.task = [this](const store::Job& job) {
    auto work = At(int(job.tokens));
    return proto::Task{work->trace.digest(),
                       {uint64_t(work->schedule->key_bytes(0)), uint64_t(work->schedule->key_bytes(1))}};
  };
  return p;
}

ModelEngine::ModelEngine(std::shared_ptr<const nn::Plan> plan, pfss::Backend& backend, Emit emit)
    : Engine({.hash = nn::PlanHash(*plan),
              .most = uint32_t(plan->max_tokens),
              .unit = {},
              .ending = {.learned = {0, 1}},
              .emit =
                  [plan, emit = std::move(emit)](pfss::Trace& t, int n) {
                    (void)plan->For(n);
                    emit(t, *plan, n);
                  },
              .masked = nn::MaskedWeights(*plan)},
             backend),
      plan_(std::move(plan)) {}

}  // namespace suf::roles
