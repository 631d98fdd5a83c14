#include "suf/roles/load_engine.hpp"

#include "suf/roles/composition.hpp"
#include "suf/roles/function.hpp"
#include "suf/roles/internal/calls.hpp"

namespace suf::roles {

std::unique_ptr<Engine> LoadEngine(const std::string& path, pfss::Backend& backend,
                                   std::vector<nn::IndexPlan> indexes) {
  const std::string text = ReadPlanText(path);
  const bool other = gates::IsCompositionPlan(text) || gates::IsFunctionPlan(text);
  if (other && !indexes.empty())
    Fail(Cause::kInput, "only a model's plan has indexes, and ", path, " is another plan; leave out the index plans");
  if (gates::IsCompositionPlan(text))
    return std::make_unique<CompositionEngine>(gates::ParseCompositionPlan(text), backend);
  if (gates::IsFunctionPlan(text)) return std::make_unique<FunctionEngine>(gates::ParseFile(text), backend);
  return std::make_unique<ModelEngine>(nn::Parse(text), backend, EmitTexts, std::move(indexes));
}

}  // namespace suf::roles
