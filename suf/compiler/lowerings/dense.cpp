// Dense forms: the whole truth table of a small domain (docs/mathematics.md#dense). For numbers the table is rotated by
// r and dealt. For bits one one-hot vector at r selects from the tables of all channels, combined by exclusive or.
#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/place.hpp"

namespace suf::compiler::internal {

std::vector<OwedWord> DenseNumbers(Trace& t, const CompiledFunction& c, const Wire<kPub>& x, int ring) {
  const func::Evaluator f(c.f);
  std::vector<OwedWord> out;
  for (int o = 0; o < c.f.outputs; ++o) {
    std::vector<uint64_t> values;
    for (uint64_t v = 0; v < uint64_t{1} << c.f.n; ++v) values.push_back(f.At(v, o));
    Const table = t.constant(std::move(values), {int64_t{1} << c.f.n});
    Dealt turned = t.deal(pfss::Turn(x.r, table), ring);
    out.push_back({pfss::Map(Sh(turned), [&](auto half) { return Take(half, x.hat); }), std::nullopt});
  }
  return out;
}

Sh DenseBits(Trace& t, const CompiledFunction& c, const Wire<kPub>& x) {
  const func::Evaluator f(c.f);
  std::vector<uint64_t> values;
  for (uint64_t v = 0; v < uint64_t{1} << c.f.n; ++v) values.push_back(f.Bits(v));
  Const table = t.constant(std::move(values), {int64_t{1} << c.f.n});
  const int bits = int(c.f.formulas.size());
  if (c.f.n > kTableBits) return t.dense(t.tree(x.r), x.hat, table, bits);
  Dealt hot = t.deal(Hot(x.r));
  return pfss::Map(Sh(hot), [&](auto half) { return Dense(half, x.hat, table, bits); });
}

}  // namespace suf::compiler::internal
