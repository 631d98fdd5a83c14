#include "suf/gates/compose/plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "suf/base/plural.hpp"
#include "suf/gates/compose/place.hpp"
#include "suf/gates/internal/plan_fields.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/pfss/lint.hpp"

namespace suf::gates {

namespace {

// The most numbers of a value in the largest call. Sizes of a trace then fit 64 bits.
constexpr Bound kMostNumbers = Bound{1} << 40;
// The most bytes of a plan. The longest text takes less, its line ends as two bytes.
constexpr size_t kMostPlanBytes = 4 * kMostCompositionText;

PlanJson ContentOf(const CompositionPlan& plan) {
  return {{"kind", "composition"},
          {"version", kCompositionPlanVersion},
          {"composition", Print(plan.composition->text())},
          {"lowerings", plan.choices},
          {"max_rows", plan.max_rows}};
}

// Returns the names of the lowerings, one for each gate statement.
GateChoices LoweringsOf(const PlanJson& plan, const Composition& c) {
  const auto it = plan.find("lowerings");
  if (it == plan.end() || !it->is_array() ||
      !std::all_of(it->begin(), it->end(), [](const PlanJson& x) { return x.is_string(); }))
    Fail(Cause::kRefused, "the plan's field lowerings is missing or no list of texts; make the plan again");
  if (it->size() != c.gates().size())
    Fail(Cause::kRefused, "the plan's field lowerings has ", Plural(it->size(), "text"), ", and the composition has ",
         Plural(c.gates().size(), "gate"), "; make the plan again");
  GateChoices out;
  for (size_t i = 0; i < it->size(); ++i) {
    const Composition::ComposedGate& g = c.gates()[i];
    out.push_back((*it)[i].get<std::string>());
    const std::vector<std::string> options = AtPlace(g.place, [&] { return g.gate->Options(g.use); });
    if (std::find(options.begin(), options.end(), out.back()) == options.end())
      Fail(Cause::kRefused, "the plan's field lowerings: ", Where(g.place), Quoted(out.back()), " is no lowering of ",
           g.gate->facts.name, "; make the plan again");
  }
  return out;
}

// Throws if a value has too many numbers in a call of max_rows rows.
void CheckNumbers(const CompositionPlan& plan) {
  for (const Composition::ComposedValue& v : plan.composition->values()) {
    Bound numbers = 1;
    for (int64_t d : v.type.shape) {
      numbers *= d == kRows ? plan.max_rows : d;
      if (numbers > kMostNumbers)
        Fail(Cause::kRefused, "the plan's field max_rows is ", plan.max_rows, ", and ", v.name, " would have over 2^40",
             " numbers, which is the limit; make the plan for fewer rows");
    }
  }
}

// Names the outputs of these statements: "s", "s and t".
std::string OutputsNamed(const Composition& c, const std::vector<size_t>& outputs) {
  std::string out;
  for (size_t i = 0; i < outputs.size(); ++i)
    out += (i == 0 ? "" : i + 1 < outputs.size() ? ", " : " and ") + c.text().outputs[outputs[i]].name.name;
  return out;
}

}  // namespace

Hash HashOfPlan(const CompositionPlan& plan) { return HashOfContent(ContentOf(plan)); }

std::string Print(const CompositionPlan& plan) { return PrintPlan(ContentOf(plan)); }

bool IsCompositionPlan(const std::string& text) { return PlanKind(PlanObject(text)) == "composition"; }

CompositionPlan ParseCompositionPlan(const std::string& text) {
  if (text.size() > kMostPlanBytes)
    Fail(Cause::kRefused, "the plan has ", text.size(), " bytes, the limit is ", kMostPlanBytes,
         "; make it for a shorter composition");
  const PlanJson j = PlanObject(text);
  CheckPlan(j, "composition", kCompositionPlanVersion,
            {"kind", "version", "composition", "lowerings", "max_rows", "hash"});
  CompositionPlan plan;
  plan.max_rows = NumberField(j, "max_rows", 1, kMostValues);
  plan.composition = PlanField("composition", [&] {
    return std::make_shared<const Composition>(ParseComposition(TextField(j, "composition")));
  });
  CheckNumbers(plan);
  plan.choices = LoweringsOf(j, *plan.composition);
  CheckContent(j, ContentOf(plan));
  return plan;
}

GateChoices ChooseSafe(const Composition& c, const compiler::Prices& prices, int64_t rows, bool semi_honest,
                       const pfss::Capabilities& can) {
  return Choose(c, prices, rows, can, !semi_honest && !RevealsToP0(c).empty());
}

void RefuseSteering(const Composition& c, const GateChoices& choices) {
  const std::vector<size_t> outputs = RevealsToP0(c);
  if (outputs.empty()) return;
  Trace t;
  Emit(t, c, choices, 1);
  const std::string steering = pfss::Steering(t, 0);
  if (!steering.empty())
    Fail(Cause::kRefused, "by these lowerings a P0 that alters its messages learns more of P1's values than ",
         OutputsNamed(c, outputs), " (", steering, "); take other lowerings, or let P1 alone learn the result");
}

}  // namespace suf::gates
