// The command `suf fn bench`: verifies and times every lowering of a dozen functions on this machine. It compares the
// times with the cost model (docs/mathematics.md#cost-model), by the prices of the profile cpu and of this machine.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/costs.hpp"
#include "apps/fn/fn_source.hpp"
#include "apps/fn/fn_time.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "suf/ring/modular.hpp"

namespace suf::apps {

using compiler::Bill;
using compiler::Candidate;
using compiler::Prices;
using compiler::Profile;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr int kRuns = 5;
constexpr int64_t kMostKey = 128'000'000;  // bytes of a party's key

// A function to time. Most have 32 bits; dense tables and octaves apply to the narrower ones.
struct Subject {
  const char* name;
  int n, scale;
};
constexpr Subject kSubjects[] = {
    {"relu", 32, 12},     {"gelu", 32, 12},        {"relubits", 32, 12}, {"abs", 32, 12}, {"sigmoid", 32, 12},
    {"softplus", 32, 12}, {"tanh", 24, 12},        {"silu", 20, 9},      {"exp", 32, 12}, {"rsqrt", 16, 8},
    {"recip", 16, 8},     {"gelu_spline", 32, 12}, {"gelu", 12, 6},      {"relu", 48, 12}};

std::string TitleOf(const Subject& s) { return Str(s.name, ", ", s.n, " bits"); }

// One lowering of one function.
struct Row {
  size_t subject = 0;
  std::string lowering;
  std::shared_ptr<Trial> trial;
  TraceTimes least;
  const Bill& bill() const { return BillOf(*trial); }
};

// Returns the seconds by the model.
double Predicted(const Row& r, Prices p, bool now) {
  p.now = now;
  return compiler::Seconds(r.bill(), p);
}
double Measured(const Row& r, const Machine& m, bool now) { return MeasuredSeconds(r.least, r.bill(), m, now); }

// Returns the price of a word: the processor time of both parties, less everything that has a price. It is the median
// of the rows.
double WordPrice(const std::vector<Row>& rows, const Machine& m) {
  std::vector<double> each;
  for (const Row& r : rows) {
    const Bill& b = r.bill();
    const double rest = r.least.party[0].cpu + r.least.party[1].cpu - b.flights * m.busy -
                        double(b.sent[0] + b.sent[1]) * m.prices.wire -
                        double(b.blocks[0] + b.blocks[1]) * m.prices.block;
    each.push_back(std::max(0.0, rest) / double(b.words[0] + b.words[1]));
  }
  std::sort(each.begin(), each.end());
  return each.empty() ? 0 : each[each.size() / 2];
}

// How well a set of prices predicts the measured times.
struct Verdict {
  int within = 0, rows = 0, ordered = 0, pairs = 0;
  double least = HUGE_VAL, most = 0;
};
Verdict VerdictOf(const std::vector<Row>& rows, const Machine& m, const Prices& p, bool now) {
  Verdict v;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double predicted = Predicted(rows[i], p, now), measured = Measured(rows[i], m, now),
                 ratio = predicted / measured;
    ++v.rows;
    v.within += ratio >= 0.5 && ratio <= 2;
    v.least = std::min(v.least, ratio);
    v.most = std::max(v.most, ratio);
    for (size_t j = 0; j < i; ++j) {
      const double other = Measured(rows[j], m, now);
      if (rows[j].subject != rows[i].subject || std::max(measured, other) <= 1.2 * std::min(measured, other)) continue;
      ++v.pairs;
      v.ordered += (measured < other) == (predicted < Predicted(rows[j], p, now));
    }
  }
  return v;
}

std::string Text(const Verdict& v) {
  return Str(v.within, " of ", v.rows, " within 2x (", Fixed(v.least, 2), " to ", Fixed(v.most, 2), "); ", v.ordered,
             " of ", v.pairs, " pairs that differ by more than 20 % in order",
             v.pairs ? Str(" (", Fixed(100.0 * v.ordered / v.pairs, 1), " %)") : "");
}
ordered_json Json(const Verdict& v) {
  return {{"lowerings", v.rows}, {"within_2x", v.within}, {"least", v.least},
          {"most", v.most},      {"pairs", v.pairs},      {"in_order", v.ordered}};
}
ordered_json Json(const Prices& p) {
  return {{"flight_us", p.flight * 1e6},
          {"wire_ns", p.wire * 1e9},
          {"key_ns", p.key * 1e9},
          {"aes_per_s", 1 / p.block},
          {"word_ns", p.word * 1e9}};
}

gates::FunctionPlan PlanOf(const Subject& s) {
  return {FunctionOf({s.name, s.n, s.scale}).f, {}, gates::Origin::kP1, gates::To::kP1};
}

// All results, for both forms of output.
struct Result {
  std::vector<Subject> subjects;
  std::vector<Row> rows;
  std::vector<std::pair<std::string, int64_t>> left;  // left out, with the key bytes that it would take
  Machine machine;
};

Result Measure(const FnBenchArgs& a) {
  Result out;
  for (const Subject& s : kSubjects)
    if (int(out.subjects.size()) < a.functions.value_or(int(std::size(kSubjects)))) out.subjects.push_back(s);
  TraceBench bench(ring::Best());
  KeepPages();
  Bar bar("bench", Bar::Log::kRare);
  std::mt19937_64 rng(1);
  for (size_t i = 0; i < out.subjects.size(); ++i) {
    gates::FunctionPlan plan = PlanOf(out.subjects[i]);
    std::vector<uint64_t> x;
    for (int64_t v = 0; v < a.count; ++v) x.push_back(rng() & ring::Mask(func::DomainBits(plan.f)));
    for (const Candidate& c : ChoicesOf(plan)) {
      if (!c.why_not.empty()) continue;
      const std::string title = Str(TitleOf(out.subjects[i]), ": ", c.name);
      bar.At(0.2 * double(i) / double(out.subjects.size()), title);
      if (const int64_t key = std::max(c.bill.key[0], c.bill.key[1]) * a.count; key > kMostKey) {
        out.left.emplace_back(title, key);
        continue;
      }
      plan.choice = c.choice;
      Row r{i, c.name, bench.Prepare(TrialOf(plan, x)), {}};
      bench.Verify(*r.trial);
      r.least = bench.Run(*r.trial);
      out.rows.push_back(std::move(r));
    }
  }
  out.machine = bench.Measure();
  for (int run = 1; run < kRuns; ++run)  // in turns, so that a disturbance affects all
    for (size_t i = 0; i < out.rows.size(); ++i) {
      bar.At(0.2 + 0.8 * (run - 1 + double(i) / double(out.rows.size())) / (kRuns - 1), "all in turns");
      out.rows[i].least = Least(out.rows[i].least, bench.Run(*out.rows[i].trial));
    }
  out.machine.prices.word = WordPrice(out.rows, out.machine);
  return out;
}

// Returns the choice for each function and profile, with keys ahead.
ordered_json Choices(const Result& r, int64_t count) {
  ordered_json out = json::array();
  for (const Subject& s : r.subjects) {
    std::vector<Candidate> all = gates::Price(PlanOf(s), compiler::Profiles()[0].prices, count);
    ordered_json row{{"function", s.name}, {"n", s.n}, {"scale", s.scale}};
    for (const Profile& p : compiler::Profiles()) {
      for (Candidate& c : all) c.seconds = compiler::Seconds(c.bill, p.prices);
      const Candidate& best = compiler::Best(all);
      row[p.name] = {{"lowering", best.name},
                     {"flights", best.bill.flights},
                     {"key_bytes", double(std::max(best.bill.key[0], best.bill.key[1])) / double(count)},
                     {"us", best.seconds * 1e6 / double(count)}};
    }
    out.push_back(row);
  }
  return out;
}

void PrintJson(const FnBenchArgs& a, const Result& r) {
  const Profile& cpu = compiler::Profiles()[0];
  ordered_json out{{"schema", "suf.fn.bench/2"},
                   {"variant", ring::Name(ring::Best())},
                   {"count", a.count},
                   {"runs", kRuns},
                   {"verified", true}};
  out["profile"] = Json(cpu.prices);
  out["machine"] = Json(r.machine.prices);
  out["machine"]["flight_busy_us"] = r.machine.busy * 1e6;
  for (bool now : {false, true}) {
    out["verdict"][now ? "now" : "ahead"] = {{"cpu", Json(VerdictOf(r.rows, r.machine, cpu.prices, now))},
                                             {"machine", Json(VerdictOf(r.rows, r.machine, r.machine.prices, now))}};
  }
  out["rows"] = json::array();
  for (const Row& row : r.rows) {
    const Bill& b = row.bill();
    const TraceTimes& t = row.least;
    const Subject& s = r.subjects[row.subject];
    ordered_json one{{"function", s.name}, {"n", s.n}, {"scale", s.scale}, {"lowering", row.lowering}};
    AddBill(&one, b);
    one["words"] = WordsJson(b);
    one["seconds"] = {{"deal", t.deal.cpu},
                      {"carry", t.carry.cpu},
                      {"keep", t.keep.cpu},
                      {"p0", t.party[0].cpu},
                      {"p1", t.party[1].cpu},
                      {"online_by_clock", t.both},
                      {"ahead", Measured(row, r.machine, false)},
                      {"now", Measured(row, r.machine, true)}};
    one["predicted"] = {{"ahead", Predicted(row, cpu.prices, false)}, {"now", Predicted(row, cpu.prices, true)}};
    out["rows"].push_back(one);
  }
  out["left_out"] = json::array();
  for (auto& [title, key] : r.left) out["left_out"].push_back({{"lowering", title}, {"key_bytes", key}});
  out["choices"] = Choices(r, a.count);
  std::cout << out.dump() << "\n";
}

std::string Text(const Prices& p) {
  return Str("flight ", Fixed(p.flight * 1e6, 1), " us, wire ", Fixed(p.wire * 1e9, 2), " ns/B, key ",
             Fixed(p.key * 1e9, 2), " ns/B, AES ", Fixed(1e-9 / p.block, 2), "e9/s, word ", Fixed(p.word * 1e9, 2),
             " ns");
}

void PrintTables(const FnBenchArgs& a, const Result& r) {
  const Profile& cpu = compiler::Profiles()[0];
  for (size_t i = 0; i < r.subjects.size(); ++i) {
    std::vector<std::vector<std::string>> rows{{TitleOf(r.subjects[i]), "flights", "sent B", "key B", "dealer ns",
                                                "P0 ns", "P1 ns", "measured ns", "model ns", "ratio"}};
    for (const Row& row : r.rows) {
      if (row.subject != i) continue;
      const Bill& b = row.bill();
      auto per = [&](double v) { return Fixed(v / double(a.count), 1); };
      auto ns = [&](double s) { return Fixed(s * 1e9 / double(a.count), 0); };
      const double measured = Measured(row, r.machine, false), predicted = Predicted(row, cpu.prices, false);
      rows.push_back({row.lowering, Str(b.flights), per(double(b.sent[0] + b.sent[1])),
                      per(double(std::max(b.key[0], b.key[1]))), ns(row.least.deal.cpu), ns(row.least.party[0].cpu),
                      ns(row.least.party[1].cpu), ns(measured), ns(predicted), Fixed(predicted / measured, 2)});
    }
    std::cout << Table(rows, {"sent B", "P0 ns", "P1 ns", "dealer ns", "key B", "flights"}) << "\n";
  }
  for (auto& [title, key] : r.left)
    std::cout << title << " is left out: a key of " << Bytes10(key) << " for " << a.count << " values\n";
  std::cout
      << "All columns are per value, in runs of " << a.count
      << " values. dealer, P0, P1: processor time. measured: both parties in turns, the larger key written and read, "
         "and the waits of flights; the least of "
      << kRuns << " runs. model: by the prices of the profile cpu.\n\nprofile cpu:  " << Text(cpu.prices)
      << "\nthis machine: " << Text(r.machine.prices) << "\n\n";
  for (bool now : {false, true}) {
    const char* const keys = now ? "keys now:   " : "keys ahead: ";
    std::cout << keys << "by cpu's prices " << Text(VerdictOf(r.rows, r.machine, cpu.prices, now)) << "\n"
              << "            by this machine's " << Text(VerdictOf(r.rows, r.machine, r.machine.prices, now)) << "\n";
  }
}

}  // namespace

int RunFnBench(const FnBenchArgs& a) {
  UseKernels("bench", a.kernels);
  const Result r = Measure(a);
  if (a.json)
    PrintJson(a, r);
  else
    PrintTables(a, r);
  return 0;
}

}  // namespace suf::apps
