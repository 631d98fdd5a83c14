#include "suf/compiler/lut.hpp"

#include <algorithm>

#include "suf/fss/sizes.hpp"
#include "suf/ring/words.hpp"

namespace suf::compiler {

namespace {

constexpr int kTableBits = 10;  // a one-hot table is lighter than a DPF up to here

Sec SignOf(Sec bit) {
  Sec e = Lift(bit);
  e = e * 2;
  return e - 1;
}

// HotPlace: XOR shares of 1[v = alpha] for v in Z_{2^n}, read on public windows; and the dealer's sign.
class HotPlace {
 public:
  HotPlace(Trace& t, Sec alpha) : t_(t) {
    if (alpha.bits() <= kTableBits) {
      table_ = t.deal(Hot(alpha));
      sign_ = SignOf(Point(table_->a, alpha));
    } else {
      tree_ = t.tree(alpha);
      sign_ = SignOf(t.point_of_p0(*tree_, alpha));
    }
  }
  // Read: bits at lo .. lo+m-1, m <= 2^n.
  Sh Read(Pub lo, int m) const {
    if (tree_) return t_.window(*tree_, lo, m);
    return pfss::Map(Sh(*table_), [&](auto v) { return Rotate(v, lo, m); });
  }
  Sec sign() const { return sign_; }

 private:
  Trace& t_;
  std::optional<Dealt> table_;
  std::optional<Trace::Tree> tree_;
  Sec sign_;
};

// Cuts of a row function: the distinct piece widths.
std::vector<Cut> RowCuts(std::span<const func::Group> groups, int ring) {
  std::vector<Cut> cuts;
  for (const func::Group& g : groups)
    if (g.w > (cuts.empty() ? 0 : cuts.back().at)) cuts.push_back({g.w, ring});
  return cuts;
}

}  // namespace

Reading ReadTables(Trace& t, const Wire<kPub>& i, Const tables) {
  Sec hot = Hot(i.r);
  Dealt table = t.deal(hot);
  Sh values = Apart(table, [&](auto v) { return Select(v, i.hat, tables); });
  Sec point = Point(table.a, i.r);
  return {values, SignOf(point)};
}

Owing WindowLut::Build(Trace& t, const Wire<kPub>& z) const {
  int k = z.k(), s = shift, n = k - s;
  std::optional<int> uniform = func::UniformBits(f);
  SUF_CHECK(uniform && f.n == n && f.degree <= 1 && f.outputs == 1 && *uniform >= 1 && s >= 1 && ring <= f.ring);
  int a = *uniform, p = n - a;
  std::vector<uint64_t> tables;  // (2, 2^p): A, B
  for (int j : {0, 1})
    for (auto& piece : f.pieces)
      tables.push_back(j <= f.degree ? uint64_t(ring::Signed(piece.poly[0][size_t(j)], f.ring)) : 0);
  std::vector<Cut> cuts{{s, a + 1}, {s + a, p}};
  Const offset = t.constant((int64_t{1} << (s - 1)) + (int64_t{1} << (k - 1)));
  OpenedDigits d(t, z, offset, PlanDigits(cuts, stages));
  Borrow below(d, s, stages), above(d, s + a, stages);
  Owing low = Slice(d, s, s + a, a + 1, &below, &above);
  Owing top = Slice(d, s + a, k, p, &above, nullptr);
  Wire<kPub> x = OpenDefined(t, low, "low digit");
  Wire<kPub> i = OpenDefined(t, top, "piece");
  Const c = t.constant(tables, {2, int64_t{1} << p});
  Reading read = ReadTables(t, i, c);
  Factors place = Lifted(x.hat, x.r, 0);  // x in [0, 2^a) of Z_{2^(a+1)}
  Sh b = At(read.values, 1);
  Sh ub = b * *place[0].p;
  Sh ua = At(read.values, 0);
  Sh at_x = ua + ub;
  Wire<kPub> uw = t.open(Low(at_x, u), "U");
  Wire<kPub> vw = t.open(Low(b, v), "V");
  // y = e U + e (x - public part of x) V
  Words y(t, ring);
  Factor sign{1, 0, {}, read.sign, {}};
  y.Add(Signed(uw), sign);
  Factors rest{place[1], place[2]}, slope = Signed(vw);
  y.Add(rest, slope, sign);
  return y.Done();
}

int64_t WindowLut::KeyBits(int k) const {
  int a = *func::UniformBits(f), p = k - shift - a;
  std::vector<Cut> cuts{{shift, a + 1}, {shift + a, p}};
  int64_t bits = DigitsKeyBits(PlanDigits(cuts, stages), cuts, stages);
  if (stages == Stages::kTwo) bits += a + 1 + p;
  bits += int64_t{1} << p;
  auto word = [&](int lost) { return std::max(0, ring - lost); };
  // e; e bU; e r; the owed word; e r bV; e b; e b mV; e b bV
  return bits + 3 * word(0) + word(u) + word(v) + 2 * word(a + 1) + word(a + 1 + v);
}

Owing RowLut(Trace& t, const Wire<kPub>& x, std::span<const func::Group> groups, int ring) {
  std::vector<Cut> cuts = RowCuts(groups, ring);
  std::optional<OpenedDigits> digits;
  if (!cuts.empty()) digits.emplace(t, x, t.constant(0), PlanDigits(cuts, Stages::kOne));
  Words y(t, ring);
  for (const func::Group& g : groups) {
    int64_t m = g.hi - g.lo;
    std::vector<uint64_t> reversed(g.values.rbegin(), g.values.rend());
    Const table = t.constant(reversed, {m});
    Sec alpha = x.r >> g.w;
    Pub lo = x.hat >> g.w;
    lo = lo - g.hi;
    HotPlace place(t, alpha);
    // one window serves both neighbours, unless it would be longer than the table
    bool whole = m == int64_t{1} << alpha.bits();
    Sh bits = place.Read(whole ? lo + 1 : lo, int(whole ? m : m + 1));
    // r0: the value at the piece that x_hat - r shows; r1: at the one below, which a borrow selects
    Sh r0 = Apart(bits, [&](auto v) { return Dot(v, table, whole ? 0 : 1); });
    SharedWire<kPub> here = t.open(Low(r0, ring), "window sums");
    Factors e{{1, 0, {}, place.sign(), {}}};
    y.Add(Masked(here), e);
    if (g.w == 0) continue;
    if (whole) bits = place.Read(lo, int(m));
    Sh r1 = Apart(bits, [&](auto v) { return Dot(v, table, 0); });
    Sh step = r1 - r0;
    SharedWire<kPub> below = t.open(Low(step, ring), "window sums");
    Borrow c(*digits, g.w, Stages::kOne);
    y.Add(c.Times(place.sign(), ring), below.hat);
    y.Add(c.Times(place.sign() * below.r, ring), std::nullopt, -1);
  }
  return y.Done();
}

int64_t RowLutKeyBits(int k, std::span<const func::Group> groups, int ring) {
  std::vector<Cut> cuts = RowCuts(groups, ring);
  std::vector<int> widths;
  int64_t bits = 0;
  if (!cuts.empty()) widths = PlanDigits(cuts, Stages::kOne).widths;
  for (int w : widths) bits += int64_t{1} << w;
  for (const func::Group& g : groups) {
    int n = k - g.w;
    bits += n <= kTableBits ? int64_t{1} << n : 2 * int64_t(fss::DpfKeyBits(n));
    bits += ring;  // e
    if (g.w == 0) continue;
    int digits = 0;
    for (int at = 0; at < g.w; ++digits) at += widths[size_t(digits)];
    bits += int64_t(ring) * (1 + 2 * BorrowWords(digits));  // e m1, and both times every monomial
  }
  return bits;
}

}  // namespace suf::compiler
