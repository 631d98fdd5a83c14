#include "suf/nn/ops/lookup.hpp"

#include <algorithm>
#include <cmath>

#include "suf/nn/ops/linear.hpp"

namespace suf::nn {

void RefuseId(size_t place, std::string_view id, int64_t vocabulary) {
  Fail(Cause::kInput, "token ", place + 1, " has the id ", id, ", and the vocabulary has the ids 0 to ", vocabulary - 1,
       "; use the tokenizer of the plan's model");
}

void CheckIds(std::span<const int32_t> ids, int64_t vocabulary) {
  bool outside = false;
  for (int32_t id : ids) outside |= (id < 0) | (id >= vocabulary);
  for (size_t i = 0; outside && i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocabulary) RefuseId(i, std::to_string(ids[i]), vocabulary);
}

void CheckBatch(int64_t texts, int most) {
  if (texts < 1 || texts > most)
    Fail(Cause::kInput, "a batch of ", texts, " texts is outside 1 to ", most, "; run several batches");
}

void CheckLengthInBatch(size_t i, size_t tokens, size_t first) {
  if (tokens != first)
    Fail(Cause::kInput, "text ", i + 1, " of the batch has ", tokens, " tokens and text 1 has ", first,
         "; batch texts of one length");
}

namespace {

void CheckPositions(const Expr& positions, int n) {
  if (positions && n > positions.shape()[0])
    Fail(Cause::kInput, "texts of ", n, " tokens are over the model's ", positions.shape()[0],
         " positions; lower the limit");
}

}  // namespace

RealArray Lookup::Float(const RealCall& c, std::span<const RealArray* const>) const {
  CheckIds(c.ids, table.shape()[0]);
  CheckPositions(positions, c.n);
  const Reals& words = c.value(table);
  const int64_t d = table.cols();
  RealArray y{{c.rows, d}, {}};
  for (int32_t id : c.ids.subspan(size_t(c.from), size_t(c.rows)))
    y.at.insert(y.at.end(), words.begin() + id * d, words.begin() + (id + 1) * d);
  if (positions) {
    const Reals& p = c.value(positions);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] += p[size_t(c.from * d) + i];
  }
  return y;
}

void Lookup::Attributes(Visitor& v) {
  v.Weight("table", &table, false);
  v.Weight("positions", &positions, true);
}

void Lookup::Choose(const Facts& c, const Edges&) {
  CheckPositions(positions, c.n);
  scale = c.options.embedding - c.lower;
  ring = kRingBits;
}

void Lookup::Check(const Edges&, int max_n, const std::string& where) const {
  Wanted(table.shape().size() == 2, where, "its table is no matrix");
  if (!positions) return;
  Wanted(positions.shape().size() == 2 && positions.cols() == table.cols(), where,
         "its positions are not as wide as its table");
  Wanted(positions.shape()[0] >= max_n, where, "it has too few positions");
}

std::vector<WeightSlot> Lookup::Slots() const {
  std::vector<WeightSlot> s{{"table", table, scale}};
  if (positions) s.push_back({"positions", positions, scale, false, WeightSlot::kRows});
  return s;
}

namespace {

// The least and the largest number of every column, and the length of the longest row.
struct Spread {
  Reals low, high;
  double longest = 0;
};
Spread SpreadOf(const Tensor& t, int64_t rows) {
  const int64_t d = t.cols();
  Spread s{Reals(size_t(d), 1e300), Reals(size_t(d), -1e300), 0};
  t.Visit([&](const auto* p) {
    for (int64_t i = 0; i < rows; ++i) {
      double square = 0;
      for (int64_t j = 0; j < d; ++j) {
        double x = double(p[i * d + j]);
        s.low[size_t(j)] = std::min(s.low[size_t(j)], x);
        s.high[size_t(j)] = std::max(s.high[size_t(j)], x);
        square += x * x;
      }
      s.longest = std::max(s.longest, std::sqrt(square));
    }
  });
  return s;
}

}  // namespace

RowBound Lookup::Bound(const Facts& c, const Edges&, std::vector<Width>*) {
  const size_t d = size_t(table.cols());
  Spread a = SpreadOf(c.weights->At("table"), table.shape()[0]), b{Reals(d, 0.0), Reals(d, 0.0), 0};
  if (positions) b = SpreadOf(c.weights->At("positions"), c.n);
  RowBound r{int64_t(d), 0, Reals(d), {}, {}};
  for (size_t j = 0; j < d; ++j) r.each[j] = std::max(a.high[j] + b.high[j], -(a.low[j] + b.low[j]));
  r.length = std::min(a.longest + b.longest, Length(r.each));
  return r;
}

IntArray Lookup::Spec(const IntCall& c, std::span<const IntArray* const>) const {
  CheckIds(c.ids, table.shape()[0]);
  IntArray y{{c.rows, table.cols()}, {}};
  for (int i = c.from; i < c.from + c.rows; ++i) {
    Ints row = c.weight("table").Row(c.ids[size_t(i)]);
    if (positions) {
      Ints p = c.weight("positions").Row(i);
      for (size_t j = 0; j < row.size(); ++j) row[j] += p[j];
    }
    y.at.insert(y.at.end(), row.begin(), row.end());
  }
  return y;
}

AnyWire Lookup::Build(const Emission& e, std::span<const AnyWire>) const {
  std::vector<WeightSlot> slots = Slots();
  pfss::Own<1> tokens = e.t.input<pfss::kP1>(kTokensInput, {int64_t{e.n} * e.texts}, 64, 0);
  if (e.texts_here < e.texts)
    tokens = Between(tokens, 0, int64_t{e.first_text} * e.n, int64_t{e.first_text + e.texts_here} * e.n);
  if (e.rows < e.n) tokens = RowsOfTexts(tokens, e.texts_here, e.from, e.rows);
  tokens = Wait(tokens, e.wait);
  pfss::Own<1> rows = Unit(tokens, table.shape()[0]);
  SharedWire<kPub> x = e.t.give<1>(rows, ring, "masked one-hot");  // (rows, vocabulary)
  Private w = e.Masked(slots[0], table.shape());
  Linear z(ring);
  z.Add(x, w, [](auto a, auto b) { return Matmul(a, b); });
  if (positions) {
    pfss::Own<0> place = e.Plain(slots[1], {e.n, table.cols()});
    if (e.rows < e.n) place = Between(place, 0, e.from, e.from + e.rows);
    z.Bias(ForTexts(place, e.texts_here), 0);
  }
  return e.Open(z.Done());
}

}  // namespace suf::nn
