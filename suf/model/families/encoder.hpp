// Encoders of sentence-transformers with a norm behind each sum (post-LN). They have BERT's layers (Devlin et al. 2019)
// under the names of each family. The result are the rows of the last layer.
#pragma once
#include <functional>

#include "suf/model/families/blocks.hpp"
#include "suf/model/internal/config.hpp"

namespace suf::model {

struct EncoderShape {
  int64_t d, heads, ff, vocab, layers;
  double eps;
  std::string activation;
};

// The names of an encoder's tensors, without ".weight" and ".bias". Those of layer l follow `layers`, l and a point.
struct EncoderNames {
  const char *table, *norm, *layers, *query, *key, *value, *attended, *attention_norm, *up, *down, *output_norm;
};

// The names of BERT and of the families that took its code.
inline constexpr EncoderNames kBertNames{
    "embeddings.word_embeddings", "embeddings.LayerNorm", "encoder.layer.",         "attention.self.query",
    "attention.self.key",         "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
    "intermediate.dense",         "output.dense",         "output.LayerNorm"};

// Reads the shape from a configuration with BERT's field names. Refuses what the layers of Encoder do not compute.
inline EncoderShape ReadBertShape(const Fields& f) {
  f.Must("position_embedding_type", "absolute", "absolute");
  f.Must("is_decoder", false, false);
  f.Must("add_cross_attention", false, false);
  f.Empty("pruned_heads");
  EncoderShape s{f.Count("hidden_size", 8192),        f.Count("num_attention_heads", 256),
                 f.Count("intermediate_size", 65536), f.Count("vocab_size", 1 << 20),
                 f.Count("num_hidden_layers", 128),   f.Epsilon("layer_norm_eps", 1e-12),
                 f.Activation("hidden_act", nullptr)};
  f.Multiple("hidden_size", s.d, s.heads, "attention heads");
  return s;
}

// The position of the first token if padding has id 1, as fairseq counts them.
inline constexpr int64_t kFirstPosition = 2;

// Reads the number of rows of such positions.
inline int64_t PositionsBehindPadding(const Fields& f) {
  f.Must("pad_token_id", 1, 1);
  const int64_t positions = f.Count("max_position_embeddings", 1 << 16);
  if (positions <= kFirstPosition)
    f.Refuse("max_position_embeddings", "the first ", kFirstPosition,
             " positions belong to no token, so it must be above; ", kAnother);
  return positions;
}

// Returns the rows of positions. Those before `first` belong to no token.
inline Expr Positions(Graph& g, const EncoderShape& s, int64_t positions, int64_t first) {
  Expr rows = g.Tensor("embeddings.position_embeddings.weight", {positions, s.d}, Leaf::kTable);
  return first ? rows.Transposed().Columns(first, positions).Transposed() : rows;
}
// Reads the number of token types.
inline int64_t TokenTypes(const Fields& f) { return f.Has("type_vocab_size") ? f.Count("type_vocab_size", 16) : 2; }
// Returns their rows, each of d numbers.
inline Expr TypeRows(Graph& g, int64_t types, int64_t d) {
  return g.Tensor("embeddings.token_type_embeddings.weight", {types, d}, Leaf::kTable);
}
// Sets the positions of BERT's lookup, and its token types. All tokens of a single text are of type 0. With `pairs`,
// P1 chooses the type of each.
inline void SetBertRows(Graph& g, nn::Lookup& lookup, const EncoderShape& s, int64_t positions, int64_t first,
                        int64_t types, bool pairs) {
  lookup.positions = Positions(g, s, positions, first);
  const Expr rows = TypeRows(g, types, s.d);
  if (pairs && types > 1) {
    lookup.table = lookup.table.Above(rows);
    lookup.types = types;
  } else {
    lookup.positions = lookup.positions.Plus(rows.Row(0));
  }
}

// Returns the graph. `set_rows` sets what is added to the rows of the tokens. `relative` makes the bias of scores in
// every layer.
inline Graph Encoder(const EncoderShape& s, const EncoderNames& names,
                     const std::function<void(Graph&, nn::Lookup&)>& set_rows,
                     const std::function<Expr(Graph&)>& relative = {}) {
  Graph g;
  auto norm = [&](GraphNode* x, const std::string& at, const char* key) {
    Expr gamma = g.Tensor(at + ".weight", {s.d}, Leaf::kGamma);
    Expr beta = g.Tensor(at + ".bias", {s.d}, Leaf::kBias);
    return Normalised(g, x, gamma, beta, s.eps, key);
  };
  auto linear = [&](GraphNode* x, const std::string& at, int64_t in, int64_t out, const char* key, const char* label) {
    return NamedLinear(g, x, at, in, out, true, key, label);
  };
  g.Scope("embed");
  nn::Lookup lookup;
  lookup.table = g.Tensor(std::string(names.table) + ".weight", {s.vocab, s.d}, Leaf::kTable);
  set_rows(g, lookup);
  GraphNode* x = norm(g.Add(std::move(lookup), {}, "z_embed"), names.norm, "embedding");
  const Expr bias = relative ? relative(g) : Expr();
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string scope = Str(l, "/"), at = Str(names.layers, l, ".");
    g.Scope(scope + "attention");
    GraphNode* q = linear(x, at + names.query, s.d, s.d, "query_key", "z_q");
    GraphNode* k = linear(x, at + names.key, s.d, s.d, "query_key", "z_k");
    GraphNode* v = linear(x, at + names.value, s.d, s.d, "value", "z_v");
    GraphNode* o = Attended(g, {int(s.heads), int(s.heads), s.d / s.heads, false}, q, k, v, bias);
    g.Scope(scope + "proj");
    o = linear(o, at + names.attended, s.d, s.d, "attended", "z_proj");
    o = Sum(g, o, x);
    g.Scope(scope + "norm1");
    x = norm(o, at + names.attention_norm, "layer");
    g.Scope(scope + "gelu");
    GraphNode* h = Activated(g, linear(x, at + names.up, s.d, s.ff, "linear", "z_ffn1"), s.activation);
    g.Scope(scope + "ffn2");
    h = linear(h, at + names.down, s.ff, s.d, "linear", "z_ffn2");
    h = Sum(g, h, x);
    g.Scope(scope + "norm2");
    x = norm(h, at + names.output_norm, "layer");
  }
  g.Number();
  return g;
}

// Older exports have these names.
inline constexpr TensorRename kOlderNorms[] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                               {"LayerNorm.bias", "LayerNorm.beta"}};

}  // namespace suf::model
