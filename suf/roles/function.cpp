#include "suf/roles/function.hpp"

#include "suf/roles/files.hpp"

namespace suf::roles {

namespace {

constexpr proto::JobUnit kValues{"the call has", "values", "bring fewer at a time, or make a plan for more", "call"};

std::string ReadPlan(const std::string& path) { return ReadText(path, "the plan ", "make one, or check the path"); }

}  // namespace

gates::FunctionFile LoadFunctionPlan(const std::string& path) { return gates::ParseFile(ReadPlan(path)); }

FunctionEngine::FunctionEngine(std::shared_ptr<const gates::FunctionFile> file, pfss::Backend& backend)
    : Engine({.hash = gates::HashOfFile(*file),
              .most = uint32_t(file->max_values),
              .unit = kValues,
              .ending = gates::EndingOf(file->plan),
              .emit =
                  [file](pfss::Trace& t, int n, int) {
                    if (n < 1 || n > file->max_values)
                      Fail(Cause::kInput, kValues.what, " ", n, " values; the plan covers 1 to ", file->max_values,
                           "; ", kValues.remedy);
                    gates::Emit(t, file->plan, n);
                  },
              .masked = {}},
             backend),
      file_(std::move(file)) {}

std::unique_ptr<Engine> LoadEngine(const std::string& path, pfss::Backend& backend) {
  const std::string text = ReadPlan(path);
  if (gates::IsFunctionPlan(text)) return std::make_unique<FunctionEngine>(gates::ParseFile(text), backend);
  return std::make_unique<ModelEngine>(nn::Parse(text), backend);
}

bool Brings(const gates::FunctionPlan& plan, int p) {
  return plan.from == gates::Origin::kShared || (plan.from == gates::Origin::kP0) == (p == 0);
}

bool Learns(const gates::FunctionPlan& plan, int p) {
  const pfss::Ending e = gates::EndingOf(plan);
  return e.learned[size_t(p)] + e.kept[size_t(p)] > 0;
}

JobRequest Values(const gates::FunctionPlan& plan, WipedVector<uint64_t> words, uint32_t count) {
  if (!Brings(plan, 1)) return {.count = count, .name = {}, .data = {}};
  count = uint32_t(words.size());
  return {count, gates::InputOf(plan.from), std::make_shared<const WipedVector<uint64_t>>(std::move(words))};
}

ServerData ServerDataOf(const gates::FunctionPlan& plan, WipedVector<uint64_t> words,
                        std::function<void(uint32_t, std::vector<uint64_t>)> learned) {
  ServerData out;
  out.brings = uint32_t(words.size());
  if (Brings(plan, 0))
    out.inputs =
        [name = gates::InputOf(plan.from), data = std::make_shared<const WipedVector<uint64_t>>(std::move(words))](
            const nn::QuantisedWeights&, run::Inputs& inputs) { inputs.Set(name, run::Inputs::AnyArray(data)); };
  if (Learns(plan, 0)) out.learned = std::move(learned);
  return out;
}

}  // namespace suf::roles
