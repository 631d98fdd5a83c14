#include "suf/gates/relu.hpp"

#include <algorithm>

#include "suf/compiler/bits.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/function_program.hpp"
#include "suf/gates/text.hpp"

namespace suf::gates {

static_assert(Gate<Relu> && Gate<ReluARS>);

static FunctionGate Of(const Relu& g, int k) {
  SUF_CHECK(k >= 2);
  func::Suf f = func::Parse(Str("suf relu domain ", k, " ring ", g.ring, " outputs 1 degree 1\n",  //
                                "piece 0 : 0 1\npiece ", PowerText(k - 1), " : 0 0\n",             //
                                "end ", PowerText(k), "\n"));
  return {compiler::Compile(f), g.lowering, {}, g.ring};
}

Ints Relu::Spec(const Ints& x, int k) const {
  Ints out;
  for (int64_t v : x) out.push_back(Number(uint64_t(std::max<int64_t>(0, Number(uint64_t(v), k))), ring));
  return out;
}

std::vector<compiler::Lowering> Relu::Lowerings(int k) const {
  const FunctionGate g = Of(*this, k);
  return NumberLowerings(g.f, g.entry, ring);
}

OwedWord Relu::Build(Trace& t, const Wire<kPub>& x) const { return Of(*this, x.k()).Build(t, x); }

int64_t Relu::KeyBits(int k) const { return Of(*this, k).KeyBits(true); }

std::vector<compiler::Cut> ReluARS::Cuts(int k, const HelperRequest& want) const {
  SUF_CHECK(shift >= 1 && shift <= k - 2 && stages != Stages::kOne);
  std::vector<compiler::Cut> cuts;
  if (want.t && shift > 1) cuts.push_back({shift - 1, 1});
  cuts.push_back({shift, 1});
  cuts.push_back({k - 1, 1});
  if (want.d) cuts.push_back({k, 1});
  return cuts;
}

// Returns how often the digits are read, each time at another offset.
static int Readings(const ReluARS::HelperRequest& want) { return want.d ? 2 : 1; }

bool ReluARS::Applies(int k, const HelperRequest& want) const {
  return compiler::FindDigits(Cuts(k, want), stages, Readings(want)).has_value();
}

Ints ReluARS::Spec(const Ints& x, int k) const {
  Ints out;
  for (int64_t v : x) {
    int64_t u = Number(uint64_t(v) + (uint64_t{1} << (shift - 1)), k);
    out.push_back(Number(uint64_t(std::max<int64_t>(0, u >> shift)), ring));
  }
  return out;
}

ReluARS::HelperBits ReluARS::HelperSpec(const Ints& x, int k) const {
  HelperBits out;
  const int64_t half = int64_t{1} << (shift - 1);
  for (int64_t v : x) {
    const int64_t number = Number(uint64_t(v), k), u = Number(uint64_t(v) + uint64_t(half), k);
    out.w.push_back(u >= 0);
    out.t.push_back((uint64_t(u) & ring::Mask(shift)) < uint64_t(half));
    out.d.push_back(u < number);
  }
  return out;
}

OwedWord ReluARS::Build(Trace& t, const Wire<kPub>& x) const { return BuildHelped(t, x, {}).y; }

// Returns 1[u mod 2^s < 2^(s-1)], which is the complement of bit s - 1 of u = h - r.
static OwedWord RoundsUp(Trace& t, const compiler::OpenedDigits& digits, int shift) {
  Pub open = Lift(digits.hat() >> (shift - 1));
  open = Bits(1 - open, 1);
  pfss::Sec owed = Lift(digits.r() >> (shift - 1));
  owed = Bits(owed, 1);
  if (shift > 1) return {compiler::BorrowBit(digits, shift - 1) + open, owed};
  return {compiler::ZeroString(t, open.shape(), 1) + open, owed};
}

// Returns 1[u < 2^(s-1)] at an offset of half the ring, g = h + 2^(k-1). `digits` has those of g. Over the integers,
// the wrap of g - r less that of (g - 2^(s-1)) - r is 1[g < 2^(s-1)] - d.
static OwedWord RoundingWraps(Trace& t, const Wire<kPub>& x, const compiler::OpenedDigits& digits,
                              const compiler::DigitPlan& plan, int shift) {
  const int k = x.k();
  const compiler::OpenedDigits before(t, x, t.constant(int64_t(uint64_t{1} << (k - 1))), plan);
  const Sh after = compiler::BorrowBit(digits, k);
  Sh wraps = compiler::BorrowBit(before, k) + after;
  const Pub passed = Less(digits.hat(), {uint64_t{1} << (shift - 1)});
  return {wraps + passed, std::nullopt};
}

ReluARS::HelpedShares ReluARS::BuildHelped(Trace& t, const Wire<kPub>& x, const HelperRequest& want) const {
  const int k = x.k();
  const int64_t half = int64_t{1} << (shift - 1);
  // an offset of half the ring changes only the top bit of h, which the cut of d alone reads
  const uint64_t middle = want.d ? uint64_t{1} << (k - 1) : 0;
  const compiler::DigitPlan plan = compiler::PlanDigits(Cuts(k, want), stages, Readings(want));
  compiler::OpenedDigits digits(t, x, t.constant(int64_t(uint64_t(half) + middle)), plan);
  const Pub h = want.d ? x.hat + t.constant(half) : digits.hat();
  Sh low = compiler::BorrowBit(digits, shift);
  Sh high = compiler::BorrowBit(digits, k - 1);

  // the string (t, w) with w = 1 - (MSB h + MSB r + the borrow below); MSB r goes into the mask
  auto join = [](auto first, auto second) {
    auto a = Lift(first);
    auto b = Lift(second);
    return Bits(a + (b << 1), 2);
  };
  pfss::Own<0> string0 = join(pfss::Own<0>(low.a), pfss::Own<0>(high.a));
  pfss::Own<1> string1 = join(pfss::Own<1>(low.b), pfss::Own<1>(high.b));
  Pub msb = Lift(h >> (k - 1));
  Pub open = Bits((1 - msb) << 1, 2);
  pfss::Sec top = Lift(digits.r() >> (k - 1));
  pfss::Sec owed = Bits(top << 1, 2);
  const OwedWord string{Sh{string0, string1} + open, owed};
  const Wire<kPub> opened = compiler::OpenDefined(t, string, "helpers");
  std::vector<compiler::OpenedBit> bits = compiler::SplitBits(opened);
  HelpedShares out;
  if (want.w) {
    out.w = pfss::Map(opened, [](auto v) { return Bits(Lift(compiler::BitOf(v, 1)), 1); });
    bits[1] = compiler::SplitBits(*out.w)[0];  // as readers of w split it, so that its mask is dealt once
  }
  const compiler::OpenedBit &borrow = bits[0], &positive = bits[1];

  Pub whole = Lift(h >> shift);
  whole = whole - borrow.hat;
  pfss::Sec r = Lift(digits.r() >> shift);
  compiler::Factors shifted{{1, 0, whole, {}, {}}, {-1, 0, {}, r, {}}, {-1, 0, borrow.sign, borrow.rho, {}}};
  shifted.push_back({1, k - shift, 1 - msb, top, {}});
  compiler::Factors w{{1, 0, positive.hat, {}, {}}, {1, 0, positive.sign, positive.rho, {}}};
  compiler::WordSum y(t, ring);
  y.Add(w, shifted);
  out.y = y.Done();
  if (want.t) out.t = RoundsUp(t, digits, shift);
  if (want.d) out.d = RoundingWraps(t, x, digits, plan, shift);
  return out;
}

int64_t ReluARS::HelpedKeyBits(int k, const HelperRequest& want) const {
  const std::vector<compiler::Cut> cuts = Cuts(k, want);
  const int wider = std::max(0, ring - (k - shift));
  // words in the ring: rho_w, r >> s, rho_t and its products; narrower words: MSB r and rho_w MSB r
  const compiler::DigitPlan plan = compiler::PlanDigits(cuts, stages, Readings(want));
  return compiler::DigitsKeyBits(plan, cuts, stages, Readings(want)) + 5 * ring + 2 * wider;
}

}  // namespace suf::gates
