// A model directory means what its files say: modules, pooling, settings, vocabulary, tensors' names.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "suf/model/family.hpp"
#include "suf/model/internal/config.hpp"
#include "suf/model/plain_test.hpp"
#include "suf/model/random.hpp"
#include "suf/model/rewrite_test.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/testing.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/nn/read/forward.hpp"

namespace suf::model {
namespace {

// The tiny model, and files of sentence-transformers beside it.
class Sentences : public ::testing::Test {
 protected:
  void SetUp() override { WriteRandomModel(folder_.path(), FindPreset("tiny"), 1); }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    folder_.Write(name, text);
  }
  // Writes modules.json of these classes, each with its package's path before it.
  void Modules(std::vector<std::string> types) {
    json list = json::array();
    for (size_t i = 0; i < types.size(); ++i)
      list.push_back({{"idx", i},
                      {"name", Str(i)},
                      {"path", i ? Str(i, "_", types[i].substr(types[i].rfind('.') + 1)) : ""},
                      {"type", types[i]}});
    Write("modules.json", list.dump());
  }
  void Good() {
    Modules(kThree);
    Write("1_Pooling/config.json", kMean);
  }
  void Works() { EXPECT_NO_THROW((void)Load(folder_.path())); }
  void Refused(const std::string& sentence) {
    ExpectSentence([&] { (void)Load(folder_.path()); }, sentence);
  }

  const std::string kOld = "sentence_transformers.models.",
                    kMean = R"({"word_embedding_dimension": 32, "pooling_mode_cls_token": false,
    "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false})";
  const std::vector<std::string> kThree = {kOld + "Transformer", kOld + "Pooling", kOld + "Normalize"};
  ModelFolder folder_;
};

TEST_F(Sentences, TheOneOrderOfModulesIsReadInEverySpelling) {
  Good();
  Works();
  Modules({"sentence_transformers.base.modules.transformer.Transformer",
           "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
           "sentence_transformers.base.modules.normalize.Normalize"});
  Works();
  for (const char* pooling :
       {R"({"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": true})",
        R"({"pooling_mode": ["mean"]})",
        R"({"pooling_mode": "mean", "pooling_mode_mean_tokens": true, "pooling_mode_lasttoken": false})"}) {
    Write("1_Pooling/config.json", pooling);
    Works();
  }
  const std::pair<const char*, nn::PoolRows::Kind> others[] = {
      {R"({"pooling_mode": "cls"})", nn::PoolRows::kFirst},
      {R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})", nn::PoolRows::kFirst},
      {R"({"pooling_mode": ["lasttoken"], "pooling_mode_lasttoken": true})", nn::PoolRows::kLast},
      {R"({"pooling_mode_lasttoken": true, "word_embedding_dimension": 32})", nn::PoolRows::kLast}};
  for (const auto& [pooling, kind] : others) {
    Write("1_Pooling/config.json", pooling);
    const nn::Graph g = Load(folder_.path()).graph;
    EXPECT_EQ(g.node(g.size() - 2).As<nn::PoolRows>()->kind, kind) << pooling;
    EXPECT_FALSE(g.node(g.size() - 1).As<nn::Norm>()->by_length) << pooling;
  }
  Write("1_Pooling/config.json", kMean);
  Write("2_Normalize/config.json", R"({"module_input_name": "sentence_embedding", "module_output_name": null})");
  Works();
}

TEST_F(Sentences, PromptsAndSimilarityAreRead) {
  Good();
  Write("config_sentence_transformers.json",
        R"({"prompts": {"query": "query:\t\u00e9 ", "none": null, "document": ""}, "default_prompt_name": "query",
          "similarity_fn_name": "dot"})");
  const nn::About about = Load(folder_.path()).about;
  EXPECT_EQ(about.prompts, (std::vector<nn::Prompt>{{"document", ""}, {"query", "query:\t\u00e9 "}}));
  EXPECT_EQ(about.PromptNamed("query"), "query:\t\u00e9 ");
  EXPECT_EQ(about.default_prompt, "query");
  EXPECT_EQ(about.similarity, "dot");
  EXPECT_EQ(about.result, nn::ResultKind::kUnit);
  ExpectSentence([&] { (void)about.PromptNamed("passage"); },
                 "the model has no prompt \"passage\"; choose one of document, query");
}

// A list may end with the pooled rows, or with a linear map of them.
TEST_F(Sentences, ListsMayHaveADenseAndNoNormalize) {
  Good();
  std::mt19937_64 rng(1);
  const auto dense = [&](const std::string& settings, int64_t in, int64_t out) {
    std::vector<float> w(size_t(in * out)), b(size_t(out), 0.5f);
    for (float& v : w) v = float(int(rng() % 200)) / 400 - 0.25f;
    Write("2_Dense/config.json", settings);
    std::filesystem::remove(folder_.path() / "2_Dense/model.safetensors");
    WriteSafetensors(folder_.path() / "2_Dense/model.safetensors",
                     std::vector<NewTensor>{{"linear.weight", {out, in}, std::span<const float>(w)},
                                            {"linear.bias", {out}, std::span<const float>(b)}});
  };
  const auto list = [&](bool with_dense, bool normalize) {
    std::vector<std::string> types = {kThree[0], kThree[1]};
    if (with_dense) types.push_back(kOld + "Dense");
    if (normalize) types.push_back(kThree[2]);
    Modules(types);
  };
  std::filesystem::create_directory(folder_.path() / "2_Dense");
  const std::string tanh = "torch.nn.modules.activation.Tanh", identity = "torch.nn.modules.linear.Identity";
  const std::vector<int32_t> ids = {2, 30, 40, 50, 3};
  for (const bool first : {false, true}) {
    Write("1_Pooling/config.json", first ? R"({"pooling_mode": "cls"})" : kMean);
    list(false, true);
    const Row unit = nn::RealModel(Load(folder_.path()).graph, Load(folder_.path()).weights).Run(ids).at;
    list(false, false);
    const LoadedModel plain = Load(folder_.path());
    EXPECT_EQ(plain.about.result, nn::ResultKind::kVector);
    EXPECT_EQ(nn::DivisorOf(plain.graph, plain.about, 5), first ? 1 : 5);
    Row y = nn::RealModel(plain.graph, plain.weights).Run(ids).at;
    double square = 0;
    for (double& v : y) {
      v /= first ? 1 : 5;
      square += v * v;
    }
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i] / std::sqrt(square), unit[i], 1e-12);
    for (const std::string& f : {identity, tanh}) {
      dense(R"({"in_features": 32, "out_features": 6, "bias": true, "activation_function": ")" + f + "\"}", 32, 6);
      list(true, false);
      if (f == tanh && !first) {
        Refused("activation_function is \"" + tanh + "\", and the rows are averaged, where only Identity is supported");
        continue;
      }
      const LoadedModel m = Load(folder_.path());
      const Row got = nn::RealModel(m.graph, m.weights).Run(ids).at;
      ASSERT_EQ(got.size(), 6u);
      const auto& w = m.weights.Get("dense.linear.weight").values;
      for (size_t o = 0; o < 6; ++o) {
        double want = 0.5;
        for (size_t i = 0; i < 32; ++i) want += double(w[o * 32 + i]) * y[i];
        EXPECT_NEAR(got[o] / (first ? 1 : 5), f == tanh ? std::tanh(want) : want, 1e-9);
      }
      list(true, true);
      EXPECT_EQ(Load(folder_.path()).about.result, nn::ResultKind::kUnit);
    }
  }
  const std::pair<std::string, std::string> bad[] = {
      {R"({"in_features": 31, "out_features": 6})", "in_features is \"31\", the rows before it have 32 columns"},
      {R"({"in_features": 32, "out_features": 0})", "out_features is \"0\", it must be a whole number from 1"},
      {R"({"in_features": 32, "out_features": 6, "activation_function": "torch.nn.GELU"})", "activation_function is"},
      {R"({"in_features": 32, "out_features": 6, "module_input_name": "token_embeddings"})", "module_input_name"},
      {R"({"in_features": 32, "out_features": 6, "later": 1})", "\"later\" is \"1\", and its effect is not known"},
      {R"({"in_features": 32, "out_features": 7})", "linear.weight"},
      {R"({"in_features": 32, "out_features": 6, "bias": false})",
       "model.safetensors has a tensor \"linear.bias\", which config.json beside it leaves out; use the files of one"}};
  for (const auto& [settings, sentence] : bad) {
    Write("2_Dense/config.json", settings);
    Refused(sentence);
  }
  std::filesystem::remove(folder_.path() / "2_Dense/model.safetensors");
  Write("2_Dense/config.json", R"({"in_features": 32, "out_features": 6})");
  Refused("there is no file " + (folder_.path() / "2_Dense/model.safetensors").string());
}

TEST_F(Sentences, TheModelMayLieInAFolderOfItsOwn) {
  const size_t tensors = Load(folder_.path()).weights.tensors().size();
  std::filesystem::create_directory(folder_.path() / "0_Transformer");
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"})
    std::filesystem::rename(folder_.path() / file, folder_.path() / "0_Transformer" / file);
  Write("mean/config.json", kMean);
  Write("modules.json", R"([{"path": "0_Transformer", "name": "a", "type": "sentence_transformers.models.Transformer"},
      {"path": "mean", "name": "b", "type": "sentence_transformers.models.Pooling"}, {"path": "", "name": "c", "type": "sentence_transformers.models.Normalize"}])");
  // the third module's settings would be read from a config.json here, which does not exist
  const LoadedModel m = Load(folder_.path());
  EXPECT_EQ(m.weights.tensors().size(), tensors);
  EXPECT_EQ(m.vocabulary.file, folder_.path() / "0_Transformer" / "vocab.txt");
}

TEST_F(Sentences, OtherModulesAreRefusedByName) {
  Good();
  const std::string only =
      "only Transformer, Pooling, Dense and Normalize of sentence-transformers, in this order, are supported";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{kThree[0], kThree[1], kOld + "Router"},
       "modules.json: [2].type is \"sentence_transformers.models.Router\", " + only},
      {{kThree[0], kThree[1], kOld + "Dense", kOld + "Dense", kThree[2]}, "[3].type is"},
      {{kThree[0], kThree[1], kThree[2], "sentence_transformers.base.modules.dense.Dense"},
       "[3].type is \"sentence_transformers.base.modules.dense.Dense\""},
      {{kThree[0], kThree[1], kOld + "Dropout", kThree[2]}, "Dropout\", " + only},
      {{kThree[0], kOld + "LSTM", kThree[1], kThree[2]}, "[1].type is \"sentence_transformers.models.LSTM\""},
      {{kThree[0], kThree[2], kThree[1]}, "[1].type is \"sentence_transformers.models.Normalize\", " + only},
      {{kThree[1], kThree[0], kThree[2]}, "[0].type is"},
      {{"custom.Transformer", kThree[1], kThree[2]}, "[0].type is \"custom.Transformer\""},
      {{kThree[0]}, "modules.json has no module Pooling; "},
      {{}, "modules.json has no module Transformer; "}};
  for (const auto& [types, sentence] : cases) {
    Modules(types);
    Refused(sentence);
  }
  const json good =
      json::parse(R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  const std::tuple<const char*, json, std::string> fields[] = {
      {"/1/idx", 2, "[1].idx is \"2\", only 1 is supported"},
      {"/1/name", "0", "[1].name is the text \"0\", as that of a module before it"},
      {"/1/path", "../1_Pooling", "[1].path is \"../1_Pooling\""},
      {"/1/path", "1_Pooling/../..", "[1].path is \"1_Pooling/../..\""},
      {"/1/path", "..\\1_Pooling", "[1].path is \"..\\1_Pooling\""},
      {"/1/path", std::string("1_Pooling\0", 10), "[1].path is \"1_Pooling\\x00\""},
      {"/1/path", "/1_Pooling", "[1].path is \"/1_Pooling\""},
      {"/1/path", 1, "[1].path is \"1\""},
      {"/0/kwargs", {"task"}, "[0].kwargs is"},
      {"/1/more", 1, "[1].\"more\" is \"1\", and its effect is not known here"},
      {"/1", 7, "[1] is not a JSON object"},
      {"/1/path", "2_Pooling",
       "2_Pooling/config.json, so how rows are pooled is not known; fetch the whole directory"}};
  for (const auto& [place, value, sentence] : fields) {
    json bad = good;
    bad[json::json_pointer(place)] = value;
    Write("modules.json", bad.dump());
    Refused(sentence);
  }
  Write("modules.json", "{}");
  Refused("modules.json is not a JSON list");
  Write("modules.json", "<!DOCTYPE html>");
  Refused("modules.json is an HTML page");
}

TEST_F(Sentences, FoldersOfModulesCountWhereThereIsNoList) {
  Write("1_Pooling/config.json", kMean);
  Works();
  Write("2_Normalize/README", "");
  Works();
  Write("2_Dense/config.json", "{}");
  Refused("has a folder \"2_Dense\" of a module and no modules.json");
  std::filesystem::remove_all(folder_.path() / "2_Dense");
  Write("7_Pooling/config.json", R"({"pooling_mode": "max"})");
  Refused("has a folder \"7_Pooling\" of a module and no");
  std::filesystem::remove_all(folder_.path() / "1_Pooling");
  Refused("7_Pooling/config.json: pooling_mode is \"max\", only \"mean\", \"cls\" and \"lasttoken\" are supported");
}

TEST_F(Sentences, OtherPoolingsAreRefused) {
  Modules(kThree);
  Refused("1_Pooling/config.json, so how rows are pooled is not known");
  const std::pair<std::string, std::string> cases[] = {
      {"{}", "1_Pooling/config.json: pooling_mode is missing, only \"mean\", \"cls\" and \"lasttoken\" are supported"},
      {R"({"word_embedding_dimension": 32})", "pooling_mode is missing"},
      {R"({"pooling_mode_mean_tokens": false, "pooling_mode_max_tokens": true})",
       "pooling_mode_max_tokens is \"true\", only the flags pooling_mode_mean_tokens, pooling_mode_cls_token and "
       "pooling_mode_lasttoken are supported"},
      {R"({"pooling_mode_mean_sqrt_len_tokens": true})",
       "pooling_mode_mean_sqrt_len_tokens is \"true\", only the flags"},
      {R"({"pooling_mode_mean_tokens": 1})", "pooling_mode_mean_tokens is \"1\", it must be true or false"},
      {R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})",
       "pooling_mode_cls_token is \"true\", and pooling_mode_mean_tokens too; only one pooling is supported"},
      {R"({"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true})",
       "pooling_mode_max_tokens is \"true\", only false"},
      {R"({"pooling_mode_mean_tokens": true, "pooling_mode_lasttoken": true})", "pooling_mode_lasttoken"},
      {R"({"pooling_mode_mean_tokens": true, "pooling_mode_new_tokens": true})",
       "\"pooling_mode_new_tokens\" is \"true\", and its effect is not known"},
      {R"({"pooling_mode": "max"})", "pooling_mode is \"max\", only \"mean\", \"cls\""},
      {R"({"pooling_mode": ["mean", "max"]})", "pooling_mode is"},
      {R"({"pooling_mode": "mean", "pooling_mode_mean_tokens": false})", "pooling_mode_mean_tokens is \"false\""},
      {R"({"pooling_mode": "mean", "pooling_mode_cls_token": true})", "pooling_mode_cls_token is \"true\""},
      {R"({"pooling_mode": "cls", "pooling_mode_mean_tokens": true})",
       "pooling_mode_mean_tokens is \"true\", only false"},
      {R"({"pooling_mode": "mean", "include_prompt": false})", "include_prompt is \"false\", only true"},
      {R"({"pooling_mode": "mean", "embedding_dimension": 31})",
       "embedding_dimension is \"31\", the model has 32 columns; use the files of one model"},
      {R"({"pooling_mode_mean_tokens": true, "word_embedding_dimension": 384})",
       "word_embedding_dimension is \"384\", the model has 32 columns"}};
  for (const auto& [text, sentence] : cases) {
    Write("1_Pooling/config.json", text);
    Refused(sentence);
  }
  Write("1_Pooling/config.json", kMean);
  Write("2_Normalize/config.json", R"({"module_input_name": "token_embeddings"})");
  Refused("2_Normalize/config.json: module_input_name is \"token_embeddings\"");
}

TEST_F(Sentences, SettingsThatChangeTheResultAreRefused) {
  Good();
  const std::string root = "config_sentence_transformers.json", transformer = "sentence_bert_config.json";
  const std::pair<std::string, std::string> good[] = {
      {root,
       R"({"__version__": {"pytorch": "2"}, "prompts": {"query": "query: "}, "default_prompt_name": null, "similarity_fn_name": "cosine",
         "model_type": "SentenceTransformer"})"},
      {root, R"({"prompts": {"none": ""}, "default_prompt_name": "none", "truncate_dim": 32})"},
      {root, R"({"prompts": {"a": "x: ", "b": null}, "default_prompt_name": "a", "similarity_fn_name": "dot"})"},
      {transformer, R"({"max_seq_length": 128, "do_lower_case": false})"},
      {transformer,
       R"({"transformer_task": "feature-extraction", "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
         "module_output_name": "token_embeddings", "unpad_inputs": true, "model_args": {}})"}};
  for (const auto& [file, text] : good) {
    Write(file, text);
    Works();
  }
  json many = json::object();
  for (int i = 0; i < 257; ++i) many[Str("p", i)] = "";
  const std::tuple<std::string, std::string, std::string> bad[] = {
      {root, R"({"prompts": ["query: "]})",
       "prompts is \"[\\\"query: \\\"]\", it must be an object of names and texts"},
      {root, json{{"prompts", many}}.dump(), "prompts has 257 texts, the limit is 256; remove some"},
      {root, R"({"prompts": {"query": 7}})", "the prompt \"query\" is no text; write one or remove it"},
      {root, R"({"prompts": {"query": "ab\u0000c"}})", "\"query\" has a NUL byte, byte 3 of 4; remove it"},
      {root, R"({"prompts": {"": "x"}})", "the prompt \"\" has no name of up to 256 visible characters"},
      {root, R"({"prompts": {"\u0007": "x"}})", "the prompt \"\\x07\" has no name of up to 256 visible"},
      {root, R"({"prompts": {"query": ")" + std::string(4097, 'a') + "\"}}",
       "the prompt \"query\" has 4097 bytes, the limit is 4096; shorten or remove it"},
      {root, "{\"prompts\": {\"query\": \"\xff\"}}", "config_sentence_transformers.json"},
      {root, R"({"similarity_fn_name": "hamming"})", "similarity_fn_name is \"hamming\", only \"cosine\", \"dot\""},
      {root, R"({"default_prompt_name": "query"})",
       "default_prompt_name is \"query\", and prompts has no such prompt; name one of them or remove the field"},
      {root, R"({"truncate_dim": 16})", "truncate_dim is \"16\", only all 32 columns are supported"},
      {root, R"({"model_type": "SparseEncoder"})", "model_type is \"SparseEncoder\", only \"SentenceTransformer\""},
      {root, R"({"later": 1})", "\"later\" is \"1\", and its effect is not known here"},
      {transformer, R"({"do_lower_case": true})",
       "sentence_bert_config.json: do_lower_case is \"true\", only false is supported; set it to false if"},
      {transformer, R"({"transformer_task": "fill-mask"})", "transformer_task"},
      {transformer, R"({"module_output_name": "scores"})", "module_output_name"},
      {transformer, R"({"modality_config": {"image": {}}})", "modality_config"},
      {transformer, R"({"query_length": 32})", "query_length is \"32\", which changes the result"},
      {transformer, R"({"processing_kwargs": {"text": {"max_length": 8}}})", "processing_kwargs"},
      {transformer, R"({"tokenizer_name_or_path": "x"})", "tokenizer_name_or_path"},
      {transformer, R"({"max_seq_length": 0})", "max_seq_length is \"0\", it must be a whole number"},
      {transformer, R"({"later": 1})", "\"later\" is \"1\""}};
  for (const auto& [file, text, sentence] : bad) {
    Write(root, "{}");
    Write(transformer, "{}");
    Write(file, text);
    Refused(sentence);
  }
}

TEST_F(Sentences, TheLongestTextIsWhatTheFilesSay) {
  const auto longest = [&] {
    const LoadedModel m = Load(folder_.path());
    return std::pair{m.about.longest, m.longest_said_by};
  };
  EXPECT_EQ(longest(), std::pair(int64_t{0}, std::string()));
  Write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(longest().first, 0);
  Write("tokenizer_config.json", R"({"model_max_length": 48})");
  EXPECT_EQ(longest(), std::pair(int64_t{48}, std::string("tokenizer_config.json: model_max_length")));
  Write("sentence_bert_config.json", R"({"max_seq_length": 24, "do_lower_case": false})");
  EXPECT_EQ(longest(), std::pair(int64_t{24}, std::string("sentence_bert_config.json: max_seq_length")));
  Write("sentence_bert_config.json", R"({"max_seq_length": null})");
  EXPECT_EQ(longest().first, 48);
}

// The vocabulary has no capital letters, so a cased tokenizer does not belong to it.
TEST_F(Sentences, ACasedTokenizerNeedsACasedVocabulary) {
  for (const char* good : {"{}", "{\"do_lower_case\":true,\"strip_accents\":null}", "{\"strip_accents\":true}",
                           "{\"strip_accents\":false}", "{\"tokenize_chinese_chars\":false}"}) {
    Write("tokenizer_config.json", good);
    Works();
  }
  Write("tokenizer_config.json", "{\"do_lower_case\":false}");
  Refused("keeps capital letters, and none of its 128 entries has one");
}

// Vocabularies are padded to a multiple of 8 or 64 rows.
TEST_F(Sentences, ATableMayHaveMoreRowsThanTheVocabularyHasEntries) {
  json config = ReadJsonFile(folder_.path() / "config.json");
  config["vocab_size"] = 136;
  Write("config.json", config.dump());
  Rewrite(folder_.path() / "model.safetensors", [](std::string& name, Shape& shape, std::vector<float>& v) {
    if (name == "embeddings.word_embeddings.weight") {
      shape[0] = 136;
      v.resize(136 * 32);
    }
    return true;
  });
  EXPECT_EQ(Load(folder_.path()).vocabulary.size, 128u);
}

TEST_F(Sentences, OlderNamesOfTensorsAreRead) {
  const LoadedModel plain = Load(folder_.path());
  const auto older = [](std::string& name, Shape&, std::vector<float>&) {
    for (const auto& [now, then] : {std::pair<std::string, std::string>{"LayerNorm.weight", "LayerNorm.gamma"},
                                    {"LayerNorm.bias", "LayerNorm.beta"}})
      if (name.ends_with(now)) name.replace(name.size() - now.size(), now.size(), then);
    name = "bert." + name;
    return true;
  };
  Rewrite(folder_.path() / "model.safetensors", older);
  const LoadedModel renamed = Load(folder_.path());
  for (auto& [name, t] : plain.weights.tensors()) EXPECT_EQ(t.values, renamed.weights.Get(name).values) << name;
  Rewrite(
      folder_.path() / "model.safetensors", [](std::string&, Shape&, std::vector<float>&) { return true; },
      "embeddings.LayerNorm.bias");
  Refused(
      "has a tensor \"embeddings.LayerNorm.bias\" and the same one as \"bert.embeddings.LayerNorm.beta\"; keep one of "
      "them");
}

TEST_F(Sentences, NormsOfZerosAreRefused) {
  Rewrite(folder_.path() / "model.safetensors", [](std::string& name, Shape&, std::vector<float>& v) {
    if (name == "encoder.layer.0.output.LayerNorm.weight") v.assign(v.size(), 0);
    return true;
  });
  Refused(
      "model.safetensors: the 32 values of tensor \"encoder.layer.0.output.LayerNorm.weight\" are all 0, and a norm");
}

TEST_F(Sentences, WeightsInAnotherFormAreNamed) {
  const std::string file = (folder_.path() / "model.safetensors").string();
  Write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n");
  Refused("model.safetensors is a git-lfs pointer, not the file itself; fetch it with git lfs pull");
  Write("model.safetensors", "<!doctype html>\n<html lang=\"en\">");
  Refused("model.safetensors is an HTML page, not the file itself; download the file");
  std::filesystem::remove(file);
  Refused("there is no file " + file + "; name a model directory that has it");
  Write("pytorch_model.bin", "");
  Refused("there is no file " + file + ", only pytorch_model.bin, which is not read; save the model as safetensors");
  Write("model.safetensors.index.json", "{}");
  Refused("model.safetensors.index.json: weight_map is missing, it must be an object with the file of each tensor");
  Write("adapter_config.json", "{}");
  Refused("adapter_config.json names an adapter, which is not applied; merge it");
}

TEST_F(Sentences, WhatAnotherProgramWouldComputeIsRefused) {
  const json good = ReadJsonFile(folder_.path() / "config.json");
  const std::tuple<const char*, json, std::string> cases[] = {
      {"auto_map", {{"AutoModel", "x.X"}}, "auto_map is"},
      {"quantization_config", {{"bits", 8}}, "quantization_config is"},
      {"transformers_weights", "other.safetensors", "transformers_weights is \"other.safetensors\", which changes"},
      {"pruned_heads", {{"0", {1}}}, "pruned_heads is"},
      {"is_encoder_decoder", true, "is_encoder_decoder is \"true\", only false"}};
  for (const auto& [field, value, sentence] : cases) {
    json bad = good;
    bad[field] = value;
    Write("config.json", bad.dump());
    Refused(sentence);
  }
  Write("config.json", "version https://git-lfs.github.com/spec/v1\n");
  Refused("config.json is a git-lfs pointer");
}

TEST(Decoders, ModulesOfSentencesAreRefused) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny-gpt2"), 1);
  EXPECT_EQ(Load(folder.path()).vocabulary.file, folder.path() / "vocab.txt");
  std::filesystem::rename(folder.path() / "vocab.txt", folder.path() / "tokenizer.json");  // only its digest is used
  EXPECT_TRUE(Load(folder.path()).vocabulary.json);
  std::filesystem::create_directory(folder.path() / "1_Pooling");
  folder.Write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  ExpectSentence([&] { (void)Load(folder.path()); },
                 "1_Pooling/config.json needs an embedding of the rows, and of a model of type \"gpt2\"");
}

}  // namespace
}  // namespace suf::model
