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

TEST(Encoders, SettingsOfGatedLayersAreRead) {
  const json gone(json::value_t::discarded);
  const json good = json::parse(FindPreset("tiny-nomic").config);
  suf::model::ExpectRefused(
      good, {{"activation_function", "geglu", "activation_function is \"geglu\", only \"swiglu\" is supported"},
             {"activation_function", gone, "activation_function is missing"},
             {"qkv_proj_bias", gone, "qkv_proj_bias is missing, only false is supported"},
             {"mlp_fc1_bias", true, "mlp_fc1_bias is \"true\", only false"},
             {"mlp_fc2_bias", true, "mlp_fc2_bias is \"true\", only false"},
             {"prenorm", true, "prenorm is \"true\", only false"},
             {"parallel_block", true, "parallel_block is \"true\", only false"},
             {"causal", true, "causal is \"true\", only false"},
             {"use_rms_norm", true, "use_rms_norm is \"true\", only false"},
             {"rotary_emb_fraction", 0.5, "rotary_emb_fraction is \"0.5\", only 1 is supported"},
             {"rotary_emb_interleaved", true, "rotary_emb_interleaved is \"true\", only false"},
             {"rotary_emb_scale_base", 512, "rotary_emb_scale_base is \"512\", which changes the result"},
             {"rotary_emb_base", 1, "rotary_emb_base is \"1\", it must be from 2"},
             {"rotary_scaling_factor", 2, "remove it if no text has more than max_trained_positions tokens"},
             {"num_heads_kv", 2, "num_heads_kv is \"2\""},
             {"moe_every_n_layers", 2, "moe_every_n_layers is \"2\", only 0"},
             {"n_embd", gone, "n_embd is missing, it must be a whole number from 1 to 8192"},
             {"n_head", 5, "n_embd is 32, it must be a multiple of the 5 attention heads"},
             {"n_head", 32, "n_embd is 32, it must be a multiple of the 64 halves of attention heads"},
             {"n_inner", 0, "n_inner is \"0\""},
             {"layer_norm_epsilon", 1, "layer_norm_epsilon is \"1\", it must be above 0"},
             {"architectures",
              {"NomicBertForSequenceClassification"},
              "no classifier of a model of type \"nomic_bert\" is supported"}});
  const ModelFolder folder;
  json c = good;
  c["n_inner"] = 257;
  c["pad_vocab_size_multiple"] = 100;
  folder.Write("config.json", c.dump());
  const nn::Graph g = ReadGraph(folder.path());
  EXPECT_EQ(Find(g, "encoder.layers.1.mlp.fc11.weight")->shape, (nn::Shape{512, 32}));
  EXPECT_EQ(Find(g, "embeddings.word_embeddings.weight")->shape, (nn::Shape{200, 32}));
}

// A builder may compute the code of published folders. No other code is taken for it.
TEST(Encoders, CodeThatABuilderComputesIsAccepted) {
  const json good = json::parse(FindPreset("tiny-nomic").config);
  const ModelFolder folder;
  json c = good;
  c["auto_map"] = {{"AutoConfig", "configuration_hf_nomic_bert.NomicBertConfig"},
                   {"AutoModel", "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel"}};
  folder.Write("config.json", c.dump());
  EXPECT_EQ(ReadGraph(folder.path()).Text(), RandomModel("tiny-nomic").graph.Text());
  const char* sentence = "auto_map is";
  suf::model::ExpectRefused(good, {{"auto_map", {{"AutoModel", "modeling_other.NomicBertModel"}}, sentence},
                                   {"auto_map", {{"AutoModel", "hf_nomic_bert--modeling_other.X"}}, sentence},
                                   {"auto_map", {{"AutoModel", {"modeling_hf_nomic_bert.X"}}}, sentence},
                                   {"auto_map", "modeling_hf_nomic_bert.X", sentence}});
  suf::model::ExpectRefused(json::parse(FindPreset("tiny-roberta").config),
                            {{"auto_map", {{"AutoModel", "modeling_hf_nomic_bert.X"}}, sentence}});
}

// Texts may be as long as the positions that belong to tokens.
TEST(Encoders, PositionsBeforeTheFirstTokenDoNotCount) {
  const LoadedModel m = RandomModel("tiny-roberta");
  EXPECT_EQ(m.graph.node(0).As<nn::Lookup>()->positions.shape(), (nn::Shape{64, 32}));
}

}  // namespace
}  // namespace suf::model
