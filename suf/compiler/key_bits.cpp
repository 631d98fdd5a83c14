// The key bits of every lowering in closed form (docs/mathematics.md#lowerings). They are those of an element of both
// bundles, with the owed word dealt.
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "suf/compiler/bits.hpp"
#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/place.hpp"
#include "suf/compiler/taylor.hpp"
#include "suf/fss/sizes.hpp"

namespace suf::compiler {

namespace {

// Returns the key bits of the comparisons that these bits read and, if `wrap`, of 1[x_hat < r].
int64_t ViewBits(const CompiledFunction& c, const std::vector<Bit>& bits, bool wrap, StepSource steps) {
  int64_t sum = 0;
  std::set<std::pair<int, int>> tables;  // place and width of a digit; views share equal ones
  for (auto& [f, points] : PointsOf(c, bits, wrap)) {
    if (steps == StepSource::kParity) {
      sum += PlaceKeyBits(f);
      continue;
    }
    const Stages stages = steps == StepSource::kDigits ? Stages::kTwo : Stages::kThree;
    const std::vector<Cut> cuts{{f, 1}};
    const int readings = int(points.size());
    const DigitPlan plan = PlanDigits(cuts, stages, readings);
    sum += DigitsKeyBits(plan, cuts, stages, readings);
    int at = 0;
    for (int w : plan.widths) {
      if (!tables.insert({at, w}).second) sum -= int64_t{1} << w;
      at += w;
    }
  }
  return sum;
}

// Returns whether step j changes the coefficient of d^k in any output.
bool Changes(const CompiledFunction& c, size_t j, int k, int ring) {
  for (int o = 0; o < c.f.outputs; ++o)
    for (int q = k; q <= c.f.degree; ++q) {
      uint64_t v = (c.coefficient(j + 1, o, q) - c.coefficient(j, o, q)) * Binomial(q, k);
      if (ring < 64 ? v & ((uint64_t{1} << ring) - 1) : v) return true;
    }
  return false;
}
// Returns whether the first piece has a coefficient of d^k in any output.
bool Begins(const CompiledFunction& c, int k, int ring) {
  for (int o = 0; o < c.f.outputs; ++o)
    for (int q = k; q <= c.f.degree; ++q) {
      uint64_t v = c.coefficient(0, o, q) * Binomial(q, k);
      if (ring < 64 ? v & ((uint64_t{1} << ring) - 1) : v) return true;
    }
  return false;
}

int64_t WindowBits(const CompiledFunction& c, const CutReading& e, int ring, Stages stages) {
  const internal::PieceGrid g = internal::GridOf(c, ring);
  const std::vector<Cut> cuts = g.Cuts(e.shift, g.width > 1);
  int64_t bits = int64_t{1} << g.p;
  if (!cuts.empty()) {
    bits += DigitsKeyBits(PlanDigits(cuts, stages), cuts, stages);
    if (stages != Stages::kOne)  // the borrow at the end of the place is read in both rings
      bits += g.width > 1 ? (e.shift > 0 ? g.a + 1 : 0) + std::max(g.p, 1) : g.p;
  }
  auto word = [&](int lost) { return std::max(0, ring - lost); };
  // words by content, (power of r, whether b of the place), at the widest ring of all requests
  std::map<std::pair<int, bool>, int> shared;
  auto ask = [](auto* map, auto key, int w) {
    if (w > 0) (*map)[key] = std::max((*map)[key], w);
  };
  for (int o = 0; o < c.f.outputs; ++o) {
    bool owes = false;
    for (int n = 0; n < g.width; ++n) {
      const int narrow = g.bits[size_t(o * g.width + n)];
      std::map<std::pair<int, bool>, int> with_mask, with_top;
      for (int m = 0; m <= n; ++m) {
        const int lost = m ? (g.a + 1) * m : 0;
        const std::pair<int, bool> what{n - m, m > 0};
        ask(&shared, what, word(lost));
        if (m)
          ask(&with_mask, what, word(lost));
        else
          owes = true;
        if (narrow < ring) ask(&with_top, what, word(lost + narrow));
      }
      for (auto& [k, w] : with_mask) bits += w;
      for (auto& [k, w] : with_top) bits += w;
    }
    if (owes) bits += ring;
  }
  for (auto& [k, w] : shared) bits += w;
  return bits;
}

int64_t BothBits(const CompiledFunction& c, const CutReading& e, int ring, const Lowering& l) {
  const Stages stages = l.stages;
  const internal::PieceGrid g = internal::GridOf(c, ring);
  const std::vector<Cut> cuts{{e.shift + g.a, ring}};
  const int words = internal::BothReadings(c, g), readings = stages == Stages::kOne ? words : 1;
  // Words: e times powers of r's place and, for each output, the masks of the steps. Each is also dealt times the
  // monomials of the borrow. Each output has an owed word.
  const DigitPlan plan = PlanDigits(cuts, stages, readings);
  int64_t bits = DigitsKeyBits(plan, cuts, stages, readings);
  // Words of a gap: the top bit of a read's mask times a power. That of a step is also dealt times the monomials.
  const int digits = int(plan.blocks.empty() ? plan.widths.size() : plan.blocks.size());
  for (int o = 0; o < c.f.outputs; ++o)
    for (int n = 0; n < g.width; ++n) {
      const internal::ReadRings w = internal::ReadRingsOf(g, o, n, ring, l.openings);
      bits += (ring - w.here) + int64_t(ring - w.step) * (1 + BorrowWords(digits, stages));
    }
  return bits + (int64_t{1} << g.p) + int64_t(ring) * (words * (stages == Stages::kOne ? 1 : 2) + c.f.outputs);
}

int64_t RowBits(const CompiledFunction& c, const Lowering& l, int shift, int ring) {
  int64_t bits = 0;
  std::set<std::pair<int, int>> tables;  // place and width of a digit; runs share equal ones
  std::map<int, int> words;              // number of words that the borrow deals, by cut
  for (const internal::RowRun& run : internal::RowRuns(c.groups, shift, ring, l.stages)) {
    if (l.stages != Stages::kOne) bits += DigitsKeyBits(run.plan, run.cuts, l.stages);
    int at = 0, digits = 0;
    for (int w : run.plan.widths) {
      const bool fresh = tables.insert({at, w}).second;
      bits += (int64_t(fresh) - (l.stages != Stages::kOne)) * DigitKeyBits(w);
      at += w;
      ++digits;
      for (const Cut& cut : run.cuts)
        if (cut.at == at) words[at] = BorrowWords(digits, l.stages);
    }
  }
  const int finest = c.f.n - c.groups.front().w;
  const bool one_tree = l.steps == StepSource::kParity && finest > kTableBits;
  if (one_tree) bits += PlaceKeyBits(finest);
  int before = -1;  // groups of one width read one place, so its sign e and e times the borrow are dealt once
  for (const func::Octave& g : c.groups) {
    const bool fresh = std::exchange(before, g.w) != g.w;
    if (fresh && !one_tree) bits += PlaceKeyBits(c.f.n - g.w);
    if (fresh) bits += ring;  // e
    // e times the step's mask; the monomials times that and times e
    if (shift + g.w > 0) bits += int64_t(ring) * (1 + (fresh ? 2 : 1) * words.at(shift + g.w));
    // of a gap: e times the top bits of both masks; that of the step also times the monomials
    const internal::ReadRings w = internal::ReadRingsOf(g, c.f.n, ring, l.openings);
    bits += ring - w.here;
    if (shift + g.w > 0) bits += int64_t(ring - w.step) * (1 + words.at(shift + g.w));
  }
  return bits + ring;
}

}  // namespace

int64_t RowKeyBits(const CompiledFunction& c, const Lowering& l, int shift, int ring) {
  if (l.kind == Kind::kStepDcf) return internal::WideDcfKeyBits(c.f.n + shift, ring);
  return RowBits(c, l, shift, ring);
}

int64_t NumbersKeyBits(const CompiledFunction& c, const Lowering& l, const CutReading& e, int ring,
                       fss::DcfScheme scheme) {
  const int n = c.f.n, degree = c.f.degree;
  const bool wrap = internal::NeedsWrap(c, ring);
  const int64_t high = wrap ? ring - n : 0;
  int64_t bits = 0;
  if (e.shift > 0 && !internal::ReadsOwnDigits(c, l)) {
    const std::vector<Cut> cuts{{e.shift, n}};
    bits += DigitsKeyBits(PlanDigits(cuts, e.stages), cuts, e.stages) + (e.stages == Stages::kOne ? 0 : n);
  }
  switch (l.kind) {
    case Kind::kConstant:
      return 0;
    case Kind::kStepDcf:
      return bits + 2 * int64_t(fss::DcfKeyBits(n, degree + 1, ring, scheme));
    case Kind::kOpenSteps:
      bits += ViewBits(c, c.steps, wrap, l.steps);
      for (int k = 0; k <= degree; ++k) {
        const int64_t power = k ? ring + 2 * high : ring;
        bool any = Begins(c, k, ring);
        for (size_t j = 0; j < c.steps.size(); ++j)
          if (Changes(c, j, k, ring)) {
            bits += power;
            any = true;
          }
        if (k && any) bits += power;
      }
      return bits;
    case Kind::kIndex:
      bits += ViewBits(c, internal::PieceNumber(c), wrap, l.steps) + (int64_t{1} << c.index_bits());
      return bits + ring * (degree + 1) + 2 * high * degree + c.f.outputs * (ring + 2 * high);
    case Kind::kHorner:
      // Words: e and, for each output, r_w, an owed one, and the masks of all but the highest coefficient. The products
      // of r_w and the wrap are dealt as well.
      bits += ViewBits(c, internal::PieceNumber(c), wrap, l.steps) + (int64_t{1} << c.index_bits());
      bits += ring + ring + 2 * high;
      return bits + c.f.outputs * (int64_t(degree) * (ring + ring + 2 * high) + ring);
    case Kind::kWindowLut:
      return WindowBits(c, e, ring, l.stages);
    case Kind::kWindowBoth:
      return bits + BothBits(c, internal::ReadsOwnDigits(c, l) ? e : CutReading{}, ring, l);
    case Kind::kRowLut:
      return bits + RowBits(c, l, 0, ring);
    case Kind::kDense:
      return bits + (int64_t(c.f.outputs) * ring << n);
    case Kind::kPacked:
      break;
  }
  SUF_CHECK(false);
  return 0;
}

int64_t BitsKeyBits(const CompiledFunction& c, const Lowering& l) {
  if (l.kind == Kind::kDense) return PlaceKeyBits(c.f.n);
  SUF_CHECK(l.kind == Kind::kPacked);
  int64_t bits = ViewBits(c, c.bits, false, l.steps);
  std::set<int> dealt;  // top bits of r
  for (auto& product : c.products) {
    bits += (int64_t{1} << product.size()) - int64_t(product.size()) - 1;
    for (const Bit& f : product)
      for (int i : f.compares)
        if (c.compares[size_t(i)].top) dealt.insert(c.compares[size_t(i)].f);
  }
  bool owes = false;
  for (const Bit& b : c.bits)
    for (int i : b.compares) owes = owes || c.compares[size_t(i)].top;
  return bits + int64_t(dealt.size()) + (owes ? int64_t(c.bits.size()) : 0);
}

}  // namespace suf::compiler
