#include "suf/model/random.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "suf/base/json.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/nn/ops.hpp"

namespace suf::model {
namespace {

// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Word() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

// Nearly normal numbers (sums of twelve uniform ones), each by integers and one rounding.
class Normals {
 public:
  explicit Normals(uint64_t seed) : words_(seed) {}

  // Returns a number whose mean is a whole multiple of sd.
  float Next(int64_t mean_in_sd, double sd) {
    int64_t sum = -6 * 65535;  // minus its mean
    for (int i = 0; i < 3; ++i) {
      const uint64_t w = words_.Word();
      sum += int64_t(w & 0xffff) + int64_t(w >> 16 & 0xffff) + int64_t(w >> 32 & 0xffff) + int64_t(w >> 48);
    }
    return float(double(sum + mean_in_sd * 65536) * (sd / 65536));
  }

 private:
  SplitMix words_;
};

// Returns exactly 128 entries, in which every lower-case English text and number tokenizes, mostly by letters.
std::vector<std::string> TinyVocabulary() {
  std::vector<std::string> v = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "!", "?", "'", "-"};
  for (const char* prefix : {"", "##"}) {
    for (char c = 'a'; c <= 'z'; ++c) v.push_back(std::string(prefix) + c);
    for (char c = '0'; c <= '9'; ++c) v.push_back(std::string(prefix) + c);
  }
  for (const char* word :
       {"the",  "of",    "and",    "to",    "in",  "is",   "it",   "was",   "for",   "on",   "are",  "as",
        "with", "his",   "they",   "at",    "be",  "this", "have", "from",  "or",    "one",  "had",  "by",
        "word", "but",   "not",    "what",  "all", "we",   "dog",  "river", "house", "##es", "##ed", "##er",
        "##ly", "##ing", "##tion", "water", "sun", "cat",  "good", "you",   "that"}) {
    v.push_back(word);
  }
  return v;
}

// Returns specials at 0 and 100 to 103, then printable ASCII, then invented words of consonant-vowel syllables. Each of
// the latter is also there as a continuation.
std::vector<std::string> LargeVocabulary(size_t size) {
  std::vector<std::string> v = {"[PAD]"};
  size_t unused = 0;
  while (v.size() < 100) v.push_back(Str("[unused", unused++, "]"));
  for (const char* special : {"[UNK]", "[CLS]", "[SEP]", "[MASK]"}) v.push_back(special);
  while (v.size() < 999) v.push_back(Str("[unused", unused++, "]"));
  for (char c = '!'; c <= '~'; ++c) {
    if (c < 'A' || c > 'Z') v.push_back(std::string(1, c));
  }
  for (char c = 'a'; c <= 'z'; ++c) v.push_back(std::string("##") + c);
  for (char c = '0'; c <= '9'; ++c) v.push_back(std::string("##") + c);
  const std::string consonants = "bcdfghjklmnpqrstvwxz", vowels = "aeiou";
  std::vector<std::string> words = {""};
  for (size_t at = 0; v.size() < size; ++at) {  // each word is extended by every syllable: shorter words come first
    for (char c : consonants) {
      for (char e : vowels) {
        words.push_back(words[at] + c + e);
        if (v.size() < size) v.push_back(words.back());
        if (v.size() < size) v.push_back("##" + words.back());
      }
    }
  }
  return v;
}

// Returns the tensors of the maps whose results are multiplied to scores.
std::map<std::string, nn::Shape> QueriesAndKeys(const nn::Graph& graph) {
  std::map<std::string, nn::Shape> out;
  for (const auto& n : graph.nodes())
    if (const auto* m = n->As<nn::LinearMap>(); m && m->key == "query_key")
      for (const nn::LinearMap::MapTerm& t : m->terms) t.weight.Leaves(&out);
  return out;
}

using TensorValues = std::map<std::string, std::vector<float>>;

// Returns the name of the tensor of a norm's gamma, or of a map's weight, which is stored transposed.
std::string NameOf(const nn::Expr& weight) {
  std::map<std::string, nn::Shape> leaves;
  weight.Leaves(&leaves);
  SUF_CHECK(leaves.size() == 1);
  const nn::Expr tensor = nn::Expr::Leaf(leaves.begin()->first, leaves.begin()->second);
  SUF_CHECK(weight == (tensor.shape().size() == 1 ? tensor : tensor.Transposed()));
  return leaves.begin()->first;
}

// Returns the factors of `count` outlier channels.
std::map<int64_t, float> OutlierFactors(int count, int64_t width, uint64_t seed) {
  SUF_CHECK(count <= width);
  SplitMix words(~seed);  // not those of the weights
  std::map<int64_t, float> factors;
  while (factors.size() < size_t(count)) {
    const uint64_t w = words.Word();
    factors.emplace(int64_t((w & 0xffffffff) % uint64_t(width)), float(10 + (w >> 32) % 21));
  }
  return factors;
}

// Gives an encoder the outlier channels of a trained one. The norm behind attention multiplies them, and maps read them
// by small weights. The residual stream carries them to the next norm, which makes them small again. Otherwise they
// would grow with every layer until the other channels vanish.
void ScaleOutliers(const nn::Graph& graph, int count, uint64_t seed, TensorValues* values) {
  std::map<int64_t, float> factors;
  bool large = false;  // the first norm, of the embeddings, makes them small
  for (const auto& n : graph.nodes()) {
    const auto* norm = n->As<nn::Norm>();
    if (!norm || !norm->gamma) continue;
    if (factors.empty()) factors = OutlierFactors(count, norm->dim, seed);
    std::vector<float>& gamma = values->at(NameOf(norm->gamma));
    for (const auto& [channel, factor] : factors) {
      float& g = gamma[size_t(channel)];
      g = large ? g * factor : g / factor;
      if (!large) continue;
      for (const nn::GraphNode* reader : graph.Readers(n.get())) {
        const auto* map = reader->As<nn::LinearMap>();
        if (!map) continue;
        std::vector<float>& w = values->at(NameOf(map->terms.at(0).weight));  // (outputs, width)
        for (size_t i = size_t(channel); i < w.size(); i += size_t(norm->dim)) w[i] /= factor;
      }
    }
    large = !large;
  }
}

}  // namespace

const Preset& FindPreset(std::string_view name) {
  std::string names;
  for (const Family* family : Families())
    for (const Preset& p : family->presets) {
      if (name == p.name) return p;
      names += (names.empty() ? "" : ", ") + std::string(p.name);
    }
  Fail(Cause::kInput, "there is no preset ", Quoted(name), "; choose one of ", names);
}

void WriteRandomModel(const std::filesystem::path& dir, const Preset& preset, uint64_t seed) {
  std::error_code error;
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    if (std::filesystem::exists(dir / file, error)) {
      Fail(Cause::kInput, dir.string(), " already holds a model (", file, "); name an empty folder");
    }
  }
  std::filesystem::create_directories(dir, error);
  if (error) Fail(Cause::kResource, "cannot make the folder ", dir.string(), "; check its parent and the permissions");

  WriteWhole(dir / "config.json", {ReadJson(preset.config, {"the preset", "choose another one"}).dump(2), "\n"});
  if (const std::string pooling = preset.pooling; !pooling.empty()) {
    const auto folder = dir / "1_Pooling";
    std::filesystem::create_directories(folder, error);
    if (error) Fail(Cause::kResource, "cannot make the folder ", folder.string(), "; check the permissions");
    WriteWhole(folder / "config.json", {nlohmann::json{{"pooling_mode", pooling}}.dump(), "\n"});
  }
  const nn::Graph graph = ReadGraph(dir);
  const auto scored = QueriesAndKeys(graph);
  Normals normals(seed);
  TensorValues values;
  for (const nn::Leaf& leaf : graph.leaves()) {
    // The inputs of a projection are its columns, or its rows if it is stored as it is applied. Both have its size.
    const double sd = leaf.kind == nn::Leaf::kTable ? 0.05
                      : leaf.kind == nn::Leaf::kProjection
                          ? (scored.contains(leaf.name) ? preset.query_key : 1) / std::sqrt(double(leaf.shape.back()))
                          : 0.1;
    std::vector<float>& v = values[leaf.name];
    v.resize(size_t(nn::Size(leaf.shape)));
    for (float& x : v) x = normals.Next(leaf.kind == nn::Leaf::kGamma ? 10 : 0, sd);
  }
  if (preset.outliers > 0) ScaleOutliers(graph, preset.outliers, seed, &values);
  std::vector<NewTensor> tensors;
  for (const nn::Leaf& leaf : graph.leaves())
    tensors.push_back({leaf.name, leaf.shape, std::span<const float>(values.at(leaf.name))});
  const int64_t words = graph.leaves().at(0).shape[0];
  auto vocabulary = words <= 128 ? TinyVocabulary() : LargeVocabulary(size_t(words));
  vocabulary.resize(size_t(words));
  std::string lines;
  for (const std::string& entry : vocabulary) lines += entry + "\n";
  WriteWhole(dir / "vocab.txt", {lines});
  WriteSafetensors(dir / "model.safetensors", tensors);
}

}  // namespace suf::model
