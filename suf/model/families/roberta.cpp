// RoBERTa (Liu et al. 2019) and XLM-R (Conneau et al. 2020): BERT's layers with one token type. Positions count from
// the id of padding plus one, as fairseq does it.
#include "suf/model/families/encoder.hpp"
#include "suf/model/families/list.hpp"

namespace suf::model {

namespace {

Graph Build(const std::filesystem::path& dir, bool pairs) {
  const Fields f(dir / "config.json");
  f.OneOf("model_type", nullptr, {"roberta", "xlm-roberta"});
  const EncoderShape s = ReadBertShape(f);
  const int64_t positions = PositionsBehindPadding(f), types = TokenTypes(f);
  return Encoder(s, kBertNames,
                 [&](Graph& g, nn::Lookup& l) { SetBertRows(g, l, s, positions, kFirstPosition, types, pairs); });
}

constexpr ClassifierHead kHead{"classifier.dense", "tanh", "classifier.out_proj"};

constexpr Preset kRobertaPresets[] = {
    {"tiny-roberta",
     R"({"architectures": ["RobertaModel"], "model_type": "roberta", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 128, "num_hidden_layers": 2,
  "max_position_embeddings": 66, "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5})"},
    {"tiny-roberta-labels",
     R"({"architectures": ["RobertaForSequenceClassification"], "model_type": "roberta", "hidden_act": "gelu",
  "position_embedding_type": "absolute", "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64,
  "vocab_size": 128, "num_hidden_layers": 2, "max_position_embeddings": 66, "type_vocab_size": 1, "pad_token_id": 1,
  "layer_norm_eps": 1e-5, "id2label": {"0": "negative", "1": "neutral", "2": "positive"}})"},
    {"roberta-base",
     R"({"architectures": ["RobertaModel"], "model_type": "roberta", "hidden_act": "gelu", "position_embedding_type": "absolute",
  "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265, "num_hidden_layers": 12,
  "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5})",
     kTrained, "", kOutliers},
    {"roberta-labels",
     R"({"architectures": ["RobertaForSequenceClassification"], "model_type": "roberta", "hidden_act": "gelu",
  "position_embedding_type": "absolute", "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
  "vocab_size": 50265, "num_hidden_layers": 12, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1,
  "layer_norm_eps": 1e-5, "id2label": {"0": "negative", "1": "neutral", "2": "positive"}})",
     kSteady, "", kOutliers}};

}  // namespace

const Family kRoberta{"roberta", "roberta.", kOlderNorms, 3, true, kRobertaPresets, Build, &kHead};
const Family kXlmRoberta{"xlm-roberta", "roberta.", kOlderNorms, 3, true, {}, Build, &kHead};

}  // namespace suf::model
