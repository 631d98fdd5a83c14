#include <algorithm>
#include <cmath>

#include "suf/compiler/unopened.hpp"
#include "suf/nn/ops/softmax.hpp"
#include "suf/nn/plan/octave_tables.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

using pfss::Const;
using pfss::Pub;
using pfss::Sec;

namespace {

constexpr double kShiftMargin = 20;  // nats between the calibrated range, at either side, and the ends of the window
constexpr double kUnlike = 1;        // nats above the largest calibrated score that a row may reach unnoticed
constexpr int kLargestIndex = 16;

// Returns the column whose score belongs to row i's shift: with itself (0) or the previous token (1).
int64_t Taken(int which, int64_t i) { return which == 0 ? i : std::max<int64_t>(0, i - 1); }

// Returns the coefficients of every head, in sixteenths; none if all are 0.
Ints Coefficients(const Ints& own, int which) {
  Ints k;
  for (size_t h = size_t(which); h < own.size(); h += 2) k.push_back(own[h]);
  if (std::all_of(k.begin(), k.end(), [](int64_t x) { return x == 0; })) k.clear();
  return k;
}

// Shifts a wire's words left, and keeps the bits of a window.
auto Raised(int bits, int window) {
  return [bits, window](auto v) {
    auto u = bits > 0 ? v << bits : v;
    return Low(u, std::min(u.bits(), window));
  };
}

// Returns the shifts of all rows (texts heads, rows): the predictions, and the public parts of the rows' own scores.
Wire<kPub> RowShifts(const Softmax& s, const Emission& e, const Wire<kPub>& score, const Wire<kPub>& predicted) {
  const int64_t n_heads = score.shape()[0], rows = e.rows;
  const int texts = e.texts_here;
  Wire<kPub> out = Map(predicted, [&](auto v) {
    auto u = texts == 1 ? Permute(v, {1, 0}) : ByHeads(v, texts, n_heads / texts);
    if (texts > 1) u = Reshape(u, {n_heads, rows});
    return Raised(s.shifted.shift_up, s.window())(u);
  });
  const bool unpacks = e.Packed(s.causal) && !s.own.empty();
  const Wire<kPub> all = unpacks ? Map(score, [&](auto v) { return Unpack(v, e.n); }) : score;
  for (int which = 0; which < 2; ++which) {
    const Ints k = Coefficients(s.own, which);
    if (k.empty()) continue;
    std::vector<uint64_t> places;
    for (int64_t i = 0; i < n_heads * rows; ++i) places.push_back(uint64_t(Taken(which, e.from + i % rows)));
    const Const at = e.t.constant(places, {n_heads, rows}), times = e.t.constant(ForTexts(k, texts), {n_heads, 1});
    Wire<kPub> with = Map(all, [&](auto v) {
      auto scores = Take(v, at);
      scores = Raised(s.shifted.score_up - s.own_bits(), s.window())(scores);
      return scores * times;
    });
    Pub hat = out.hat + with.hat;
    Sec r = out.r + with.r;
    out = {hat, r};
  }
  return out;
}

}  // namespace

double SoftmaxByShift::Most() const { return double(MostOf(table)); }

int64_t SoftmaxByShift::EntryAt(uint64_t place) const {
  return place >= uint64_t(end) ? 0 : table[std::min(place, uint64_t(table.size() - 1))];
}

gates::FunctionGate SoftmaxByShift::Read(const Softmax& s, int ring) const {
  Ints all = table;
  all.resize(size_t(end), table.back());
  return {compiler::OnOctaves("exp", {{s.shift, 0, end, std::move(all)}}, s.window(), 64), read, {}, ring};
}

RealArray SoftmaxByShift::Difference(const Softmax& s, int64_t from, const RealArray& score, const RealArray& shifts) {
  RealArray z = score;
  const int64_t n_heads = score.shape[0], rows = score.shape[1], n = score.cols();
  for (int64_t i = 0; i < n_heads * rows; ++i) {
    const int64_t h = i / rows, place = from + i % rows;
    double by_row = shifts.at[size_t(i % rows * n_heads + h)];
    for (int which = 0; which < 2 && !s.own.empty(); ++which)
      by_row += double(s.own[size_t(2 * h + which)]) / 16 * score.at[size_t(i * n + Taken(which, place))];
    for (int64_t j = 0; j < n; ++j) z.at[size_t(i * n + j)] -= by_row;
  }
  return z;
}

void SoftmaxByShift::Choose(const Facts& c, const Edges& in, Softmax* s) {
  const Options& o = c.options;
  s->scale = o.exp_shift;
  if (!c.seen) return;
  const int at = std::max(in[0].scale, in[1].scale) + s->own_bits();  // scale of the difference
  score_up = at - in[0].scale;
  shift_up = at - in[1].scale;
  s->shift = at - o.shift_slice;
  if (s->shift < 1)
    Fail(Cause::kRefused, "the scores have the scale 2^", at,
         ", which leaves no bits below the slice; lower `shift_slice`");
  SeenRange seen{0, 0};
  for (const SeenRange& r : c.seen->at("shifted")) {
    seen.See(r.low);
    seen.See(r.high);
  }
  const double nat = std::ldexp(std::sqrt(double(s->head_dim)), o.shift_slice);  // in places
  // Entries go from the first that is not zero to the first at the cap. A place stands for its middle.
  const double least = -(o.exp_shift + 1) * std::log(2.0), cap = std::ldexp(1.0, o.exp_cap) - 1;
  const int64_t first = int64_t(std::ceil(least * nat - 0.5));
  table.clear();
  for (int64_t v = first; table.empty() || double(table.back()) < cap; ++v) {
    const double e = std::ldexp(std::exp((double(v) + 0.5) / nat), o.exp_shift);
    table.push_back(int64_t(std::min(std::round(e), cap)));
  }
  const double top = std::max(double(table.size()), seen.high * std::ldexp(1.0, o.shift_slice) - double(first));
  end = int64_t(std::ceil(top + kShiftMargin * nat));
  peak = int64_t(std::ceil(top + kUnlike * nat));
  const double below = std::min(0.0, seen.low * std::ldexp(1.0, o.shift_slice) - double(first) - kShiftMargin * nat);
  index = BitLength(double(end) - below);
  if (index > kLargestIndex)
    Fail(Cause::kRefused, "the scores less their shifts reach 2^", index, " places of the table, the limit is 2^",
         kLargestIndex, "; lower `shift_slice`");
  s->offset.assign(size_t(in[0].dim), -first << s->shift);
  read.stages = compiler::Stages::kTwo;  // gives the carry a flight of its own, for less key
}

int SoftmaxByShift::Need(const Softmax& s, int input) const {
  return std::max(1, s.window() - (input == 0 ? score_up - s.own_bits() : shift_up));
}

std::vector<Knob> SoftmaxByShift::Knobs() {
  std::vector<compiler::Lowering> options;
  for (auto openings : {compiler::Openings::kWide, compiler::Openings::kNarrow})
    for (auto cut : {compiler::Stages::kOne, compiler::Stages::kTwo, compiler::Stages::kThree})
      options.push_back({compiler::Kind::kRowLut, compiler::StepSource::kDigits, cut, openings});
  return {LoweringKnob("read", &read, std::move(options))};
}

void SoftmaxByShift::Fields(Visitor& v) {
  v.Int("score_up", score_up, 0, kRing);
  v.Int("shift_up", shift_up, 0, kRing);
  v.Int("index", index, 1, kLargestIndex);
  v.Table("table", &table);
  v.Int("end", end, 1, 1 << 16);
  v.Int("peak", peak, 0, 1 << 16);
  v.Lowering("read", &read);
}

void SoftmaxByShift::Check(const Softmax& s, const Edges& in, const std::string& where) const {
  Wanted(in.size() == 2 && in[1].dim == in[0].dim && !in[1].one_row, where, "there is not one shift a row and head");
  Wanted(s.window() < 62, where, "its window is not below 62 bits");
  Wanted(read.kind == compiler::Kind::kRowLut && !table.empty(), where, "its table is not read by windows");
  Wanted(score_up < kRing && shift_up < kRing, where, "it shifts an input by more than a word");
  Wanted(score_up >= s.own_bits() && in[0].scale + score_up == in[1].scale + shift_up, where,
         "its inputs do not come to one scale");
  for (int i = 0; i < 2; ++i)
    Wanted(in[size_t(i)].ring >= Need(s, i), where, "an input's ring is narrower than its window");
  Wanted(int64_t(s.offset.size()) == in[0].dim, where, "there is not one offset a head");
  Wanted(MostOf(s.offset) >> std::min(s.window() + 8, 62) == 0, where,
         "an offset is far outside the ring of the scores");
  Wanted(int64_t(table.size()) <= end && end <= int64_t{1} << index && end < 1 << 16, where,
         "the table of the exponential does not end in its window");
  for (int64_t x : table)
    Wanted(x >= 0 && (s.ring >= 63 || x >> s.ring == 0), where,
           "an entry of the exponential is negative or exceeds its ring");
}

IntArray SoftmaxByShift::Spec(const Softmax& s, const IntCall& c, const IntArray& score, const IntArray& shifts) const {
  const int64_t n = c.n, rows = c.rows, n_heads = score.shape[0], top = end << s.shift;
  IntArray y{score.shape, Ints(score.at.size(), 0)};
  Ints seen;
  for (int64_t i = 0; i < n_heads * rows; ++i) {
    const int64_t h = i / rows, at = c.from + i % rows, row = i * n;
    int64_t by_row = WrapShl(shifts.at[size_t(i % rows * n_heads + h)], shift_up), highest = 0;
    for (int which = 0; which < 2 && !s.own.empty(); ++which) {
      const int64_t with = WrapShl(score.at[size_t(row + Taken(which, at))], score_up - s.own_bits());
      by_row = WrapAdd(by_row, WrapMul(s.own[size_t(2 * h + which)], with));
    }
    for (int64_t j = 0; j < s.RowLength(at, n); ++j) {
      int64_t z = WrapShl(score.at[size_t(row + j)], score_up);
      z = WrapAdd(z, WrapAdd(s.offset[size_t(h)], WrapMul(by_row, -1)));
      seen.push_back(WrapAdd(z, (int64_t{1} << (s.window() - 1)) - top));  // the window ends at `end`
      const uint64_t place = (uint64_t(z) & ring::Mask(s.window())) >> s.shift;
      y.at[size_t(row + j)] = EntryAt(place);
      if (place < uint64_t(end)) highest = std::max(highest, int64_t(place));
    }
    if (highest >= peak) c.watch.Leave(Str("head ", h, " row ", at).c_str(), highest, peak);
  }
  c.watch.See("score", seen);
  return y;
}

AnyWire SoftmaxByShift::Build(const Softmax& s, const Emission& e, const Wire<kPub>& score,
                              const Wire<kPub>& shifts) const {
  pfss::Trace& t = e.t;
  const int64_t n = e.n, n_heads = score.shape()[0];
  const bool packed = e.Packed(s.causal);
  const Wire<kPub> by_row = Map(RowShifts(s, e, score, shifts), [&](auto v) {
    auto column = Column(v);
    if (!packed) return column;
    return Pack(Broadcast(column, {n_heads, n, n}));
  });
  const Const place = t.constant(ForTexts(s.offset, e.texts_here), packed ? Shape{n_heads, 1} : Shape{n_heads, 1, 1});
  const Wire<kPub> z = Map(score, Raised(score_up, s.window()));
  Pub hat = z.hat - by_row.hat;
  hat = hat + place;
  Sec r = z.r - by_row.r;
  if (e.form == OperandForm::kSummands) {
    Summands out{compiler::EntrySummands(t, Read(s, s.ring).f.groups.at(0), {hat, r}, s.ring), s.ring, score.shape()};
    if (!packed) return out;
    out.shape = {n_heads, n, n};
    for (compiler::Factor& f : out.sum) {
      if (f.p) f.p = Unpack(*f.p, n);
      f.u = Unpack(*f.u, n);
    }
    return out;
  }
  AnyWire w = e.Open(Read(s, s.ring).Build(t, {hat, r}));
  return packed ? On(w, [&](auto v) { return Unpack(v, n); }) : w;
}

}  // namespace suf::nn
