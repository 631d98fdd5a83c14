// Softmax with a predicted shift: e = exp(score - shift) by one table on a grid. It is read at a linear image of opened
// wires, which is never opened itself. (docs/mathematics.md#predicted-shift)
#include <algorithm>
#include <cmath>

#include "suf/compiler/unopened.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/cover.hpp"
#include "suf/nn/plan/octave_tables.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

using pfss::Const;
using pfss::Pub;
using pfss::Sec;

namespace {

constexpr double kRoom = 20;   // nats between the calibrated range, at either side, and the ends of the window
constexpr double kUnlike = 1;  // nats above the largest calibrated score that a row may reach unnoticed
constexpr int kLargestIndex = 16;

// Returns the column of (.., n, n) whose score belongs to row i's shift: with itself (0) or the previous token (1).
int64_t Taken(int which, int64_t i) { return which == 0 ? i : std::max<int64_t>(0, i - 1); }

// Returns the coefficients of every head, in sixteenths; none if all are 0.
Ints Coefficients(const Ints& own, int which) {
  Ints k;
  for (size_t h = size_t(which); h < own.size(); h += 2) k.push_back(own[h]);
  if (std::all_of(k.begin(), k.end(), [](int64_t x) { return x == 0; })) k.clear();
  return k;
}

// Returns the table's entry at a place: the last one up to `end`, then 0.
int64_t EntryAt(const Softmax& s, uint64_t place) {
  return place >= uint64_t(s.end) ? 0 : s.table[std::min(place, uint64_t(s.table.size() - 1))];
}

}  // namespace

RealArray Softmax::Shifted(int64_t n, const RealArray& score, const RealArray& shifts) const {
  RealArray z = score;
  const int64_t n_heads = score.shape[0];
  for (int64_t i = 0; i < n_heads * n; ++i) {
    const int64_t h = i / n;
    double by_row = shifts.at[size_t(i % n * n_heads + h)];
    for (int which = 0; which < 2 && !own.empty(); ++which)
      by_row += double(own[size_t(2 * h + which)]) / 16 * score.at[size_t(i * n + Taken(which, i % n))];
    for (int64_t j = 0; j < n; ++j) z.at[size_t(i * n + j)] -= by_row;
  }
  return z;
}

void Softmax::ChooseShift(const Facts& c, const Edges& in) {
  const Options& o = c.options;
  scale = o.exp_shift;
  if (!c.seen) return;
  const int at = std::max(in[0].scale, in[1].scale) + own_bits();  // scale of the difference
  score_up = at - in[0].scale;
  shift_up = at - in[1].scale;
  shift = at - o.shift_slice;
  if (shift < 1)
    Fail(Cause::kRefused, "the scores have the scale 2^", at,
         ", which leaves no bits below the slice; lower `shift_slice`");
  SeenRange seen{0, 0};
  for (const SeenRange& r : c.seen->at("shifted")) {
    seen.See(r.low);
    seen.See(r.high);
  }
  const double nat = std::ldexp(std::sqrt(double(head_dim)), o.shift_slice);  // in places
  // Entries go from the first that is not zero to the first at the cap. A place stands for its middle.
  const double least = -(o.exp_shift + 1) * std::log(2.0), cap = std::ldexp(1.0, o.exp_cap) - 1;
  const int64_t first = int64_t(std::ceil(least * nat - 0.5));
  table.clear();
  for (int64_t v = first; table.empty() || double(table.back()) < cap; ++v) {
    const double e = std::ldexp(std::exp((double(v) + 0.5) / nat), o.exp_shift);
    table.push_back(int64_t(std::min(std::round(e), cap)));
  }
  const double top = std::max(double(table.size()), seen.high * std::ldexp(1.0, o.shift_slice) - double(first));
  end = int64_t(std::ceil(top + kRoom * nat));
  peak = int64_t(std::ceil(top + kUnlike * nat));
  const double below = std::min(0.0, seen.low * std::ldexp(1.0, o.shift_slice) - double(first) - kRoom * nat);
  index = BitLength(double(end) - below);
  if (index > kLargestIndex)
    Fail(Cause::kRefused, "the scores less their shifts reach 2^", index, " places of the table, the limit is 2^",
         kLargestIndex, "; lower `shift_slice`");
  offset.assign(size_t(in[0].dim), -first << shift);
  read.stages = compiler::Stages::kTwo;  // gives the carry a flight of its own, for less key
}

void Softmax::CheckShift(const Edges& in, const std::string& where) const {
  Wanted(in.size() == 2 && in[1].dim == in[0].dim && !in[1].one_row, where, "there is not one shift a row and head");
  Wanted(window() < 62, where, "its window is not below 62 bits");
  Wanted(read.kind == compiler::Kind::kRowLut && !table.empty(), where, "its table is not read by windows");
  Wanted(score_up < kRing && shift_up < kRing, where, "it shifts an input by more than a word");
  Wanted(score_up >= own_bits() && in[0].scale + score_up == in[1].scale + shift_up, where,
         "its inputs do not come to one scale");
  for (int i = 0; i < 2; ++i)
    Wanted(in[size_t(i)].ring >= Need(i, in), where, "an input's ring is narrower than its window");
  Wanted(int64_t(offset.size()) == in[0].dim, where, "there is not one offset a head");
  Wanted(MostOf(offset) >> std::min(window() + 8, 62) == 0, where, "an offset is far outside the ring of the scores");
  Wanted(int64_t(table.size()) <= end && end <= int64_t{1} << index && end < 1 << 16, where,
         "the table of the exponential does not end in its window");
  for (int64_t x : table)
    Wanted(x >= 0 && (ring >= 63 || x >> ring == 0), where,
           "an entry of the exponential is negative or exceeds its ring");
}

gates::FunctionGate Softmax::Read(int to) const {
  Ints all = table;
  all.resize(size_t(end), table.back());
  return {compiler::OnOctaves("exp", {{shift, 0, end, std::move(all)}}, window(), 64), read, {}, to};
}

IntArray Softmax::SpecShift(const IntCall& c, const IntArray& score, const IntArray& shifts) const {
  const int64_t n = c.n, n_heads = score.shape[0], top = end << shift;
  IntArray y{score.shape, Ints(score.at.size(), 0)};
  Ints seen;
  for (int64_t i = 0; i < n_heads * n; ++i) {
    const int64_t h = i / n, row = i * n;
    int64_t by_row = WrapShl(shifts.at[size_t(i % n * n_heads + h)], shift_up), highest = 0;
    for (int which = 0; which < 2 && !own.empty(); ++which) {
      const int64_t with = WrapShl(score.at[size_t(row + Taken(which, i % n))], score_up - own_bits());
      by_row = WrapAdd(by_row, WrapMul(own[size_t(2 * h + which)], with));
    }
    for (int64_t j = 0; j < (causal ? i % n + 1 : n); ++j) {
      int64_t z = WrapShl(score.at[size_t(row + j)], score_up);
      z = WrapAdd(z, WrapAdd(offset[size_t(h)], WrapMul(by_row, -1)));
      seen.push_back(WrapAdd(z, (int64_t{1} << (window() - 1)) - top));  // the window ends at `end`
      const uint64_t place = (uint64_t(z) & ring::Mask(window())) >> shift;
      y.at[size_t(row + j)] = EntryAt(*this, place);
      if (place < uint64_t(end)) highest = std::max(highest, int64_t(place));
    }
    if (highest >= peak) c.watch.Leave(Str("head ", h, " row ", i % n).c_str(), highest, peak);
  }
  c.watch.See("score", seen);
  return y;
}

AnyWire Softmax::BuildShift(const Emission& e, const Wire<kPub>& score, const Wire<kPub>& shifts) const {
  pfss::Trace& t = e.t;
  const int64_t n = e.n, n_heads = score.shape()[0];
  const bool packed = e.Packed(causal);
  auto raised = [&](int bits) {
    return [bits, this](auto v) {
      auto u = bits > 0 ? v << bits : v;
      return Low(u, std::min(u.bits(), window()));
    };
  };
  Wire<kPub> by_row = Map(shifts, [&](auto v) {
    auto u = Permute(v, {1, 0});
    return raised(shift_up)(u);
  });  // (heads, rows)
  const Wire<kPub> all = packed && !own.empty() ? Map(score, [&](auto v) { return Unpack(v, n); }) : score;
  for (int which = 0; which < 2; ++which) {
    const Ints k = Coefficients(own, which);
    if (k.empty()) continue;
    std::vector<uint64_t> places;
    for (int64_t i = 0; i < n_heads * e.rows; ++i) places.push_back(uint64_t(Taken(which, e.from + i % e.rows)));
    const Const at = t.constant(places, {n_heads, e.rows}), times = t.constant({k.begin(), k.end()}, {n_heads, 1});
    Wire<kPub> with = Map(all, [&](auto v) {
      auto scores = Take(v, at);
      scores = raised(score_up - own_bits())(scores);
      return scores * times;
    });
    Pub hat = by_row.hat + with.hat;
    Sec r = by_row.r + with.r;
    by_row = {hat, r};
  }
  by_row = Map(by_row, [&](auto v) {
    auto column = Column(v);
    if (!packed) return column;
    return Pack(Broadcast(column, {n_heads, n, n}));
  });
  const Const place = t.constant({offset.begin(), offset.end()}, packed ? Shape{n_heads, 1} : Shape{n_heads, 1, 1});
  const Wire<kPub> z = Map(score, raised(score_up));
  Pub hat = z.hat - by_row.hat;
  hat = hat + place;
  Sec r = z.r - by_row.r;
  if (e.form == OperandForm::kSummands) {
    Summands out{compiler::EntrySummands(t, Read(ring).f.groups.at(0), {hat, r}, ring), ring, score.shape()};
    if (!packed) return out;
    out.shape = {n_heads, n, n};
    for (compiler::Factor& f : out.sum) {
      if (f.p) f.p = Unpack(*f.p, n);
      f.u = Unpack(*f.u, n);
    }
    return out;
  }
  AnyWire w = e.Open(Read(ring).Build(t, {hat, r}));
  return packed ? On(w, [&](auto v) { return Unpack(v, n); }) : w;
}

}  // namespace suf::nn
