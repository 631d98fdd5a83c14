#include "apps/gate/gate_source.hpp"

#include <algorithm>
#include <filesystem>

#include "apps/fn/fn_source.hpp"
#include "suf/base/plural.hpp"
#include "suf/gates/compose/plan.hpp"
#include "suf/roles/files.hpp"

namespace suf::apps {

namespace {

constexpr int kBits = 32, kScale = 12;  // of a gate alone, without --n and --scale
constexpr const char* kOneWay = "-";    // the lowering of a statement without a choice

// Reads a function for numbers of `bits` bits and this scale.
gates::ScaledFunction ScaledOf(const std::string& name, int bits, int scale) {
  NamedFunction g = FunctionOf({name, bits, scale});
  return {std::move(g.f), g.made ? g.made->scale - g.made->in.scale : 0};
}

// Reads the function of a statement. A library function has the scale of x, and at least its bits. Some
// have a domain of fewer bits than they are made for. A path is relative to the folder.
gates::ScaledFunction FunctionFor(const std::filesystem::path& folder, const std::string& name, bool quoted,
                                  const gates::ValueType& x) {
  constexpr int kLeastRing = 8, kAboveScale = 6;  // of the library's functions
  if (quoted) return ScaledOf((folder / name).string(), x.bits, x.scale);
  return ScaledOf(name, std::max({kLeastRing, x.bits, x.scale + kAboveScale}), x.scale);
}

std::vector<std::pair<std::string, std::string>> SetOf(const GateArgs& a) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& s : a.set) {
    const size_t at = s.find('=');
    if (at == s.npos || at == 0) Fail(Cause::kInput, "--set takes NAME=VALUE, such as shift=12, and got ", Quoted(s));
    const std::string name = s.substr(0, at);
    if (std::any_of(out.begin(), out.end(), [&](auto& before) { return before.first == name; }))
      Fail(Cause::kInput, "--set names ", name, " twice; give one value for it");
    out.emplace_back(name, s.substr(at + 1));
  }
  return out;
}

gates::Composition ReadComposition(const std::string& path, gates::GateChoices* planned) {
  const std::string text = roles::ReadText(path, "the composition ", "check the path; suf gate list names the gates");
  try {
    if (const size_t begin = text.find_first_not_of(" \t\r\n"); begin != text.npos && text[begin] == '{') {
      gates::CompositionPlan plan = gates::ParseCompositionPlan(text);
      if (planned) *planned = std::move(plan.choices);
      return *plan.composition;
    }
    std::filesystem::path folder = ".";
    if (const auto parent = std::filesystem::path(path).parent_path(); path != roles::kStandardInput && !parent.empty())
      folder = parent;
    return gates::Composition(gates::ParseComposition(text),
                              [&](const std::string& name, bool quoted, const gates::ValueType& x) {
                                return FunctionFor(folder, name, quoted, x);
                              });
  } catch (const Error& e) {
    throw Error(e.cause(), Str(roles::FileName(path), ": ", e.what()));
  }
}

}  // namespace

bool IsGatesFile(const GateArgs& a) {
  if (a.name == roles::kStandardInput || a.name.find('/') != a.name.npos || a.name.ends_with(".gates") ||
      a.name.ends_with(".plan"))
    return true;
  std::error_code none;
  return a.name.find('.') != a.name.npos && std::filesystem::is_regular_file(a.name, none);
}

gates::CompositionText TextOfGate(const gates::GateEntry& gate, const gates::SingleGate& use) {
  return gates::TextOf(gate, use, [](const std::string& name, bool, const gates::ValueType& x) {
    return ScaledOf(name, x.bits, x.scale);
  });
}

gates::Composition CompositionOf(const GateArgs& a, gates::GateChoices* planned) {
  if (IsGatesFile(a)) {
    if (!a.set.empty() || !a.function.empty() || !a.constants.empty() || !a.outputs.empty() || a.n || a.scale)
      Fail(Cause::kInput,
           "--set, --function, --constants, --outputs, --n and --scale are for a gate alone; write them into ", a.name);
    return ReadComposition(a.name, planned);
  }
  const gates::GateEntry& gate = gates::GateNamed(a.name);
  const gates::GateFacts& facts = gate.facts;
  gates::SingleGate use;
  use.bits = a.n.value_or(kBits);
  use.scale = a.scale.value_or(use.bits >= kBits ? kScale : use.bits / 4);
  use.set = SetOf(a);
  use.function_name = a.function;
  if (facts.takes_function == a.function.empty())
    Fail(Cause::kInput, facts.name, facts.takes_function ? " needs --function" : " takes no --function",
         facts.takes_function ? ", a file F.suf or a name of suf fn list" : "; leave it out");
  if (facts.takes_constants == a.constants.empty())
    Fail(Cause::kInput, facts.name, facts.takes_constants ? " needs --constants" : " takes no --constants",
         facts.takes_constants ? ", whole numbers with commas between" : "; leave it out");
  if (!a.constants.empty())
    for (const std::string& s : AtCommas(a.constants)) use.constants.push_back(int64_t(WordOf(s, 64, "--constants")));
  if (!a.outputs.empty() && a.outputs != "all") use.outputs = AtCommas(a.outputs);
  gates::CompositionText text = TextOfGate(gate, use);
  if (a.outputs.empty()) {  // the first one, as in a statement without the word outputs
    text.gates[0].names.resize(1);
    text.gates[0].outputs.resize(1);
    text.outputs.resize(1);
  }
  return gates::Composition(std::move(text));
}

gates::GateChoices GateChoicesFor(const gates::Composition& c, const std::string& lowering,
                                  const compiler::Profile& profile, int64_t rows, const pfss::Capabilities& can,
                                  bool semi_honest) {
  if (lowering == "auto") return gates::ChooseSafe(c, profile.prices, rows, semi_honest, can);
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= lowering.size();) {
    const size_t end = std::min(lowering.find(';', begin), lowering.size());
    names.push_back(lowering.substr(begin, end - begin));
    begin = end + 1;
  }
  if (names.size() != c.gates().size())
    Fail(Cause::kInput, "--lowering names ", Plural(names.size(), "lowering"), ", and the composition has ",
         Plural(c.gates().size(), "statement"), "; give one for each, with semicolons between, or auto");
  gates::GateChoices best;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == kOneWay) names[i].clear();
    const std::vector<std::string> options = c.gates()[i].gate->Options(c.gates()[i].use);
    if (std::find(options.begin(), options.end(), names[i]) != options.end()) continue;
    if (names[i] == "auto") {
      if (best.empty()) best = gates::ChooseSafe(c, profile.prices, rows, semi_honest, can);
      names[i] = best[i];
      continue;
    }
    std::string all;
    for (const std::string& o : options) all += o.empty() ? "" : "; " + o;
    Fail(Cause::kInput, Quoted(names[i]), " is no lowering of ", c.gates()[i].gate->facts.name,
         all.empty() ? Str(", which has one way alone; write auto or ", kOneWay) : "; there are auto" + all);
  }
  return names;
}

}  // namespace suf::apps
