// The command `suf gate bench`: verifies and times every lowering of a gate, or a composition beside each of its
// statements alone. It compares the times with the cost model (docs/mathematics.md#cost-model), by the prices of the
// profile cpu.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/costs.hpp"
#include "apps/fn/fn_time.hpp"
#include "apps/gate/cmd_gate.hpp"
#include "apps/gate/gate_run.hpp"
#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/gate/gate_words.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"

namespace suf::apps {

using compiler::Bill;
using compiler::Profile;
using gates::Composition;
using gates::Ints;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr int kGateRuns = 5;

// A composition with lowerings, as a row of the table.
struct BenchRow {
  std::string name;
  std::shared_ptr<const Composition> composition;
  gates::GateChoices choices;
  int64_t values = 0;  // elements of its largest input
  std::shared_ptr<Trial> trial;
  TraceTimes least;
  const Bill& bill() const { return BillOf(*trial); }
  double cpu() const { return least.party[0].cpu + least.party[1].cpu; }
};
// The rows to time. Of a file the first one is the whole, the others are its statements.
struct BenchRows {
  std::vector<BenchRow> rows;
  std::vector<std::pair<std::string, std::string>> left;  // lowerings that are left out, with the reason
};
// The results of all runs.
struct GateBenchResult : BenchRows {
  Machine machine;
};

std::string NameOfStatement(const gates::GateStatement& s) {
  std::string out;
  for (const gates::PlacedName& n : s.names) out += (out.empty() ? "" : ", ") + n.name;
  return Str(out, " = ", s.gate.name);
}

// Returns a statement of a composition alone. Its inputs come from P1, and from P0 if they are P0's inputs. The parties
// keep shares of its results, in the ring that the composition's readers need.
Composition StatementAlone(const Composition& c, size_t at) {
  gates::CompositionText text;
  for (const int v : c.gates()[at].arguments) {
    const Composition::ComposedValue& value = c.values()[size_t(v)];
    if (std::any_of(text.inputs.begin(), text.inputs.end(), [&](auto& in) { return in.name.name == value.name; }))
      continue;
    const auto& given = c.text().inputs;
    const bool from_p0 = size_t(v) < given.size() && given[size_t(v)].from == gates::Origin::kP0;
    text.inputs.push_back({{value.name, {}}, from_p0 ? gates::Origin::kP0 : gates::Origin::kP1, value.type});
  }
  text.gates = {c.text().gates[at]};
  int ring = 0;
  for (const int v : c.gates()[at].results)
    if (v >= 0 && c.values()[size_t(v)].type.kind == gates::ValueKind::kNumber)
      ring = std::max(ring, c.values()[size_t(v)].ring);
  if (ring && !c.gates()[at].use.set.count("ring")) text.gates[0].set.push_back({{"ring", {}}, Str(ring)});
  for (const gates::PlacedName& n : text.gates[0].names) text.outputs.push_back({n, gates::To::kShared});
  return Composition(std::move(text));
}

BenchRow RowOf(std::string name, std::shared_ptr<const Composition> c, gates::GateChoices choices, int64_t count) {
  BenchRow out;
  out.name = std::move(name);
  out.composition = std::move(c);
  out.choices = std::move(choices);
  for (size_t i = 0; i < out.composition->text().inputs.size(); ++i)
    out.values = std::max(out.values, gates::CountOf(*out.composition, int(i), count));
  return out;
}

BenchRows RowsOfFile(std::shared_ptr<const Composition> c, int64_t count) {
  const compiler::Prices& prices = compiler::Profiles()[0].prices;
  BenchRows out;
  out.rows.push_back(RowOf("whole", c, gates::Choose(*c, prices, count), count));
  for (size_t i = 0; i < c->gates().size(); ++i) {
    auto alone = std::make_shared<const Composition>(StatementAlone(*c, i));
    out.rows.push_back(RowOf(NameOfStatement(c->text().gates[i]), alone, gates::Choose(*alone, prices, count), count));
  }
  for (const BenchRow& r : out.rows) RefuseRows(*r.composition, r.choices, count);
  return out;
}

BenchRows RowsOfGate(std::shared_ptr<const Composition> c, int64_t count) {
  const Composition::ComposedGate& g = c->gates().front();
  BenchRows out;
  std::optional<Error> last;
  for (const std::string& option : g.gate->Options(g.use)) {
    BenchRow row = RowOf(option.empty() ? g.gate->facts.name : option, c, {option}, count);
    try {
      RefuseRows(*c, row.choices, count);
      out.rows.push_back(std::move(row));
    } catch (const Error& e) {
      if (e.cause() != Cause::kResource && e.cause() != Cause::kRefused) throw;
      out.left.emplace_back(row.name, e.what());
      last = e;
    }
  }
  if (out.rows.empty() && last) throw Error(*last);
  if (out.rows.empty()) Fail(Cause::kRefused, "no lowering of ", g.gate->facts.name, " applies to these types");
  return out;
}

TrialInput GateTrialOf(const BenchRow& r, const std::vector<Ints>& inputs, int64_t count) {
  TrialInput out;
  out.emit = [c = r.composition, choices = r.choices, count](pfss::Trace& t) { gates::Emit(t, *c, choices, count); };
  out.inputs = InputsOfParties(*r.composition, inputs);
  out.verify = [c = r.composition, inputs, name = r.name, count](const PartyWords& results) {
    GateRun run;
    CompareGates(*c, inputs, count,
                 {gates::OutputWords(*c, 0, results[0], count), gates::OutputWords(*c, 1, results[1], count)}, &run);
    if (run.wrong)
      Fail(Cause::kRefused, run.wrong, " numbers of ", name, " are wrong, first ", run.first, "; report it");
  };
  return out;
}

GateBenchResult TimeGates(BenchRows rows, int64_t count) {
  GateBenchResult out{std::move(rows), {}};
  TraceBench bench(ring::Best());
  KeepPages();
  Bar bar("bench", Bar::Log::kRare);
  for (size_t i = 0; i < out.rows.size(); ++i) {
    BenchRow& r = out.rows[i];
    bar.At(0.3 * double(i) / double(out.rows.size()), r.name);
    r.trial = bench.Prepare(GateTrialOf(r, RandomInputs(*r.composition, count), count));
    bench.Verify(*r.trial);
    r.least = bench.Run(*r.trial);
  }
  out.machine = bench.Measure();
  for (int run = 1; run < kGateRuns; ++run)  // in turns, so that a disturbance affects all
    for (size_t i = 0; i < out.rows.size(); ++i) {
      bar.At(0.3 + 0.7 * (run - 1 + double(i) / double(out.rows.size())) / (kGateRuns - 1), "all in turns");
      out.rows[i].least = Least(out.rows[i].least, bench.Run(*out.rows[i].trial));
    }
  return out;
}

double PredictedSeconds(const BenchRow& r) { return compiler::Seconds(r.bill(), compiler::Profiles()[0].prices); }

// The sum over the statements of a file, each alone.
struct SumOfStatements {
  int64_t sent = 0, key = 0;
  double predicted = 0, measured = 0, online = 0, cpu = 0;
};
int64_t SentOf(const BenchRow& r) { return r.bill().sent[0] + r.bill().sent[1]; }
int64_t KeyOf(const BenchRow& r) { return std::max(r.bill().key[0], r.bill().key[1]); }
SumOfStatements SumOf(const GateBenchResult& r) {
  SumOfStatements out;
  for (size_t i = 1; i < r.rows.size(); ++i) {
    const BenchRow& row = r.rows[i];
    out.sent += SentOf(row);
    out.key += KeyOf(row);
    out.predicted += PredictedSeconds(row);
    out.measured += MeasuredSeconds(row.least, row.bill(), r.machine, false);
    out.online += row.least.both;
    out.cpu += row.cpu();
  }
  return out;
}

ordered_json BenchRowJson(const BenchRow& r, const Machine& m) {
  const Bill& b = r.bill();
  const TraceTimes& t = r.least;
  ordered_json out{{"name", r.name}, {"lowerings", r.choices}, {"values", r.values}};
  AddBill(&out, b);
  out["words"] = WordsJson(b);
  out["seconds"] = {{"deal", t.deal.cpu},
                    {"carry", t.carry.cpu},
                    {"keep", t.keep.cpu},
                    {"p0", t.party[0].cpu},
                    {"p1", t.party[1].cpu},
                    {"online_by_clock", t.both},
                    {"ahead", MeasuredSeconds(t, b, m, false)}};
  out["predicted"] = {{"ahead", PredictedSeconds(r)}};
  out["values_per_second"] = double(r.values) / t.both;
  return out;
}

void PrintGateBenchJson(const GateBenchArgs& a, const GateBenchResult& r) {
  ordered_json out{{"schema", "suf.gate.bench/1"},
                   {"gate", a.g.name},
                   {"file", IsGatesFile(a.g)},
                   {"variant", ring::Name(ring::Best())},
                   {"rows_in_a_run", a.count},
                   {"runs", kGateRuns},
                   {"verified", true}};
  out["rows"] = json::array();
  for (const BenchRow& row : r.rows) out["rows"].push_back(BenchRowJson(row, r.machine));
  if (IsGatesFile(a.g)) {
    const SumOfStatements sum = SumOf(r);
    out["sum"] = {{"sent_bytes", sum.sent},   {"key_bytes", sum.key},          {"predicted", sum.predicted},
                  {"measured", sum.measured}, {"online_by_clock", sum.online}, {"processor", sum.cpu}};
    out["whole_to_sum"] = {{"online_by_clock", r.rows[0].least.both / sum.online},
                           {"processor", r.rows[0].cpu() / sum.cpu}};
  }
  out["left_out"] = json::array();
  for (const auto& [name, why] : r.left) out["left_out"].push_back({{"lowering", name}, {"why", why}});
  std::cout << out.dump() << "\n";
}

void PrintGateBenchTables(const GateBenchArgs& a, const GateBenchResult& r) {
  const bool file = IsGatesFile(a.g);
  auto ms = [](double s) { return Fixed(s * 1e3, s < 0.1 ? 2 : 0); };
  PrintedRows rows{{file ? "statement" : "lowering", "flights", "sent", "key", "predicted ms", "measured ms",
                    "online ms", "values/s"}};
  for (const BenchRow& row : r.rows)
    rows.push_back({row.name, Str(row.bill().flights), Bytes10(SentOf(row)), Bytes10(KeyOf(row)),
                    ms(PredictedSeconds(row)), ms(MeasuredSeconds(row.least, row.bill(), r.machine, false)),
                    ms(row.least.both), Count10(int64_t(double(row.values) / row.least.both))});
  const SumOfStatements sum = file ? SumOf(r) : SumOfStatements{};
  if (file)
    rows.push_back({"sum of statements", "", Bytes10(sum.sent), Bytes10(sum.key), ms(sum.predicted), ms(sum.measured),
                    ms(sum.online), ""});
  std::cout << Table(rows, {"sent", "flights", "values/s", "key"}) << "\n";
  if (file) {
    PrintedRows lowerings{{"lowering of", "in the whole", "alone"}};
    for (size_t i = 1; i < r.rows.size(); ++i)
      if (!r.rows[0].choices[i - 1].empty() || !r.rows[i].choices[0].empty())
        lowerings.push_back({r.rows[i].name, r.rows[0].choices[i - 1], r.rows[i].choices[0]});
    if (lowerings.size() > 1) std::cout << Listing(lowerings) << "\n";
  }
  for (const auto& [name, why] : r.left) std::cout << name << " is left out: " << why << "\n";
  std::cout << Plural(a.count, "row") << " in a run, keys ahead, all results verified; the least of " << kGateRuns
            << " runs.\n"
            << "key: of the party with the larger one. predicted: by the profile cpu.\n"
            << "measured: both parties in turns, the larger key written and read, and the waits\nof flights. "
            << "online: by the clock, both parties at once. values: of the largest input.\n";
  if (file)
    std::cout << "The whole takes " << Fixed(r.rows[0].least.both / sum.online, 2)
              << " of the sum of its statements by the clock, and " << Fixed(r.rows[0].cpu() / sum.cpu, 2)
              << "\nof its processor time.\n";
}

}  // namespace

int RunGateBench(const GateBenchArgs& args) {
  UseKernels("bench", args.kernels);
  auto c = std::make_shared<const Composition>(CompositionOf(args.g));
  GateBenchArgs a = args;
  a.count = RowsOrOne(*c, args.count);
  const GateBenchResult r = TimeGates(IsGatesFile(a.g) ? RowsOfFile(c, a.count) : RowsOfGate(c, a.count), a.count);
  if (a.json)
    PrintGateBenchJson(a, r);
  else
    PrintGateBenchTables(a, r);
  return 0;
}

}  // namespace suf::apps
