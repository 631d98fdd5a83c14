// Configurations and files of the decoders: fields that are read, defaulted and refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "suf/model/random.hpp"
#include "suf/model/refused_test.hpp"
#include "suf/model/rig_test.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/nn/ops.hpp"

namespace suf::model {
namespace {

using nlohmann::json;

const json kGone(json::value_t::discarded);

using suf::model::ExpectRefused;
void ExpectRefused(const char* preset, const std::vector<Case>& cases) {
  ExpectRefused(json::parse(FindPreset(preset).config), cases);
}

nn::Graph With(const char* preset, const std::string& field, const json& value) {
  const ModelFolder folder;
  json config = json::parse(FindPreset(preset).config);
  config[field] = value;
  folder.Write("config.json", config.dump());
  return ReadGraph(folder.path());
}

TEST(Gpt2, WhatWeWouldComputeWronglyIsRefused) {
  ExpectRefused("tiny-gpt2",
                {{"activation_function", "elu",
                  "activation_function is \"elu\", only \"gelu\", \"gelu_new\", \"relu\", \"silu\", \"tanh\" are"},
                 {"scale_attn_weights", false, "scale_attn_weights is \"false\", only true"},
                 {"scale_attn_by_inverse_layer_idx", true, "scale_attn_by_inverse_layer_idx is \"true\", only false"},
                 {"add_cross_attention", true, "add_cross_attention"},
                 {"tie_word_embeddings", false, "tie_word_embeddings is \"false\", only true"},
                 {"n_embd", kGone, "n_embd is missing, it must be a whole number from 1 to 8192"},
                 {"n_head", 5, "n_embd is 32, it must be a multiple of the 5 attention heads"},
                 {"n_layer", 129, "n_layer is \"129\""},
                 {"n_positions", 0, "n_positions is \"0\""},
                 {"n_inner", "x", "n_inner is \"x\""},
                 {"vocab_size", -1, "vocab_size is \"-1\""},
                 {"layer_norm_epsilon", 1, "layer_norm_epsilon is \"1\", it must be above 0"}});
}

TEST(Gpt2, FieldsAreReadAndDefaulted) {
  EXPECT_EQ(Find(With("tiny-gpt2", "n_inner", nullptr), "h.1.mlp.c_fc.weight")->shape, (nn::Shape{32, 128}));
  EXPECT_EQ(Find(With("tiny-gpt2", "n_inner", 48), "h.1.mlp.c_fc.weight")->shape, (nn::Shape{32, 48}));
  EXPECT_EQ(With("tiny-gpt2", "layer_norm_epsilon", 1e-6).node(1).As<nn::Norm>()->eps, 1e-6);
}

TEST(Llama, WhatWeWouldComputeWronglyIsRefused) {
  ExpectRefused(
      "tiny-llama",
      {{"hidden_act", "elu", "hidden_act is \"elu\", only \"gelu\", \"gelu_new\", \"relu\", \"silu\", \"tanh\" are"},
       {"attention_bias", true, "attention_bias is \"true\", only false"},
       {"mlp_bias", true, "mlp_bias is \"true\", only false"},
       {"rope_scaling", {{"rope_type", "llama3"}}, "rope_scaling is "},
       {"num_key_value_heads", 3, "num_attention_heads is 4, it must be a multiple of the 3 key and value heads"},
       {"num_attention_heads", 6, "hidden_size is 32, it must be a multiple of the 6 attention heads"},
       {"head_dim", 7, "head_dim is 7, it must be a multiple of the 2 coordinates of a rotated pair"},
       {"head_dim", 0, "head_dim is \"0\""},
       {"rope_theta", 1, "rope_theta is \"1\", it must be from 2 to 1e+09"},
       {"rope_theta", "x", "rope_theta is \"x\""},
       {"rms_norm_eps", 0.1, "rms_norm_eps is \"0.1\""},
       {"hidden_size", kGone, "hidden_size is missing"}});
}

TEST(Llama, FieldsAreReadAndDefaulted) {
  EXPECT_EQ(Find(With("tiny-llama", "num_key_value_heads", nullptr), "model.layers.0.self_attn.k_proj.weight")->shape,
            (nn::Shape{32, 32}));
  EXPECT_EQ(Find(With("tiny-llama", "head_dim", 6), "model.layers.0.self_attn.k_proj.weight")->shape,
            (nn::Shape{12, 32}));
  EXPECT_EQ(Find(With("tiny-llama", "tie_word_embeddings", true), "lm_head.weight"), nullptr);
  EXPECT_EQ(Find(With("tiny-llama", "tie_word_embeddings", false), "lm_head.weight")->shape, (nn::Shape{128, 32}));
  EXPECT_EQ(With("tiny-llama", "rope_theta", 5e5).node(3).As<nn::Rotary>()->base, 5e5);
  EXPECT_NO_THROW(With("tiny-llama", "rope_scaling", nullptr));
}

// Files of transformers 5 have the base of angles in rope_parameters.
TEST(Llama, RopeParametersAreRead) {
  const auto base = [](const json& parameters) {
    return With("tiny-llama", "rope_parameters", parameters).node(3).As<nn::Rotary>()->base;
  };
  EXPECT_EQ(base(nullptr), 10000);
  EXPECT_EQ(base({{"rope_type", "default"}, {"rope_theta", 10000}}), 10000);
  json config = json::parse(FindPreset("tiny-llama").config);
  config.erase("rope_theta");
  config["rope_parameters"] = {{"rope_theta", 5e5}, {"partial_rotary_factor", 1.0}};
  const ModelFolder folder;
  folder.Write("config.json", config.dump());
  EXPECT_EQ(ReadGraph(folder.path()).node(3).As<nn::Rotary>()->base, 5e5);
  ExpectRefused(
      "tiny-llama",
      {{"rope_parameters", {{"rope_theta", 5e5}}, "rope_theta is \"10000.0\", only 500000.0 is supported"},
       {"rope_parameters", {{"rope_type", "yarn"}}, "rope_parameters.rope_type is \"yarn\", only \"default\""},
       {"rope_parameters", {{"partial_rotary_factor", 0.5}}, "rope_parameters.partial_rotary_factor is \"0.5\""},
       {"rope_parameters", {{"factor", 8}}, "rope_parameters.\"factor\" is \"8\", and its effect is not known"},
       {"rope_parameters", 7, "rope_parameters is \"7\", only an object is supported"},
       {"partial_rotary_factor", 0.5, "partial_rotary_factor is \"0.5\", only 1 is supported"}});
}

TEST(Qwen3, WhatWeWouldComputeWronglyIsRefused) {
  json good = json::parse(FindPreset("tiny-qwen3").config);
  good["architectures"] = json::array({"Qwen3Model"});  // otherwise modules.json is missing
  ExpectRefused(
      good,
      {{"hidden_act", "elu", "hidden_act is \"elu\", only \"gelu\", \"gelu_new\", \"relu\", \"silu\", \"tanh\" are"},
       {"attention_bias", true, "attention_bias is \"true\", only false"},
       {"rope_scaling", {{"rope_type", "yarn"}}, "rope_scaling is "},
       {"use_sliding_window", true, "use_sliding_window is \"true\", only false"},
       {"layer_types", json::array({"full_attention", "sliding_attention"}),
        "only \"full_attention\" for each of the 2 layers is supported"},
       {"layer_types", json::array({"full_attention"}), "for each of the 2 layers"},
       {"num_key_value_heads", kGone, "num_key_value_heads is missing, it must be a whole number from 1 to 256"},
       {"num_key_value_heads", 3, "num_attention_heads is 4, it must be a multiple of the 3 key and value heads"},
       {"head_dim", kGone, "head_dim is missing, it must be a whole number from 1 to 1024"},
       {"head_dim", 7, "head_dim is 7, it must be a multiple of the 2 coordinates of a rotated pair"},
       {"rope_theta", 1, "rope_theta is \"1\", it must be from 2 to 1e+09"},
       {"rms_norm_eps", 0.1, "rms_norm_eps is \"0.1\""},
       {"architectures", json::array({"Qwen3ForCausalLM"}),
        "and there is no modules.json, which says how its rows become an embedding; fetch the whole directory"},
       {"architectures", json::array({"Qwen3ForSequenceClassification"}),
        "no classifier of a model of type \"qwen3\" is supported"}});
}

// A width of heads of its own; a window and tied embeddings that change nothing; names with the class's prefix.
TEST(Qwen3, FieldsAreReadAndDefaulted) {
  const LoadedModel m = RandomModel("tiny-qwen3");
  EXPECT_EQ(Find(m.graph, "layers.0.self_attn.q_proj.weight")->shape, (nn::Shape{48, 32}));
  EXPECT_EQ(Find(m.graph, "layers.0.self_attn.k_proj.weight")->shape, (nn::Shape{24, 32}));
  EXPECT_EQ(Find(m.graph, "layers.0.self_attn.k_norm.weight")->shape, (nn::Shape{12}));
  EXPECT_EQ(Find(m.graph, "lm_head.weight"), nullptr);
  EXPECT_EQ(m.min_tokens, 2);
  EXPECT_EQ(m.graph.nodes().back()->As<nn::Norm>()->unit, true);
  json config = json::parse(FindPreset("tiny-qwen3").config);
  config["architectures"] = json::array({"Qwen3Model"});
  config["sliding_window"] = 4096;
  config["max_window_layers"] = 2;
  config["tie_word_embeddings"] = true;
  config["layer_types"] = json::array({"full_attention", "full_attention"});
  config["attention_dropout"] = 0.0;
  const ModelFolder folder;
  folder.Write("config.json", config.dump());
  EXPECT_NO_THROW((void)ReadGraph(folder.path()));
}

TEST(Decoders, FilesOfDifferentModelsAreRefused) {
  for (const char* preset : {"tiny-gpt2", "tiny-llama"}) {
    const ModelFolder folder;
    WriteRandomModel(folder.path(), FindPreset(preset), 1);
    EXPECT_EQ(Load(folder.path()).min_tokens, 1);
    const json good = json::parse(FindPreset(preset).config);
    const auto expect = [&](const char* gpt2, const char* llama, int value, const std::string& sentence) {
      json config = good;
      config[preset == std::string("tiny-gpt2") ? gpt2 : llama] = value;
      folder.Write("config.json", config.dump());
      ExpectSentence([&] { (void)Load(folder.path()); }, sentence);
    };
    expect("n_layer", "num_hidden_layers", 1, "beyond the 1 layers");
    expect("n_layer", "num_hidden_layers", 3, "has no tensor \"");
    expect("vocab_size", "vocab_size", 127, "has 128 entries, config.json says vocab_size 127");
    std::filesystem::remove(folder.path() / "vocab.txt");  // ids may come from elsewhere
    folder.Write("config.json", good.dump());
    EXPECT_NO_THROW((void)Load(folder.path()));
    expect("vocab_size", "vocab_size", 127, "has shape (128, 32), not (127, 32)");
  }
}

TEST(Decoders, AnEncoderWantsItsVocabulary) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  std::filesystem::remove(folder.path() / "vocab.txt");
  ExpectSentence([&] { (void)Load(folder.path()); }, "vocab.txt");
}

}  // namespace
}  // namespace suf::model
