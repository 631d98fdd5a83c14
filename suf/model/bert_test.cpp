#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "suf/model/family.hpp"
#include "suf/model/internal/config.hpp"
#include "suf/model/random.hpp"
#include "suf/model/refused_test.hpp"
#include "suf/model/rewrite_test.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/testing.hpp"
#include "suf/nn/ops.hpp"

namespace suf::model {
namespace {

using nlohmann::json;

TEST(Bert, ARandomModelLoadsWithEveryTensorOfItsFile) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  const LoadedModel m = Load(folder.path());
  EXPECT_EQ(m.min_tokens, 3);
  Safetensors s(folder.path() / "model.safetensors");
  EXPECT_EQ(m.weights.tensors().size(), s.tensors().size());
  EXPECT_EQ(m.graph.leaves().size(), s.tensors().size());
  for (const nn::Leaf& leaf : m.graph.leaves()) {
    EXPECT_EQ(m.weights.Get(leaf.name).shape, leaf.shape) << leaf.name;
    EXPECT_EQ(m.weights.Get(leaf.name).values, s.Floats(leaf.name, leaf.shape)) << leaf.name;
  }
}

TEST(Bert, ThePrefixMakesNoDifference) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  const LoadedModel plain = Load(folder.path());
  Rewrite(folder.path() / "model.safetensors", [](std::string& name, Shape&, std::vector<float>&) {
    name = "bert." + name;
    return true;
  });
  const LoadedModel prefixed = Load(folder.path());
  ASSERT_EQ(plain.weights.tensors().size(), prefixed.weights.tensors().size());
  for (auto& [name, t] : plain.weights.tensors()) EXPECT_EQ(t.values, prefixed.weights.Get(name).values) << name;
}

TEST(Bert, TensorsThatTheGraphDoesNotNameAreLeftOut) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  const size_t before = Load(folder.path()).weights.tensors().size();
  Rewrite(
      folder.path() / "model.safetensors", [&](std::string&, Shape&, std::vector<float>&) { return true; },
      "pooler.dense.bias");
  EXPECT_EQ(Load(folder.path()).weights.tensors().size(), before);
  EXPECT_FALSE(Load(folder.path()).weights.tensors().count("pooler.dense.bias"));
}

TEST(Bert, ATensorThatIsMissingMisshapenOrNotFiniteIsNamed) {
  const std::string target = "encoder.layer.1.intermediate.dense.bias";
  const std::pair<int, std::string> cases[] = {{0, "has no tensor \"" + target},
                                               {1, target + "\" has shape (63), not (64)"},
                                               {2, target + "\" holds a value that is not"}};
  for (const auto& [what, sentence] : cases) {
    const ModelFolder folder;
    WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
    Rewrite(folder.path() / "model.safetensors",
            [&, how = what](std::string& name, Shape& shape, std::vector<float>& v) {
              if (name != target) return true;
              if (how == 1) {
                v.pop_back();
                shape[0] = 63;
              }
              if (how == 2) v[5] = NAN;
              return how != 0;
            });
    ExpectSentence([&] { (void)Load(folder.path()); }, sentence);
  }
}

TEST(Bert, FilesOfDifferentModelsAreRefused) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  const json config = ReadJsonFile(folder.path() / "config.json");
  const auto with = [&](const char* field, int value) {
    json changed = config;
    changed[field] = value;
    folder.Write("config.json", changed.dump());
  };
  with("vocab_size", 127);
  ExpectSentence([&] { (void)Load(folder.path()); }, "has 128 entries, config.json says vocab_size 127");
  with("num_hidden_layers", 1);
  ExpectSentence([&] { (void)Load(folder.path()); }, "beyond the 1 layers");
  with("num_hidden_layers", 3);
  ExpectSentence([&] { (void)Load(folder.path()); }, "no tensor \"encoder.layer.2.");
  with("max_position_embeddings", 65);
  ExpectSentence([&] { (void)Load(folder.path()); }, "has shape (64, 32), not (65, 32)");
}

TEST(Config, FieldsAreReadAndDefaulted) {
  const ModelFolder folder;
  json c = {{"model_type", "bert"},     {"hidden_act", "gelu"},         {"hidden_size", 8},
            {"num_attention_heads", 2}, {"intermediate_size", 9},       {"vocab_size", 10},
            {"num_hidden_layers", 3},   {"max_position_embeddings", 11}};
  folder.Write("config.json", c.dump());
  const auto types = [](const nn::Graph& g) { return Find(g, "embeddings.token_type_embeddings.weight")->shape; };
  const auto eps = [](const nn::Graph& g) { return g.node(1).As<nn::Norm>()->eps; };
  nn::Graph g = ReadGraph(folder.path());
  EXPECT_EQ(Find(g, "embeddings.word_embeddings.weight")->shape, (Shape{10, 8}));
  EXPECT_EQ(Find(g, "embeddings.position_embeddings.weight")->shape, (Shape{11, 8}));
  EXPECT_EQ(Find(g, "encoder.layer.2.intermediate.dense.weight")->shape, (Shape{9, 8}));
  EXPECT_EQ(Find(g, "encoder.layer.2.output.dense.weight")->shape, (Shape{8, 9}));
  EXPECT_EQ(Find(g, "encoder.layer.3.output.dense.weight"), nullptr);
  int layers = 0;
  for (auto& n : g.nodes())
    if (auto* s = n->As<nn::Scores>()) layers += s->heads == 2 && s->head_dim == 4;
  EXPECT_EQ(layers, 3);
  EXPECT_EQ(types(g), (Shape{2, 8}));
  EXPECT_EQ(eps(g), 1e-12);
  c["layer_norm_eps"] = 1e-5;
  c["type_vocab_size"] = 1;
  folder.Write("config.json", c.dump());
  g = ReadGraph(folder.path());
  EXPECT_EQ(types(g), (Shape{1, 8}));
  EXPECT_EQ(eps(g), 1e-5);
}

TEST(Config, WhatWeWouldComputeWronglyIsRefused) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  const json good = ReadJsonFile(folder.path() / "config.json");
  const json gone(json::value_t::discarded);
  const std::vector<Case> cases = {
      {"model_type", "t5",
       "model_type is \"t5\", only bert, distilbert, gpt2, llama, modernbert, mpnet, nomic_bert, qwen3, roberta, "
       "xlm-roberta "
       "are "
       "supported"},
      {"model_type", gone, "model_type is missing, only bert"},
      {"hidden_act", "swish", "hidden_act is \"swish\", only \"gelu\", \"gelu_new\", \"relu\", \"silu\", \"tanh\" are"},
      {"hidden_act", gone, "hidden_act is missing"},
      {"position_embedding_type", "relative_key", "position_embedding_type"},
      {"is_decoder", true, "is_decoder is \"true\", only false"},
      {"add_cross_attention", true, "add_cross_attention"},
      {"hidden_size", gone, "hidden_size is missing, it must be a whole number from 1 to 8192"},
      {"hidden_size", 0, "hidden_size is \"0\""},
      {"hidden_size", -32, "hidden_size is \"-32\""},
      {"hidden_size", 32.0, "hidden_size is \"32.0\""},
      {"hidden_size", "32", "hidden_size is the text \"32\""},
      {"hidden_size", 1e30, "hidden_size"},
      {"hidden_size", uint64_t(1) << 63, "hidden_size"},
      {"num_attention_heads", 5, "hidden_size is 32, it must be a multiple of the 5 attention heads"},
      {"vocab_size", (1 << 20) + 1, "vocab_size is \"1048577\", it must be a whole number from 1 to 1048576"},
      {"intermediate_size", json::array({64}), "intermediate_size"},
      {"num_hidden_layers", 129, "num_hidden_layers"},
      {"max_position_embeddings", nullptr, "max_position_embeddings"},
      {"type_vocab_size", 0, "type_vocab_size"},
      {"layer_norm_eps", 0, "layer_norm_eps is \"0\", it must be above 0"},
      {"layer_norm_eps", 0.1, "layer_norm_eps"},
      {"layer_norm_eps", "x", "layer_norm_eps"},
  };
  ExpectRefused(good, cases);
  for (const auto& [text, sentence] :
       {std::pair{"", "is not JSON text: it ends too early; fetch it again"},
        {"{\"model_type\":", "is not JSON text: it ends too early"},
        {"{\"a\":1,\n\"a\":2}", "has the name \"a\" twice in one object, at line 2, column 3"},
        {"[]", "is not a JSON object"},
        {"7", "is not a JSON object"}}) {
    folder.Write("config.json", text);
    ExpectSentence([&] { (void)ReadGraph(folder.path()); }, sentence);
  }
  folder.Write("config.json", std::string((1 << 20) + 1, ' '));
  ExpectSentence([&] { (void)ReadGraph(folder.path()); }, "the limit is 1048576");
  folder.Write("config.json", R"({"hidden_act":)" + std::string(1 << 19, '['));
  ExpectSentence([&] { (void)ReadGraph(folder.path()); }, "nests deeper than 64 levels");
  ExpectSentence([&] { (void)ReadGraph(folder.path() / "none"); }, "there is no file");
}

}  // namespace
}  // namespace suf::model
