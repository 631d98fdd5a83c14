#include "suf/gates/lowered.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "suf/compiler/taylor.hpp"

namespace suf::gates {

using compiler::Compiled;
using compiler::Kind;
using compiler::Lowering;
using compiler::Steps;

namespace {

// CompareBits: points of each view r mod 2^f; views read by digits share tables.
int64_t CompareBits(const Compiled& c, Steps steps) {
  std::map<int, std::set<uint64_t>> views;
  for (const compiler::Compare& p : c.compares) {
    if (!p.top) views[p.f].insert({0, p.beta});
    if (p.top && p.f > 1) views[p.f - 1].insert((0 - p.beta) & ring::Mask(p.f - 1));
  }
  int64_t bits = 0;
  std::set<std::pair<int, int>> tables;  // (at, width)
  for (auto& [f, points] : views) {
    if (steps == Steps::kParity) {
      bits += TableOrTree(f);
      continue;
    }
    const Stages stages = steps == Steps::kDigits ? Stages::kTwo : Stages::kThree;
    const std::vector<compiler::Cut> cuts{{f, 1}};
    const compiler::DigitPlan plan = compiler::PlanDigits(cuts, stages, int(points.size()));
    bits += compiler::DigitsKeyBits(plan, cuts, stages, int(points.size()));
    int at = 0;
    for (int w : plan.widths) {
      bits -= int64_t{1} << w;
      if (tables.insert({at, w}).second) bits += int64_t{1} << w;
      at += w;
    }
  }
  return bits;
}

// StepWords: rho_j r^k where the k-th Taylor coefficient changes at step j, and r^k.
int64_t StepWords(const Compiled& c, int ring) {
  const int d = c.f.degree;
  auto any = [&](int k, auto coefficient) {
    for (int o = 0; o < c.f.outputs; ++o)
      for (int q = k; q <= d; ++q)
        if (coefficient(o, q) * compiler::Binomial(q, k) & ring::Mask(ring)) return true;
    return false;
  };
  int64_t words = 0;
  for (int k = 0; k <= d; ++k) {
    bool power = any(k, [&](int o, int q) { return c.coefficient(0, o, q); });
    for (size_t j = 0; j < c.steps.size(); ++j) {
      bool here = any(k, [&](int o, int q) { return c.coefficient(j + 1, o, q) - c.coefficient(j, o, q); });
      words += here, power = power || here;
    }
    words += power && k > 0;
  }
  return words;
}

}  // namespace

int64_t LoweredKeyBits(const Compiled& c, const Lowering& l, int ring) {
  SUF_CHECK(ring <= c.f.n);
  const int64_t d = c.f.degree, outputs = c.f.outputs, read = CompareBits(c, l.steps);
  if (l.kind == Kind::kOpenSteps) return read + StepWords(c, ring) * ring;
  const int64_t table = int64_t{1} << c.index_bits();
  // e r^k, k = 0 .. d, and the owed word
  if (l.kind == Kind::kIndex) return read + table + (d + 1 + outputs) * ring;
  // e and r; e mu of all coefficients but the highest, the masks of the openings, the owed word
  SUF_CHECK(l.kind == Kind::kHorner);
  return read + table + (2 + outputs * (2 * d + 1)) * ring;
}

std::string PowerText(int n) { return n < 64 ? std::to_string(uint64_t{1} << n) : "18446744073709551616"; }

}  // namespace suf::gates
