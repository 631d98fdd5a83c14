#include "suf/roles/composition.hpp"

#include <algorithm>

#include "suf/roles/internal/calls.hpp"

namespace suf::roles {

namespace {

constexpr proto::JobUnit kRowUnit{"the call has", "rows", "bring fewer at a time, or make a plan for more", "call"};

// Returns the inputs that party p brings.
std::vector<NamedArray> Named(const gates::Composition& c, int p, InputWordLists words) {
  SUF_CHECK(words.size() == c.text().inputs.size());
  std::vector<NamedArray> out;
  for (size_t i = 0; i < words.size(); ++i) {
    const gates::InputStatement& in = c.text().inputs[i];
    if (gates::Brings(in, p)) out.push_back(InputNamed(in.name.name, std::move(words[i])));
  }
  return out;
}

}  // namespace

gates::CompositionPlan LoadCompositionPlan(const std::string& path) {
  return gates::ParseCompositionPlan(ReadPlanText(path));
}

CompositionEngine::CompositionEngine(gates::CompositionPlan plan, pfss::Backend& backend)
    : Engine(CallSpec(gates::HashOfPlan(plan), plan.max_rows, kRowUnit, gates::EndingOf(*plan.composition),
                      [plan](pfss::Trace& t, int64_t n) { gates::Emit(t, *plan.composition, plan.choices, n); }),
             backend),
      plan_(std::move(plan)) {}

bool Brings(const gates::Composition& c, int p, bool rows) {
  const auto& inputs = c.text().inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](const gates::InputStatement& in) {
    const pfss::Shape& shape = in.type.shape;
    return gates::Brings(in, p) && (!rows || std::find(shape.begin(), shape.end(), gates::kRows) != shape.end());
  });
}

JobRequest Values(const gates::Composition& c, InputWordLists words, uint32_t rows) {
  return {{rows}, Named(c, 1, std::move(words))};
}

ServerData ServerDataOf(const gates::Composition& c, InputWordLists words, uint32_t rows,
                        std::function<void(uint32_t, std::vector<uint64_t>)> learned) {
  return CallData(Named(c, 0, std::move(words)), Brings(c, 0, true) ? rows : 0, gates::EndingOf(c), std::move(learned));
}

}  // namespace suf::roles
