#include "suf/gates/shift.hpp"

#include "suf/compiler/bits.hpp"
#include "suf/gates/trunc.hpp"

namespace suf::gates {

static_assert(Gate<LRS> && Gate<ARS> && Gate<GapARS> && Gate<SlackARS> && Gate<AutoTrunc>);

namespace {

using Wide = __int128;

enum class Wrap { kInside, kGap, kTop, kCut };

constexpr int kTop = 5;  // high bits in the table of a slack form

// A shift of u = z + 2^(shift-1) + above in [0, 2^k), with `above` a multiple of 2^shift.
struct Shift {
  int shift, ring;
  Stages stages;
  Wrap wrap;  // the source of 1[u + r >= 2^k]
  Wide above = 0;
  int top = 0;

  std::vector<compiler::Cut> Cuts(int k) const {
    std::vector<compiler::Cut> cuts{{shift, ring}};
    if (wrap == Wrap::kCut) cuts.push_back({k, ring - (k - shift)});
    return cuts;
  }
};

Shift Make(int shift, int ring, Stages stages, Wrap wrap, int k, Wide above = 0, int top = 0) {
  SUF_CHECK(shift >= 1 && shift < k && k <= 64 && ring >= 1 && ring <= 64);
  return {shift, ring, stages, ring <= k - shift ? Wrap::kInside : wrap, above, top};
}

// Returns the least multiple of 2^shift that lifts low to 0 or more.
Wide Above(int64_t low, int shift) { return -(Wide{low} >> shift) * (Wide{1} << shift); }

OwedWord Build(Trace& t, const Wire<kPub>& z, const Shift& f) {
  const int k = z.k(), wider = f.ring - (k - f.shift);
  const std::vector<compiler::Cut> cuts = f.Cuts(k);
  const Wide bias = f.above + (Wide{1} << (f.shift - 1));
  compiler::OpenedDigits d(t, z, t.constant(int64_t(uint64_t(bias))), compiler::PlanDigits(cuts, f.stages));
  std::optional<compiler::OpenedBit> top;
  if (f.wrap == Wrap::kTop) {
    // u < 2^k - 2^(k-top): with equal high bits it does not wrap
    SUF_CHECK(f.top >= 1 && f.top < k);
    pfss::Sec high = d.r() >> (k - f.top);
    Pub place = d.hat() >> (k - f.top);
    pfss::Dealt table = t.deal(Hot(high));
    Sh less = pfss::Map(Sh(table), [&](auto half) { return Above(half, place, {0}); });
    top = compiler::SplitBits(t.open(less, "wrap"))[0];
  }
  compiler::Borrow low(d, f.shift, f.stages);
  std::optional<compiler::Borrow> end;
  if (f.wrap == Wrap::kCut) end.emplace(d, k, f.stages);

  compiler::WordSum y(t, f.ring);
  Pub a = Lift(d.hat() >> f.shift);
  a = a - int64_t(f.above >> f.shift);
  pfss::Sec r = Lift(d.r() >> f.shift);
  y.Add({1, 0, a, {}, {}});
  y.Add({-1, 0, {}, r, {}});
  y.Add(low.Share(f.ring), std::nullopt, -1);
  if (f.wrap == Wrap::kGap) {
    // u < 2^(k-1) wraps if the top bit of z_hat is 0 and that of r is 1
    Pub g = Lift(d.hat() >> (k - 1));
    g = 1 - g;
    pfss::Sec b = Lift(d.r() >> (k - 1));
    y.Add({1, k - f.shift, g, b, {}});
  } else if (f.wrap == Wrap::kTop) {
    y.Add({1, k - f.shift, top->hat, {}, {}});
    y.Add({1, k - f.shift, top->sign, top->rho, {}});
  } else if (f.wrap == Wrap::kCut) {
    y.Add(end->Share(wider), std::nullopt, 1, k - f.shift);
  }
  return y.Done();
}

int64_t KeyBits(const Shift& f, int k, bool shared) {
  const std::vector<compiler::Cut> cuts = f.Cuts(k);
  int64_t bits = compiler::DigitsKeyBits(compiler::PlanDigits(cuts, f.stages), cuts, f.stages);
  if (f.stages != Stages::kOne)
    for (const compiler::Cut& c : cuts) bits += c.ring;
  if (f.wrap == Wrap::kGap || f.wrap == Wrap::kTop) bits += f.ring - (k - f.shift);
  if (f.wrap == Wrap::kTop) bits += int64_t{1} << f.top;
  return bits + (shared ? f.ring : 0);
}

// Returns floor((z + 2^(s-1)) / 2^s) of numbers.
Ints Rounded(const Ints& z, int shift, int ring) {
  Ints out;
  for (int64_t v : z) out.push_back(Number(uint64_t((Wide{v} + (Wide{1} << (shift - 1))) >> shift), ring));
  return out;
}

}  // namespace

Ints LRS::Spec(const Ints& z, int k) const {
  Ints out;
  for (int64_t v : z) {
    uint64_t u = Word(int64_t(uint64_t(v) + (uint64_t{1} << (shift - 1))), k);
    out.push_back(Number(u >> shift, ring));
  }
  return out;
}
static Shift Of(const LRS& g, int k) { return Make(g.shift, g.ring, g.stages, Wrap::kCut, k); }
OwedWord LRS::Build(Trace& t, const Wire<kPub>& z) const { return gates::Build(t, z, Of(*this, z.k())); }
int64_t LRS::KeyBits(int k, bool shared) const { return gates::KeyBits(Of(*this, k), k, shared); }

Ints ARS::Spec(const Ints& z, int k) const {
  Ints out;
  for (int64_t v : z) {
    int64_t u = Number(uint64_t(v) + (uint64_t{1} << (shift - 1)), k);
    out.push_back(Number(uint64_t(u >> shift), ring));
  }
  return out;
}
static Shift Of(const ARS& g, int k) { return Make(g.shift, g.ring, g.stages, Wrap::kCut, k, Wide{1} << (k - 1)); }
OwedWord ARS::Build(Trace& t, const Wire<kPub>& z) const { return gates::Build(t, z, Of(*this, z.k())); }
int64_t ARS::KeyBits(int k, bool shared) const { return gates::KeyBits(Of(*this, k), k, shared); }

Ints GapARS::Spec(const Ints& z, int) const { return Rounded(z, shift, ring); }
static Shift Of(const GapARS& g, int k) {
  return Make(g.shift, g.ring, g.stages, Wrap::kGap, k, Above(g.low, g.shift));
}
OwedWord GapARS::Build(Trace& t, const Wire<kPub>& z) const { return gates::Build(t, z, Of(*this, z.k())); }
int64_t GapARS::KeyBits(int k, bool shared) const { return gates::KeyBits(Of(*this, k), k, shared); }

Ints SlackARS::Spec(const Ints& z, int) const { return Rounded(z, shift, ring); }
static Shift Of(const SlackARS& g, int k) {
  return Make(g.shift, g.ring, g.stages, Wrap::kTop, k, Above(g.low, g.shift), g.top);
}
OwedWord SlackARS::Build(Trace& t, const Wire<kPub>& z) const { return gates::Build(t, z, Of(*this, z.k())); }
int64_t SlackARS::KeyBits(int k, bool shared) const { return gates::KeyBits(Of(*this, k), k, shared); }

ShiftForm AutoTrunc::Pick(int k) const {
  SUF_CHECK(range.low <= range.high);
  if (ring <= k - shift) return ShiftForm::kInside;
  const Wide whole = Wide{1} << k, half = whole / 2, step = Wide{1} << (shift - 1);
  const Wide most = Wide{range.high} + Above(range.low, shift) + step;
  // a full form takes signed numbers, or unsigned ones
  if (range.low < -half || Wide{range.high} + step >= (range.low < 0 ? half : whole))
    Fail(Cause::kRefused, "numbers from ", range.low, " to ", range.high, " and half of 2^", shift,
         " do not fit a ring of ", k, " bits; widen the ring");
  const bool hard = range.proof == Proof::kHard;
  const bool gap = most < half;
  const bool slack = k > kTop && most < whole - (whole >> kTop);
  if (hard && range.low >= 0 && Wide{range.high} + step < half) return ShiftForm::kUnsigned;
  if (hard && gap) return ShiftForm::kGap;
  if (hard ? slack : gap && k > kTop) return ShiftForm::kSlack;
  return ShiftForm::kFull;
}

Ints AutoTrunc::Spec(const Ints& z, int) const { return Rounded(z, shift, ring); }

static Shift Of(const AutoTrunc& g, int k) {
  auto make = [&](Wrap wrap, Wide above) { return Make(g.shift, g.ring, g.stages, wrap, k, above, kTop); };
  switch (g.Pick(k)) {
    case ShiftForm::kInside:
      return make(Wrap::kInside, 0);
    case ShiftForm::kUnsigned:
      return make(Wrap::kGap, 0);
    case ShiftForm::kGap:
      return make(Wrap::kGap, Above(g.range.low, g.shift));
    case ShiftForm::kSlack:
      return make(Wrap::kTop, Above(g.range.low, g.shift));
    case ShiftForm::kFull:
      return make(Wrap::kCut, g.range.low < 0 ? Wide{1} << (k - 1) : 0);
  }
  SUF_CHECK(false);
}
OwedWord AutoTrunc::Build(Trace& t, const Wire<kPub>& z) const { return gates::Build(t, z, Of(*this, z.k())); }
int64_t AutoTrunc::KeyBits(int k, bool shared) const { return gates::KeyBits(Of(*this, k), k, shared); }

}  // namespace suf::gates
