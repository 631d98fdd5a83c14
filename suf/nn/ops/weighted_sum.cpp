#include <algorithm>
#include <cmath>
#include <numeric>

#include "suf/compiler/unopened.hpp"
#include "suf/gates/function.hpp"
#include "suf/gates/product.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/cover.hpp"
#include "suf/nn/plan/octave_tables.hpp"
#include "suf/ring/gemm.hpp"

namespace suf::nn {

namespace {

// For a predicted shift: bits between the calibrated sums and the ends of the table's fine part, below and above. The
// reciprocal keeps its bits up to kSumMargin bits above that part, whose largest sums are rare.
constexpr int kSumBelow = 4, kSumAbove = 3, kSumMargin = 1;
constexpr int kMostCap = 12;  // sums are recorded for entries cut at 1 to 2^kMostCap

double UnitAt(int bits) { return std::ldexp(1.0, bits); }

const char* const kTails[] = {"e", "payload"};

}  // namespace

RealArray WeightedSum::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  const int64_t n = c.n, rows_each = c.rows, d = heads * head_dim, cols = x[1]->cols();
  RealArray y{{rows_each, d}, Reals(size_t(rows_each * d), 0.0)};
  c.pool.For(size_t(heads), 1, [&](size_t begin, size_t end) {
    for (int64_t i = int64_t(begin) * rows_each; i < int64_t(end) * rows_each; ++i) {
      const int64_t h = i / rows_each, from = h / (heads / serving) * head_dim;
      const double* e = &x[0]->at[size_t(i * n)];
      double* row = &y.at[size_t(i % rows_each * d + h * head_dim)];
      double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += e[j];
      for (int64_t j = 0; j < n; ++j) {
        const double part = sum > 0 ? e[j] / sum : 0;
        const double* v = &x[1]->at[size_t(j * cols + from)];
        for (int64_t k = 0; k < head_dim; ++k) row[k] += part * v[k];
      }
    }
  });
  return y;
}

// Records the sums of rows whose entries are cut at 2^k, by k. The softmax's options say which k counts.
void WeightedSum::See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const {
  std::vector<SeenRange>& sums = (*seen)["row_sum"];
  sums.resize(kMostCap + 1);
  for (auto e = x[0]->at.begin(); e != x[0]->at.end(); e += c.n)
    for (int k = 0; k <= kMostCap; ++k)
      sums[size_t(k)].See(
          std::accumulate(e, e + c.n, 0.0, [&](double s, double v) { return s + std::min(v, UnitAt(k)); }));
}

void WeightedSum::Attributes(Visitor& v) {
  v.Int("heads", heads, 1, 1 << 10);
  v.Int("serving", serving, 1, 1 << 10);
  v.Int("head_dim", head_dim, 1, 1 << 14);
}

void WeightedSum::Verify(const std::string& where) const {
  Wanted(heads % serving == 0, where, "the heads of v do not divide those of the scores");
}

void WeightedSum::Choose(const Facts& c, const Edges& in) {
  row_sum = BitLength(in[0].reach.length);
  int least = in[0].scale - 1, margin = 0;  // the least sum of the table; bits by which a sum may pass its top
  floor = 0;
  top = row_sum;
  if (in[0].reach.row == 0 && c.seen) {  // under a predicted shift a sum may have any size
    const int cap = std::clamp(BitLength(in[0].reach.most()) - in[0].scale, 0, kMostCap);
    const SeenRange& sum = c.seen->at("row_sum").at(size_t(cap));
    auto bits = [&](double x) { return in[0].scale + std::log2(std::max(x, std::ldexp(1.0, -in[0].scale))); };
    least = floor = std::clamp(int(std::floor(bits(sum.low))) - kSumBelow, 1, row_sum - 1);
    top = std::clamp(int(std::ceil(bits(sum.high))) + kSumAbove, floor + 1, row_sum);
    margin = std::min(row_sum - top, kSumMargin);
  }
  const int fine = top + margin + c.options.recip_bits;
  scale = fine + in[1].scale;
  recip = Octaves([&](double v) { return std::ldexp(1.0, fine) / v; }, least, top, row_sum, c.options.recip_pieces,
                  c.options.span);
}

RowBound WeightedSum::Bound(const Facts&, const Edges& in, std::vector<Width>* widths) {
  const RowBound &e = in[0].reach, &v = in[1].reach;
  const double one = UnitAt(scale - in[1].scale), f = one * (1 + Excess(recip, [&](double x) { return one / x; }));
  widths->push_back({"row_sum", BitLength(e.length), &row_sum});
  widths->push_back({"product", RingOf(e.length * v.most()), &product, 64, false, 2});
  const int64_t d = heads * head_dim;
  RowBound r{d, f * v.most() * std::sqrt(double(d)), Reals(size_t(d), f * v.most()), {}, {}};
  if (v.images.size() == 1) {  // of one map: each head has a y of its own, in the columns that serve it
    const Image& all = v.images[0];
    for (int64_t h = 0; h < heads; ++h)
      r.images.push_back(
          {all.node, h * head_dim, head_dim, all.column + h / (heads / serving) * head_dim, all.radius * f});
    for (const Noise& x : v.noise) r.noise.push_back({x.each * f, head_dim});
  }
  return r;
}

void WeightedSum::Fields(Visitor& v) {
  v.Int("row_sum", row_sum, 1, 61);
  v.Int("product", product, 3, kRing);
  v.Int("floor", floor, 0, 61);
  v.Int("top", top, 1, 61);
  v.Octaves("recip", &recip, row_sum);
  v.Lowering("rows", &rows);
  v.Choice("tail", &tail, kTails, "has a weighted sum with the tail ");
}

std::vector<Knob> WeightedSum::Knobs() {
  std::vector<Knob> out{RowsKnob(&rows, recip, recip, row_sum)};
  // a predicted shift gives summands of e; a maximum's row sums have no floor
  if (floor > 0)
    out.push_back(
        {"tail", {std::begin(kTails), std::end(kTails)}, size_t(tail), [this](size_t i) { tail = SoftmaxTail(i); }});
  return out;
}

void WeightedSum::Check(const Edges& in, int, const std::string& where) const {
  Wanted(in[1].dim == serving * head_dim, where, "its values are not as wide as its heads");
  Wanted(!in[1].one_row, where, "its values have one row");
  Wanted(in[0].dim == heads, where, "its weights have another number of heads");
  Wanted(in[0].ring >= product && in[1].ring >= product, where, "an input's ring is narrower than its product");
  Wanted(row_sum <= product && product <= ring, where, "row_sum <= product <= ring does not hold");
  WantCover(recip, row_sum, ring, where);
  WantRows(rows, recip, row_sum, where);
  if (tail == kPayload) WantRows({compiler::Kind::kStepDcf}, recip, row_sum, where);
  Wanted(tail == kOpened || floor > 0, where, "its tail is for a predicted shift");
}

IntArray WeightedSum::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  const int64_t n = c.n, rows_each = c.rows, all = heads * rows_each, d = heads * head_dim, cols = x[1]->cols();
  IntArray y{{rows_each, d}, Ints(size_t(rows_each * d))};
  Ints sums(size_t(all), 0), mixed(size_t(all * head_dim));
  for (int64_t i = 0; i < all; ++i)
    for (int64_t j = 0; j < n; ++j) sums[size_t(i)] = WrapAdd(sums[size_t(i)], x[0]->at[size_t(i * n + j)]);
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t from = h / (heads / serving) * head_dim;
    ring::Gemm(size_t(rows_each), size_t(head_dim), size_t(n),
               reinterpret_cast<const uint64_t*>(&x[0]->at[size_t(h * rows_each * n)]), size_t(n),
               reinterpret_cast<const uint64_t*>(&x[1]->at[size_t(from)]), size_t(cols), ring::MatrixOrder::kPlain,
               reinterpret_cast<uint64_t*>(&mixed[size_t(h * rows_each * head_dim)]), size_t(head_dim), false, c.pool);
  }
  for (int64_t i = 0; i < all; ++i) {
    const int64_t sum = sums[size_t(i)], low = floor > 0 ? int64_t{1} << floor : 0, high = int64_t{1} << top;
    if (sum < low || sum >= high)
      c.watch.Leave(Str("row_sum of head ", i / rows_each, " row ", c.from + i % rows_each).c_str(), sum,
                    sum < low ? low : high);
  }
  c.watch.See("row_sum", sums);
  c.watch.See("product", mixed);
  const Ints inverse = RowOf(recip, row_sum, 64).Spec(sums, row_sum);
  for (int64_t i = 0; i < all; ++i)
    for (int64_t k = 0; k < head_dim; ++k)
      y.at[size_t(i % rows_each * d + i / rows_each * head_dim + k)] =
          WrapMul(mixed[size_t(i * head_dim + k)], inverse[size_t(i)]);
  return y;
}

AnyWire WeightedSum::Build(const Emission& emission, std::span<const AnyWire> x) const {
  pfss::Trace& t = emission.t;
  const int64_t n = emission.n, texts = emission.texts_here, rows_each = emission.rows;
  if (const auto* weights = std::get_if<Summands>(&x[0])) return BuildPayload(emission, *weights, AsProduct(x[1]));
  SharedWire<kPub> e = AsProduct(x[0]), v = AsProduct(x[1]);
  v = Map(v, [&](auto w) { return ByHeads(w, texts, serving); });
  if (v.k() > product) v = Map(v, [&](auto w) { return Low(w, product); });
  Wire<kPub> sums = Map(Wire<kPub>(e), [&](auto w) { return Low(Sum(w), row_sum); });  // (heads, rows): never opened
  if (e.k() > product) e = Map(e, [&](auto w) { return Low(w, product); });
  gates::FunctionGate inverse_of = RowOf(recip, row_sum, ring, rows);
  SharedWire<kPub> inverse = compiler::OpenShared(t, inverse_of.Build(t, sums), "recip");
  inverse = Map(inverse, [](auto w) { return Column(w); });
  // heads that read one v are rows of one product
  if (serving != heads)
    e = Map(e, [&](auto w) { return Reshape(w, {texts * serving, heads / serving * rows_each, n}); });
  compiler::OwedWord mixed = gates::MatmulProduct{false}.Build(t, e, v);
  if (serving != heads)
    mixed = compiler::Map(mixed, [&](auto w) { return Reshape(w, {texts * heads, rows_each, head_dim}); });
  Wire<kPub> ev = compiler::OpenDefined(t, mixed, "eV");  // (heads, rows, head_dim)
  compiler::WordSum y(t, ring);
  compiler::Factors value = compiler::Centred(ev);
  y.Add(value, compiler::Masked(inverse));
  return emission.Open(y.Done());  // by heads: the map that reads it joins them
}

// o = F(S) (eV_hat - r). One DCF at S's mask, whose payload is (1, r), gives shares of F(S) and F(S) r.
AnyWire WeightedSum::BuildPayload(const Emission& emission, const Summands& weights, const SharedWire<kPub>& x) const {
  pfss::Trace& t = emission.t;
  const int64_t n = emission.n, own = emission.rows, texts = emission.texts_here;
  const int64_t all_heads = texts * heads;
  compiler::Factors e = weights.sum;  // (heads, rows, n, 1)
  for (compiler::Factor& f : e) {
    if (f.p) f.p = Column(*f.p);
    f.u = Column(*f.u);
  }
  SharedWire<kPub> v = Map(x, [&](auto w) {
    auto by_head = ByHeads(w, texts, serving);
    auto one = Reshape(by_head, {texts * serving, 1, n, head_dim});
    auto all = Broadcast(one, {texts * serving, heads / serving, n, head_dim});
    auto served = Reshape(all, {all_heads, 1, n, head_dim});
    return Low(served, product);
  });
  auto total = [](compiler::WordSum& w) { return compiler::Map(w.Done(), [](auto all) { return Sum(all, 2); }); };
  compiler::WordSum s(t, row_sum), mixed(t, product);
  s.Add(e);
  mixed.Add(e, compiler::Masked(v));
  Wire<kPub> sums = compiler::OpenDefined(t, total(s), "row sum");  // (heads, rows, 1)
  Wire<kPub> ev = compiler::OpenDefined(t, total(mixed), "eV");     // (heads, rows, head_dim)
  const compiler::Factors value = compiler::Opened(ev, ring);
  std::vector<pfss::Sec> payload{Broadcast(t.constant(1), {all_heads, own, 1})};
  for (const compiler::Factor& f : value)
    for (int64_t k = 0; f.u && k < head_dim; ++k) payload.push_back(Between(Lift(*f.u), 2, k, k + 1));
  pfss::Sh shares = compiler::IntervalTimes(t, recip, sums, Stack(payload), ring);  // (payload, heads, rows, 1)
  compiler::WordSum y(t, ring);
  int64_t at = 1;
  for (const compiler::Factor& f : value) {
    pfss::Sh word = f.u ? Map(shares,
                              [&](auto w) {
                                auto words = Between(w, 0, at, at + head_dim);
                                auto last = Permute(words, {1, 2, 0, 3});
                                return Reshape(last, {all_heads, own, head_dim});
                              })
                        : At(shares, 0);
    if (f.u) at += head_dim;
    y.Add(word, f.p, f.sign, f.shift);
  }
  return emission.Open(y.Done());
}

int64_t WeightedSum::PayloadKeyBits(int64_t count, int64_t n) const {
  const int words = int(1 + head_dim * (product < ring ? 2 : 1));  // 1; of e v, r and its wrap.
  // A pair has the words that scale an entry of e, and the owed one. An entry of v has these times its mask.
  const int64_t pairs = n * 4 * product, entries = n * head_dim * 3 * product;
  return count * (pairs + entries + compiler::IntervalTimesKeyBits(row_sum, words, ring));
}

}  // namespace suf::nn
