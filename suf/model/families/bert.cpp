// BERT encoders (Devlin et al. 2019) as in sentence-transformers: post-LN, and the mean of the rows divided by its
// norm.
#include "suf/model/families/blocks.hpp"
#include "suf/model/families/list.hpp"
#include "suf/model/internal/config.hpp"

namespace suf::model {

namespace {

struct Shape {
  int64_t d, heads, ff, vocab, layers, positions, types;
  double eps;
  std::string activation;
};

Shape ReadShape(const std::filesystem::path& dir) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "bert");
  f.Must("position_embedding_type", "absolute", "absolute");
  f.Must("is_decoder", false, false);
  f.Must("add_cross_attention", false, false);
  f.Empty("pruned_heads");
  Shape s{f.Count("hidden_size", 8192),
          f.Count("num_attention_heads", 256),
          f.Count("intermediate_size", 65536),
          f.Count("vocab_size", 1 << 20),
          f.Count("num_hidden_layers", 128),
          f.Count("max_position_embeddings", 1 << 16),
          f.Has("type_vocab_size") ? f.Count("type_vocab_size", 16) : 2,
          f.Epsilon("layer_norm_eps", 1e-12),
          f.Activation("hidden_act", nullptr)};
  f.Multiple("hidden_size", s.d, s.heads, "attention heads");
  return s;
}

Graph Build(const std::filesystem::path& dir) {
  const Shape s = ReadShape(dir);
  Graph g;
  auto norm = [&](GraphNode* x, const std::string& at, const char* key) {
    Expr gamma = g.Tensor(at + ".weight", {s.d}, Leaf::kGamma);
    Expr beta = g.Tensor(at + ".bias", {s.d}, Leaf::kBias);
    return Normalised(g, x, gamma, beta, s.eps, key);
  };
  auto linear = [&](GraphNode* x, const std::string& at, int64_t in, int64_t out, const char* key, const char* label) {
    Expr w = g.Tensor(at + ".weight", {out, in}, Leaf::kProjection);
    Expr b = g.Tensor(at + ".bias", {out}, Leaf::kBias);
    return Linear(g, x, w.Transposed(), b, key, label);
  };
  g.Scope("embed");
  nn::Lookup lookup;
  lookup.table = g.Tensor("embeddings.word_embeddings.weight", {s.vocab, s.d}, Leaf::kTable);
  Expr positions = g.Tensor("embeddings.position_embeddings.weight", {s.positions, s.d}, Leaf::kTable);
  // a single text: every token is of type 0
  lookup.positions =
      positions.Plus(g.Tensor("embeddings.token_type_embeddings.weight", {s.types, s.d}, Leaf::kTable).Row(0));
  GraphNode* x = norm(g.Add(std::move(lookup), {}, "z_embed"), "embeddings.LayerNorm", "embedding");
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string scope = Str(l, "/"), at = Str("encoder.layer.", l, ".");
    g.Scope(scope + "attention");
    GraphNode* q = linear(x, at + "attention.self.query", s.d, s.d, "query_key", "z_q");
    GraphNode* k = linear(x, at + "attention.self.key", s.d, s.d, "query_key", "z_k");
    GraphNode* v = linear(x, at + "attention.self.value", s.d, s.d, "value", "z_v");
    GraphNode* o = Attended(g, {int(s.heads), int(s.heads), s.d / s.heads, false}, q, k, v);
    g.Scope(scope + "proj");
    o = linear(o, at + "attention.output.dense", s.d, s.d, "attended", "z_proj");
    o = Sum(g, o, x);
    g.Scope(scope + "norm1");
    x = norm(o, at + "attention.output.LayerNorm", "layer");
    g.Scope(scope + "gelu");
    GraphNode* h = Activated(g, linear(x, at + "intermediate.dense", s.d, s.ff, "linear", "z_ffn1"), s.activation);
    g.Scope(scope + "ffn2");
    h = linear(h, at + "output.dense", s.ff, s.d, "linear", "z_ffn2");
    h = Sum(g, h, x);
    g.Scope(scope + "norm2");
    x = norm(h, at + "output.LayerNorm", "layer");
  }
  g.Scope("pool");
  nn::Norm unit;
  unit.dim = s.d;
  unit.unit = unit.by_length = true;
  unit.key = "unit";
  g.Add(std::move(unit), {Pooled(g, x, nn::PoolRows::kSum)}, "unit");
  g.Number();
  return g;
}

constexpr Preset kPresets[] = {
    {"tiny",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 128, "num_hidden_layers": 2,
  "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12})"},
    {"minilm",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522, "num_hidden_layers": 6,
  "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})"},
    {"bert-tiny",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512, "vocab_size": 30522, "num_hidden_layers": 2,
  "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})",
     kTrained},
    {"bert-base",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "num_hidden_layers": 12,
  "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})",
     kTrained},
    {"bert-large",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 30522, "num_hidden_layers": 24,
  "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})",
     kTrained}};

constexpr TensorRename kRenamed[] = {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};

}  // namespace

// The shortest text is [CLS], a word, [SEP].
const Family kBert{"bert", "bert.", kRenamed, 3, true, kPresets, Build};

}  // namespace suf::model
