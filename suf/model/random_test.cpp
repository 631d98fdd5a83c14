#include "suf/model/random.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "suf/base/digest.hpp"
#include "suf/model/bert.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/testing.hpp"
#include "suf/model/tokenizer.hpp"

namespace suf::model {
namespace {

// Spread: mean and standard deviation.
std::pair<double, double> Spread(const std::vector<float>& v) {
  double sum = 0, squares = 0;
  for (float x : v) sum += x, squares += double(x) * x;
  const double mean = sum / double(v.size());
  return {mean, std::sqrt(squares / double(v.size()) - mean * mean)};
}

std::string DigestOf(const std::filesystem::path& file) { return Hex(HashOf({AsView(ReadText(file, 1 << 28))})); }

// The bytes of a seed are the same with every compiler and on every machine: known digests.
TEST(Random, TheSeedFixesTheBytes) {
  const Folder folder;
  for (const auto& [name, seed] : {std::pair{"a", 1}, {"b", 1}, {"c", 2}}) {
    WriteRandomModel(folder.path() / name, Preset::kTiny, uint64_t(seed));
  }
  EXPECT_EQ(DigestOf(folder.path() / "a/model.safetensors"),
            "f2f0120a449ac3ba2bfd6543f5ef68f7e1c9826bbc088f65b536ba39d0d61d74");
  EXPECT_EQ(DigestOf(folder.path() / "a/vocab.txt"),
            "950b237788f15994cdc6b1189dd79e879249da94c23d993617e4afe0c48f6c10");
  EXPECT_EQ(DigestOf(folder.path() / "a/model.safetensors"), DigestOf(folder.path() / "b/model.safetensors"));
  EXPECT_NE(DigestOf(folder.path() / "a/model.safetensors"), DigestOf(folder.path() / "c/model.safetensors"));
}

TEST(Random, TheSpreadIsThatOfARealModel) {
  const Folder folder;
  WriteRandomModel(folder.path(), Preset::kMiniLm, 7);
  const nn::Weights w = LoadBert(folder.path());
  EXPECT_EQ(w.dims, (nn::Dims{384, 12, 1536, 30522, 6, 512, 1e-12}));
  const auto expect = [](const std::vector<float>& v, double mean, double sd) {
    const auto [got_mean, got_sd] = Spread(v);
    const double error = 6 * sd / std::sqrt(double(v.size()));
    EXPECT_NEAR(got_mean, mean, error);
    EXPECT_NEAR(got_sd, sd, error);
  };
  expect(w.word, 0, 0.05);
  expect(w.position, 0, 0.05);
  expect(w.layers[0].wq, 0, 1 / std::sqrt(384.0));
  expect(w.layers[5].w_out, 0, 1 / std::sqrt(1536.0));
  expect(w.layers[3].b_in, 0, 0.1);
  expect(w.gamma, 1, 0.1);
  expect(w.layers[5].b2, 0, 0.1);
  const Tokenizer t = Tokenizer::Load(folder.path() / "vocab.txt");
  EXPECT_EQ(t.Encode("[MASK] banana.").front(), 101);
  EXPECT_EQ(t.Encode("[MASK] banana.")[1], 103);
}

TEST(Random, TheTinyVocabularyCoversEnglish) {
  const Folder folder;
  WriteRandomModel(folder.path(), Preset::kTiny, 1);
  const Tokenizer t = Tokenizer::Load(folder.path() / "vocab.txt");
  for (int32_t id : t.Encode("The quick brown fox, it isn't jumping over 13 lazy dogs!")) EXPECT_NE(id, 1);
  EXPECT_EQ(t.Encode("dogs").size(), 4u);
}

TEST(Random, AFolderWithAModelAndUnknownPresetsAreRefused) {
  const Folder folder;
  WriteRandomModel(folder.path(), Preset::kTiny, 1);
  ExpectSentence([&] { WriteRandomModel(folder.path(), Preset::kTiny, 1); }, "already holds a model");
  folder.Write("plain", "");
  ExpectSentence([&] { WriteRandomModel(folder.path() / "plain/x", Preset::kTiny, 1); }, "cannot make",
                 Cause::kResource);
  EXPECT_EQ(ParsePreset("tiny"), Preset::kTiny);
  EXPECT_EQ(ParsePreset("minilm"), Preset::kMiniLm);
  ExpectSentence([] { (void)ParsePreset("huge"); }, "there is no preset \"huge\"; choose tiny or minilm");
}

}  // namespace
}  // namespace suf::model
