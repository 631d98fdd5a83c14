#include "suf/gates/maximum.hpp"
#include "suf/gates/product.hpp"
#include "suf/gates/tables.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/nn/layers.hpp"

namespace suf::nn {

namespace {

using compiler::OpenDefined;
using compiler::OpenShared;
using compiler::Stages;

// A projection of x, rescaled exactly into the ring of the product that reads it: (n, d) -> (n, out).
SharedWire<kPub> Projection(Trace& t, const Known0& x, const std::string& weight, const std::string& bias, int64_t out,
                            int ring, gates::Trunc rescale, const char* label) {
  Private w = PrivateInput(t, weight, {x.shape()[1], out});
  Linear z(t, ring);
  z.Add(Map(x, [&](auto v) { return Low(v, ring); }), w, [](auto a, auto b) { return Matmul(a, b); });
  if (!bias.empty()) z.Bias(bias, {out});
  Wire<kPub> wire = z.Open(label);
  return OpenShared(t, rescale.Build(t, wire), label);
}

// Slices of the scores: the low digit and the level (heads, n, n).
struct Scores {
  Wire<kPub> low, level;
};
Scores SliceScores(Trace& t, const Wire<kPub>& z, const Layer& y) {
  int s = y.shift_score, top = s + y.low;
  std::vector<compiler::Cut> cuts{{s, y.low}, {top, y.level}};
  std::vector<uint64_t> offset;
  for (int64_t v : y.offset) offset.push_back(uint64_t(v) + (uint64_t{1} << (s - 1)));
  pfss::Const window = t.constant(offset, {int64_t(offset.size()), 1, 1});
  compiler::OpenedDigits d(t, z, window, compiler::PlanDigits(cuts, Stages::kOne));
  compiler::Borrow below(d, s, Stages::kOne), above(d, top, Stages::kOne);
  Wire<kPub> low = OpenDefined(t, compiler::Slice(d, s, top, y.low, &below, nullptr), "low digit");
  Wire<kPub> level = OpenDefined(t, compiler::Slice(d, top, y.score, y.level, &above, nullptr), "level");
  return {low, level};
}

// Unnormalised softmax: exp(score - about the row's maximum), (heads, n, n) in Z_{2^ev}.
SharedWire<kPub> Exponentials(Trace& t, const Scores& s, const Layer& y) {
  gates::Maximum maximum{y.floor, y.count_bits};
  Wire<kPub> m = OpenDefined(t, maximum.Build(t, s.level), "maximum");  // (heads, n)
  m = Map(m, [](auto v) { return Column(v); });
  Pub hat = m.hat - s.level.hat;
  Sec r = m.r - s.level.r;
  gates::ExpPair exp{y.ehi, y.elo, y.ehi_bits, y.elo_bits, y.ev};
  return OpenShared(t, exp.Build(t, {hat, r}, s.low), "e");
}

}  // namespace

Known0 Attention(Trace& t, const Dims& dims, const Layer& y, const std::string& prefix, const Known0& x) {
  int64_t n = x.shape()[0], d = dims.d, heads = dims.heads;
  auto split = [&](auto v) {
    auto u = Reshape(v, {n, heads, d / heads});
    return Permute(u, {1, 0, 2});
  };
  SharedWire<kPub> qk =
      Projection(t, x, prefix + "Wqk", prefix + "bqk", 2 * d, y.qk, {y.shift_qk, y.score, Stages::kOne}, "q,k");
  SharedWire<kPub> q = Map(qk, [&](auto v) { return split(Slice(v, 1, 0, d)); });
  SharedWire<kPub> k = Map(qk, [&](auto v) { return split(Slice(v, 1, d, 2 * d)); });
  SharedWire<kPub> v = Projection(t, x, prefix + "Wv", "", d, y.v, {y.shift_v, y.ev, Stages::kOne}, "v");
  v = Map(v, split);
  Wire<kPub> score = OpenDefined(t, gates::MatmulProduct{true}.Build(t, q, k), "scores");  // (heads, n, n)
  SharedWire<kPub> e = Exponentials(t, SliceScores(t, score, y), y);

  int wide = y.shift_o > 0 ? y.o : y.proj;
  Wire<kPub> sums = Map(Wire<kPub>(e), [&](auto w) { return Low(Sum(w), y.row_sum); });  // (heads, n): never opened
  gates::RowFunction recip{y.recip, wide};
  SharedWire<kPub> inverse = OpenShared(t, recip.Build(t, sums), "recip");
  inverse = Map(inverse, [](auto w) { return Column(w); });
  Wire<kPub> ev = OpenDefined(t, gates::MatmulProduct{false}.Build(t, e, v), "eV");  // (heads, n, d / heads)
  compiler::Words o(t, wide);
  compiler::Factors value = compiler::Signed(ev);
  o.Add(value, compiler::Masked(inverse));
  Owing scaled = o.Done();
  auto join = [&](auto w) {
    auto u = Permute(w, {1, 0, 2});
    return Reshape(u, {n, d});
  };
  if (y.shift_o == 0) return Map(OpenShared<kP0>(t, scaled, "eV*recip"), join);
  Wire<kPub> full = OpenDefined(t, scaled, "eV*recip");
  gates::Trunc rescale{y.shift_o, y.proj, Stages::kOne};
  return Map(OpenShared<kP0>(t, rescale.Build(t, full), "o"), join);
}

}  // namespace suf::nn
