// The heads of classifiers, by config.json.
#include <gtest/gtest.h>

#include "suf/model/family.hpp"
#include "suf/model/internal/config.hpp"
#include "suf/model/random.hpp"
#include "suf/model/testing.hpp"
#include "suf/nn/ops/lookup.hpp"

namespace suf::model {
namespace {

class Heads : public testing::Test {
 protected:
  // Changes fields of a random classifier's config.json; null removes one.
  void Change(const json& fields) {
    json config = good_;
    for (const auto& [name, value] : fields.items())
      if (value.is_null())
        config.erase(name);
      else
        config[name] = value;
    folder_.Write("config.json", config.dump());
  }
  void Use(const char* preset) {
    for (const char* file : {"config.json", "model.safetensors", "vocab.txt"})
      std::filesystem::remove(folder_.path() / file);
    WriteRandomModel(folder_.path(), FindPreset(preset), 1);
    good_ = ReadJsonFile(folder_.path() / "config.json");
  }
  void Refused(const json& fields, const std::string& sentence) {
    Change(fields);
    ExpectSentence([&] { (void)Load(folder_.path()); }, sentence);
  }
  ModelFolder folder_;
  json good_;
};

TEST_F(Heads, LabelsAreThoseOfTheColumns) {
  Use("tiny-roberta-labels");
  LoadedModel m = Load(folder_.path());
  EXPECT_EQ(m.about.labels, (std::vector<std::string>{"negative", "neutral", "positive"}));
  EXPECT_EQ(m.about.result, nn::ResultKind::kScores);
  EXPECT_EQ(m.about.texts, nn::TextForm::kEither);
  EXPECT_EQ(m.graph.node(0).As<nn::Lookup>()->types, 0);  // one type is no choice
  Change({{"label2id", {{"negative", 0}, {"neutral", "1"}, {"positive", 2}}}});
  EXPECT_EQ(Load(folder_.path()).about.labels.size(), 3u);
  Change({{"id2label", nullptr}, {"num_labels", 3}});
  EXPECT_EQ(Load(folder_.path()).about.labels, (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  Use("tiny-mpnet-labels");  // two, where nothing says how many
  EXPECT_EQ(Load(folder_.path()).about.labels.size(), 2u);
  Use("tiny-reranker");
  m = Load(folder_.path());
  EXPECT_EQ(m.about.texts, nn::TextForm::kPair);
  EXPECT_EQ(m.graph.node(0).As<nn::Lookup>()->types, 2);
}

TEST_F(Heads, WrongLabelsAreRefused) {
  Use("tiny-roberta-labels");
  Refused({{"num_labels", 2}}, "num_labels is \"2\", and id2label names 3 labels; use the files of one model");
  Refused({{"label2id", {{"negative", 0}, {"positive", 1}}}}, "and id2label names 3 labels");
  Refused({{"id2label", {{"0", "a"}, {"2", "b"}}}}, "it has no name for the number 1; name each number from 0 to 1");
  Refused({{"id2label", {{"0", "a"}, {"1", 7}}}}, "it has no name for the number 1");
  Refused({{"id2label", {{"0", "a"}, {"1", "b\u202ec"}}}}, "is not of 1 to 256 visible characters; rename it");
  Refused({{"id2label", {{"0", "a"}, {"1", ""}}}}, "the label \"\" is not of 1 to 256 visible characters; rename it");
  Refused({{"id2label", {{"0", "a"}, {"1", "b"}, {"2", "a"}}}},
          "the labels 0 and 2 are both \"a\"; rename one of them");
  for (const json& numbers : {json{{"a", 1}, {"b", 0}}, json{{"a", 0}, {"c", 1}}, json{{"a", 0.5}, {"b", 1}}})
    Refused({{"id2label", {{"0", "a"}, {"1", "b"}}}, {"label2id", numbers}}, "and id2label gives the number ");
  Refused({{"id2label", {{"0", std::string(257, 'x')}}}}, "is not of 1 to 256 visible characters");
  Refused({{"id2label", json::object()}}, "id2label is \"{}\", it must name from 1 to 4096 labels");
  Refused({{"id2label", "a"}}, "it must name from 1 to 4096 labels");
  Refused({{"num_labels", 0}, {"id2label", nullptr}}, "num_labels is \"0\", it must be a whole number from 1 to 4096");
  // the weights have three columns
  Refused({{"id2label", {{"0", "a"}, {"1", "b"}}}}, "classifier.out_proj");
}

TEST_F(Heads, OtherHeadsAreRefusedByName) {
  Use("tiny-roberta-labels");
  for (const char* head : {"RobertaForTokenClassification", "RobertaForQuestionAnswering", "RobertaForMultipleChoice"})
    Refused({{"architectures", {head}}}, Str("architectures is \"[\\\"", head,
                                             "\\\"]\", only the rows of a model and ForSequenceClassification are "
                                             "supported"));
  Refused({{"architectures", "RobertaModel"}}, "it must be a list of names");
  for (const json& rows : {json::array({"RobertaModel"}), json::array({"RobertaForMaskedLM"}), json::array(), json()}) {
    Change({{"architectures", rows}});
    EXPECT_EQ(Load(folder_.path()).about.result, nn::ResultKind::kUnit) << rows;
  }
  // rows of a decoder have no pooling by default
  Refused({{"architectures", {"RobertaForCausalLM"}}}, "and there is no modules.json");
  Use("tiny-gpt2");
  Refused({{"architectures", {"GPT2ForSequenceClassification"}}}, "only the logits of the next token are supported");
}

// The folder of an embedding wins over the class that saved the weights.
TEST_F(Heads, APoolingMakesAnEmbedding) {
  Use("tiny-roberta-labels");
  std::filesystem::create_directory(folder_.path() / "1_Pooling");
  folder_.Write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  EXPECT_EQ(Load(folder_.path()).about.result, nn::ResultKind::kUnit);
}

}  // namespace
}  // namespace suf::model
