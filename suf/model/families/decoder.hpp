// Decoders with Llama's layers (Touvron et al. 2023): pre-LN with RMSNorm, rotary positions, grouped queries and a
// gated activation. A family names the tensors and ends the graph.
#pragma once
#include "suf/model/families/blocks.hpp"
#include "suf/model/internal/config.hpp"

namespace suf::model {

struct DecoderShape {
  int64_t d = 0, heads = 0, serving = 0, head_dim = 0, ff = 0, vocab = 0, layers = 0;
  double eps = 0, theta = 0;
  std::string activation;
};

// Reads the base of rotary angles. Files of transformers 5 have it inside rope_parameters.
inline double RotaryBase(const Fields& f, double absent) {
  constexpr double kLeast = 2, kMost = 1e9;
  if (f.Has("rope_scaling")) f.Must("rope_scaling", nullptr, nullptr);
  if (f.Has("partial_rotary_factor")) f.Must("partial_rotary_factor", nullptr, 1);
  if (!f.Has("rope_parameters")) return f.Number("rope_theta", kLeast, kMost, absent);
  const Fields rope = f.Object("rope_parameters", "an object");
  rope.Must("rope_type", "default", "default");
  if (rope.Has("partial_rotary_factor")) rope.Must("partial_rotary_factor", nullptr, 1);
  rope.Only({"rope_type", "rope_theta", "partial_rotary_factor"});
  const double theta = rope.Number("rope_theta", kLeast, kMost, absent);
  if (f.Has("rope_theta")) f.Must("rope_theta", nullptr, theta, "use the files of one model");
  return theta;
}

// Reads what configurations of these families share, but the numbers of heads of keys and their width.
inline DecoderShape ReadDecoderShape(const Fields& f) {
  f.Must("attention_bias", false, false);
  f.Must("mlp_bias", false, false);
  DecoderShape s;
  s.d = f.Count("hidden_size", 8192);
  s.heads = f.Count("num_attention_heads", 256);
  s.ff = f.Count("intermediate_size", 65536);
  s.vocab = f.Count("vocab_size", 1 << 20);
  s.layers = f.Count("num_hidden_layers", 128);
  (void)f.Count("max_position_embeddings", 1 << 20);
  s.eps = f.Epsilon("rms_norm_eps", 1e-6);
  s.theta = RotaryBase(f, 10000);
  s.activation = f.Activation("hidden_act", "silu");
  return s;
}
// Checks the heads once all are read.
inline void CheckHeads(const Fields& f, const DecoderShape& s) {
  f.Multiple("num_attention_heads", s.heads, s.serving, "key and value heads");
  f.Multiple("head_dim", s.head_dim, 2, "coordinates of a rotated pair");
}

// Adds an RMSNorm with the tensor `name`.
inline GraphNode* Normalised(Graph& g, GraphNode* x, const std::string& name, const DecoderShape& s) {
  return Normalised(g, x, g.Tensor(name, {s.d}, Leaf::kGamma), {}, s.eps);
}
// Adds an RMSNorm of each of `heads` heads, which share gamma.
inline GraphNode* HeadsNormalised(Graph& g, GraphNode* x, const std::string& name, int64_t heads, const DecoderShape& s,
                                  const char* label) {
  nn::Norm n;
  n.dim = s.head_dim;
  n.groups = int(heads);
  n.gamma = g.Tensor(name, {s.head_dim}, Leaf::kGamma).Repeated(heads);
  n.eps = s.eps;
  return g.Add(std::move(n), {x}, label);
}

// Adds the rows of all tokens behind the last layer. `before` is the beginning of tensor names. `words` becomes the
// table. With `head_norms`, heads of queries and keys are normalised before they are rotated.
inline GraphNode* DecoderRows(Graph& g, const DecoderShape& s, const std::string& before, bool head_norms,
                              Expr* words) {
  const int64_t q_cols = s.heads * s.head_dim, k_cols = s.serving * s.head_dim;
  auto linear = [&](GraphNode* x, const std::string& at, int64_t in, int64_t out, const char* key, const char* label) {
    return NamedLinear(g, x, at, in, out, false, key, label);
  };
  // Adds queries (`of` 'q') or keys ('k') of the rows x.
  auto scored = [&](GraphNode* x, const std::string& self, char of, int64_t heads) {
    const std::string map = self + of + "_proj", label = Str("z_", of), norm = Str(of, "_norm");
    const int64_t cols = heads * s.head_dim;
    if (!head_norms) return Rotated(g, linear(x, map, s.d, cols, "query_key", label.c_str()), heads, s.theta);
    x = linear(x, map, s.d, cols, "query_key", Str(of, "_proj").c_str());
    x = HeadsNormalised(g, x, self + norm + ".weight", heads, s, norm.c_str());
    return Rotated(g, x, heads, s.theta, label.c_str());
  };
  g.Scope("embed");
  nn::Lookup lookup;
  *words = lookup.table = g.Tensor(before + "embed_tokens.weight", {s.vocab, s.d}, Leaf::kTable);
  GraphNode* x = g.Add(std::move(lookup), {}, "z_embed");
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string scope = Str(l, "/"), at = Str(before, "layers.", l, "."), self = at + "self_attn.";
    g.Scope(scope + "norm1");
    GraphNode* n = Normalised(g, x, at + "input_layernorm.weight", s);
    g.Scope(scope + "attention");
    GraphNode* q = scored(n, self, 'q', s.heads);
    GraphNode* k = scored(n, self, 'k', s.serving);
    GraphNode* v = linear(n, self + "v_proj", s.d, k_cols, "value", "z_v");
    GraphNode* o = Attended(g, {int(s.heads), int(s.serving), s.head_dim, true}, q, k, v);
    g.Scope(scope + "proj");
    x = Sum(g, x, linear(o, self + "o_proj", q_cols, s.d, "attended", "z_proj"));
    g.Scope(scope + "norm2");
    n = Normalised(g, x, at + "post_attention_layernorm.weight", s);
    g.Scope(scope + "silu");
    GraphNode* gate =
        Activated(g, linear(n, at + "mlp.gate_proj", s.d, s.ff, "linear", "z_gate"), s.activation, compiler::kBeside);
    GraphNode* up = linear(n, at + "mlp.up_proj", s.d, s.ff, "linear", "z_up");
    GraphNode* h = g.Add(nn::WireProduct{}, {gate, up}, "product");
    g.Scope(scope + "ffn2");
    x = Sum(g, x, linear(h, at + "mlp.down_proj", s.ff, s.d, "linear", "z_ffn2"));
  }
  return x;
}

}  // namespace suf::model
