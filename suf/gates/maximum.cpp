#include "suf/gates/maximum.hpp"

#include <algorithm>

namespace suf::gates {

static_assert(Gate<Maximum>);

// RowsOf: of so many packed pairs; what is no such number is refused when the pairs are summed.
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

Owing Maximum::Build(Trace& t, const Wire<kPub>& x) const {
  int k = x.k();
  int64_t levels = int64_t{1} << k, columns = levels - 1 - floor;
  const int64_t last = x.shape().back(), row = causal ? RowsOf(last) : last;
  SUF_CHECK(0 <= floor && columns >= 1 && row < int64_t{1} << count_bits);
  pfss::Sec unit = Unit(x.r, levels);
  Sh units = t.deal(unit, count_bits);
  // (.., levels), or (.., n, levels): how many x_j = level
  Sh histogram = pfss::Map(units, [&](auto v) { return causal ? RotSum(v, x.hat, row) : RotSum(v, x.hat); });
  Sh at_least = Suffix(histogram);
  Sh counts = Slice(at_least, -1, floor + 1, levels);
  Wire<kPub> count = t.open(counts, "column counts");
  pfss::Sec zero = Unit(count.r, int64_t{1} << count_bits);
  Sh zeros = t.deal(zero, k);
  Sh empty = pfss::Map(zeros, [&](auto v) { return Take(v, count.hat); });  // 1[count = 0]
  Sh sum = Sum(empty);
  return {-sum + (floor + columns), std::nullopt};
}

int64_t Maximum::KeyBits(int k, int64_t row) const {
  int64_t columns = (int64_t{1} << k) - 1 - floor;
  const int64_t numbers = causal ? row * (row + 1) / 2 : row, rows = causal ? row : 1;
  return (numbers * count_bits << k) + (rows * columns * k << count_bits);
}

}  // namespace suf::gates
