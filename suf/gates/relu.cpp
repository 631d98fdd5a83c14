#include "suf/gates/relu.hpp"

#include <algorithm>

#include "suf/compiler/bits.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/function.hpp"
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

OwedWord Relu::Build(Trace& t, const Wire<kPub>& x) const { return Of(*this, x.k()).Build(t, x); }

int64_t Relu::KeyBits(int k) const { return Of(*this, k).KeyBits(true); }

std::vector<compiler::Cut> ReluARS::Cuts(int k) const {
  SUF_CHECK(shift >= 1 && shift <= k - 2 && stages != Stages::kOne);
  return {{shift, 1}, {k - 1, 1}};
}

Ints ReluARS::Spec(const Ints& x, int k) const {
  Ints out;
  for (int64_t v : x) {
    int64_t u = Number(uint64_t(v) + (uint64_t{1} << (shift - 1)), k);
    out.push_back(Number(uint64_t(std::max<int64_t>(0, u >> shift)), ring));
  }
  return out;
}

OwedWord ReluARS::Build(Trace& t, const Wire<kPub>& x) const {
  const int k = x.k();
  const int64_t half = int64_t{1} << (shift - 1);
  compiler::OpenedDigits digits(t, x, t.constant(half), compiler::PlanDigits(Cuts(k), stages));
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
  Pub msb = Lift(digits.hat() >> (k - 1));
  Pub open = Bits((1 - msb) << 1, 2);
  pfss::Sec top = Lift(digits.r() >> (k - 1));
  pfss::Sec owed = Bits(top << 1, 2);
  const OwedWord string{Sh{string0, string1} + open, owed};
  std::vector<compiler::OpenedBit> bits = compiler::SplitBits(compiler::OpenDefined(t, string, "helpers"));
  const compiler::OpenedBit &borrow = bits[0], &positive = bits[1];

  Pub whole = Lift(digits.hat() >> shift);
  whole = whole - borrow.hat;
  pfss::Sec r = Lift(digits.r() >> shift);
  compiler::Factors shifted{{1, 0, whole, {}, {}}, {-1, 0, {}, r, {}}, {-1, 0, borrow.sign, borrow.rho, {}}};
  shifted.push_back({1, k - shift, 1 - msb, top, {}});
  compiler::Factors w{{1, 0, positive.hat, {}, {}}, {1, 0, positive.sign, positive.rho, {}}};
  compiler::WordSum y(t, ring);
  y.Add(w, shifted);
  return y.Done();
}

int64_t ReluARS::KeyBits(int k) const {
  const std::vector<compiler::Cut> cuts = Cuts(k);
  const int wider = std::max(0, ring - (k - shift));
  // words in the ring: rho_w, r >> s, rho_t and its products; narrower words: MSB r and rho_w MSB r
  return compiler::DigitsKeyBits(compiler::PlanDigits(cuts, stages), cuts, stages) + 5 * ring + 2 * wider;
}

}  // namespace suf::gates
