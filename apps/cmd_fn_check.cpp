// suf fn check: every lowering on every backend, against the function's meaning, under random masks.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/fn_pair.hpp"
#include "apps/fn_source.hpp"
#include "apps/show.hpp"
#include "suf/ring/words.hpp"

namespace suf::apps {

using compiler::Candidate;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// kLeastCovered: cells that --all covers with its defaults: functions x lowerings x backends.
constexpr int kLeastCovered = 372;
constexpr int kAllBits = 8;                  // domains up to so many bits are run whole
constexpr size_t kCuts = 64, kValues = 256;  // of the others: places beside cuts, and random ones up to so many

// ValuesOf: all of a small domain; else its ends, both sides of cuts and random words.
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
  beside(0), beside(func::U128{1} << (n - 1));
  if (auto* s = std::get_if<func::Suf>(&f)) {
    const size_t step = std::max<size_t>(1, s->pieces.size() / kCuts);
    for (size_t i = 0; i < s->pieces.size(); i += step) beside(s->pieces[i].begin);
    for (const func::Formula& g : s->formulas)
      for (const func::Term& t : g) beside(t.value), beside(t.upper);
  }
  std::mt19937_64 rng(std::random_device{}());
  while (x.size() < kValues) x.push_back(rng() & ring::Mask(n));
  return x;
}

// ChoicesOf: each lowering of numbers and each of bits at least once, and why the others do not apply.
std::vector<Candidate> ChoicesOf(const gates::FunctionPlan& plan) {
  std::vector<Candidate> out;
  std::vector<compiler::Lowering> numbers, bits;
  auto seen = [](auto& list, const compiler::Lowering& l) {
    if (std::find(list.begin(), list.end(), l) != list.end()) return true;
    list.push_back(l);
    return false;
  };
  std::vector<Candidate> later;
  const std::vector<Candidate> all = gates::Price(plan, compiler::Profiles()[0].prices, 1);
  (void)compiler::Best(all);  // refuses a function that nothing makes
  for (const Candidate& c : all) {
    if (!c.why_not.empty()) {
      later.push_back(c);
      continue;
    }
    // in the order of Price a pair is new where either part is
    const bool number = !seen(numbers, c.choice.numbers), bit = !seen(bits, c.choice.bits);
    if (number || bit) out.push_back(c);
  }
  out.insert(out.end(), later.begin(), later.end());
  return out;
}

// Cell: one lowering of one function on one backend.
struct Cell {
  std::string function, lowering, backend;
  int64_t values = 0, wrong = 0;
  std::string why;  // not empty: a hole
};

std::vector<Cell> CellsOf(const std::string& name, const func::Function& f, Bar* bar) {
  gates::FunctionPlan plan{f, {}, gates::From::kP1, gates::To::kBoth};
  std::vector<Cell> out;
  const std::vector<uint64_t> x = ValuesOf(f);
  const PairInput input = Shared(x, func::DomainBits(f));
  for (const Candidate& c : ChoicesOf(plan))
    for (const char* backend : {"clear", "packed"}) {
      Cell cell{name, c.name, backend, 0, 0, c.why_not};
      if (c.why_not.empty()) {
        bar->At(0, Str(name, " ", c.name, " ", backend));
        // one origin and ending after the other
        plan.choice = c.choice, plan.from = gates::From(out.size() % 3), plan.to = gates::To(out.size() / 3 % 4);
        const PairResult r = RunFunction(plan, input, *MakeBackend(backend));
        cell.values = int64_t(x.size()), cell.wrong = Compare(f, x, r.words).count;
      }
      out.push_back(cell);
    }
  return out;
}

// Print: a line a lowering, backends side by side.
void Print(const std::vector<Cell>& cells) {
  std::vector<std::vector<std::string>> rows{{"function", "lowering", "clear", "packed"}};
  std::string holes;
  for (size_t i = 0; i + 1 < cells.size(); i += 2) {
    const Cell &c = cells[i], &p = cells[i + 1];
    if (!c.why.empty()) {
      holes += Str("  ", c.function, ", ", c.lowering, ": ", c.why, "\n");
      continue;
    }
    auto count = [](const Cell& cell) {
      return cell.wrong ? Str(cell.wrong, " WRONG of ", cell.values) : Str(cell.values);
    };
    rows.push_back({c.function, c.lowering, count(c), count(p)});
  }
  std::cout << Table(rows);
  if (!holes.empty()) std::cout << "\nholes:\n" << holes;
}

}  // namespace

int RunFnCheck(const FnCheckArgs& a) {
  if (a.all == !a.f.name.empty()) Fail(Cause::kInput, "suf fn check takes a function or --all; see --help");
  std::vector<Cell> cells;
  {
    Bar bar("check");
    auto add = [&](const std::string& name) {
      const Given g = FunctionOf({name, a.f.n, a.f.scale});
      std::vector<Cell> more = CellsOf(name, g.f, &bar);
      cells.insert(cells.end(), more.begin(), more.end());
    };
    if (!a.all) add(a.f.name);
    if (a.all)
      for (const func::Entry& e : func::Library()) add(std::string(e.name));
  }
  int covered = 0, holes = 0, wrong = 0;
  int64_t values = 0;
  for (const Cell& c : cells) {
    covered += c.why.empty(), holes += !c.why.empty(), wrong += c.wrong > 0;
    values += c.values;
  }
  if (a.json) {
    ordered_json out{{"schema", "suf.fn.check/1"}, {"covered", covered},    {"holes", holes}, {"wrong", wrong},
                     {"values", values},           {"cells", json::array()}};
    for (const Cell& c : cells) {
      ordered_json row{{"function", c.function}, {"lowering", c.lowering}, {"backend", c.backend}};
      if (c.why.empty())
        row["values"] = c.values, row["wrong"] = c.wrong;
      else
        row["why"] = c.why;
      out["cells"].push_back(row);
    }
    std::cout << out.dump() << "\n";
  } else {
    Print(cells);
    std::cout << "\n"
              << covered << " of " << covered + holes << " cells covered, " << values << " values compared, " << wrong
              << (wrong == 1 ? " cell" : " cells") << " wrong\n";
  }
  if (wrong) Fail(Cause::kRefused, wrong, " cells of the matrix are wrong; report them, and use another lowering");
  if (a.all && a.f.n == 32 && a.f.scale == 12 && covered < kLeastCovered)
    Fail(Cause::kRefused, "the matrix covers ", covered, " cells, fewer than the ", kLeastCovered,
         " that it covered before; a lowering or a function was lost");
  return 0;
}

}  // namespace suf::apps
