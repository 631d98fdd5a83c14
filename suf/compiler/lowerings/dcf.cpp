// Lowerings by DCFs. A DCF at alpha = r with payload (1, r, .., r^d) gives shares of r^k 1[u < r] at every
// u = x_hat - cutpoint. The piecewise polynomial is a linear function of them with public coefficients
// (docs/mathematics.md#step-dcf).
#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/taylor.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/ring/modular.hpp"

namespace suf::compiler {

namespace internal {

namespace {

// Shares of the terms of a polynomial, by k.
struct Terms {
  std::vector<Sh> step;   // (m + 1, ..) of d^k 1[u_j < r], with u_0 = x_hat
  std::vector<Sh> whole;  // (..) of d^k
};

// Emits the terms. In a ring wider than the domain d = -r + 2^n b, and b 1[u < r] = 1[max(u, x_hat) < r].
Terms TermsOf(Trace& t, const CompiledFunction& c, const Wire<kPub>& x, int ring, Pub less) {
  const int n = c.f.n, degree = c.f.degree;
  const bool wrap = NeedsWrap(c, ring);
  std::vector<Sec> payload;
  Sec r = Lift(x.r), power = Broadcast(t.constant(1), x.shape());
  for (int k = 0; k <= degree; ++k) {
    payload.push_back(power);
    power = power * r;
  }
  Trace::Comparison key = t.comparison(x.r, Stack(payload), ring);
  std::vector<uint64_t> points{0};
  for (size_t j = 1; j < c.pieces(); ++j) points.push_back(uint64_t(c.f.pieces[j].begin));
  Sh reads = t.below(key, x.hat, points);                                      // (d + 1, m + 1, ..)
  Sh powers = t.below(key, Low(Broadcast(t.constant(0), x.shape()), n), {0});  // r^k 1[0 < r]
  auto scaled = [&](const Sh& v, uint64_t word) { return v * int64_t(word & ring::Mask(ring)); };
  Terms out;
  for (int k = 0; k <= degree; ++k) {
    Sh step = scaled(At(reads, k), k % 2 ? ~uint64_t{0} : 1);
    Sh whole = k ? scaled(At(At(powers, k), 0), k % 2 ? ~uint64_t{0} : 1) : Zeros(t, x.shape(), ring) + 1;
    for (int i = 0; wrap && i < k; ++i) {
      const uint64_t word = n * (k - i) < 64 ? (Binomial(k, i) << (n * (k - i))) * (i % 2 ? ~uint64_t{0} : 1) : 0;
      if (!(word & ring::Mask(ring))) continue;
      Sh d = At(reads, i), here = At(d, 0);
      // max(u, x_hat) is u if x_hat < cutpoint, otherwise x_hat
      Sh larger = d * less;
      Pub other = 1 - less;
      larger = larger + here * other;
      step = step + scaled(larger, word);
      whole = whole + scaled(here, word);
    }
    out.step.push_back(step);
    out.whole.push_back(whole);
  }
  return out;
}

}  // namespace

std::vector<OwedWord> StepDcf(Trace& t, const CompiledFunction& c, const Wire<kPub>& x, int ring) {
  const int degree = c.f.degree;
  const size_t m = c.steps.size();
  pfss::Shape column(x.shape().size() + 1, 1);
  column[0] = int64_t(m) + 1;
  // 1[x_hat < cutpoint], (m + 1, ..); the first is for u = x_hat and is 0
  std::vector<uint64_t> cutpoints{0};
  for (size_t j = 1; j < c.pieces(); ++j) cutpoints.push_back(uint64_t(c.f.pieces[j].begin));
  Pub less = Lift(Unbits(Less(x.hat, cutpoints)));
  Terms terms = TermsOf(t, c, x, ring, less);
  Pub hat = Lift(x.hat);
  std::vector<OwedWord> out;
  for (int o = 0; o < c.f.outputs; ++o) {
    // coefficients of d^k at every step, as polynomials in x_hat; row 0 belongs to the first piece
    Sh y = Zeros(t, x.shape(), ring);
    for (int k = 0; k <= degree; ++k) {
      std::optional<Pub> at;  // (m + 1, ..)
      for (int q = degree; q >= k; --q) {
        std::vector<uint64_t> words{0};
        for (size_t j = 1; j <= m; ++j)
          words.push_back((c.coefficient(j, o, q) - c.coefficient(j - 1, o, q)) * Binomial(q, k) & ring::Mask(ring));
        Const step = t.constant(std::move(words), column);
        Pub term = Broadcast(step, terms.step[0].shape());
        at = at ? *at * hat + term : term;
      }
      // 1[x >= cutpoint] = 1 - 1[x_hat < cutpoint] - 1[u < r] + 1[x_hat < r]
      Pub all = Sum(*at, 0);
      Pub beyond = Sum(*at * (1 - less), 0);
      std::optional<Pub> base;
      for (int q = degree; q >= k; --q) {
        Pub word = t.constant(int64_t(c.coefficient(0, o, q) * Binomial(q, k) & ring::Mask(ring)));
        base = base ? *base * hat + word : word;
      }
      beyond = beyond + *base;
      Sh steps = Sum(terms.step[size_t(k)] * *at, 0);
      y = y + terms.whole[size_t(k)] * beyond;
      y = y - steps;
      y = y + At(terms.step[size_t(k)], 0) * all;
    }
    out.push_back({Low(y, ring), std::nullopt});
  }
  return out;
}

// On the whole wide wire, 1[V >= b_j] = 1 - 1[V_hat < b_j] - 1[V_hat - b_j < r] + 1[V_hat < r]. Each b_j is a multiple
// of 2^shift. Numbers above 64 bits are halves. If k is odd, the DCF is on 2 V.
OwedWord StepDcfOfWide(Trace& t, const CompiledFunction& c, const WideWire& x, int shift, int ring) {
  const int k = x.k(), b = (k + 1) / 2, twice = k % 2;
  const bool halves = k > 64;
  auto number = [&](const auto& wide) {
    if (!halves) return Field(wide, 0, k);
    auto low = Field(wide, 0, b - twice);
    if (twice) low = low << 1;
    return Stack(std::vector{Field(wide, b - twice, b), low});
  };
  std::vector<uint64_t> cutpoints, points(halves ? 2 : 1), steps;  // the first read is at V_hat
  uint64_t last = c.coefficient(0, 0, 0);
  for (size_t j = 1; j < c.pieces(); ++j) {
    const uint64_t begin = uint64_t(c.f.pieces[j].begin), value = c.coefficient(j, 0, 0);
    const unsigned __int128 at = static_cast<unsigned __int128>(begin) << shift << (halves ? twice : 0);
    cutpoints.push_back(begin);
    steps.push_back((last - value) & ring::Mask(ring));
    if (halves) points.push_back(uint64_t(at >> b));
    points.push_back(uint64_t(at) & ring::Mask(halves ? b : 64));
    last = value;
  }
  const int64_t m = int64_t(steps.size());
  const pfss::Shape rows = x.hat.limbs[0].shape();
  pfss::Shape column(rows.size() + 1, 1);
  column[0] = m;
  const Const change = t.constant(steps, column);
  Sec one = Broadcast(t.constant(1), rows);
  // one statement each, because compilers may evaluate arguments in any order, and the trace has an order
  const Sec beta = Stack(std::vector{one});
  Trace::Comparison key = t.comparison(number(x.r), beta, ring);
  Sh reads = pfss::Map(t.below(key, number(x.hat), points), [](auto v) { return At(v, 0); });  // (m + 1, ..)
  Pub less = Lift(Unbits(Less(Field(x.hat, shift, c.f.n), cutpoints)));                        // (m, ..)
  Pub beyond = Sum((less - 1) * change, 0) + int64_t(c.coefficient(0, 0, 0));
  Sh steps_read = pfss::Map(reads, [&](auto v) { return Between(v, 0, 1, m + 1); });
  const Sh first = At(reads, 0) * int64_t((last - c.coefficient(0, 0, 0)) & ring::Mask(ring));
  Sh y = Sum(steps_read * Pub(change), 0) + first;
  return {Low(y + beyond, ring), std::nullopt};
}

int64_t WideDcfKeyBits(int k, int ring) { return 2 * int64_t(fss::DcfKeyBits(k > 64 ? k + k % 2 : k, 1, ring)); }

}  // namespace internal

// Reads 1[h mod 2^cut < r mod 2^cut] once, at threshold 0.
Sh BorrowByDcf(Trace& t, Pub h, Sec r, int cut, int ring) {
  Pub place = Low(h, cut);
  Sec low = Low(r, cut);
  Trace::Comparison key = t.comparison(low, Stack(std::vector<Sec>{Broadcast(t.constant(1), r.shape())}), ring);
  Sh c = t.below(key, place, {0});  // (1, 1, ..)
  return pfss::Map(c, [](auto v) { return At(At(v, 0), 0); });
}

int64_t BorrowByDcfKeyBits(int cut, int ring) { return 2 * int64_t(fss::DcfKeyBits(cut, 1, ring)); }

}  // namespace suf::compiler
