// The command `suf gate run`: a gate or a composition between two parties of this machine.
#include <algorithm>
#include <iostream>

#include "apps/gate/gate_mirror.hpp"
#include "apps/gate/gate_packed.hpp"
#include "apps/gate/gate_processes.hpp"
#include "apps/gate/gate_run.hpp"
#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/gate/gate_values.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/composition.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;

namespace {

// Returns an input from both parties' shares.
Ints Sum(const gates::InputStatement& in, const Ints& a, const Ints& b, const std::string& files) {
  if (a.size() != b.size())
    Fail(Cause::kInput, files, " hold ", a.size(), " and ", b.size(), " shares; give the same number in both");
  Ints out;
  for (size_t i = 0; i < a.size(); ++i) {
    const uint64_t x = uint64_t(a[i]), y = uint64_t(b[i]);
    const uint64_t w = (in.type.kind == gates::ValueKind::kNumber ? x + y : x ^ y) & ring::Mask(in.type.bits);
    out.push_back(in.type.is_signed ? ring::Signed(w, in.type.bits) : int64_t(w));
  }
  return out;
}

// Reads all inputs, in order of the text.
std::vector<Ints> ReadInputs(const Composition& c, const std::vector<std::string>& values) {
  const std::vector<std::string> files = FilesOfInputs(c, values);
  std::vector<Ints> out;
  for (size_t i = 0; i < files.size(); ++i) {
    const gates::InputStatement& in = c.text().inputs[i];
    if (files[i].empty())
      Fail(Cause::kInput, "no numbers are given for the input ", in.name.name, "; add --values ", in.name.name,
           "=FILE, or run with --random N");
    const size_t comma = files[i].find(',');
    if (in.from == gates::Origin::kShared && comma != files[i].npos)
      out.push_back(
          Sum(in, ReadShare(files[i].substr(0, comma), in), ReadShare(files[i].substr(comma + 1), in), files[i]));
    else
      out.push_back(ReadInput(files[i], in));
  }
  return out;
}

std::string Time(const GateRun& r) {
  if (r.online == 0) return Fixed(r.seconds * 1e3, 1) + " ms with dealing";
  return Str(Fixed(r.online * 1e3, 1), " ms online, ", Fixed((r.seconds - r.online) * 1e3, 1), " ms dealing");
}

// Throws unless --out and --packed fit the outputs and can be written, before anything runs.
void CheckFiles(const GateRunArgs& a, const Composition& c, int64_t rows) {
  if (a.packed && a.out.empty())
    Fail(Cause::kInput, "--packed writes the words that a party learned; name a file for them with --out");
  for (int p : {0, 1}) {
    const std::string out = Str(a.out, ".p", p);
    if (a.out.empty() || !roles::Learns(c, p)) continue;
    RefuseReplacing(c, p, out, a.values);
    if (a.packed)
      ProbePacked(c, p, out, rows);
    else
      ProbeOutputs(c, p, out, rows);
  }
}

void WriteFiles(const GateRunArgs& a, const Composition& c, const GateRun& r) {
  for (int p : {0, 1}) {
    const std::string out = Str(a.out, ".p", p);
    if (a.out.empty() || !roles::Learns(c, p)) continue;
    if (a.packed)
      WritePacked(c, p, out, r.words[size_t(p)]);
    else
      WriteOutputs(c, p, out, r.words[size_t(p)]);
  }
}

}  // namespace

int RunGateRun(const GateRunArgs& a) {
  if (a.values.empty() == !a.random.has_value())
    Fail(Cause::kInput, "suf gate run takes its inputs from --values or from --random; give one of them");
  if (a.processes && (a.backend.name != "packed" || !a.mirror.empty()))
    Fail(Cause::kInput, "--processes runs the three roles, which compute on packed and show no wire; leave out ",
         a.mirror.empty() ? "--backend" : "--mirror");
  gates::GateChoices choices;  // of a plan
  const Composition c = CompositionOf(a.g, &choices);
  const backends::BackendEntry entry = BackendOf(a.backend, false);
  const auto backend = entry.make(exec::Default());
  const compiler::Profile profile = compiler::ParseProfile(a.profile);
  std::vector<Ints> inputs;
  if (!a.random) inputs = ReadInputs(c, a.values);
  std::vector<std::optional<size_t>> counts;
  for (const Ints& x : inputs) counts.push_back(x.size());
  const int64_t rows = a.random ? RowsOrOne(c, *a.random) : gates::RowsOf(c, counts);
  if (a.lowering != "auto" || choices.empty())
    choices = GateChoicesFor(c, a.lowering, profile, rows, backend->capabilities());
  RefuseRows(c, choices, rows);
  if (a.random) inputs = RandomInputs(c, rows);
  CheckFiles(a, c, rows);
  const GateRun r =
      a.processes ? RunGateProcesses(c, choices, inputs, rows) : RunGates(c, choices, inputs, rows, *backend, a.mirror);
  if (a.json) {
    nlohmann::ordered_json row = GateRow(c, choices, r.bill, r.trace, rows, r.outputs);
    row["backend"] = entry.name;
    row["equal"] = r.wrong == 0;
    row["ms"] = {{"total", r.seconds * 1e3}};
    if (a.processes) row["ms"] = {{"deal", (r.seconds - r.online) * 1e3}, {"online", r.online * 1e3}};
    std::cout << row.dump() << "\n";
  } else {
    std::cout << GateTable(c, inputs, r.outputs, rows) << "\n"
              << GateSentence(r.bill, rows, Time(r))
              << (r.wrong ? "" : "equal to the gates' own meaning at every number\n");
  }
  WriteFiles(a, c, r);
  if (r.wrong)
    Fail(Cause::kRefused, Plural(r.wrong, "number"), r.wrong == 1 ? " differs" : " differ",
         " from the gates' own meaning, the first is ", r.first, "; report it, and use another lowering");
  return 0;
}

}  // namespace suf::apps
