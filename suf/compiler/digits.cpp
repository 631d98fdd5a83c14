#include "suf/compiler/digits.hpp"

#include <algorithm>
#include <limits>

#include "suf/pfss/poly.hpp"

namespace suf::compiler {

namespace {

constexpr int kWidest = 8;  // bits a digit: 256-bit tables

int MaxDigits(Stages s) { return s == Stages::kOne ? 8 : pfss::kMostDigitsX; }

// GroupKeyBits: what digit j, which begins at bit `at`, costs beside its table: its group is dealt once, at the widest
// ring of the cuts above.
int64_t GroupKeyBits(int j, int at, const std::vector<Cut>& cuts, Stages stages) {
  int ring = 0;
  for (const Cut& c : cuts)
    if (c.at > at) ring = std::max(ring, c.ring);
  return stages == Stages::kOne ? int64_t(pfss::GroupSize(j)) * ring : j == 0 ? 0 : pfss::GroupBits(j);
}

// Search over digit widths, cut by cut, non-increasing inside a cut (their order costs nothing). Costs only grow, so
// what has reached the least so far is left.
struct Search {
  const std::vector<Cut>& cuts;
  Stages stages;
  std::vector<int> now, best;
  int64_t least = std::numeric_limits<int64_t>::max();

  void Extend(size_t cut, int at, int widest, int64_t cost) {
    if (cost >= least) return;
    int left = cuts[cut].at - at;
    if (left == 0) {
      if (cut + 1 < cuts.size()) return Extend(cut + 1, at, kWidest, cost);
      least = cost, best = now;
      return;
    }
    if (int(now.size()) == MaxDigits(stages)) return;
    cost += GroupKeyBits(int(now.size()), at, cuts, stages);
    for (int w = std::min(widest, left); w >= 1; --w) {
      now.push_back(w);
      Extend(cut, at + w, w, cost + (int64_t{1} << w));
      now.pop_back();
    }
  }
};

int DigitsBelow(const std::vector<int>& widths, int cut) {
  int at = 0;
  size_t n = 0;
  while (at < cut && n < widths.size()) at += widths[n++];
  SUF_CHECK(at == cut);
  return int(n);
}

}  // namespace

std::vector<int> PlanDigits(const std::vector<Cut>& cuts, Stages stages) {
  SUF_CHECK(!cuts.empty() && cuts[0].at >= 1);
  for (size_t i = 1; i < cuts.size(); ++i) SUF_CHECK(cuts[i].at > cuts[i - 1].at);
  Search s{cuts, stages, {}, {}};
  s.Extend(0, 0, kWidest, 0);
  if (s.best.empty())
    Fail(Cause::kRefused, "a cut at bit ", cuts.back().at, " needs more than ", MaxDigits(stages), " digits of ",
         kWidest, " bits; ", stages == Stages::kOne ? "cut in two stages, " : "", "lower the scale or make fewer cuts");
  return s.best;
}

int64_t DigitsKeyBits(const std::vector<int>& widths, const std::vector<Cut>& cuts, Stages stages) {
  int64_t bits = 0;
  int at = 0;
  for (int j = 0; j < int(widths.size()); at += widths[size_t(j++)])
    bits += (int64_t{1} << widths[size_t(j)]) + GroupKeyBits(j, at, cuts, stages);
  return bits;
}

int BorrowWords(int digits) { return pfss::PolySize(digits - 1) - 1; }

OpenedDigits::OpenedDigits(Trace& t, const Wire<kPub>& z, Const offset, std::vector<int> widths)
    : t_(t), r_(z.r), widths_(std::move(widths)) {
  hat_ = z.hat + offset;
  std::vector<pfss::Rnd<0>> a;
  std::vector<pfss::Rnd<1>> b;
  int at = 0;
  for (int w : widths_) {
    Sec digit = r_ >> at;
    digit = Low(digit, w);
    Sec hot = Hot(digit);
    Dealt table = t.deal(hot);
    a.push_back(table.a), b.push_back(table.b);
    at += w;
  }
  pfss::Shape shape(widths_.begin(), widths_.end());
  pfss::Own<0> bits0 = Digits(hat_, a, shape);
  pfss::Own<1> bits1 = Digits(hat_, b, shape);
  bits_ = t.open({bits0, bits1}, "bits");
}

int OpenedDigits::Count(int cut) const { return DigitsBelow(widths_, cut); }

Borrow::Borrow(const OpenedDigits& d, int cut, Stages stages)
    : t_(d.trace()), h_(d.bits().hat), rho_(d.bits().r), digits_(d.Count(cut)), stages_(stages) {
  at0_ = BorrowAt0(h_, digits_);
  if (stages == Stages::kOne) return;
  std::vector<pfss::Own<0>> a;
  std::vector<pfss::Own<1>> b;
  for (int j = 1; j < digits_; ++j) {
    Sec mono = MonoX(rho_, j);
    Dealt group = t_.deal(mono);
    a.push_back(group.a), b.push_back(group.b);
  }
  pfss::Own<0> a0 = BorrowX(h_, pfss::Own<0>(d.bits().s.a), a);
  pfss::Own<1> b0 = BorrowX(h_, pfss::Own<1>(d.bits().s.b), b);
  Pub constant = Bits(at0_, 1);
  Sh c = Sh{a0, b0} + constant;
  SharedWire<kPub> wire = t_.open(c, "carry");
  carry_ = Lift(wire.hat);
  sign_ = carry_ * 2;
  sign_ = 1 - sign_;
  sigma_ = Lift(wire.r);
}

Sh Borrow::Share(int k) const {
  if (stages_ == Stages::kTwo) {
    Sh sigma = t_.deal(sigma_, k);
    return sigma * sign_ + carry_;
  }
  std::vector<pfss::Rnd<0>> a;
  std::vector<pfss::Rnd<1>> b;
  for (int j = 0; j < digits_; ++j) {
    Dealt group = t_.deal(Mono(rho_, j), k);
    a.push_back(group.a), b.push_back(group.b);
  }
  pfss::Own<0> y0 = pfss::Borrow(h_, a);
  pfss::Own<1> y1 = pfss::Borrow(h_, b);
  return Sh{y0, y1} + at0_;
}

Sh Borrow::Times(Sec q, int k, const std::optional<Sh>& held) const {
  Sh word = held ? Low(*held, k) : Sh(t_.deal(q, k));
  if (stages_ == Stages::kTwo) {
    Sh both = t_.deal(sigma_ * q, k);
    Sh x = word * carry_;
    Sh y = both * sign_;
    return x + y;
  }
  std::vector<pfss::Rnd<0>> a;
  std::vector<pfss::Rnd<1>> b;
  for (int j = 0; j < digits_; ++j) {
    Sec mono = Mono(rho_, j);
    Dealt group = t_.deal(mono * q, k);
    a.push_back(group.a), b.push_back(group.b);
  }
  pfss::Own<0> y0 = pfss::Borrow(h_, a);
  pfss::Own<1> y1 = pfss::Borrow(h_, b);
  Sh x = word * at0_;
  return x + Sh{y0, y1};
}

Owing Slice(const OpenedDigits& d, int begin, int end, int ring, const Borrow* low, const Borrow* high) {
  int k = d.hat().bits(), width = end - begin;
  SUF_CHECK(0 <= begin && begin < end && end <= k && (begin == 0 || low) && (ring <= width || (end < k && high)));
  Words y(d.trace(), ring);
  Pub h = d.hat() >> begin;
  h = Low(h, width);
  Sec r = d.r() >> begin;
  r = Low(r, width);
  Pub public_part = Lift(h);
  Sec owed = Lift(r);
  y.Add({1, 0, public_part, {}, {}});
  y.Add({-1, 0, {}, owed, {}});
  if (begin > 0) y.Add(low->Share(ring), std::nullopt, -1);
  if (ring > width) y.Add(high->Share(ring - width), std::nullopt, 1, width);
  return y.Done();
}

}  // namespace suf::compiler
