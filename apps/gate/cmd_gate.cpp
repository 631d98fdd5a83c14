// The commands `suf gate list` and `show`.
#include <algorithm>
#include <iostream>

#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/show.hpp"
#include "suf/compiler/dump.hpp"
#include "suf/gates/plan_text.hpp"

namespace suf::apps {

using gates::Composition;
using gates::GateEntry;
using gates::GateParameter;
using gates::GatePort;

namespace {

std::string RangeOf(const GateParameter& p) {
  std::string out;
  for (const std::string& choice : p.choices) out += (out.empty() ? "" : ", ") + choice;
  if (!p.choices.empty()) return out;
  if (p.low == INT64_MIN && p.high == INT64_MAX) return "any";
  return Str(p.low, " to ", p.high);
}

std::string DefaultOf(const GateParameter& p) {
  if (!p.fallback) return "must be given";
  if (*p.fallback == INT64_MIN) return "default none";
  return Str("default ", p.choices.empty() ? Str(*p.fallback) : p.choices[size_t(*p.fallback)]);
}

std::string KindOf(const GatePort& p) { return p.any ? "any" : gates::NameOf(p.kind); }

// Describes a gate: its parameters, inputs and outputs.
void ShowGate(const GateEntry& gate) {
  const gates::GateFacts& f = gate.facts;
  std::cout << f.name << ": " << f.meaning << "\n\n";
  PrintedRows rows;
  for (const GateParameter& p : f.parameters)
    rows.push_back({"parameter", p.name, RangeOf(p), DefaultOf(p), p.meaning});
  if (f.takes_function)
    rows.push_back({"function", "F", "", "must be given", "a file F.suf, or a name of suf fn list"});
  if (f.takes_constants) rows.push_back({"constants", "{..}", "", "must be given", "whole numbers"});
  for (const GatePort& p : f.inputs) rows.push_back({"input", p.name, KindOf(p), "", p.rule});
  for (const GatePort& p : f.outputs) rows.push_back({"output", p.name, KindOf(p), "", p.rule});
  std::cout << Listing(rows) << "\n";
  if (!f.certificate.empty()) std::cout << "right for: " << f.certificate << "\n";
  if (!f.source.empty()) std::cout << "source:    " << f.source << "\n";
  const std::vector<gates::SingleGate> samples = gate.Samples(32);
  if (samples.empty()) return;
  const Composition c(TextOfGate(gate, samples[0]));
  std::string ways;
  for (const std::string& o : gate.Options(c.gates()[0].use)) ways += o.empty() ? "" : (ways.empty() ? "" : "; ") + o;
  if (!ways.empty()) std::cout << "lowerings: " << ways << "\n";
}

// Returns the statements with the types of their results.
std::string Values(const Composition& c) {
  PrintedRows rows{{"value", "type", "ring", "range", "made by"}};
  for (size_t i = 0; i < c.values().size(); ++i) {
    const Composition::ComposedValue& v = c.values()[i];
    std::string by;
    if (i < c.text().inputs.size())
      by = Str("input of ", BringerName(c.text().inputs[i].from));
    else
      for (const Composition::ComposedGate& g : c.gates())
        if (std::find(g.results.begin(), g.results.end(), int(i)) != g.results.end()) by = g.gate->facts.name;
    const bool number = v.type.kind == gates::ValueKind::kNumber;
    const std::string range =
        number ? Str(gates::Decimal(v.type.low), "..", gates::Decimal(v.type.high)) : std::string();
    rows.push_back({v.name, gates::Name(v.type), number ? Str(v.ring) : "", range, by});
  }
  return Listing(rows, {"ring", "range"});
}

void ShowComposition(const Composition& c, gates::GateChoices choices) {
  std::cout << Values(c) << "\n";
  for (const gates::OutputStatement& o : c.text().outputs)
    std::cout << "output " << o.name.name << " to " << LearnerName(o.to) << "\n";
  const compiler::Profile& profile = compiler::Profiles()[0];
  const int64_t rows = RowsOrOne(c, 1024);
  if (choices.empty()) choices = GateChoicesFor(c, "auto", profile, rows);
  const compiler::Bill bill = BillOf(c, choices, rows, nullptr);
  std::cout << "\n"
            << GateSentence(bill, rows,
                            Str("about ", Duration10(compiler::Seconds(bill, profile.prices)), " by the profile ",
                                profile.name));
}

}  // namespace

int RunGateList() {
  PrintedRows rows{{"gate", "meaning"}};
  for (const GateEntry* g : gates::All()) rows.push_back({g->facts.name, g->facts.meaning});
  std::cout << Listing(rows) << "\n"
            << Plural(rows.size() - 1, "gate") << "; suf gate show G has the parameters, inputs and outputs of one\n";
  return 0;
}

int RunGateShow(const GateShowArgs& a) {
  if (a.pass.empty() && !IsGatesFile(a.g)) {
    ShowGate(gates::GateNamed(a.g.name));
    return 0;
  }
  gates::GateChoices choices;  // of a plan
  const Composition c = CompositionOf(a.g, &choices);
  if (a.pass.empty()) {
    ShowComposition(c, choices);
  } else if (a.pass == "text") {
    std::cout << gates::Print(c.text());
  } else if (a.pass == "values") {
    std::cout << Values(c);
  } else {
    const int64_t rows = RowsOrOne(c, a.rows.value_or(1));
    if (choices.empty()) choices = GateChoicesFor(c, "auto", compiler::Profiles()[0], rows);
    pfss::Trace t;
    gates::Emit(t, c, choices, rows);
    const pfss::Schedule s(t);
    if (a.pass == "emit")
      std::cout << compiler::EmitText(s);
    else
      std::cout << pfss::Print(t) << "\n" << pfss::Print(s);
  }
  return 0;
}

}  // namespace suf::apps
