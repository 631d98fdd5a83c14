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
       {"relative_attention_num_buckets", "32",
        "relative_attention_num_buckets is the text \"32\", only 32 is supported"},
       {"hidden_size", "32", "hidden_size is the text \"32\", it must be a whole number from 1"},
       {"model_type", 5, "model_type is \"5\", only bert, "},
       {"model_type", gone, "model_type is missing, only bert, "},
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
             {"rope_parameters", {{"rope_type", "yarn"}}, "rope_parameters.rope_type is \"yarn\", only \"default\""},
             {"rope_parameters", {{"rope_theta", 5000}}, "rope_theta is \"5000\", only 1000.0 is supported"},
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

// The bases of queries' angles, and how far each layer's attention reaches.
std::vector<std::pair<double, int64_t>> Reaches(const nn::Graph& g) {
  std::vector<std::pair<double, int64_t>> out;
  for (auto& n : g.nodes())
    if (const auto* s = n->As<nn::Scores>()) out.emplace_back(n->in[0]->As<nn::Rotary>()->base, s->band);
  return out;
}

TEST(Encoders, SettingsOfLocalLayersAreRead) {
  const json gone(json::value_t::discarded);
  const json good = json::parse(FindPreset("tiny-modernbert").config);
  const auto rope = [](const json& local) { return json{{"sliding_attention", local}}; };
  suf::model::ExpectRefused(
      good,
      {{"norm_bias", true, "norm_bias is \"true\", only false"},
       {"attention_bias", true, "attention_bias is \"true\", only false"},
       {"mlp_bias", true, "mlp_bias is \"true\", only false"},
       {"rope_scaling", {{"factor", 2}}, "rope_scaling is"},
       {"hidden_activation", "elu", "hidden_activation is \"elu\""},
       {"hidden_size", gone, "hidden_size is missing"},
       {"num_attention_heads", 5, "hidden_size is 32, it must be a multiple of the 5 attention heads"},
       {"num_attention_heads", 32, "hidden_size is 32, it must be a multiple of the 64 halves of"},
       {"intermediate_size", 0, "intermediate_size is \"0\""},
       {"norm_eps", 1, "norm_eps is \"1\", it must be above 0"},
       {"global_attn_every_n_layers", 0, "global_attn_every_n_layers is \"0\""},
       {"local_attention", 1, "local_attention is \"1\", it must be above 1"},
       {"local_attention", json::array({64, 64}), "local_attention is \"[64,64]\""},
       {"global_rope_theta", 1, "global_rope_theta is \"1\", it must be from 2"},
       {"local_rope_theta", nullptr, "local_rope_theta is \"null\", it must be from 2"},
       {"layer_types", json::array({"full_attention"}), "it must name the kinds of 4 layers"},
       {"layer_types",
        {"full_attention", "linear", "full_attention", "full_attention"},
        "only \"full_attention\" and \"sliding_attention\" are supported"},
       {"rope_parameters", 5, "rope_parameters is \"5\""},
       {"rope_parameters", {{"rope_theta", 5000}}, "rope_parameters.\"rope_theta\" is \"5000\", and its effect"},
       {"rope_parameters", rope({{"rope_type", "yarn"}}), "rope_parameters.sliding_attention.rope_type is"},
       {"rope_parameters", rope({{"rope_type", "default"}, {"factor", 2}}), "\"factor\" is \"2\", and its effect"},
       {"architectures",
        {"ModernBertForSequenceClassification"},
        "no classifier of a model of type \"modernbert\" is supported"}});
  const std::vector<std::pair<double, int64_t>> want{{160000, 0}, {10000, 64}, {10000, 64}, {160000, 0}};
  const ModelFolder folder;
  folder.Write("config.json", good.dump());
  EXPECT_EQ(Reaches(ReadGraph(folder.path())), want);
  json newer = good;
  for (const char* field : {"global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"}) newer.erase(field);
  newer["layer_types"] = {"full_attention", "sliding_attention", "sliding_attention", "full_attention"};
  newer["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 160000.0}}},
                              {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}};
  folder.Write("config.json", newer.dump());
  EXPECT_EQ(Reaches(ReadGraph(folder.path())), want);
}

// Local layers are exact as long as all tokens of a text attend to each other.
TEST(Encoders, LocalLayersLimitTheLength) {
  const LoadedModel m = RandomModel("tiny-modernbert");
  EXPECT_EQ(nn::LongestOf(m.graph).tokens, 65);
  const char* sentence = "texts of 66 tokens are over the model's 65 tokens of local attention; lower the limit";
  ExpectSentence([&] { (void)SmallPlan(m, 66); }, sentence);
  ExpectSentence([&] { (void)nn::RealModel(m.graph, m.weights).Run(Texts(1, 1, 66, 66)[0]); }, sentence);
  (void)nn::RealModel(m.graph, m.weights).Run(Texts(1, 1, 65, 65)[0]);
  EXPECT_EQ(nn::LongestOf(RandomModel("tiny-nomic").graph).tokens, 0);
  EXPECT_EQ(nn::LongestOf(RandomModel("tiny-mpnet").graph).tokens, 64);
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
