#include <algorithm>
#include <cmath>

#include "suf/gates/maximum.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/nn/ops/softmax.hpp"
#include "suf/nn/plan/octave_tables.hpp"

namespace suf::nn {

using compiler::OpenDefined;
using pfss::Pub;
using pfss::Sec;

namespace {

// Windows have spare range for texts unlike the calibration texts. The part kBelow of a score window's spare range lies
// under it. At least kAbove of a level lies above it.
constexpr double kScoreMargin = 1.6, kBelow = 0.6, kAbove = 0.25;
constexpr int kLargestTable = 10, kLargestLevel = 7;  // log2 of entries

}  // namespace

double SoftmaxByMaximum::Most() const { return double(MostOf(high_table)) * double(MostOf(low_table)); }

gates::SplitGate SoftmaxByMaximum::Pair(int ring) const {
  func::Split f{func::Split::kProduct, "exp", level + low, ring, low, 0, {}, {}};
  f.high.assign(high_table.begin(), high_table.end());
  f.low.assign(low_table.begin(), low_table.end());
  return {std::move(f), ring};
}

void SoftmaxByMaximum::Choose(const Facts& c, const Edges& in, Softmax* s) {
  const Options& o = c.options;
  const double unit = std::sqrt(double(s->head_dim));
  s->scale = o.exp_high + o.exp_low;
  count_bits = BitLength(double(c.n));
  if (!c.seen) return;
  const std::vector<SeenRange>&score = c.seen->at("score"), &row_max = c.seen->at("row_max");
  double widest = 1;
  for (const SeenRange& r : score) widest = std::max(widest, r.high - r.low);
  int log_width = int(std::ceil(std::log2(kScoreMargin * widest)));
  // a level is about sqrt(2 head_dim) wide; low bits under it, at most 2^kLargestLevel levels
  const int step =
      std::max(int(std::floor(std::log2(std::sqrt(2.0 * double(s->head_dim))))), log_width - kLargestLevel);
  log_width = std::max(log_width, step + 2);
  s->shift = in[0].scale - o.slice;
  low = step + o.slice;
  level = log_width - step;
  if (low > kLargestTable || low < 1 || s->shift < 1)
    Fail(Cause::kRefused, "the scores of the calibration span ", widest / unit, " and need a low table of 2^", low,
         " entries, the limit is 2^", kLargestTable,
         step < kLargestTable ? "; lower `slice`" : "; check the weights of queries and keys");
  const std::vector<compiler::Cut> cuts{{s->shift, low}, {s->shift + low, level}};
  if (!compiler::FindDigits(cuts, stages)) stages = compiler::kBeside;  // un-truncated scores have many digits
  const double width = std::ldexp(1.0, log_width), one = std::ldexp(1.0, step);
  double least = 1e300;
  s->offset.clear();
  for (size_t h = 0; h < score.size(); ++h) {
    double first = std::floor((score[h].low - kBelow * (width - (score[h].high - score[h].low))) / one);
    // With few levels, rounding down took the spare range above.
    if (first * one + width < score[h].high + kAbove * one) ++first;
    s->offset.push_back(-(int64_t(first) << (step + in[0].scale)));
    least = std::min(least, row_max[h].low / one - first);
  }
  floor = std::clamp<int64_t>(int64_t(std::floor(least)) - 1, 0, (int64_t{1} << level) - 2);
  auto exp = [&](double units) { return [=](double i) { return std::exp(units * i / unit); }; };
  high_table = func::FitTable(exp(-one), level, o.exp_high).f;
  low_table = func::FitTable(exp(std::ldexp(1.0, -o.slice)), low, o.exp_low).f;
}

std::vector<Knob> SoftmaxByMaximum::Knobs() { return {StagesKnob("stages", &stages)}; }

void SoftmaxByMaximum::Fields(Visitor& v) {
  v.Int("low", low, 1, kLargestTable);
  v.Int("level", level, 1, kLargestTable);
  v.Int("floor", floor, 0, 1 << 10);
  v.Stages("stages", &stages);
  v.Table("low_table", &low_table);
  v.Table("high_table", &high_table);
  v.Int("count_bits", count_bits, 1, 17);
}

void SoftmaxByMaximum::Check(const Softmax& s, const Edges& in, int max_n, const std::string& where) const {
  Wanted(s.window() < 62 && in[0].ring >= s.window(), where,
         "its input's ring is narrower than its shift, low digit and level, or these are 62 bits or more");
  Wanted(int64_t(s.offset.size()) == in[0].dim, where, "there is not one offset a head");
  Wanted(MostOf(s.offset) >> std::min(s.window() + 8, 62) == 0, where,
         "an offset is far outside the ring of the scores");
  Wanted(low_table.size() == size_t{1} << low && high_table.size() == size_t{1} << level, where,
         "a table of the exponential has another size than its digit");
  for (auto* t : {&low_table, &high_table})
    for (int64_t x : *t) Wanted(x >= 0, where, "an entry of the exponential is negative");
  Wanted(floor + 2 <= int64_t(high_table.size()), where, "its floor leaves no level above it");
  Wanted(max_n < 1 << count_bits, where, "the modulus of the counts does not exceed the number of tokens");
}

IntArray SoftmaxByMaximum::Spec(const Softmax& s, const IntCall& c, const IntArray& score) const {
  const int64_t n = c.n, rows = c.rows, k = s.window(), middle = int64_t{1} << (k - 1);
  auto length = [&](int64_t i) { return s.RowLength(c.from + i / n, n); };  // of the row of pair i
  IntArray y{score.shape, Ints(score.at.size(), 0)};
  for (int64_t h = 0; h < score.shape[0]; ++h) {
    Ints z(score.at.begin() + h * rows * n, score.at.begin() + (h + 1) * rows * n), seen;
    const int64_t add = s.offset[size_t(h)];
    for (int64_t i = 0; i < rows * n; ++i)
      if (i % n < length(i)) seen.push_back(WrapAdd(z[size_t(i)], add - middle));
    c.watch.See("score", seen);
    const int64_t round = add + (int64_t{1} << (s.shift - 1));
    const Ints low_digit = gates::Slice{s.shift, s.shift + low, 40, round}.Spec(z, int(k));
    Ints levels = gates::Slice{s.shift + low, int(k), 40, round}.Spec(z, int(k));
    for (int64_t i = 0; i < rows * n; ++i)  // a later position is below every level
      if (i % n >= length(i)) levels[size_t(i)] = 0;
    const Ints all = gates::Maximum{0, count_bits}.Spec(levels, 62, n),
               top = gates::Maximum{floor, count_bits}.Spec(levels, 62, n);
    for (int64_t i = 0; i < rows; ++i)
      if (all[size_t(i)] < floor) c.watch.Leave("row_max", all[size_t(i)], floor);
    for (int64_t i = 0; i < rows * n; ++i) levels[size_t(i)] = top[size_t(i / n)] - levels[size_t(i)];
    const Ints e = Pair(64).Spec(levels, low_digit);
    for (int64_t i = 0; i < rows * n; ++i)
      if (i % n < length(i)) y.at[size_t(h * rows * n + i)] = e[size_t(i)];
  }
  return y;
}

AnyWire SoftmaxByMaximum::Build(const Softmax& s, const Emission& e, const Wire<kPub>& score) const {
  pfss::Trace& t = e.t;
  Wire<kPub> z = score;
  if (z.k() > s.window()) z = Map(z, [&](auto v) { return Low(v, s.window()); });
  const int64_t n = e.n, n_heads = z.shape()[0];
  const bool packed = e.Packed(s.causal);
  const int top = s.shift + low;
  std::vector<compiler::Cut> cuts{{s.shift, low}, {top, level}};
  std::vector<uint64_t> places = ForTexts(s.offset, e.texts_here);
  for (uint64_t& place : places) place += uint64_t{1} << (s.shift - 1);
  pfss::Const window_at = t.constant(places, packed ? Shape{n_heads, 1} : Shape{n_heads, 1, 1});
  compiler::OpenedDigits d(t, z, window_at, compiler::PlanDigits(cuts, stages));
  compiler::Borrow below(d, s.shift, stages), above(d, top, stages);
  Wire<kPub> digit = OpenDefined(t, compiler::Slice(d, s.shift, top, low, &below, nullptr), "low digit");
  Wire<kPub> levels = OpenDefined(t, compiler::Slice(d, top, s.window(), level, &above, nullptr), "level");
  gates::Maximum maximum{floor, count_bits, packed};
  Wire<kPub> m = OpenDefined(t, maximum.Build(t, levels), "maximum");  // (texts heads, rows)
  m = Map(m, [&](auto v) {
    auto column = Column(v);
    if (!packed) return column;
    return Pack(Broadcast(column, {n_heads, n, n}));
  });
  Pub hat = m.hat - levels.hat;
  Sec r = m.r - levels.r;
  compiler::OwedWord y = Pair(s.ring).Build(t, {hat, r}, digit);
  AnyWire w = e.Open(y);
  return packed ? On(w, [&](auto v) { return Unpack(v, n); }) : w;
}

}  // namespace suf::nn
