#include "suf/nn/ops/cover.hpp"

#include <algorithm>

#include "suf/base/cache.hpp"

namespace suf::nn {

namespace {

// Compiles a function for this lowering alone. A search requests one table thousands of times.
compiler::CompiledFunction Prepared(const std::vector<func::Octave>& groups, int domain, const compiler::Lowering& l) {
  if (l.kind == compiler::Kind::kRowLut) return compiler::OnOctaves("row", groups, domain, 64);
  Ints key{domain};
  for (const func::Octave& g : groups) {
    key.insert(key.end(), {g.w, g.lo, g.hi});
    key.insert(key.end(), g.values.begin(), g.values.end());
  }
  static Cache<Ints, compiler::CompiledFunction> known;
  return *known.Get(key, [&] { return compiler::Compile(func::FromGroups("row", groups, domain, 64)); });
}

bool Applies(const compiler::Lowering& l, const std::vector<func::Octave>& groups, int domain) {
  if (l.kind == compiler::Kind::kRowLut)  // WantCover checks the rest
    return std::is_sorted(groups.begin(), groups.end(), [](auto& a, auto& b) { return a.w < b.w; });
  return l.kind == compiler::Kind::kStepDcf && compiler::WhyNotNumbers(Prepared(groups, domain, l), l).empty();
}

}  // namespace

gates::FunctionGate RowOf(const std::vector<func::Octave>& groups, int domain, int ring, const compiler::Lowering& l) {
  return {Prepared(groups, domain, l), l, {}, ring};
}

Knob RowsKnob(compiler::Lowering* rows, const std::vector<func::Octave>& windows,
              const std::vector<func::Octave>& steps, int domain) {
  using compiler::Stages;
  using compiler::StepSource;
  std::vector<compiler::Lowering> options{{compiler::Kind::kStepDcf}};
  for (StepSource trees : {StepSource::kDigits, StepSource::kParity})
    for (Stages stages : {Stages::kOne, Stages::kTwo}) options.push_back({compiler::Kind::kRowLut, trees, stages});
  std::erase_if(options, [&](const compiler::Lowering& l) {
    return l != *rows && !Applies(l, l.kind == compiler::Kind::kStepDcf ? steps : windows, domain);
  });
  return LoweringKnob("rows", rows, std::move(options));
}

void WantRows(const compiler::Lowering& rows, const std::vector<func::Octave>& groups, int domain,
              const std::string& where) {
  Wanted(Applies(rows, groups, domain), where, "the lowering of its rows does not apply");
}

void WantCover(const std::vector<func::Octave>& groups, int ring, int value_bits, const std::string& where) {
  Wanted(ring < 62, where, "the table's domain must be below 2^62");
  int64_t end = 0;
  for (const func::Octave& g : groups) {
    Wanted(g.w < 62 && g.lo < g.hi && g.hi <= int64_t{1} << (62 - g.w), where,
           "a group of pieces is empty or too wide");
    Wanted(g.lo << g.w == end, where, "the groups of pieces leave a hole or overlap");
    Wanted(g.values.size() == size_t(g.hi - g.lo), where, "a group does not have one value a piece");
    for (int64_t x : g.values)
      Wanted(x >= 0 && (value_bits >= 63 || x >> value_bits == 0), where,
             "a table value is negative or exceeds its ring");
    end = g.hi << g.w;
  }
  Wanted(end == int64_t{1} << ring, where, "the table does not cover its ring");
}

void WantGap(func::U128 most, int ring, const std::string& where, const char* what) {
  Wanted(ring >= 3 && most >> (ring - 2) == 0, where, what);
}

}  // namespace suf::nn
