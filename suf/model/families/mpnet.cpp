// MPNet (Song et al. 2020): BERT's layers without token types. A bias by distance, one table for all layers, is added
// to the scores.
#include "suf/model/families/encoder.hpp"
#include "suf/model/families/list.hpp"

namespace suf::model {

namespace {

constexpr EncoderNames kNames{
    "embeddings.word_embeddings", "embeddings.LayerNorm", "encoder.layer.",   "attention.attn.q",
    "attention.attn.k",           "attention.attn.v",     "attention.attn.o", "attention.LayerNorm",
    "intermediate.dense",         "output.dense",         "output.LayerNorm"};

Graph Build(const std::filesystem::path& dir, bool) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "mpnet");
  f.Must("relative_attention_num_buckets", 32, 32);
  const EncoderShape s = ReadBertShape(f);
  const int64_t positions = PositionsBehindPadding(f);
  return Encoder(
      s, kNames, [&](Graph& g, nn::Lookup& l) { l.positions = Positions(g, s, positions, kFirstPosition); },
      [&](Graph& g) {
        const Expr table = g.Tensor("encoder.relative_attention_bias.weight", {32, s.heads}, Leaf::kTable);
        return Expr::Bucketed(table, positions - kFirstPosition);
      });
}

constexpr ClassifierHead kHead{"classifier.dense", "tanh", "classifier.out_proj"};

constexpr Preset kPresets[] = {
    {"tiny-mpnet",
     R"({"architectures": ["MPNetModel"], "model_type": "mpnet", "hidden_act": "gelu", "hidden_size": 32, "num_attention_heads": 4,
  "intermediate_size": 64, "vocab_size": 128, "num_hidden_layers": 2, "max_position_embeddings": 66, "pad_token_id": 1,
  "relative_attention_num_buckets": 32, "layer_norm_eps": 1e-5})"},
    {"tiny-mpnet-labels",
     R"({"architectures": ["MPNetForSequenceClassification"], "model_type": "mpnet", "hidden_act": "gelu", "hidden_size": 32,
  "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 128, "num_hidden_layers": 2, "max_position_embeddings": 66,
  "pad_token_id": 1, "relative_attention_num_buckets": 32, "layer_norm_eps": 1e-5})"},
    {"mpnet-base",
     R"({"architectures": ["MPNetModel"], "model_type": "mpnet", "hidden_act": "gelu", "hidden_size": 768, "num_attention_heads": 12,
  "intermediate_size": 3072, "vocab_size": 30527, "num_hidden_layers": 12, "max_position_embeddings": 514, "pad_token_id": 1,
  "relative_attention_num_buckets": 32, "layer_norm_eps": 1e-5})",
     kSteady, "", kOutliers}};

}  // namespace

const Family kMpnet{"mpnet", "mpnet.", kOlderNorms, 3, true, kPresets, Build, &kHead};

}  // namespace suf::model
