#include "suf/gates/maximum.hpp"

#include <algorithm>

#include "suf/compiler/bits.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/relu.hpp"
#include "suf/gates/text.hpp"

namespace suf::gates {

static_assert(Gate<Maximum>);

// Returns the number of rows with this many packed pairs. RotSum refuses any other number of pairs.
static int64_t RowsOf(int64_t pairs) {
  int64_t n = 1;
  while (n * (n + 1) / 2 < pairs) ++n;
  return n;
}

Ints Maximum::Spec(const Ints& x, int k, int64_t row) const {
  Ints out;
  for (size_t i = 0, r = 0; i < x.size(); ++r) {
    int64_t m = floor;
    for (size_t end = i + (causal ? r % size_t(row) + 1 : size_t(row)); i < end; ++i)
      m = std::max(m, int64_t(Word(x[i], k)));
    out.push_back(Number(uint64_t(m), k));
  }
  return out;
}

OwedWord Maximum::Build(Trace& t, const Wire<kPub>& x) const {
  SUF_CHECK(0 <= floor && x.k() <= 62 && floor < (int64_t{1} << x.k()) - 1);
  return form == MaximumForm::kHistogram ? Histogram(t, x) : Tournament(t, x);
}

OwedWord Maximum::Histogram(Trace& t, const Wire<kPub>& x) const {
  int k = x.k();
  int64_t levels = int64_t{1} << k, columns = levels - 1 - floor;
  const int64_t last = x.shape().back(), row = causal ? RowsOf(last) : last;
  SUF_CHECK(row < int64_t{1} << count_bits);
  pfss::Sec unit = Unit(x.r, levels);
  Sh units = t.deal(unit, count_bits);
  // (.., levels), or (.., n, levels): the number of x_j = level
  Sh histogram = pfss::Map(units, [&](auto v) { return causal ? RotSum(v, x.hat, row) : RotSum(v, x.hat); });
  Sh at_least = Suffix(histogram);
  Sh counts = Between(at_least, -1, floor + 1, levels);
  Wire<kPub> count = t.open(counts, "column counts");
  pfss::Sec zero = Unit(count.r, int64_t{1} << count_bits);
  Sh zeros = t.deal(zero, k);
  Sh empty = pfss::Map(zeros, [&](auto v) { return Take(v, count.hat); });  // 1[count = 0]
  Sh sum = Sum(empty);
  return {-sum + (floor + columns), std::nullopt};
}

// Returns max(x, y) = y + max(x - y, 0) in Z_{2^ring}, of wires of k + 1 bits with numbers of k bits. Without a wire y,
// it is the public `number`.
static OwedWord Larger(Trace& t, const Wire<kPub>& x, const std::optional<Wire<kPub>>& y, int64_t number, int ring,
                       const Relu& gate) {
  Pub hat = y ? x.hat - y->hat : x.hat - number;
  pfss::Sec r = y ? x.r - y->r : x.r;
  OwedWord over = gate.Build(t, Wire<kPub>{hat, r});
  if (!y) return {over.y + number, over.owed};
  compiler::WordSum sum(t, ring);
  sum.Add(over.y);
  Pub whole = Lift(y->hat);
  sum.Add({1, 0, whole, {}, {}});
  sum.Add({-1, 0, {}, Lift(y->r), {}});
  return sum.Done();
}

// Returns a constant function of k bits, for a reader of 1[x_hat < r] alone.
static compiler::CompiledFunction Whole(int k) {
  return compiler::Compile(
      func::Parse(Str("suf whole domain ", k, " ring 1 outputs 1 degree 0\npiece 0 : 1\nend ", PowerText(k), "\n")));
}

OwedWord Maximum::Tournament(Trace& t, const Wire<kPub>& x) const {
  const int k = x.k(), wide = k + 1;  // differences have a sign
  const compiler::Lowering open{compiler::Kind::kOpenSteps, steps, Stages::kOne};
  const int64_t last = x.shape().back(), n = causal ? RowsOf(last) : last;
  pfss::Shape rows(x.shape().begin(), x.shape().end() - 1);
  if (causal) rows.push_back(n);

  // x in k + 1 bits is x_hat - r + 2^k 1[x_hat < r]; the last summand needs a bit that is shared modulo 2
  const compiler::CompiledFunction whole = Whole(k);
  compiler::WordSum sum(t, n == 1 && floor == 0 ? k : wide);
  if (n > 1 || floor > 0) {
    compiler::WireBits reader(t, x, whole, steps, {}, true);
    Sh wraps = reader.ReadString({}, true).y;
    sum.Add(pfss::Map(wraps, [](auto bit) { return Low(Lift(bit), 1); }), std::nullopt, 1, k);
  }
  Pub hat = Lift(x.hat);
  pfss::Sec r = Lift(x.r);
  sum.Add({1, 0, hat, {}, {}});
  sum.Add({-1, 0, {}, r, {}});
  OwedWord best = sum.Done();
  int64_t length = n;
  auto row = [&](auto v) { return Reshape(v, rows); };
  if (length == 1 && floor == 0) return Map(best, row);
  Wire<kPub> w = compiler::OpenDefined(t, best, "wide");
  if (causal) w = pfss::Map(w, [&](auto v) { return Unpack(v, n); });
  while (length > 1) {
    const int64_t half = (length + 1) / 2;  // in an odd row the middle is compared with itself
    const int ring = half == 1 && floor == 0 ? k : wide;
    Wire<kPub> left = pfss::Map(w, [&](auto v) { return Between(v, -1, 0, half); });
    Wire<kPub> right = pfss::Map(w, [&](auto v) { return Between(v, -1, length - half, length); });
    best = Larger(t, left, right, 0, ring, Relu{ring, open});
    length = half;
    if (length > 1 || floor > 0) w = compiler::OpenDefined(t, best, "larger");
  }
  if (floor > 0) best = Larger(t, w, std::nullopt, floor, k, Relu{k, open});
  return Map(best, row);
}

int64_t Maximum::KeyBits(int k, int64_t row) const {
  const int64_t numbers = causal ? row * (row + 1) / 2 : row, rows = causal ? row : 1;
  if (form == MaximumForm::kHistogram) {
    int64_t columns = (int64_t{1} << k) - 1 - floor;
    return (numbers * count_bits << k) + (rows * columns * k << count_bits);
  }
  if (row == 1 && floor == 0) return k;
  // A comparison has a view of k bits and three words. The words have k bits in the last one, and k + 1 before.
  const int64_t words = 3, view = Relu{k, {compiler::Kind::kOpenSteps, steps, Stages::kOne}}.KeyBits(k + 1) - words * k;
  int64_t bits = numbers * view, compared = 0;
  for (int64_t length = row; length > 1; length = (length + 1) / 2) compared += (length + 1) / 2;
  if (floor > 0) ++compared;
  bits += rows * (compared * (view + words * (k + 1)) - words);
  return bits + (floor > 0 ? 0 : rows * k);  // a comparison with the floor owes nothing
}

}  // namespace suf::gates
