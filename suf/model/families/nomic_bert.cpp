// NomicBERT (Nussbaum et al. 2024): BERT's post-LN layers without biases. Queries and keys are rotated by position, and
// the feed-forward layer is a SwiGLU.
#include "suf/model/families/encoder.hpp"
#include "suf/model/families/list.hpp"

namespace suf::model {

namespace {

// The published code rounds the width of a feed-forward layer up to a multiple of this.
constexpr int64_t kWidthMultiple = 256;

int64_t RoundedUp(int64_t count, int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

struct Shape {
  int64_t d, heads, ff, vocab, layers, types;
  double eps, base;
};

Shape ReadShape(const std::filesystem::path& dir) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "nomic_bert");
  f.Must("activation_function", nullptr, "swiglu");
  for (const char* field : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"}) f.Must(field, true, false);
  for (const char* field : {"prenorm", "parallel_block", "causal", "use_rms_norm", "rotary_head_dim", "norm_mlp"})
    f.Must(field, false, false);
  f.Must("rotary_emb_fraction", 0, 1);
  f.Must("rotary_emb_interleaved", false, false);
  f.Empty("rotary_emb_scale_base");
  f.Empty("rotary_scaling_factor", "remove it if no text has more than max_trained_positions tokens");
  f.Empty("num_heads_kv");
  f.Must("moe_every_n_layers", 0, 0);
  Shape s{f.Count("n_embd", 8192),
          f.Count("n_head", 256),
          RoundedUp(f.Count("n_inner", 65536), kWidthMultiple),
          f.Count("vocab_size", 1 << 20),
          f.Count("n_layer", 128),
          TokenTypes(f),
          f.Epsilon("layer_norm_epsilon", 1e-5),
          f.Number("rotary_emb_base", 2, 1e9, 10000)};
  if (f.Has("rope_parameters")) {  // beside the older fields
    const Fields r = f.Object("rope_parameters", "an object");
    r.Only({"rope_type", "rope_theta"});
    if (r.Has("rope_type")) r.Must("rope_type", nullptr, "default");
    if (r.Has("rope_theta")) r.Must("rope_theta", nullptr, s.base);
  }
  f.Multiple("n_embd", s.d, s.heads, "attention heads");
  f.Multiple("n_embd", s.d, 2 * s.heads, "halves of attention heads");
  if (f.Has("pad_vocab_size_multiple")) s.vocab = RoundedUp(s.vocab, f.Count("pad_vocab_size_multiple", 1 << 16));
  return s;
}

Graph Build(const std::filesystem::path& dir, bool) {
  const Shape s = ReadShape(dir);
  Graph g;
  auto norm = [&](GraphNode* x, const std::string& at, const char* key) {
    const Expr gamma = g.Tensor(at + ".weight", {s.d}, Leaf::kGamma), beta = g.Tensor(at + ".bias", {s.d}, Leaf::kBias);
    return Normalised(g, x, gamma, beta, s.eps, key);
  };
  auto linear = [&](GraphNode* x, const std::string& at, int64_t in, int64_t out, const char* key, const char* label) {
    return NamedLinear(g, x, at, in, out, false, key, label);
  };
  g.Scope("embed");
  nn::Lookup lookup;
  lookup.table = g.Tensor("embeddings.word_embeddings.weight", {s.vocab, s.d}, Leaf::kTable);
  // all tokens are of type 0
  lookup.table = lookup.table.Plus(TypeRows(g, s.types, s.d).Row(0));
  GraphNode* x = norm(g.Add(std::move(lookup), {}, "z_embed"), "emb_ln", "embedding");
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string scope = Str(l, "/"), at = Str("encoder.layers.", l, ".");
    g.Scope(scope + "attention");
    GraphNode* o = PackedAttention(g, x, at + "attn.Wqkv", s.d, s.heads, s.base);
    g.Scope(scope + "proj");
    o = Sum(g, linear(o, at + "attn.out_proj", s.d, s.d, "attended", "z_proj"), x);
    g.Scope(scope + "norm1");
    x = norm(o, at + "norm1", "layer");
    g.Scope(scope + "silu");
    GraphNode* gate = linear(x, at + "mlp.fc12", s.d, s.ff, "linear", "z_gate");
    GraphNode* h = Gated(g, gate, linear(x, at + "mlp.fc11", s.d, s.ff, "linear", "z_up"), "silu");
    g.Scope(scope + "ffn2");
    h = Sum(g, linear(h, at + "mlp.fc2", s.ff, s.d, "linear", "z_ffn2"), x);
    g.Scope(scope + "norm2");
    x = norm(h, at + "norm2", "layer");
  }
  g.Number();
  return g;
}

constexpr Preset kPresets[] = {
    {"tiny-nomic",
     R"({"architectures": ["NomicBertModel"], "model_type": "nomic_bert", "activation_function": "swiglu", "n_embd": 32,
  "n_head": 4, "n_inner": 64, "n_layer": 2, "vocab_size": 128, "type_vocab_size": 2, "layer_norm_epsilon": 1e-12,
  "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false, "rotary_emb_scale_base": null,
  "prenorm": false, "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false})"}};

}  // namespace

// Published folders name code of their own, which computes the same.
const Family kNomicBert{"nomic_bert", "bert.", {}, 3, true, kPresets, Build, nullptr, "hf_nomic_bert"};

}  // namespace suf::model
