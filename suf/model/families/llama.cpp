// Llama (Touvron et al. 2023), a pre-LN decoder with RMSNorm, rotary positions, grouped queries and SwiGLU. It gives
// the logits of the last token.
#include "suf/model/families/blocks.hpp"
#include "suf/model/families/list.hpp"
#include "suf/model/internal/config.hpp"

namespace suf::model {

namespace {

struct Shape {
  int64_t d, heads, serving, head_dim, ff, vocab, layers, positions;
  double eps, theta;
  bool tied;
  std::string activation;
};

Shape ReadShape(const std::filesystem::path& dir) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "llama");
  f.Must("attention_bias", false, false);
  f.Must("mlp_bias", false, false);
  if (f.Has("rope_scaling")) f.Must("rope_scaling", nullptr, nullptr);
  Shape s{f.Count("hidden_size", 8192),
          f.Count("num_attention_heads", 256),
          0,
          0,
          f.Count("intermediate_size", 65536),
          f.Count("vocab_size", 1 << 20),
          f.Count("num_hidden_layers", 128),
          f.Count("max_position_embeddings", 1 << 20),
          f.Epsilon("rms_norm_eps", 1e-6),
          f.Number("rope_theta", 2, 1e9, 10000),
          f.True("tie_word_embeddings", false),
          f.Activation("hidden_act", "silu")};
  s.serving = f.Has("num_key_value_heads") ? f.Count("num_key_value_heads", 256) : s.heads;
  f.Multiple("num_attention_heads", s.heads, s.serving, "key and value heads");
  if (!f.Has("head_dim")) f.Multiple("hidden_size", s.d, s.heads, "attention heads");
  s.head_dim = f.Has("head_dim") ? f.Count("head_dim", 1024) : s.d / s.heads;
  f.Multiple("head_dim", s.head_dim, 2, "coordinates of a rotated pair");
  return s;
}

Graph Build(const std::filesystem::path& dir, bool) {
  const Shape s = ReadShape(dir);
  Graph g;
  auto norm = [&](GraphNode* x, const std::string& at) {
    return Normalised(g, x, g.Tensor(at, {s.d}, Leaf::kGamma), {}, s.eps);
  };
  auto linear = [&](GraphNode* x, const std::string& at, int64_t in, int64_t out, const char* key, const char* label) {
    return NamedLinear(g, x, at, in, out, false, key, label);
  };
  auto rotated = [&](GraphNode* x, int64_t heads) {
    nn::Rotary r;
    r.heads = int(heads);
    r.base = s.theta;
    return g.Add(std::move(r), {x}, "rotated");
  };
  g.Scope("embed");
  nn::Lookup lookup;
  Expr words = lookup.table = g.Tensor("model.embed_tokens.weight", {s.vocab, s.d}, Leaf::kTable);
  GraphNode* x = g.Add(std::move(lookup), {}, "z_embed");
  const int64_t q_cols = s.heads * s.head_dim, k_cols = s.serving * s.head_dim;
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string scope = Str(l, "/"), at = Str("model.layers.", l, ".");
    g.Scope(scope + "norm1");
    GraphNode* n = norm(x, at + "input_layernorm.weight");
    g.Scope(scope + "attention");
    GraphNode* q = rotated(linear(n, at + "self_attn.q_proj", s.d, q_cols, "query_key", "z_q"), s.heads);
    GraphNode* k = rotated(linear(n, at + "self_attn.k_proj", s.d, k_cols, "query_key", "z_k"), s.serving);
    GraphNode* v = linear(n, at + "self_attn.v_proj", s.d, k_cols, "value", "z_v");
    GraphNode* o = Attended(g, {int(s.heads), int(s.serving), s.head_dim, true}, q, k, v);
    g.Scope(scope + "proj");
    x = Sum(g, x, linear(o, at + "self_attn.o_proj", q_cols, s.d, "attended", "z_proj"));
    g.Scope(scope + "norm2");
    n = norm(x, at + "post_attention_layernorm.weight");
    g.Scope(scope + "silu");
    GraphNode* gate =
        Activated(g, linear(n, at + "mlp.gate_proj", s.d, s.ff, "linear", "z_gate"), s.activation, compiler::kBeside);
    GraphNode* up = linear(n, at + "mlp.up_proj", s.d, s.ff, "linear", "z_up");
    GraphNode* h = g.Add(nn::WireProduct{}, {gate, up}, "product");
    g.Scope(scope + "ffn2");
    x = Sum(g, x, linear(h, at + "mlp.down_proj", s.ff, s.d, "linear", "z_ffn2"));
  }
  g.Scope("head");
  x = norm(Pooled(g, x, nn::PoolRows::kLast), "model.norm.weight");
  Expr head = s.tied ? words : g.Tensor("lm_head.weight", {s.vocab, s.d}, Leaf::kProjection);
  g.Add(nn::RevealResult{}, {Linear(g, x, head.Transposed(), {}, "head", "z_head")}, "logits");
  g.Number();
  return g;
}

constexpr Preset kPresets[] = {
    {"tiny-llama",
     R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 32,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 128, "num_hidden_layers": 2,
  "max_position_embeddings": 64, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": true})"}};

}  // namespace

const Family kLlama{"llama", "", {}, 1, false, kPresets, Build};

}  // namespace suf::model
