#include "suf/gates/choose.hpp"

#include <algorithm>

#include "suf/func/text.hpp"
#include "suf/gates/function_program.hpp"
#include "suf/gates/text.hpp"

namespace suf::gates {

static_assert(Gate<Select> && Gate<ArgmaxBit> && Gate<Clamp>);

Ints Select::Spec(const Ints& b, const Ints& v) const {
  Ints out;
  for (size_t i = 0; i < v.size(); ++i) out.push_back(b[i] ? Number(uint64_t(v[i]), ring) : 0);
  return out;
}

// Emits b v = (b^ + (1 - 2 b^) rho) (v^ - r).
OwedWord Select::Build(Trace& t, const compiler::OpenedBit& b, const Wire<kPub>& v) const {
  SUF_CHECK(ring <= v.k());
  compiler::Factors bit{{1, 0, b.hat, {}, {}}, {1, 0, b.sign, b.rho, {}}};
  compiler::Factors word{{1, 0, v.hat, {}, {}}, {-1, 0, {}, v.r, {}}};
  compiler::WordSum y(t, ring);
  y.Add(bit, word);
  return y.Done();
}

// Both max(d, 0) and 1[d >= 0] follow from one step, which is opened once.
static compiler::Lowering Opened(const ArgmaxBit& g) { return {compiler::Kind::kOpenSteps, g.steps, Stages::kOne}; }
static compiler::CompiledFunction Of(const ArgmaxBit& g, int k) {
  SUF_CHECK(k >= 2 && g.ring >= 1 && g.ring <= k);
  return compiler::Compile(func::Parse(Str("suf argmax domain ", k, " ring ", g.ring, " outputs 2 degree 1\n",  //
                                           "piece 0 : 0 1 | 1 0\npiece ", PowerText(k - 1), " : 0 0 | 0 0\n",   //
                                           "end ", PowerText(k), "\n")));
}

ArgmaxBit::Pair ArgmaxBit::Spec(const Ints& x, const Ints& y, int k) const {
  Pair out;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool b = Number(uint64_t(x[i]) - uint64_t(y[i]), k) >= 0;
    out.bit.push_back(Number(uint64_t(b), ring));
    out.max.push_back(Number(uint64_t(b ? x[i] : y[i]), ring));
  }
  return out;
}

ArgmaxBit::ChosenShares ArgmaxBit::Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& y) const {
  SUF_CHECK(x.k() == y.k());
  Pub hat = x.hat - y.hat;
  pfss::Sec r = x.r - y.r;
  compiler::FunctionShares both = compiler::Lower(t, Of(*this, x.k()), {Opened(*this), {}}, Wire<kPub>{hat, r}, ring);
  OwedWord max = both.numbers[0];
  Pub whole = Lift(y.hat);
  pfss::Sec mask = Lift(y.r);
  max.y = max.y + whole;
  SUF_CHECK(!max.owed);
  max.owed = -mask;
  return {both.numbers[1], max};
}

int64_t ArgmaxBit::KeyBits(int k) const {
  return compiler::NumbersKeyBits(Of(*this, k), Opened(*this), {}, ring) + ring;  // y's mask is owed
}

// Returns Clamp as a function of x + 2^(k-1), whose cutpoints are the bounds.
static FunctionGate Of(const Clamp& g, int k) {
  const uint64_t half = uint64_t{1} << (k - 1);
  auto place = [&](int64_t bound) { return Word(int64_t(uint64_t(bound) + half), k); };
  const uint64_t low = place(g.low), high = place(g.high);
  SUF_CHECK(k >= 2 && g.low < g.high && Number(uint64_t(g.low), k) == g.low && Number(uint64_t(g.high), k) == g.high);
  std::string text = Str("suf clamp domain ", k, " ring ", g.ring, " outputs 1 degree 1\n");
  auto word = [&](int64_t v) { return Str(Number(uint64_t(v), g.ring)); };
  if (low > 0) text += Str("piece 0 : ", word(g.low), " 0\n");
  text += Str("piece ", low, " : ", word(g.low), " 1\n");
  text += Str("piece ", high, " : ", word(g.high), " 0\nend ", PowerText(k), "\n");
  return {compiler::Compile(func::Parse(text)), g.lowering, SignedEntry(k, 0), g.ring};
}

Ints Clamp::Spec(const Ints& x, int k) const {
  Ints out;
  for (int64_t v : x) out.push_back(Number(uint64_t(std::clamp(Number(uint64_t(v), k), low, high)), ring));
  return out;
}

std::vector<compiler::Lowering> Clamp::Lowerings(int k) const {
  const FunctionGate g = Of(*this, k);
  return NumberLowerings(g.f, g.entry, ring);
}

OwedWord Clamp::Build(Trace& t, const Wire<kPub>& x) const { return Of(*this, x.k()).Build(t, x); }

int64_t Clamp::KeyBits(int k) const { return Of(*this, k).KeyBits(true); }

}  // namespace suf::gates
