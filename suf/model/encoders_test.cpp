// RoBERTa, XLM-R, DistilBERT and MPNet: the fields of their configurations.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "suf/model/refused_test.hpp"
#include "suf/model/rig_test.hpp"

namespace suf::model {
namespace {

using nlohmann::json;

TEST(Encoders, RobertaAndXlmRAreOneBuilder) {
  json config = json::parse(FindPreset("tiny-roberta").config);
  const ModelFolder folder;
  folder.Write("config.json", config.dump());
  const std::string roberta = ReadGraph(folder.path()).Text();
  config["model_type"] = "xlm-roberta";
  folder.Write("config.json", config.dump());
  EXPECT_EQ(ReadGraph(folder.path()).Text(), roberta);
}

TEST(Encoders, OtherSettingsAreRefused) {
  const json gone(json::value_t::discarded);
  suf::model::ExpectRefused(
      json::parse(FindPreset("tiny-roberta").config),
      {{"pad_token_id", 0, "pad_token_id is \"0\", only 1 is supported"},
       {"max_position_embeddings", 2, "max_position_embeddings is \"2\", the first 2 positions belong to no"},
       {"position_embedding_type", "relative_key", "position_embedding_type"},
       {"is_decoder", true, "is_decoder is \"true\", only false"},
       {"num_attention_heads", 5, "hidden_size is 32, it must be a multiple of the 5 attention heads"}});
  suf::model::ExpectRefused(
      json::parse(FindPreset("tiny-mpnet").config),
      {{"relative_attention_num_buckets", 64, "relative_attention_num_buckets is \"64\", only 32 is supported"},
       {"pad_token_id", 0, "pad_token_id is \"0\", only 1 is supported"}});
  suf::model::ExpectRefused(json::parse(FindPreset("tiny-distilbert").config),
                            {{"activation", "swish", "activation is \"swish\""},
                             {"pruned_heads", {{"0", {1}}}, "pruned_heads"},
                             {"dim", gone, "dim is missing, it must be a whole number from 1 to 8192"},
                             {"n_heads", 5, "dim is 32, it must be a multiple of the 5 attention heads"},
                             {"hidden_dim", 0, "hidden_dim is \"0\""}});
}

// Texts may be as long as the positions that belong to tokens.
TEST(Encoders, PositionsBeforeTheFirstTokenDoNotCount) {
  const LoadedModel m = RandomModel("tiny-roberta");
  EXPECT_EQ(m.graph.node(0).As<nn::Lookup>()->positions.shape(), (nn::Shape{64, 32}));
}

}  // namespace
}  // namespace suf::model
