#include "suf/gates/maximum.hpp"

#include <algorithm>

namespace suf::gates {

static_assert(Gate<Maximum>);

Ints Maximum::Spec(const Ints& x, int k, int64_t row) const {
  Ints out;
  for (size_t i = 0; i < x.size(); i += size_t(row)) {
    int64_t m = floor;
    for (size_t j = i; j < i + size_t(row); ++j) m = std::max(m, int64_t(Word(x[j], k)));
    out.push_back(Number(uint64_t(m), k));
  }
  return out;
}

Owing Maximum::Build(Trace& t, const Wire<kPub>& x) const {
  int k = x.k();
  int64_t levels = int64_t{1} << k, columns = levels - 1 - floor;
  SUF_CHECK(0 <= floor && columns >= 1 && x.shape().back() < int64_t{1} << count_bits);
  pfss::Sec unit = Unit(x.r, levels);
  Sh units = t.deal(unit, count_bits);
  Sh histogram = pfss::Map(units, [&](auto v) { return RotSum(v, x.hat); });  // (.., levels): how many x_j = level
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
  return (row * count_bits << k) + (columns * k << count_bits);
}

}  // namespace suf::gates
