#include "suf/roles/function.hpp"

#include "suf/roles/internal/calls.hpp"

namespace suf::roles {

namespace {

constexpr proto::JobUnit kValueUnit{"the call has", "values", "bring fewer at a time, or make a plan for more", "call"};

}  // namespace

gates::FunctionFile LoadFunctionPlan(const std::string& path) { return gates::ParseFile(ReadPlanText(path)); }

FunctionEngine::FunctionEngine(std::shared_ptr<const gates::FunctionFile> file, pfss::Backend& backend)
    : Engine(CallSpec(gates::HashOfFile(*file), file->max_values, kValueUnit, gates::EndingOf(file->plan),
                      [file](pfss::Trace& t, int64_t n) { gates::Emit(t, file->plan, n); }),
             backend),
      file_(std::move(file)) {}

bool Brings(const gates::FunctionPlan& plan, int p) {
  return plan.from == gates::Origin::kShared || (plan.from == gates::Origin::kP0) == (p == 0);
}

JobRequest Values(const gates::FunctionPlan& plan, WipedVector<uint64_t> words, uint32_t count) {
  if (!Brings(plan, 1)) return {{count}, {}};
  count = uint32_t(words.size());
  return {{count}, {InputNamed(gates::InputOf(plan.from), std::move(words))}};
}

ServerData ServerDataOf(const gates::FunctionPlan& plan, WipedVector<uint64_t> words,
                        std::function<void(uint32_t, std::vector<uint64_t>)> learned) {
  const auto brings = uint32_t(words.size());
  std::vector<NamedArray> inputs;
  if (Brings(plan, 0)) inputs.push_back(InputNamed(gates::InputOf(plan.from), std::move(words)));
  return CallData(std::move(inputs), brings, gates::EndingOf(plan), std::move(learned));
}

}  // namespace suf::roles
