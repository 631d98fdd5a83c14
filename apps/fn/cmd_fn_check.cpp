// The command `suf fn check`: compares every lowering on every backend with the function's meaning, under random masks.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/fn/fn_pair.hpp"
#include "apps/fn/fn_source.hpp"
#include "apps/show.hpp"
#include "suf/backends/all.hpp"
#include "suf/ring/modular.hpp"

namespace suf::apps {

using compiler::Candidate;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// The cells (functions x lowerings) that --all covers with its defaults. The first number is of a backend that runs
// models, the second of one that runs functions alone.
constexpr int kLeastOfModels = 213, kLeastOfFunctions = 142;
constexpr int kAllBits = 8;                  // domains of at most these bits are run whole
constexpr size_t kCuts = 64, kValues = 256;  // of larger domains: about this many cuts, and at least this many values

// Returns all values of a small domain; otherwise its ends, both sides of cuts, and random words.
std::vector<uint64_t> ValuesOf(const func::Function& f) {
  const int n = func::DomainBits(f);
  std::vector<uint64_t> x;
  if (n <= kAllBits) {
    for (uint64_t v = 0; v < uint64_t{1} << n; ++v) x.push_back(v);
    return x;
  }
  auto beside = [&](func::U128 at) {
    for (int d : {-1, 0, 1}) x.push_back((uint64_t(at) + uint64_t(d)) & ring::Mask(n));
  };
  beside(0);
  beside(func::U128{1} << (n - 1));
  if (auto* s = std::get_if<func::Suf>(&f)) {
    const size_t step = std::max<size_t>(1, s->pieces.size() / kCuts);
    for (size_t i = 0; i < s->pieces.size(); i += step) beside(s->pieces[i].begin);
    for (const func::Formula& g : s->formulas)
      for (const func::Term& t : g) {
        beside(t.value);
        beside(t.upper);
      }
  }
  std::mt19937_64 rng(std::random_device{}());
  while (x.size() < kValues) x.push_back(rng() & ring::Mask(n));
  return x;
}

}  // namespace

std::vector<Candidate> ChoicesOf(const gates::FunctionPlan& plan, const pfss::Capabilities& can) {
  std::vector<Candidate> out, later;
  const std::vector<Candidate> all = gates::Price(plan, compiler::Profiles()[0].prices, 1, can);
  std::vector<compiler::Lowering> numbers, bits;
  auto seen = [](auto& list, const compiler::Lowering& l) {
    if (std::find(list.begin(), list.end(), l) != list.end()) return true;
    list.push_back(l);
    return false;
  };
  // a pair is new if either part is new in the order of Price
  for (bool applies : {true, false})
    for (const Candidate& c : all) {
      if (c.why_not.empty() != applies) continue;
      const bool pair = c.name.find(", ") != c.name.npos;
      if (applies || pair) {
        const bool number = !seen(numbers, c.choice.numbers), bit = !seen(bits, c.choice.bits);
        if (!number && !bit) continue;
      }
      (applies ? out : later).push_back(c);
    }
  out.insert(out.end(), later.begin(), later.end());
  return out;
}

namespace {

// One lowering of one function on one backend.
struct Cell {
  std::string function, lowering, backend;
  int64_t values = 0, wrong = 0;
  std::string why;  // the reason of a hole; empty if the cell is covered
};

// Returns the names of the backends of the matrix.
std::vector<std::string> Columns() {
  std::vector<std::string> out;
  for (const backends::BackendEntry& e : backends::Usable(false)) out.push_back(e.name);
  return out;
}

std::vector<Cell> CellsOf(const std::string& name, const func::Function& f, Bar* bar) {
  gates::FunctionPlan plan{f, {}, gates::Origin::kP1, gates::To::kBoth};
  std::vector<Cell> out;
  const std::vector<uint64_t> x = ValuesOf(f);
  const PairInput input = Shared(x, func::DomainBits(f));
  for (const std::string& column : Columns()) {
    const auto backend = backends::Make(column);
    const std::vector<Candidate> all = ChoicesOf(plan, backend->capabilities());
    if (column == "clear") (void)compiler::Best(all);  // throws if no lowering makes the function
    size_t turn = 0;
    for (const Candidate& c : all) {
      Cell cell{name, c.name, column, 0, 0, c.why_not};
      if (c.why_not.empty()) {
        bar->At(0, Str(name, " ", c.name, " ", column));
        // each cell has the next origin and ending
        plan.choice = c.choice;
        plan.from = gates::Origin(turn % 3);
        plan.to = gates::To(turn / 3 % 4);
        turn += 2;
        const PairResult r = RunFunction(plan, input, *backend);
        cell.values = int64_t(x.size());
        cell.wrong = Compare(f, x, r.words).count;
      }
      out.push_back(cell);
    }
  }
  return out;
}

// Prints a line for each lowering, with the backends side by side; then the holes, with their backends.
void Print(const std::vector<Cell>& cells) {
  const std::vector<std::string> columns = Columns();
  std::vector<std::vector<std::string>> rows{{"function", "lowering"}};
  rows[0].insert(rows[0].end(), columns.begin(), columns.end());
  std::vector<std::pair<std::string, std::string>> holes;  // lowering with reason, backends
  auto at = [](auto& list, auto is, auto fresh) -> auto& {
    auto it = std::find_if(list.begin(), list.end(), is);
    return it != list.end() ? *it : *list.insert(list.end(), fresh);
  };
  for (const Cell& c : cells) {
    if (!c.why.empty()) {
      const std::string what = Str("  ", c.function, ", ", c.lowering, ": ", c.why);
      auto& hole = at(
          holes, [&](auto& h) { return h.first == what; }, std::pair{what, std::string{}});
      hole.second += (hole.second.empty() ? "" : ", ") + c.backend;
      continue;
    }
    std::vector<std::string> fresh{c.function, c.lowering};
    fresh.resize(rows[0].size(), "-");
    auto& row = at(
        rows, [&](auto& r) { return r[0] == c.function && r[1] == c.lowering; }, fresh);
    const size_t column = size_t(std::find(columns.begin(), columns.end(), c.backend) - columns.begin());
    row[2 + column] = c.wrong ? Str(c.wrong, " WRONG of ", c.values) : Str(c.values);
  }
  std::string every;
  for (const std::string& c : columns) every += (every.empty() ? "" : ", ") + c;
  std::cout << Table(rows, {columns.rbegin(), columns.rend()}) << (holes.empty() ? "" : "\nholes:\n");
  for (auto& [what, where] : holes) std::cout << what << (where == every ? "" : Str(" (", where, ")")) << "\n";
}

}  // namespace

int RunFnCheck(const FnCheckArgs& a) {
  if (a.all == !a.f.name.empty()) Fail(Cause::kInput, "suf fn check takes a function or --all; give it one of them");
  std::vector<Cell> cells;
  {
    Bar bar("check", Bar::Log::kRare);
    auto add = [&](const std::string& name) {
      const NamedFunction g = FunctionOf({name, a.f.n, a.f.scale});
      std::vector<Cell> more = CellsOf(name, g.f, &bar);
      cells.insert(cells.end(), more.begin(), more.end());
    };
    if (!a.all) add(a.f.name);
    if (a.all)
      for (const func::LibraryEntry& e : func::Library()) add(std::string(e.name));
  }
  int covered = 0, holes = 0, wrong = 0;
  int64_t values = 0;
  for (const Cell& c : cells) {
    covered += c.why.empty();
    holes += !c.why.empty();
    wrong += c.wrong > 0;
    values += c.values;
  }
  if (a.json) {
    ordered_json out{{"schema", "suf.fn.check/1"}, {"covered", covered},    {"holes", holes}, {"wrong", wrong},
                     {"values", values},           {"cells", json::array()}};
    for (const Cell& c : cells) {
      ordered_json row{{"function", c.function}, {"lowering", c.lowering}, {"backend", c.backend}};
      if (c.why.empty()) {
        row["values"] = c.values;
        row["wrong"] = c.wrong;
      } else
        row["why"] = c.why;
      out["cells"].push_back(row);
    }
    std::cout << out.dump() << "\n";
  } else {
    Print(cells);
    std::cout << "\n"
              << covered << " of " << Plural(covered + holes, "cell") << " covered, " << Plural(values, "value")
              << " compared, " << Plural(wrong, "cell") << " wrong\n";
  }
  if (wrong)
    Fail(Cause::kRefused, Plural(wrong, "cell"), " of the matrix ", wrong == 1 ? "is" : "are",
         " wrong; report it, and use another lowering");
  const int models = int(backends::Usable().size()), functions = int(Columns().size()) - models;
  const int least = models * kLeastOfModels + functions * kLeastOfFunctions;
  if (a.all && a.f.n == 32 && a.f.scale == 12 && covered < least)
    Fail(Cause::kRefused, "the matrix covers ", covered, " cells, fewer than the ", least,
         " that it covered before; find the lowering or the function that was lost");
  return 0;
}

}  // namespace suf::apps
