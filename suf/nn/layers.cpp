#include "suf/nn/layers.hpp"

#include "suf/gates/tables.hpp"

namespace suf::nn {

namespace {

constexpr auto kMatmul = [](auto x, auto w) { return Matmul(x, w); };

}  // namespace

Wire<kPub> Embed(Trace& t, const Dims& dims, int n) {
  Own<1> tokens = t.input<pfss::kP1>("tokens", {n}, 64, 0);
  Own<1> rows = Unit(tokens, dims.vocab);
  SharedWire<kPub> x = t.give<1>(rows, 16, "masked one-hot");  // (n, vocab)
  Private table = PrivateInput(t, "E", {dims.vocab, dims.d});
  Linear z(t, 16);
  z.Add(x, table, kMatmul);
  z.Bias("pos", {n, dims.d});
  return z.Open("z_embed");
}

Known0 FeedForward(Trace& t, const Dims& dims, const Layer& y, const std::string& prefix, const Known0& x) {
  Private w = PrivateInput(t, prefix + "W1", {dims.d, dims.ff});
  Linear z(t, y.ffn1);
  z.Add(Map(x, [&](auto v) { return Low(v, y.ffn1); }), w, kMatmul);
  z.Bias(prefix + "b1", {dims.ff});
  Wire<kPub> wire = z.Open("z_ffn1");
  func::Suf gelu = func::Uniform("gelu", y.piece_width, y.gelu_a, y.gelu_b, 64);
  gates::Activation gate{{gelu, y.shift_ffn1, y.gelu_u, y.gelu_v, y.ffn2, compiler::Stages::kOne}};
  return compiler::OpenShared<kP0>(t, gate.Build(t, wire), "gelu");
}

Wire<kPub> AddResidual(Trace& t, const Residual& r, const std::string& prefix, const Known0& o, const Known0& n) {
  int64_t d = n.shape()[1];
  Private w = PrivateInput(t, prefix + "W" + r.suffix, {r.inner, d});
  Private gamma = PrivateInput(t, prefix + "g" + r.suffix, {d});
  Private mean = PrivateInput(t, prefix + "u" + r.suffix, {d});
  Linear z(t, r.ring);
  z.Add(o, w, kMatmul);
  z.Add(n, gamma, [&](auto x, auto g) { return x * g << r.diag; });
  z.Add(n, mean, [&](auto x, auto u) {
    auto dot = Sum(x * u);
    auto column = Column(dot << (r.diag - r.mean));
    return -column;
  });
  z.Bias(prefix + "b" + r.suffix, {d}, r.bias);
  return z.Open(r.label);
}

Wire<kPub> Pool(Trace& t, const Known0& x, int ring) {
  int64_t d = x.shape()[1];
  Known0 sum = Map(x, [&](auto v) {
    auto s = Low(Sum(v, 0), ring);
    return Reshape(s, {1, d});
  });
  Private gamma = PrivateInput(t, "gp", {d});
  Linear z(t, ring);
  z.Add(sum, gamma, [](auto v, auto g) { return v * g; });
  z.Bias("bp", {d});
  return z.Open("z_pool");
}

}  // namespace suf::nn
