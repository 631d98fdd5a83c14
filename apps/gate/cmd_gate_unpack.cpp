// suf gate unpack: reads packed words of outputs (gate_packed.hpp).
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/gate/cmd_gate.hpp"
#include "apps/gate/gate_packed.hpp"
#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/gate/gate_values.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;

namespace {

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
  GateArgs source;
  source.name = a.plan;
  const Composition c = CompositionOf(source);
  const std::vector<Ints> words = ReadPacked(c, party, a.file);
  if (!a.out.empty()) WriteOutputs(c, party, a.out, words);
  if (a.json) {
    nlohmann::ordered_json row{{"schema", "suf.gate.unpack/1"}, {"party", a.party}};
    row.update(OutputsJson(c, words));
    std::cout << row.dump() << "\n";
  } else if (a.out.empty()) {
    std::cout << GateTable(c, {}, words, RowsOfOutputs(c, words));
  }
  return 0;
}

}  // namespace suf::apps
