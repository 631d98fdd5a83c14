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

constexpr int kMostTypes = 16;

}  // namespace

RealArray Lookup::Float(const RealCall& c, std::span<const RealArray* const>) const {
  CheckIds(c.ids, ids());
  CheckLength(Longest(), c.n);
  const Reals& all = c.value(table);
  const int64_t d = table.cols(), count = words();
  RealArray y{{c.rows, d}, {}};
  for (int32_t id : c.ids.subspan(size_t(c.from), size_t(c.rows))) {
    const auto row = all.begin() + id % count * d, type = all.begin() + (count + id / count) * d;
    y.at.insert(y.at.end(), row, row + d);
    for (int64_t j = 0; types && j < d; ++j) y.at[y.at.size() - size_t(d - j)] += type[j];
  }
  if (positions) {
    const Reals& p = c.value(positions);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] += p[size_t(c.from * d) + i];
  }
  return y;
}

void Lookup::Attributes(Visitor& v) {
  v.Weight("table", &table, false);
  v.Weight("positions", &positions, true);
  v.Int("types", types, 0, kMostTypes);
  v.Flag("known", &known);
}

void Lookup::Choose(const Facts& c, const Edges&) {
  CheckLength(Longest(), c.n);
  scale = c.options.embedding - c.lower;
  ring = kRingBits;
}

void Lookup::Check(const Edges&, int max_n, const std::string& where) const {
  Wanted(table.shape().size() == 2, where, "its table is no matrix");
  Wanted(words() >= 1, where, "its table has no row besides those of types");
  Wanted(ids() <= INT32_MAX, where, "its table has too many rows");
  if (!positions) return;
  Wanted(positions.shape().size() == 2 && positions.cols() == table.cols(), where,
         "its positions are not as wide as its table");
  Wanted(positions.shape()[0] >= max_n, where, "it has too few positions");
}

std::vector<WeightSlot> Lookup::Slots() const {
  std::vector<WeightSlot> s{TableSlot()};
  if (positions) s.push_back({"positions", positions, scale, false, WeightSlot::kRows});
  return s;
}

namespace {

// The least and the largest number of every column, and the length of the longest row, of rows [begin, end).
struct Spread {
  Reals low, high;
  double longest = 0;
};
Spread SpreadOf(const Tensor& t, int64_t begin, int64_t end) {
  const int64_t d = t.cols();
  Spread s{Reals(size_t(d), 1e300), Reals(size_t(d), -1e300), 0};
  t.Visit([&](const auto* p) {
    for (int64_t i = begin; i < end; ++i) {
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
  const Tensor& rows = c.weights->At("table");
  std::vector<Spread> parts{SpreadOf(rows, 0, words())};
  if (types) parts.push_back(SpreadOf(rows, words(), words() + types));
  if (positions) parts.push_back(SpreadOf(c.weights->At("positions"), 0, c.n));
  RowBound r{int64_t(d), 0, Reals(d), {}, {}};
  double longest = 0;
  for (const Spread& s : parts) longest += s.longest;
  for (size_t j = 0; j < d; ++j) {
    double low = 0, high = 0;
    for (const Spread& s : parts) {
      low += s.low[j];
      high += s.high[j];
    }
    r.each[j] = std::max(high, -low);
  }
  r.length = std::min(longest, Length(r.each));
  return r;
}

IntArray Lookup::Spec(const IntCall& c, std::span<const IntArray* const>) const {
  CheckIds(c.ids, ids());
  IntArray y{{c.rows, table.cols()}, {}};
  for (int i = c.from; i < c.from + c.rows; ++i) {
    const int64_t id = c.ids[size_t(i)];
    Ints row = c.weight("table").Row(id % words());
    const auto add = [&](const Ints& other) {
      for (size_t j = 0; j < row.size(); ++j) row[j] += other[j];
    };
    if (types) add(c.weight("table").Row(words() + id / words()));
    if (positions) add(c.weight("positions").Row(i));
    y.at.insert(y.at.end(), row.begin(), row.end());
  }
  return y;
}

AnyWire Lookup::Build(const Emission& e, std::span<const AnyWire>) const {
  std::vector<WeightSlot> slots = Slots();
  // Returns these rows of an input of P1 with `each` numbers for each token, or one.
  const auto input = [&](const char* name, std::optional<int64_t> each) {
    Shape shape{int64_t{e.n} * e.texts};
    if (each) shape.push_back(*each);
    pfss::Own<1> at = e.t.input<pfss::kP1>(name, shape, 64, 0);
    if (e.texts_here < e.texts)
      at = Between(at, 0, int64_t{e.first_text} * e.n, int64_t{e.first_text + e.texts_here} * e.n);
    if (e.rows < e.n) at = RowsOfTexts(at, e.texts_here, e.from, e.rows);
    return Wait(at, e.wait);
  };
  // Returns P0's rows of positions, of every text.
  const auto places = [&] {
    pfss::Own<0> place = e.Plain(slots[1], {e.n, table.cols()});
    if (e.rows < e.n) place = Between(place, 0, e.from, e.from + e.rows);
    return ForTexts(place, e.texts_here);
  };
  if (known) {
    const pfss::Own<1> rows = Low(input(kRowsInput, table.cols()), ring);
    pfss::Sh y = compiler::Zeros(e.t, rows.shape(), ring);
    if (positions) y.a = Low(places(), ring);
    y.b = rows;
    return e.Open({y, std::nullopt});
  }
  pfss::Own<1> rows = Unit(input(kTokensInput, {}), words());
  if (types) rows = Concat(std::vector{rows, Unit(input(kTypesInput, {}), types)}, 1);
  SharedWire<kPub> x = e.t.give<1>(rows, ring, "masked one-hot");  // (rows, vocabulary)
  Private w = e.Masked(slots[0], table.shape());
  Linear z(ring);
  z.Add(x, w, [](auto a, auto b) { return Matmul(a, b); });
  if (positions) z.Bias(places(), 0);
  return e.Open(z.Done());
}

}  // namespace suf::nn
