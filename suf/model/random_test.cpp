#include "suf/model/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>

#include "suf/base/digest.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/testing.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/model/tokenizer.hpp"

namespace suf::model {
namespace {

// Returns mean and standard deviation.
std::pair<double, double> Spread(const std::vector<float>& v) {
  double sum = 0, squares = 0;
  for (float x : v) {
    sum += x;
    squares += double(x) * x;
  }
  const double mean = sum / double(v.size());
  return {mean, std::sqrt(squares / double(v.size()) - mean * mean)};
}

std::string DigestOf(const std::filesystem::path& file) { return Hex(HashOf({AsView(ReadText(file, 1 << 28))})); }

// The bytes of a seed are the same with every compiler and on every machine: known digests.
TEST(Random, TheSeedFixesTheBytes) {
  const ModelFolder folder;
  for (const auto& [name, seed] : {std::pair{"a", 1}, {"b", 1}, {"c", 2}}) {
    WriteRandomModel(folder.path() / name, FindPreset("tiny"), uint64_t(seed));
  }
  EXPECT_EQ(DigestOf(folder.path() / "a/model.safetensors"),
            "f2f0120a449ac3ba2bfd6543f5ef68f7e1c9826bbc088f65b536ba39d0d61d74");
  EXPECT_EQ(DigestOf(folder.path() / "a/vocab.txt"),
            "950b237788f15994cdc6b1189dd79e879249da94c23d993617e4afe0c48f6c10");
  EXPECT_EQ(DigestOf(folder.path() / "a/model.safetensors"), DigestOf(folder.path() / "b/model.safetensors"));
  EXPECT_NE(DigestOf(folder.path() / "a/model.safetensors"), DigestOf(folder.path() / "c/model.safetensors"));
}

TEST(Random, TheSpreadIsThatOfARealModel) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("minilm"), 7);
  const LoadedModel m = Load(folder.path());
  EXPECT_EQ(m.graph.leaves().at(0).shape, (nn::Shape{30522, 384}));
  const auto of = [&](const std::string& name) { return m.weights.Get(name).values; };
  const auto expect = [](const std::vector<float>& v, double mean, double sd) {
    const auto [got_mean, got_sd] = Spread(v);
    const double error = 6 * sd / std::sqrt(double(v.size()));
    EXPECT_NEAR(got_mean, mean, error);
    EXPECT_NEAR(got_sd, sd, error);
  };
  expect(of("embeddings.word_embeddings.weight"), 0, 0.05);
  expect(of("embeddings.position_embeddings.weight"), 0, 0.05);
  expect(of("encoder.layer.0.attention.self.query.weight"), 0, 1 / std::sqrt(384.0));
  expect(of("encoder.layer.5.output.dense.weight"), 0, 1 / std::sqrt(1536.0));
  expect(of("encoder.layer.3.intermediate.dense.bias"), 0, 0.1);
  expect(of("embeddings.LayerNorm.weight"), 1, 0.1);
  expect(of("encoder.layer.5.output.LayerNorm.bias"), 0, 0.1);
  const Tokenizer t = Tokenizer::Load(folder.path() / "vocab.txt");
  EXPECT_EQ(t.Encode("[MASK] banana.").front(), 101);
  EXPECT_EQ(t.Encode("[MASK] banana.")[1], 103);
}

// Returns the bits of levels of every softmax at `longest` tokens, by its maximum, calibrated on the committed texts.
std::vector<int> Levels(const LoadedModel& m, const Tokenizer& t, int longest) {
  std::vector<Text> texts;
  std::istringstream lines(ReadText("tests/data/calibrate.txt", 1 << 20));
  for (std::string line; std::getline(lines, line);)
    if (const auto ids = t.Encode(line); int(ids.size()) <= longest) texts.emplace_back(ids.begin(), ids.end());
  nn::Options maximum;
  maximum.Set("softmax", 0);
  std::vector<int> levels;
  const nn::Plan plan = SmallPlan(m, longest, maximum, std::move(texts));
  for (const auto& op : plan.For(longest).ops)
    if (const auto* s = dynamic_cast<const nn::Softmax*>(op.get())) levels.push_back(s->maximum.level);
  return levels;
}

// Like a trained encoder's at 128 tokens: all-MiniLM-L6-v2 has 7, 6, 6, 5, 6, 5. Plain weights give bundles that are
// too small.
TEST(Random, TheScoresAreThoseOfATrainedEncoder) {
  const Preset& tiny = FindPreset("bert-tiny");
  const auto levels = [](const Preset& p) {
    const ModelFolder folder;
    WriteRandomModel(folder.path(), p, 1);
    return Levels(Load(folder.path()), Tokenizer::Load(folder.path() / "vocab.txt"), 128);
  };
  EXPECT_THAT(levels(tiny), testing::AllOf(testing::SizeIs(2), testing::Each(testing::AnyOf(6, 7))));
  EXPECT_THAT(levels({"plain", tiny.config}), testing::AllOf(testing::SizeIs(2), testing::Each(testing::Le(4))));
}

TEST(Random, PresetsOfPublishedSizes) {
  struct Size {
    const char* name;
    int64_t words, places, layers, d, heads, weights;
  };
  for (const Size& s : {Size{"bert-tiny", 30522, 512, 2, 128, 2, 4369408},
                        {"bert-base", 30522, 512, 12, 768, 12, 108891648},
                        {"bert-large", 30522, 512, 24, 1024, 16, 334092288},
                        {"gpt2", 50257, 1024, 12, 768, 12, 124439808}}) {
    const ModelFolder folder;
    folder.Write("config.json", FindPreset(s.name).config);
    const nn::Graph g = ReadGraph(folder.path());
    int64_t weights = 0, layers = 0;
    for (const nn::Leaf& leaf : g.leaves()) weights += nn::Size(leaf.shape);
    for (const auto& n : g.nodes())
      if (const auto* scores = n->As<nn::Scores>()) {
        EXPECT_EQ(scores->heads, s.heads) << s.name;
        ++layers;
      }
    EXPECT_EQ(weights, s.weights) << s.name;
    EXPECT_EQ(layers, s.layers) << s.name;
    EXPECT_EQ(g.leaves().at(0).shape, (nn::Shape{s.words, s.d})) << s.name;
    EXPECT_EQ(g.leaves().at(1).shape, (nn::Shape{s.places, s.d})) << s.name;
    EXPECT_EQ(FindPreset(s.name).query_key, FindPreset("bert-tiny").query_key) << s.name;
  }
  for (const char* old : {"tiny", "minilm", "tiny-gpt2", "tiny-llama"}) EXPECT_EQ(FindPreset(old).query_key, 1) << old;
}

// Every second norm has few gammas that are 10 to 30 times the others. Maps that read them have smaller weights there,
// and no other number of the model changes.
TEST(Random, OutlierChannels) {
  for (const char* name : {"bge-small", "mpnet-base", "roberta-base", "roberta-labels", "cross-encoder"})
    EXPECT_EQ(FindPreset(name).outliers, 3) << name;
  Preset wide = FindPreset("tiny-outliers"), plain = wide;
  wide.outliers = 3;
  plain.outliers = 0;
  const LoadedModel with = Written(wide, 1), without = Written(plain, 1);
  std::set<size_t> channels;
  size_t norms = 0;
  for (const auto& [tensor, t] : with.weights.tensors()) {
    const std::vector<float>& was = without.weights.Get(tensor).values;
    const bool gamma = tensor.ends_with("LayerNorm.weight"),
               large = tensor.ends_with("attention.output.LayerNorm.weight"),
               reads = tensor.ends_with("intermediate.dense.weight");
    norms += gamma;
    std::set<size_t> changed;
    for (size_t i = 0; i < was.size(); ++i) {
      if (t.values[i] == was[i]) continue;
      const float factor = large ? t.values[i] / was[i] : was[i] / t.values[i];
      EXPECT_GE(factor, 9.999f) << tensor;
      EXPECT_LE(factor, 30.001f) << tensor;
      changed.insert(i % 32);
    }
    if (channels.empty() && gamma) channels = changed;
    EXPECT_EQ(changed, gamma || reads ? channels : std::set<size_t>{}) << tensor;
  }
  EXPECT_EQ(norms, 5u);
  EXPECT_EQ(channels.size(), 3u);
}

TEST(Random, TheTinyVocabularyCoversEnglish) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  const Tokenizer t = Tokenizer::Load(folder.path() / "vocab.txt");
  for (int32_t id : t.Encode("The quick brown fox, it isn't jumping over 13 lazy dogs!")) EXPECT_NE(id, 1);
  EXPECT_EQ(t.Encode("dogs").size(), 4u);
}

TEST(Random, AFolderWithAModelAndUnknownPresetsAreRefused) {
  const ModelFolder folder;
  WriteRandomModel(folder.path(), FindPreset("tiny"), 1);
  ExpectSentence([&] { WriteRandomModel(folder.path(), FindPreset("tiny"), 1); }, "already holds a model");
  folder.Write("plain", "");
  ExpectSentence([&] { WriteRandomModel(folder.path() / "plain/x", FindPreset("tiny"), 1); }, "cannot make",
                 Cause::kResource);
  for (const Family* family : Families())
    for (const Preset& p : family->presets) EXPECT_EQ(FindPreset(p.name).config, p.config);
  ExpectSentence([] { (void)FindPreset("huge"); },
                 "there is no preset \"huge\"; choose one of tiny, tiny-cls, tiny-reranker, tiny-outliers, minilm, "
                 "bert-tiny, bge-small, cross-encoder, bert-base, bert-large, tiny-distilbert, tiny-distilbert-labels, "
                 "tiny-gpt2, gpt2, tiny-llama, tiny-modernbert, tiny-mpnet, tiny-mpnet-labels, mpnet-base, tiny-nomic, "
                 "tiny-qwen3, tiny-roberta, "
                 "tiny-roberta-labels, roberta-base, roberta-labels");
}

}  // namespace
}  // namespace suf::model
