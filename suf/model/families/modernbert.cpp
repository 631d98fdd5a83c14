// ModernBERT (Warner et al. 2024), a pre-LN encoder without biases, with rotary positions and GeGLU. In most layers
// tokens attend to near ones only. The result are the rows of the last norm.
#include "suf/model/families/blocks.hpp"
#include "suf/model/families/list.hpp"
#include "suf/model/internal/config.hpp"

namespace suf::model {

namespace {

// The attention of a layer: the base of the angles, and how far it reaches (Scores::band).
struct Reach {
  double base = 0;
  int64_t band = 0;
};

struct Shape {
  int64_t d, heads, ff, vocab;
  double eps;
  std::string activation;
  std::vector<Reach> layers;
};

constexpr const char *kGlobal = "full_attention", *kLocal = "sliding_attention";

// Reads the base of one kind of layer from newer files, or from `field` of older ones.
double BaseOf(const Fields& f, const char* kind, const char* field, double absent) {
  const double older = f.Number(field, 2, 1e9, absent);
  if (f.Null("rope_parameters")) return older;
  const Fields all = f.Object("rope_parameters", "an object");
  all.Only({kGlobal, kLocal});
  if (all.Null(kind)) return older;
  const Fields r = all.Object(kind, "an object");
  r.Only({"rope_type", "rope_theta"});
  if (r.Has("rope_type")) r.Must("rope_type", nullptr, "default");
  return r.Has("rope_theta") ? r.Number("rope_theta", 2, 1e9, absent) : older;
}

// Reads the layers' kinds: a list of newer files, or each `global_attn_every_n_layers`-th one is global.
std::vector<Reach> ReadLayers(const Fields& f) {
  const size_t layers = size_t(f.Count("num_hidden_layers", 128));
  const Reach global{BaseOf(f, kGlobal, "global_rope_theta", 160000), 0},
      local{BaseOf(f, kLocal, "local_rope_theta", 10000), f.Count("local_attention", 1 << 20) / 2};
  if (local.band == 0) f.Refuse("local_attention", "it must be above 1; ", kAnother);
  std::vector<Reach> all;
  if (f.Null("layer_types")) {
    const size_t every = size_t(f.Count("global_attn_every_n_layers", 128));
    for (size_t l = 0; l < layers; ++l) all.push_back(l % every ? local : global);
    return all;
  }
  const json kinds = f.Value("layer_types");
  if (!kinds.is_array() || kinds.size() != layers)
    f.Refuse("layer_types", "it must name the kinds of ", layers, " layers; ", kAnother);
  for (const json& kind : kinds) {
    if (kind != kGlobal && kind != kLocal)
      f.Refuse("layer_types", "only \"", kGlobal, "\" and \"", kLocal, "\" are supported; ", kAnother);
    all.push_back(kind == kGlobal ? global : local);
  }
  return all;
}

Shape ReadShape(const std::filesystem::path& dir) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "modernbert");
  for (const char* field : {"norm_bias", "attention_bias", "mlp_bias"}) f.Must(field, false, false);
  f.Empty("rope_scaling");
  const bool older = f.Has("layer_norm_eps") && !f.Has("norm_eps");
  Shape s{f.Count("hidden_size", 8192),
          f.Count("num_attention_heads", 256),
          f.Count("intermediate_size", 65536),
          f.Count("vocab_size", 1 << 20),
          f.Epsilon(older ? "layer_norm_eps" : "norm_eps", 1e-5),
          f.Activation("hidden_activation", "gelu"),
          ReadLayers(f)};
  f.Multiple("hidden_size", s.d, s.heads, "attention heads");
  f.Multiple("hidden_size", s.d, 2 * s.heads, "halves of attention heads");
  return s;
}

Graph Build(const std::filesystem::path& dir, bool) {
  const Shape s = ReadShape(dir);
  Graph g;
  auto norm = [&](GraphNode* x, const std::string& at, const char* key) {
    return Normalised(g, x, g.Tensor(at + ".weight", {s.d}, Leaf::kGamma), {}, s.eps, key, true);
  };
  g.Scope("embed");
  nn::Lookup lookup;
  lookup.table = g.Tensor("embeddings.tok_embeddings.weight", {s.vocab, s.d}, Leaf::kTable);
  GraphNode* x = norm(g.Add(std::move(lookup), {}, "z_embed"), "embeddings.norm", "embedding");
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const std::string scope = Str(l, "/"), at = Str("layers.", l, ".");
    g.Scope(scope + "norm1");
    GraphNode* n = l ? norm(x, at + "attn_norm", "layer") : x;  // the first layer reads the embeddings' norm
    g.Scope(scope + "attention");
    GraphNode* o = PackedAttention(g, n, at + "attn.Wqkv", s.d, s.heads, s.layers[l].base, s.layers[l].band);
    g.Scope(scope + "proj");
    x = Sum(g, x, NamedLinear(g, o, at + "attn.Wo", s.d, s.d, false, "attended", "z_proj"));
    g.Scope(scope + "norm2");
    n = norm(x, at + "mlp_norm", "layer");
    g.Scope(scope + "gelu");
    const Expr both = g.Tensor(at + "mlp.Wi.weight", {2 * s.ff, s.d}, Leaf::kProjection).Transposed();
    GraphNode* gate = Linear(g, n, both.Columns(0, s.ff), {}, "linear", "z_gate");
    GraphNode* up = Linear(g, n, both.Columns(s.ff, 2 * s.ff), {}, "linear", "z_up");
    GraphNode* h = Gated(g, gate, up, s.activation);
    g.Scope(scope + "ffn2");
    x = Sum(g, x, NamedLinear(g, h, at + "mlp.Wo", s.ff, s.d, false, "linear", "z_ffn2"));
  }
  g.Scope("last");
  norm(x, "final_norm", "layer");
  g.Number();
  return g;
}

constexpr Preset kPresets[] = {
    {"tiny-modernbert",
     R"({"architectures": ["ModernBertModel"], "model_type": "modernbert", "hidden_activation": "gelu", "hidden_size": 32,
  "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 128, "num_hidden_layers": 4, "norm_eps": 1e-05,
  "norm_bias": false, "attention_bias": false, "mlp_bias": false, "global_attn_every_n_layers": 3, "local_attention": 128,
  "global_rope_theta": 160000.0, "local_rope_theta": 10000.0})"}};

}  // namespace

const Family kModernBert{"modernbert", "model.", {}, 3, true, kPresets, Build};

}  // namespace suf::model
