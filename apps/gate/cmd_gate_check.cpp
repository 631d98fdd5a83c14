// The command `suf gate check`: compares gates by every lowering and on every backend with their meaning.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/gate/gate_run.hpp"
#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/show.hpp"
#include "suf/backends/all.hpp"

namespace suf::apps {

using gates::Composition;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr int kWidths[] = {4, 6, 8, 13, 32, 64};
// Every tuple of inputs is run if there are at most kEvery; otherwise random rows, with kRandom numbers in all.
constexpr int64_t kEvery = 4096, kRandom = 256;
// The cells of --all on a backend that runs models, and on one that runs functions alone.
constexpr int kCellsOfModels = 745, kCellsOfFunctions = 645;

// A gate at a width, or a file, by one lowering on one backend.
struct GateCell {
  std::string gate, lowering, backend;
  int bits = 0;  // 0: of a file
  int64_t rows = 0, wrong = 0;
  bool every = false;  // whether all inputs were run
  std::string why;     // the reason of a hole; empty if the cell is covered
};

std::vector<std::string> GateBackends() {
  std::vector<std::string> out;
  for (const backends::BackendEntry& e : backends::Usable(false)) out.push_back(e.name);
  return out;
}

// One composition to check by all its lowerings.
struct GateSubject {
  std::string name;
  int bits = 0;
  std::optional<Composition> composition;  // none: the gate refuses the width
  std::string why;
};

// Returns the lowerings of a composition: all of one statement, or the defaults and each option of each statement once.
std::vector<gates::GateChoices> WaysOf(const Composition& c) {
  const gates::GateChoices first = gates::DefaultChoices(c);
  std::vector<gates::GateChoices> out{first};
  for (size_t i = 0; i < first.size(); ++i)
    for (const std::string& option : c.gates()[i].gate->Options(c.gates()[i].use)) {
      if (option == first[i]) continue;
      out.push_back(first);
      out.back()[i] = option;
    }
  return out;
}

// Adds the subject's cells. `done`: the part of all subjects that is done.
void CheckSubject(const GateSubject& g, double done, Bar* bar, std::vector<GateCell>* out) {
  if (!g.composition) {
    for (const std::string& column : GateBackends()) out->push_back({g.name, "", column, g.bits, 0, 0, false, g.why});
    return;
  }
  const Composition& c = *g.composition;
  std::vector<gates::Ints> inputs = EveryInput(c, kEvery);
  const bool every = !inputs.empty();
  int64_t rows = 0;
  if (every) {
    rows = int64_t(inputs[0].size());
  } else {
    int64_t most = 1;
    for (size_t i = 0; i < c.text().inputs.size(); ++i) most = std::max(most, gates::CountOf(c, int(i), 1));
    rows = RowsOrOne(c, std::max<int64_t>(2, kRandom / most));
    inputs = RandomInputs(c, rows);
  }
  const std::vector<gates::GateChoices> ways = WaysOf(c);
  for (const std::string& column : GateBackends()) {
    const auto backend = backends::Make(column);
    for (const gates::GateChoices& way : ways) {
      GateCell cell{g.name, LoweringsOf(way), column, g.bits, rows, 0, every, {}};
      bar->At(done, Str(g.name, " ", cell.lowering, " ", column));
      cell.why = compiler::PriceOf(compiler::Profiles()[0].prices, backend->capabilities(), [&](pfss::Trace& t) {
                   gates::Emit(t, c, way, 1);
                 }).why_not;
      if (cell.why.empty()) cell.wrong = RunGates(c, way, inputs, rows, *backend).wrong;
      out->push_back(std::move(cell));
    }
  }
}

// Makes a use of a gate. Parties take turns to bring inputs and to learn outputs.
Composition InTurns(const gates::GateEntry& gate, const gates::SingleGate& use, size_t* turn) {
  gates::CompositionText text = TextOfGate(gate, use);
  for (gates::InputStatement& in : text.inputs) in.from = ++*turn % 2 ? gates::Origin::kP1 : gates::Origin::kP0;
  for (gates::OutputStatement& o : text.outputs) o.to = gates::To(++*turn % 4);
  return Composition(std::move(text));
}

// Returns the uses of a gate at all widths. If results exceed 64 bits, their low bits are checked.
std::vector<GateSubject> SubjectsOf(const gates::GateEntry& gate) {
  std::vector<GateSubject> out;
  size_t turn = 0;
  for (int bits : kWidths)
    for (gates::SingleGate use : gate.Samples(bits)) {
      GateSubject subject{gate.facts.name, bits, {}, {}};
      for (bool low : {false, true}) {
        if (low) use.set.emplace_back("ring", Str(bits));
        try {
          subject.composition = InTurns(gate, use, &turn);
          break;
        } catch (const Error& e) {
          if (!low) subject.why = e.what();
        }
      }
      out.push_back(std::move(subject));
    }
  return out;
}

// Keeps each part of n: the subjects k, k + n, ..
std::vector<GateSubject> ShardOf(std::vector<GateSubject> all, const std::string& shard) {
  if (shard.empty()) return all;
  int k = 0, n = 0;
  char rest = 0;
  if (std::sscanf(shard.c_str(), "%d/%d%c", &k, &n, &rest) != 2 || k < 1 || n < k)
    Fail(Cause::kInput, "--shard takes K/N, such as 1/8, and got ", Quoted(shard));
  std::vector<GateSubject> out;
  for (size_t i = size_t(k) - 1; i < all.size(); i += size_t(n)) out.push_back(std::move(all[i]));
  return out;
}

// Prints a line for each gate and lowering, with the rows that each backend compared; then the holes.
void PrintCells(const std::vector<GateCell>& cells) {
  const std::vector<std::string> columns = GateBackends();
  PrintedRows rows{{"gate", "lowering", "bits"}};
  rows[0].insert(rows[0].end(), columns.begin(), columns.end());
  struct Line {
    std::vector<std::string> bits;
    std::vector<int64_t> rows, wrong;
  };
  std::vector<std::pair<std::pair<std::string, std::string>, Line>> lines;
  std::vector<std::pair<std::string, std::string>> holes;  // lowering with reason, backends
  for (const GateCell& cell : cells) {
    if (!cell.why.empty()) {
      const std::string what = Str("  ", cell.gate, " ", cell.lowering, ": ", cell.why);
      auto hole = std::find_if(holes.begin(), holes.end(), [&](auto& h) { return h.first == what; });
      if (hole == holes.end()) hole = holes.insert(holes.end(), {what, ""});
      if (hole->second.find(cell.backend) == hole->second.npos)
        hole->second += (hole->second.empty() ? "" : ", ") + cell.backend;
      continue;
    }
    const std::pair key{cell.gate, cell.lowering};
    auto line = std::find_if(lines.begin(), lines.end(), [&](auto& l) { return l.first == key; });
    if (line == lines.end()) {
      line = lines.insert(lines.end(), {key, {}});
      line->second.rows.resize(columns.size());
      line->second.wrong.resize(columns.size());
    }
    const auto at = size_t(std::find(columns.begin(), columns.end(), cell.backend) - columns.begin());
    line->second.rows[at] += cell.rows;
    line->second.wrong[at] += cell.wrong;
    if (const std::string b = cell.bits ? Str(cell.bits) : "";
        std::find(line->second.bits.begin(), line->second.bits.end(), b) == line->second.bits.end())
      line->second.bits.push_back(b);
  }
  for (const auto& [key, line] : lines) {
    std::string bits;
    for (const std::string& b : line.bits) bits += (bits.empty() ? "" : " ") + b;
    rows.push_back({key.first, key.second.empty() ? "-" : key.second, bits});
    for (size_t k = 0; k < columns.size(); ++k)
      rows.back().push_back(line.wrong[k]  ? Str(line.wrong[k], " WRONG")
                            : line.rows[k] ? Str(line.rows[k])
                                           : std::string("-"));
  }
  std::cout << Table(rows, {columns.rbegin(), columns.rend()}) << (holes.empty() ? "" : "\nholes:\n");
  for (const auto& [what, where] : holes) std::cout << what << " (" << where << ")\n";
}

void PrintCellsJson(const std::vector<GateCell>& cells, ordered_json out) {
  out["cells"] = json::array();
  for (const GateCell& cell : cells) {
    ordered_json row{{"gate", cell.gate}, {"bits", cell.bits}, {"lowering", cell.lowering}, {"backend", cell.backend}};
    if (cell.why.empty()) {
      row["rows"] = cell.rows;
      row["every"] = cell.every;
      row["wrong"] = cell.wrong;
    } else {
      row["why"] = cell.why;
    }
    out["cells"].push_back(std::move(row));
  }
  std::cout << out.dump() << "\n";
}

}  // namespace

int RunGateCheck(const GateCheckArgs& a) {
  if (a.all == !a.g.name.empty())
    Fail(Cause::kInput, "suf gate check takes a gate, a file or --all; give it one of them");
  std::vector<GateSubject> subjects;
  const bool plain =
      !a.g.n && !a.g.scale && a.g.set.empty() && a.g.function.empty() && a.g.constants.empty() && a.g.outputs.empty();
  if (a.all) {
    for (const gates::GateEntry* gate : gates::All())
      for (GateSubject& s : SubjectsOf(*gate)) subjects.push_back(std::move(s));
  } else if (plain && !IsGatesFile(a.g)) {
    subjects = SubjectsOf(gates::GateNamed(a.g.name));
  } else {
    GateArgs g = a.g;
    if (!IsGatesFile(g) && g.outputs.empty()) g.outputs = "all";
    subjects.push_back({a.g.name, IsGatesFile(a.g) ? 0 : a.g.n.value_or(32), CompositionOf(g), {}});
  }
  std::vector<GateCell> cells;
  {
    Bar bar("check", Bar::Log::kRare);
    const std::vector<GateSubject> some = ShardOf(std::move(subjects), a.shard);
    for (size_t i = 0; i < some.size(); ++i) CheckSubject(some[i], double(i) / double(some.size()), &bar, &cells);
  }
  int64_t covered = 0, rows = 0, wrong = 0;
  for (const GateCell& cell : cells) {
    covered += cell.why.empty();
    rows += cell.why.empty() ? cell.rows : 0;
    wrong += cell.wrong > 0;
  }
  const auto holes = int64_t(cells.size()) - covered;
  if (a.json) {
    PrintCellsJson(
        cells,
        {{"schema", "suf.gate.check/1"}, {"covered", covered}, {"holes", holes}, {"wrong", wrong}, {"rows", rows}});
  } else {
    PrintCells(cells);
    std::cout << "\n"
              << covered << " of " << Plural(covered + holes, "cell") << " covered, " << Plural(rows, "row")
              << " compared, " << Plural(wrong, "cell") << " wrong\n";
  }
  if (wrong)
    Fail(Cause::kRefused, Plural(wrong, "cell"), wrong == 1 ? " is" : " are",
         " wrong; report it, and use another lowering");
  const int models = int(backends::Usable().size()), functions = int(GateBackends().size()) - models;
  const int least = models * kCellsOfModels + functions * kCellsOfFunctions;
  if (a.all && a.shard.empty() && covered < least)
    Fail(Cause::kRefused, "the matrix covers ", covered, " cells, fewer than the ", least,
         " that it covered before; find the gate or the lowering that was lost");
  return 0;
}

}  // namespace suf::apps
