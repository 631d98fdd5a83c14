#include "apps/gate/gate_processes.hpp"

#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_values.hpp"
#include "apps/gate/gate_words.hpp"
#include "apps/processes.hpp"
#include "suf/gates/compose/plan.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/roles/composition.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;

namespace {

const char* OutputsName(int p) { return p ? "p1.out" : "p0.out"; }

// Writes the numbers and shares that party p brings. Returns its options for values, results and plan.
std::vector<std::string> WriteInputs(const ThreeProcesses& processes, const Composition& c, const Hash& plan,
                                     const std::vector<Ints>& inputs, const run::Inputs& words, int p) {
  std::vector<std::string> options{"--plan-hash", Hex(plan)};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const gates::InputStatement& in = c.text().inputs[i];
    if (!gates::Brings(in, p)) continue;
    const bool share = in.from == gates::Origin::kShared;
    Ints values = inputs[i];
    if (share) {
      const std::shared_ptr<const void> held = words.Get(in.name.name, values.size()).words();
      const auto* own = static_cast<const uint64_t*>(held.get());
      values.assign(own, own + values.size());
    }
    const std::string file = processes / Str(p ? "p1.in." : "p0.in.", in.name.name).c_str();
    WriteOutput(file, in.type, values, share);
    options.insert(options.end(), {"--values", in.name.name + "=" + file});
  }
  if (roles::Learns(c, p)) options.insert(options.end(), {"--out", processes / OutputsName(p)});
  return options;
}

// Reads the outputs that party p ends with, in order of the text.
std::vector<Ints> ReadOutputs(const ThreeProcesses& processes, const Composition& c, int p) {
  const std::vector<std::string> files = FilesOfOutputs(c, p, processes / OutputsName(p));
  std::vector<Ints> out(files.size());
  for (size_t o = 0; o < files.size(); ++o) {
    const gates::OutputStatement& s = c.text().outputs[o];
    if (!files[o].empty()) out[o] = ReadOutput(files[o], gates::OutputType(c, s), s.to == gates::To::kShared);
  }
  return out;
}

}  // namespace

GateRun RunGateProcesses(const Composition& c, const gates::GateChoices& choices, const std::vector<Ints>& inputs,
                         int64_t rows) {
  if (rows > gates::kMostValues)
    Fail(Cause::kInput, rows, " rows were given; a plan covers at most ", gates::kMostValues, "; run fewer at a time");
  RefuseRows(c, choices, rows);
  const gates::CompositionPlan plan{std::make_shared<const Composition>(c), choices, rows};
  const Hash hash = gates::HashOfPlan(plan);
  const std::array<run::Inputs, 2> words = InputsOfParties(c, inputs);
  const ThreeProcesses processes;
  const ProcessTimes times = processes.Run(
      "gate", gates::Print(plan),
      {WriteInputs(processes, c, hash, inputs, words[0], 0), WriteInputs(processes, c, hash, inputs, words[1], 1)});
  GateRun out;
  out.bill = BillOf(c, choices, rows, &out.trace);
  out.online = times.online;
  out.seconds = times.online + times.deal;
  CompareGates(c, inputs, rows, {ReadOutputs(processes, c, 0), ReadOutputs(processes, c, 1)}, &out);
  return out;
}

}  // namespace suf::apps
