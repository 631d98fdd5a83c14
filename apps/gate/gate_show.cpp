#include "apps/gate/gate_show.hpp"

#include <algorithm>

#include "apps/costs.hpp"
#include "apps/show.hpp"
#include "suf/base/digest.hpp"
#include "suf/gates/plan_text.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr size_t kShownGateRows = 20, kShownNumbers = 8;  // rows, and numbers of an output in a row

gates::ValueType TypeOfOutput(const Composition& c, size_t o) { return gates::OutputType(c, c.text().outputs[o]); }

ordered_json JsonNumber(const gates::ValueType& type, int64_t v) {
  if (type.high > INT64_MAX) return uint64_t(v);
  return v;
}

}  // namespace

const char* BringerName(gates::Origin from) {
  return from == gates::Origin::kP0 ? "P0" : from == gates::Origin::kP1 ? "P1" : "shares of both";
}

const char* LearnerName(gates::To to) {
  return to == gates::To::kP0     ? "P0"
         : to == gates::To::kP1   ? "P1"
         : to == gates::To::kBoth ? "both parties"
                                  : "nobody: each keeps a share";
}

std::string GateNumber(const gates::ValueType& type, int64_t v) {
  return type.high > INT64_MAX ? Str(uint64_t(v)) : Str(v);
}

std::string LoweringsOf(const gates::GateChoices& choices) {
  std::string out;
  for (size_t i = 0; i < choices.size(); ++i) out += (i ? ";" : "") + choices[i];
  return out;
}

compiler::Bill BillOf(const Composition& c, const gates::GateChoices& choices, int64_t rows, Hash* trace) {
  pfss::Trace t;
  gates::Emit(t, c, choices, rows);
  if (trace) *trace = t.digest();
  return compiler::BillOf(pfss::Schedule(t));
}

std::string GateTable(const Composition& c, const std::vector<Ints>& inputs, const std::vector<Ints>& outputs,
                      int64_t rows) {
  PrintedRows table{{"row"}};
  for (size_t i = 0; i < std::min<size_t>(size_t(rows), kShownGateRows); ++i) table.push_back({Str(i + 1)});
  std::vector<std::string> drop, left;  // columns from the last on; and values that have no column
  auto add = [&](const std::string& name, const gates::ValueType& type, const Ints& numbers, size_t most) {
    if (numbers.empty()) return;
    const bool has_rows = std::find(type.shape.begin(), type.shape.end(), gates::kRows) != type.shape.end();
    const size_t each = has_rows || rows == 1 ? numbers.size() / size_t(rows) : 0;
    if (each != 1 && most == 1) return;  // an input, which its party knows
    if (each == 0 || each > most) left.push_back(name);
    for (size_t k = 0; k < std::min(each, most); ++k) {
      table[0].push_back(each == 1 ? name : Str(name, ".", k + 1));
      if (table[0].size() > 2) drop.insert(drop.begin(), table[0].back());
      for (size_t i = 1; i < table.size(); ++i) table[i].push_back(GateNumber(type, numbers[(i - 1) * each + k]));
    }
  };
  for (size_t i = 0; i < inputs.size(); ++i) add(c.values()[i].name, c.values()[i].type, inputs[i], 1);
  for (size_t o = 0; o < outputs.size(); ++o)
    add(c.text().outputs[o].name.name, TypeOfOutput(c, o), outputs[o], kShownNumbers);
  std::string out = Table(table, drop);
  if (size_t(rows) > kShownGateRows)
    out += Str("and ", Plural(size_t(rows) - kShownGateRows, "row"), " more (--json has all)\n");
  std::string names;
  for (const std::string& name : left) names += (names.empty() ? "" : ", ") + name;
  if (!left.empty()) out += Str("not all numbers are shown of ", names, " (--json has all)\n");
  return out;
}

ordered_json OutputsJson(const Composition& c, const std::vector<Ints>& outputs) {
  ordered_json out{{"outputs", json::object()}, {"types", json::object()}, {"to", json::object()}};
  for (size_t o = 0; o < outputs.size(); ++o) {
    const gates::OutputStatement& s = c.text().outputs[o];
    const gates::ValueType type = TypeOfOutput(c, o);
    out["types"][s.name.name] = gates::Name(type);
    out["to"][s.name.name] = gates::Name(s.to);
    if (outputs[o].empty()) continue;
    ordered_json& numbers = out["outputs"][s.name.name] = json::array();
    for (int64_t v : outputs[o]) numbers.push_back(JsonNumber(type, v));
  }
  return out;
}

int64_t RowsOrOne(const Composition& c, int64_t rows) {
  return gates::RowsOf(c, std::vector<std::optional<size_t>>(c.text().inputs.size())) == 1 ? 1 : rows;
}

ordered_json GateRow(const Composition& c, const gates::GateChoices& choices, const compiler::Bill& bill,
                     const Hash& trace, int64_t rows, const std::vector<Ints>& outputs) {
  ordered_json out{{"schema", "suf.gate/1"}, {"rows", rows}, {"statements", json::array()}};
  for (size_t i = 0; i < choices.size(); ++i)
    out["statements"].push_back({{"gate", c.gates()[i].gate->facts.name}, {"lowering", choices[i]}});
  out.update(OutputsJson(c, outputs));
  AddBill(&out, bill);
  out["trace"] = Hex(trace);
  return out;
}

std::string GateSentence(const compiler::Bill& b, int64_t rows, const std::string& time) {
  return Str(Plural(rows, "row"), ", ", Plural(b.flights, "flight"), "; P0 sends ", Bytes10(b.sent[0]), ", P1 ",
             Bytes10(b.sent[1]), "; keys ", Bytes10(b.key[0]), " and ", Bytes10(b.key[1]), "; ", time, "\n");
}

}  // namespace suf::apps
