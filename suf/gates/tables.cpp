#include "suf/gates/tables.hpp"

#include <algorithm>
#include <bit>

namespace suf::gates {

static_assert(Gate<Activation> && Gate<ExpPair> && Gate<RowFunction>);

Ints Activation::Spec(const Ints& z, int k) const {
  int s = lut.shift;
  const func::Evaluator f(lut.f);
  Ints out;
  out.reserve(z.size());
  for (int64_t v : z) {
    uint64_t x = Word(int64_t(uint64_t(v) + (uint64_t{1} << (s - 1)) + (uint64_t{1} << (k - 1))), k) >> s;
    out.push_back(Number(f.At(x), std::min(lut.ring, lut.f.ring)));
  }
  return out;
}

Ints ExpPair::Spec(const Ints& i, const Ints& j) const {
  Ints out;
  for (size_t n = 0; n < i.size(); ++n) {
    uint64_t a = uint64_t(hi[Word(i[n], std::countr_zero(hi.size()))]),
             b = uint64_t(lo[Word(j[n], std::countr_zero(lo.size()))]);
    out.push_back(Number(a * b, ring));
  }
  return out;
}

Owing ExpPair::Build(Trace& t, const Wire<kPub>& i, const Wire<kPub>& j) const {
  struct Read {
    compiler::Factors value;
    pfss::Sec sign;
  };
  auto read = [&t](const Wire<kPub>& at, const Ints& table, int bits, const char* label) -> Read {
    pfss::Const c = t.constant(std::vector<uint64_t>(table.begin(), table.end()), {1, int64_t(table.size())});
    compiler::Reading r = compiler::ReadTables(t, at, c);
    Sh one = At(r.values, 0);
    Wire<kPub> w = t.open(Low(one, bits), label);
    return {compiler::Signed(w), r.sign};
  };
  Read low = read(j, lo, lo_bits, "Elo");
  Read high = read(i, hi, hi_bits, "Ehi");
  compiler::Factor sign{1, 0, {}, high.sign * low.sign, {}};
  compiler::Words e(t, ring);
  e.Add(high.value, low.value, sign);
  return e.Done();
}

int64_t ExpPair::KeyBits() const {
  int64_t bits = int64_t(hi.size() + lo.size());
  // e times: 1, r', b', r, r r', r b', b, b r', b b'
  for (int x : {0, 0, hi_bits})
    for (int y : {0, 0, lo_bits}) bits += std::max(0, ring - x - y);
  return bits;
}

Ints RowFunction::Spec(const Ints& x, int k) const {
  const func::Evaluator f(groups, k, ring);
  Ints out;
  out.reserve(x.size());
  for (int64_t v : x) out.push_back(Number(f.At(Word(v, k)), ring));
  return out;
}

}  // namespace suf::gates
