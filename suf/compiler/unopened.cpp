#include "suf/compiler/unopened.hpp"

#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/place.hpp"
#include "suf/compiler/poly.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/ring/modular.hpp"

namespace suf::compiler {

namespace {

// Returns shares of 1[x_hat mod 2^cut < r mod 2^cut] as a string of one bit.
Sh BorrowBitByParity(Trace& t, const Wire<kPub>& x, int cut) {
  Pub hat = Low(x.hat, cut);
  Sec r = Low(x.r, cut);
  if (cut > kTableBits) return t.parity(t.tree(r), hat, {0});
  Dealt table = t.deal(Hot(r));
  return pfss::Map(Sh(table), [&](auto half) { return Above(half, hat, {0}); });
}

// A sum of `p (U - u + b (V - v))` over opened reads U and steps V, with words p of the dealer. The opened borrow is
// b = b_hat + (1 - 2 b_hat) rho. All terms without U and V form two words, one alone and one times b_hat.
class SelectedAtWords {
 public:
  explicit SelectedAtWords(const OpenedBit& b) : b_(b) {}
  void Add(const Wire<kPub>& here, const Wire<kPub>& step, Sec p, int sign) {
    Pub known = b_.hat * step.hat;
    known = here.hat + known;
    Pub turned = b_.sign * step.hat;
    Sec rho = p * b_.rho;
    sum_.push_back({sign, 0, known, p, {}});
    sum_.push_back({sign, 0, turned, rho, {}});
    Sec both = rho * step.r, lost = p * step.r;
    Sec alone = p * here.r + both, with = lost - both * 2;
    alone_ = !alone_ ? alone : sign < 0 ? *alone_ - alone : *alone_ + alone;
    with_ = !with_ ? with : sign < 0 ? *with_ - with : *with_ + with;
  }
  Factors Done() {
    sum_.push_back({-1, 0, {}, *alone_, {}});
    sum_.push_back({-1, 0, b_.hat, *with_, {}});
    return sum_;
  }

 private:
  OpenedBit b_;
  Factors sum_;
  std::optional<Sec> alone_, with_;  // set by the first read, whose sign must be +1
};

}  // namespace

// Returns e = s (U - u + b (V - v)). The sign of the place is s = +-1, and U and V are the opened window sums.
Factors EntrySummands(Trace& t, const func::Octave& g, const Wire<kPub>& x, int ring) {
  const int64_t m = g.hi - g.lo;
  const Const table = t.constant({g.values.rbegin(), g.values.rend()}, {m});
  Sec alpha = x.r >> g.w;
  Pub lo = x.hat >> g.w;
  lo = lo - g.hi;
  const Place place(t, alpha);
  // one window serves both neighbours, unless it would be longer than the table
  const bool whole = m == int64_t{1} << alpha.bits();
  Sh bits = place.Read(whole ? lo + 1 : lo, int(whole ? m : m + 1));
  Sh here = ToAdditive(bits, [&](auto v) { return Dot(v, table, whole ? 0 : 1); });
  SharedWire<kPub> u = t.open(Low(here, ring), "window sums");
  const Sec s = place.sign();
  if (g.w == 0) return {{1, 0, u.hat, s, {}}, {-1, 0, {}, s * u.r, {}}};
  if (whole) bits = place.Read(lo, int(m));
  Sh below = ToAdditive(bits, [&](auto v) { return Dot(v, table, 0); });
  Sh step = below - here;
  SharedWire<kPub> v = t.open(Low(step, ring), "window sums");
  SharedWire<kPub> carry = t.open(BorrowBitByParity(t, x, g.w), "carry");
  SelectedAtWords e(SplitBits(carry).at(0));
  e.Add(u, v, s, 1);
  return e.Done();
}

int64_t EntrySummandsKeyBits(const func::Octave& g, int k) {
  return PlaceKeyBits(k - g.w) + (g.w > 0 ? PlaceKeyBits(g.w) : 0);
}

Factors PieceSummands(Trace& t, const CompiledFunction& c, const CutReading& entry, const Wire<kPub>& z, int ring) {
  const internal::PieceGrid g = internal::GridOf(c, ring);
  SUF_CHECK(entry.shift == 0 && z.k() == c.f.n && c.f.outputs == 1 && g.a >= 1 && g.p >= 1 && g.p <= kTableBits);
  const Wire<kPub> x{z.hat + t.constant(int64_t(entry.offset)), z.r};
  const internal::BothReads both = internal::ReadBoth(t, c, g, x, g.a, ring, Openings::kWide);
  SharedWire<kPub> carry = t.open(BorrowBitByParity(t, x, g.a), "carry");
  SelectedAtWords y(SplitBits(carry).at(0));
  for (size_t n = 0; n < both.reads.size(); ++n)
    y.Add(both.reads[n].here, both.reads[n].step, both.power[n], n % 2 ? -1 : 1);
  return y.Done();
}

// Returns f(x) b = f_0 b + sum_j (f_j - f_(j-1)) b 1[x >= p_j]. With D(u) = 1[u < r],
// 1[x >= p] = 1 - 1[x_hat < p] - D(x_hat - p) + D(x_hat).
Sh IntervalTimes(Trace& t, std::span<const func::Octave> f, const Wire<kPub>& x, Sec b, int ring) {
  const uint64_t mask = ring::Mask(ring), first_value = uint64_t(f[0].values[0]);
  std::vector<uint64_t> points{0}, steps{0};
  uint64_t last = first_value;
  for (const func::Octave& g : f)
    for (int64_t v = g.lo; v < g.hi; ++v) {
      const uint64_t value = uint64_t(g.values[size_t(v - g.lo)]);
      if (value == last) continue;
      points.push_back(uint64_t(v) << g.w);
      steps.push_back((value - last) & mask);
      last = value;
    }
  pfss::Shape column(x.shape().size() + 1, 1);
  column[0] = int64_t(points.size());
  const Const step = t.constant(std::move(steps), column);
  Trace::Comparison key = t.comparison(x.r, b, ring);
  Sh reads = t.below(key, x.hat, points);  // (c, points, ..)
  Pub less = Lift(Unbits(Less(x.hat, points)));
  less = 1 - less;
  Pub beyond = Sum(less * step, 0);
  beyond = beyond + int64_t(first_value & mask);
  Sh y = Sh(t.deal(b, ring)) * beyond;
  y = y - Sum(pfss::Map(reads, [&](auto v) { return v * step; }), 1);
  Sh first = pfss::Map(reads, [&](auto v) {
    auto one = Between(v, 1, 0, 1);
    return Reshape(one, b.shape());
  });
  return y + first * int64_t((last - first_value) & mask);
}

int64_t IntervalTimesKeyBits(int k, int words, int ring) {
  return 2 * int64_t(fss::DcfKeyBits(k, words, ring)) + int64_t(words) * ring;
}

}  // namespace suf::compiler
