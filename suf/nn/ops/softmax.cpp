#include <algorithm>
#include <cmath>

#include "suf/gates/function.hpp"
#include "suf/gates/maximum.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/cover.hpp"
#include "suf/nn/plan/octave_tables.hpp"

namespace suf::nn {

using compiler::OpenDefined;
using pfss::Pub;
using pfss::Sec;

namespace {

// Windows have spare range for texts unlike the calibration texts. The part kBelow of a score window's spare range lies
// under it. At least kAbove of a level lies above it.
constexpr double kScoreRoom = 1.6, kBelow = 0.6, kAbove = 0.25;
constexpr int kLargestTable = 10, kLargestLevel = 7;  // log2 of entries
constexpr int64_t kMostOwn = 1 << 8;                  // sixteenths
constexpr double kFinite = 300;  // largest exponent of the float model, so that the sum of a row's powers is finite

// Returns how many scores row i has.
int64_t Counted(bool causal, int64_t i, int64_t n) { return causal ? i + 1 : n; }

const char* const kForms[] = {"maximum", "shift"};

}  // namespace

RealArray Softmax::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  const int64_t n = c.n;
  RealArray y = by == kShift ? Shifted(n, *x[0], *x[1]) : *x[0];
  for (int64_t i = 0; i < y.rows(); ++i) {
    double* row = &y.at[size_t(i * n)];
    const int64_t count = Counted(causal, i % n, n);
    const double most = by == kShift ? 0 : *std::max_element(row, row + count);
    for (int64_t j = 0; j < n; ++j)
      row[j] = j < count ? std::exp(std::min((row[j] - most) / std::sqrt(double(head_dim)), kFinite)) : 0;
  }
  return y;
}

// Records scores and row maxima of every head, and scores less their shifts.
void Softmax::See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const {
  const int64_t n = c.n, n_heads = x[0]->shape[0];
  std::vector<SeenRange>&score = (*seen)["score"], &row_max = (*seen)["row_max"];
  score.resize(size_t(n_heads));
  row_max.resize(size_t(n_heads));
  for (int64_t i = 0; i < n_heads * n; ++i) {
    const double* row = &x[0]->at[size_t(i * n)];
    double most = -1e300;
    for (int64_t j = 0; j < Counted(causal, i % n, n); ++j) {
      score[size_t(i / n)].See(row[j]);
      most = std::max(most, row[j]);
    }
    row_max[size_t(i / n)].See(most);
  }
  if (x.size() < 2) return;
  const RealArray z = Shifted(n, *x[0], *x[1]);
  std::vector<SeenRange>& shifted = (*seen)["shifted"];
  shifted.resize(size_t(n_heads));
  for (int64_t i = 0; i < n_heads * n; ++i)
    for (int64_t j = 0; j < Counted(causal, i % n, n); ++j) shifted[size_t(i / n)].See(z.at[size_t(i * n + j)]);
}

void Softmax::Attributes(Visitor& v) {
  v.Int("head_dim", head_dim, 1, 1 << 14);
  v.Flag("causal", &causal);
  v.Many("own", &own, 1 << 11, -kMostOwn, kMostOwn);
}

void Softmax::Choose(const Facts& c, const Edges& in) {
  by = in.size() == 2 && c.options.softmax == Options::kShift ? kShift : kMaximum;
  if (by == kShift) return ChooseShift(c, in);
  const Options& o = c.options;
  const double unit = std::sqrt(double(head_dim));
  scale = o.exp_high + o.exp_low;
  count_bits = BitLength(double(c.n));
  if (!c.seen) return;
  const std::vector<SeenRange>&score = c.seen->at("score"), &row_max = c.seen->at("row_max");
  double widest = 1;
  for (const SeenRange& r : score) widest = std::max(widest, r.high - r.low);
  int bits = int(std::ceil(std::log2(kScoreRoom * widest)));
  // a level is about sqrt(2 head_dim) wide; low bits under it, at most 2^kLargestLevel levels
  const int step = std::max(int(std::floor(std::log2(std::sqrt(2.0 * double(head_dim))))), bits - kLargestLevel);
  bits = std::max(bits, step + 2);
  shift = in[0].scale - o.slice;
  low = step + o.slice;
  level = bits - step;
  if (low > kLargestTable || low < 1 || shift < 1)
    Fail(Cause::kRefused, "the scores need a low table of 2^", low, " entries, the limit is 2^", kLargestTable,
         "; lower `slice`");
  const std::vector<compiler::Cut> cuts{{shift, low}, {shift + low, level}};
  if (!compiler::FindDigits(cuts, stages)) stages = compiler::kBeside;  // un-truncated scores have many digits
  const double width = std::ldexp(1.0, bits), one = std::ldexp(1.0, step);
  double least = 1e300;
  offset.clear();
  for (size_t h = 0; h < score.size(); ++h) {
    double first = std::floor((score[h].low - kBelow * (width - (score[h].high - score[h].low))) / one);
    // With few levels, rounding down took the spare range above.
    if (first * one + width < score[h].high + kAbove * one) ++first;
    offset.push_back(-(int64_t(first) << (step + in[0].scale)));
    least = std::min(least, row_max[h].low / one - first);
  }
  floor = std::clamp<int64_t>(int64_t(std::floor(least)) - 1, 0, (int64_t{1} << level) - 2);
  auto exp = [&](double units) { return [=](double i) { return std::exp(units * i / unit); }; };
  high_table = func::FitTable(exp(-one), level, o.exp_high).f;
  low_table = func::FitTable(exp(std::ldexp(1.0, -o.slice)), low, o.exp_low).f;
}

RowBound Softmax::Bound(const Facts& c, const Edges&, std::vector<Width>* widths) {
  widths->push_back({"score", window() - 1, nullptr, 61, true});
  // the length of a row is the sum of its entries
  if (by == kShift) return {c.n, double(MostOf(table)) * c.n, {double(MostOf(table))}, {}, {}};
  const double most = double(MostOf(high_table)) * double(MostOf(low_table));
  return {c.n, most * c.n, {most}, {}, {}, std::ldexp(1.0, scale - 1)};
}

int Softmax::Need(int input, const Edges&) const {
  if (by == kMaximum) return input == 0 ? window() : 1;
  return std::max(1, window() - (input == 0 ? score_up - own_bits() : shift_up));
}

std::vector<Knob> Softmax::Knobs() {
  if (by == kMaximum) return {StagesKnob("stages", &stages)};
  std::vector<compiler::Lowering> options;
  for (auto openings : {compiler::Openings::kWide, compiler::Openings::kNarrow})
    for (auto cut : {compiler::Stages::kOne, compiler::Stages::kTwo, compiler::Stages::kThree})
      options.push_back({compiler::Kind::kRowLut, compiler::StepSource::kDigits, cut, openings});
  return {LoweringKnob("read", &read, std::move(options))};
}

void Softmax::Fields(Visitor& v) {
  v.Choice("form", &by, kForms, "has a softmax of the form ");
  v.Int("shift", shift, 1, kRing);
  v.Many("offset", &offset, 1 << 10, -kBig, kBig);
  if (by == kShift) {
    v.Int("score_up", score_up, 0, kRing);
    v.Int("shift_up", shift_up, 0, kRing);
    v.Int("index", index, 1, 16);
    v.Table("table", &table);
    v.Int("end", end, 1, 1 << 16);
    v.Int("peak", peak, 0, 1 << 16);
    v.Lowering("read", &read);
    return;
  }
  v.Int("low", low, 1, kLargestTable);
  v.Int("level", level, 1, kLargestTable);
  v.Int("floor", floor, 0, 1 << 10);
  v.Stages("stages", &stages);
  v.Table("low_table", &low_table);
  v.Table("high_table", &high_table);
  v.Int("count_bits", count_bits, 1, 17);
}

void Softmax::Check(const Edges& in, int max_n, const std::string& where) const {
  Wanted(own.empty() || int64_t(own.size()) == 2 * in[0].dim, where, "there are not two coefficients a head");
  Wanted(form != OperandForm::kSummands || by == kShift, where, "its reader takes summands of a maximum's exponential");
  if (by == kShift) return CheckShift(in, where);
  Wanted(window() < 62 && in[0].ring >= window(), where,
         "its input's ring is narrower than its shift, low digit and level, or these are 62 bits or more");
  Wanted(int64_t(offset.size()) == in[0].dim, where, "there is not one offset a head");
  Wanted(MostOf(offset) >> std::min(window() + 8, 62) == 0, where, "an offset is far outside the ring of the scores");
  Wanted(low_table.size() == size_t{1} << low && high_table.size() == size_t{1} << level, where,
         "a table of the exponential has another size than its digit");
  for (auto* t : {&low_table, &high_table})
    for (int64_t x : *t) Wanted(x >= 0, where, "an entry of the exponential is negative");
  Wanted(floor + 2 <= int64_t(high_table.size()), where, "its floor leaves no level above it");
  Wanted(max_n < 1 << count_bits, where, "the modulus of the counts does not exceed the number of tokens");
}

gates::SplitGate Softmax::Pair(int to) const {
  func::Split f{func::Split::kProduct, "exp", level + low, to, low, 0, {}, {}};
  f.high.assign(high_table.begin(), high_table.end());
  f.low.assign(low_table.begin(), low_table.end());
  return {std::move(f), to};
}

IntArray Softmax::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  if (by == kShift) return SpecShift(c, *x[0], *x[1]);
  const int64_t n = c.n, k = window(), middle = int64_t{1} << (k - 1);
  IntArray y{x[0]->shape, Ints(x[0]->at.size(), 0)};
  for (int64_t h = 0; h < x[0]->shape[0]; ++h) {
    Ints z(x[0]->at.begin() + h * n * n, x[0]->at.begin() + (h + 1) * n * n), seen;
    const int64_t add = offset[size_t(h)];
    for (int64_t i = 0; i < n * n; ++i)
      if (i % n < Counted(causal, i / n, n)) seen.push_back(WrapAdd(z[size_t(i)], add - middle));
    c.watch.See("score", seen);
    const int64_t round = add + (int64_t{1} << (shift - 1));
    const Ints low_digit = gates::Slice{shift, shift + low, 40, round}.Spec(z, int(k));
    Ints levels = gates::Slice{shift + low, int(k), 40, round}.Spec(z, int(k));
    for (int64_t i = 0; i < n * n; ++i)  // a later position is below every level
      if (i % n >= Counted(causal, i / n, n)) levels[size_t(i)] = 0;
    const Ints all = gates::Maximum{0, count_bits}.Spec(levels, 62, n),
               top = gates::Maximum{floor, count_bits}.Spec(levels, 62, n);
    for (int64_t i = 0; i < n; ++i)
      if (all[size_t(i)] < floor) c.watch.Leave("row_max", all[size_t(i)], floor);
    for (int64_t i = 0; i < n * n; ++i) levels[size_t(i)] = top[size_t(i / n)] - levels[size_t(i)];
    const Ints e = Pair(64).Spec(levels, low_digit);
    for (int64_t i = 0; i < n * n; ++i)
      if (i % n < Counted(causal, i / n, n)) y.at[size_t(h * n * n + i)] = e[size_t(i)];
  }
  return y;
}

AnyWire Softmax::Build(const Emission& e, std::span<const AnyWire> x) const {
  if (by == kShift) return BuildShift(e, AsOpen(x[0]), AsOpen(x[1]));
  pfss::Trace& t = e.t;
  Wire<kPub> z = AsOpen(x[0]);
  if (z.k() > window()) z = Map(z, [&](auto v) { return Low(v, window()); });
  const int64_t n = e.n, n_heads = z.shape()[0];
  const bool packed = e.Packed(causal);
  const int top = shift + low;
  std::vector<compiler::Cut> cuts{{shift, low}, {top, level}};
  std::vector<uint64_t> places;
  for (int64_t v : offset) places.push_back(uint64_t(v) + (uint64_t{1} << (shift - 1)));
  pfss::Const window_at = t.constant(places, packed ? Shape{n_heads, 1} : Shape{n_heads, 1, 1});
  compiler::OpenedDigits d(t, z, window_at, compiler::PlanDigits(cuts, stages));
  compiler::Borrow below(d, shift, stages), above(d, top, stages);
  Wire<kPub> digit = OpenDefined(t, compiler::Slice(d, shift, top, low, &below, nullptr), "low digit");
  Wire<kPub> levels = OpenDefined(t, compiler::Slice(d, top, window(), level, &above, nullptr), "level");
  gates::Maximum maximum{floor, count_bits, packed};
  Wire<kPub> m = OpenDefined(t, maximum.Build(t, levels), "maximum");  // (heads, rows)
  m = Map(m, [&](auto v) {
    auto column = Column(v);
    if (!packed) return column;
    return Pack(Broadcast(column, {n_heads, n, n}));
  });
  Pub hat = m.hat - levels.hat;
  Sec r = m.r - levels.r;
  compiler::OwedWord y = Pair(ring).Build(t, {hat, r}, digit);
  AnyWire w = e.Open(y);
  return packed ? On(w, [&](auto v) { return Unpack(v, n); }) : w;
}

}  // namespace suf::nn
