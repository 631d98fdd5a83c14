// DistilBERT (Sanh et al. 2019): BERT's layers without token types, under other names.
#include "suf/model/families/encoder.hpp"
#include "suf/model/families/list.hpp"

namespace suf::model {

namespace {

constexpr EncoderNames kNames{"embeddings.word_embeddings",
                              "embeddings.LayerNorm",
                              "transformer.layer.",
                              "attention.q_lin",
                              "attention.k_lin",
                              "attention.v_lin",
                              "attention.out_lin",
                              "sa_layer_norm",
                              "ffn.lin1",
                              "ffn.lin2",
                              "output_layer_norm"};

Graph Build(const std::filesystem::path& dir, bool) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "distilbert");
  f.Empty("pruned_heads");
  const EncoderShape s{f.Count("dim", 8192),
                       f.Count("n_heads", 256),
                       f.Count("hidden_dim", 65536),
                       f.Count("vocab_size", 1 << 20),
                       f.Count("n_layers", 128),
                       1e-12,  // no field has it
                       f.Activation("activation", "gelu")};
  f.Multiple("dim", s.d, s.heads, "attention heads");
  const int64_t positions = f.Count("max_position_embeddings", 1 << 16);
  return Encoder(s, kNames, [&](Graph& g, nn::Lookup& l) { l.positions = Positions(g, s, positions, 0); });
}

constexpr ClassifierHead kHead{"pre_classifier", "relu", "classifier"};

constexpr Preset kPresets[] = {
    {"tiny-distilbert",
     R"({"architectures": ["DistilBertModel"], "model_type": "distilbert", "activation": "gelu", "dim": 32, "n_heads": 4,
  "hidden_dim": 64, "vocab_size": 128, "n_layers": 2, "max_position_embeddings": 64, "sinusoidal_pos_embds": false})"},
    {"tiny-distilbert-labels",
     R"({"architectures": ["DistilBertForSequenceClassification"], "model_type": "distilbert", "activation": "gelu", "dim": 32,
  "n_heads": 4, "hidden_dim": 64, "vocab_size": 128, "n_layers": 2, "max_position_embeddings": 64, "sinusoidal_pos_embds": false,
  "id2label": {"0": "NEGATIVE", "1": "POSITIVE"}, "label2id": {"NEGATIVE": 0, "POSITIVE": 1}})"}};

}  // namespace

const Family kDistilBert{"distilbert", "distilbert.", kOlderNorms, 3, true, kPresets, Build, &kHead};

}  // namespace suf::model
