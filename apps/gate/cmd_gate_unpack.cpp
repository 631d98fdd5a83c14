// suf gate unpack: reads packed words of outputs (gate_packed.hpp).
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/gate/cmd_gate.hpp"
#include "apps/gate/gate_packed.hpp"
#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/gate/gate_values.hpp"
#include "suf/gates/compose/plan.hpp"
#include "suf/roles/files.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;

namespace {

// Reads the plan of a composition, or makes the composition as the other commands do. A plan is JSON.
std::shared_ptr<const Composition> CompositionOrPlan(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    const std::string text = roles::ReadText(name, "the plan ", "check the path");
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin != text.npos && text[begin] == '{') return gates::ParseCompositionPlan(text).composition;
  }
  return std::make_shared<const Composition>(CompositionOf({name}));
}

// Returns the rows of which these are the outputs of one party.
int64_t RowsOfOutputs(const Composition& c, const std::vector<Ints>& words) {
  const auto o =
      size_t(std::find_if(words.begin(), words.end(), [](const Ints& x) { return !x.empty(); }) - words.begin());
  return int64_t(words[o].size()) / gates::CountOf(c, c.value(c.text().outputs[o].name.name), 1);
}

}  // namespace

int RunGateUnpack(const GateUnpackArgs& a) {
  if (a.party != "p0" && a.party != "p1")
    Fail(Cause::kInput, "--party takes p0 or p1, the party that wrote the packed words, and got ", Quoted(a.party));
  const int party = a.party == "p1";
  const auto c = CompositionOrPlan(a.plan);
  const std::vector<Ints> words = ReadPacked(*c, party, a.file);
  if (!a.out.empty()) WriteOutputs(*c, party, a.out, words);
  if (a.json) {
    nlohmann::ordered_json row{{"schema", "suf.gate.unpack/1"}, {"party", a.party}};
    row.update(OutputsJson(*c, words));
    std::cout << row.dump() << "\n";
  } else if (a.out.empty()) {
    std::cout << GateTable(*c, {}, words, RowsOfOutputs(*c, words));
  }
  return 0;
}

}  // namespace suf::apps
