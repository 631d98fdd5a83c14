#include "suf/nn/build.hpp"

#include "suf/nn/layers.hpp"

namespace suf::nn {

namespace {

using compiler::OpenShared;
using compiler::Stages;

Known0 BuildLayer(Trace& t, const Dims& dims, const Layer& y, int index, Known0 n) {
  std::string prefix = std::to_string(index) + ".", scope = std::to_string(index) + "/";
  t.scope(scope + "attention");
  Known0 o = Attention(t, dims, y, prefix, n);
  t.scope(scope + "proj");
  Wire<kPub> z = AddResidual(t, {"o", dims.d, y.proj, y.diag_o, y.mean_o, y.bias_o, "z_proj"}, prefix, o, n);
  t.scope(scope + "norm1");
  n = OpenShared<kP0>(t, Normalise(t, z, y.attention, Stages::kTwo), "normalised");
  t.scope(scope + "gelu");
  Known0 h = FeedForward(t, dims, y, prefix, n);
  t.scope(scope + "ffn2");
  z = AddResidual(t, {"2", dims.ff, y.ffn2, y.diag_2, y.mean_2, 0, "z_ffn2"}, prefix, h, n);
  t.scope(scope + "norm2");
  return OpenShared<kP0>(t, Normalise(t, z, y.output, Stages::kTwo), "normalised");
}

}  // namespace

void Build(Trace& t, const Plan& plan, int n) {
  const Class& c = plan.For(n);
  t.scope("embed");
  Wire<kPub> z = Embed(t, plan.dims, n);
  Known0 x = OpenShared<kP0>(t, Normalise(t, z, c.embedding, Stages::kTwo), "normalised");
  for (size_t l = 0; l < c.layers.size(); ++l) x = BuildLayer(t, plan.dims, c.layers[l], int(l), x);
  t.scope("pool");
  z = Pool(t, x, c.pool);
  // one row: a flight is worth more than the words of the one-stage rescale
  Owing y = Normalise(t, z, c.result, Stages::kOne);
  t.reveal<1>(compiler::Settle(t, y));
  t.close();
}

}  // namespace suf::nn
