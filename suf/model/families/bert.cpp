// BERT encoders (Devlin et al. 2019).
#include "suf/model/families/encoder.hpp"
#include "suf/model/families/list.hpp"

namespace suf::model {

namespace {

Graph Build(const std::filesystem::path& dir, bool pairs) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "bert");
  const EncoderShape s = ReadBertShape(f);
  const int64_t positions = f.Count("max_position_embeddings", 1 << 16), types = TokenTypes(f);
  return Encoder(s, kBertNames, [&](Graph& g, nn::Lookup& l) { SetBertRows(g, l, s, positions, 0, types, pairs); });
}

constexpr ClassifierHead kHead{"pooler.dense", "tanh", "classifier"};

constexpr Preset kPresets[] = {
    {"tiny",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 128, "num_hidden_layers": 2,
  "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12})"},
    {"tiny-cls",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 128, "num_hidden_layers": 2,
  "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12})",
     1, "cls"},
    {"tiny-reranker",
     R"({"architectures": ["BertForSequenceClassification"], "model_type": "bert", "hidden_act": "gelu",
  "position_embedding_type": "absolute", "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64,
  "vocab_size": 128, "num_hidden_layers": 2, "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
  "id2label": {"0": "LABEL_0"}})"},
    {"tiny-outliers",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 128, "num_hidden_layers": 2,
  "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12})",
     1, "", 1},
    {"minilm",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522, "num_hidden_layers": 6,
  "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})"},
    {"bert-tiny",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512, "vocab_size": 30522, "num_hidden_layers": 2,
  "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})",
     kTrained},
    {"bge-small",
     R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522, "num_hidden_layers": 12,
  "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12})",
     kTrained, "cls", kOutliers},
    {"cross-encoder",
     R"({"architectures": ["BertForSequenceClassification"], "model_type": "bert", "hidden_act": "gelu",
  "position_embedding_type": "absolute", "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536,
  "vocab_size": 30522, "num_hidden_layers": 6, "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
  "id2label": {"0": "LABEL_0"}})",
     kSteady, "", kOutliers},
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

}  // namespace

// The shortest text is [CLS], a word, [SEP].
const Family kBert{"bert", "bert.", kOlderNorms, 3, true, kPresets, Build, &kHead};

}  // namespace suf::model
