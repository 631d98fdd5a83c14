// GPT-2 (Radford et al. 2019), a pre-LN decoder with learned positions. The tied table gives the last token's logits.
#include "suf/model/families/blocks.hpp"
#include "suf/model/families/list.hpp"
#include "suf/model/internal/config.hpp"

namespace suf::model {

namespace {

struct Shape {
  int64_t d, heads, ff, vocab, layers, positions;
  double eps;
  std::string activation;
};

Shape ReadShape(const std::filesystem::path& dir) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "gpt2");
  f.Must("scale_attn_weights", true, true);
  f.Must("scale_attn_by_inverse_layer_idx", false, false);
  f.Must("add_cross_attention", false, false);
  f.Must("tie_word_embeddings", true, true);
  Shape s{f.Count("n_embd", 8192),
          f.Count("n_head", 256),
          0,
          f.Count("vocab_size", 1 << 20),
          f.Count("n_layer", 128),
          f.Count("n_positions", 1 << 16),
          f.Epsilon("layer_norm_epsilon", 1e-5),
          f.Activation("activation_function", "gelu_new")};
  s.ff = f.Has("n_inner") ? f.Count("n_inner", 65536) : 4 * s.d;
  f.Multiple("n_embd", s.d, s.heads, "attention heads");
  return s;
}

Graph Build(const std::filesystem::path& dir, bool) {
  const Shape s = ReadShape(dir);
  Graph g;
  auto norm = [&](GraphNode* x, const std::string& at) {
    Expr gamma = g.Tensor(at + ".weight", {s.d}, Leaf::kGamma);
    Expr beta = g.Tensor(at + ".bias", {s.d}, Leaf::kBias);
    return Normalised(g, x, gamma, beta, s.eps);
  };
  g.Scope("embed");
  nn::Lookup lookup;
  Expr words = lookup.table = g.Tensor("wte.weight", {s.vocab, s.d}, Leaf::kTable);
  lookup.positions = g.Tensor("wpe.weight", {s.positions, s.d}, Leaf::kTable);
  GraphNode* x = g.Add(std::move(lookup), {}, "z_embed");
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string scope = Str(l, "/"), at = Str("h.", l, ".");
    g.Scope(scope + "norm1");
    GraphNode* n = norm(x, at + "ln_1");
    g.Scope(scope + "attention");
    // weights are stored as they are applied: (inputs, outputs); queries, keys and values side by side
    Expr w = g.Tensor(at + "attn.c_attn.weight", {s.d, 3 * s.d}, Leaf::kProjection),
         b = g.Tensor(at + "attn.c_attn.bias", {3 * s.d}, Leaf::kBias);
    auto part = [&](int64_t i, const char* key, const char* label) {
      return Linear(g, n, w.Columns(i * s.d, (i + 1) * s.d), b.Columns(i * s.d, (i + 1) * s.d), key, label);
    };
    GraphNode *q = part(0, "query_key", "z_q"), *k = part(1, "query_key", "z_k"), *v = part(2, "value", "z_v");
    GraphNode* o = Attended(g, {int(s.heads), int(s.heads), s.d / s.heads, true}, q, k, v);
    g.Scope(scope + "proj");
    Expr wo = g.Tensor(at + "attn.c_proj.weight", {s.d, s.d}, Leaf::kProjection),
         bo = g.Tensor(at + "attn.c_proj.bias", {s.d}, Leaf::kBias);
    x = Sum(g, x, Linear(g, o, wo, bo, "attended", "z_proj"));
    g.Scope(scope + "norm2");
    n = norm(x, at + "ln_2");
    g.Scope(scope + "gelu");
    Expr w1 = g.Tensor(at + "mlp.c_fc.weight", {s.d, s.ff}, Leaf::kProjection),
         b1 = g.Tensor(at + "mlp.c_fc.bias", {s.ff}, Leaf::kBias);
    GraphNode* h = Activated(g, Linear(g, n, w1, b1, "linear", "z_ffn1"), s.activation);
    g.Scope(scope + "ffn2");
    Expr w2 = g.Tensor(at + "mlp.c_proj.weight", {s.ff, s.d}, Leaf::kProjection),
         b2 = g.Tensor(at + "mlp.c_proj.bias", {s.d}, Leaf::kBias);
    x = Sum(g, x, Linear(g, h, w2, b2, "linear", "z_ffn2"));
  }
  g.Scope("head");
  x = norm(Pooled(g, x, nn::PoolRows::kLast), "ln_f");
  g.Add(nn::RevealResult{}, {Linear(g, x, words.Transposed(), {}, "head", "z_head")}, "logits");
  g.Number();
  return g;
}

constexpr Preset kPresets[] = {
    {"tiny-gpt2",
     R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new", "n_embd": 32,
  "n_head": 4, "n_layer": 2, "n_positions": 64, "vocab_size": 128, "layer_norm_epsilon": 1e-05})"},
    {"gpt2",
     R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new", "n_embd": 768,
  "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257, "layer_norm_epsilon": 1e-05})",
     kTrained}};

}  // namespace

const Family kGpt2{"gpt2", "transformer.", {}, 1, false, kPresets, Build};

}  // namespace suf::model
