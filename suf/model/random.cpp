#include "suf/model/random.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "suf/base/error.hpp"
#include "suf/model/internal/bert_tensors.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/safetensors.hpp"

namespace suf::model {
namespace {

constexpr int64_t kTypes = 2;

nn::Dims DimsOf(Preset preset) {
  if (preset == Preset::kTiny) return {.d = 32, .heads = 4, .ff = 64, .vocab = 128, .layers = 2, .positions = 64};
  return {.d = 384, .heads = 12, .ff = 1536, .vocab = 30522, .layers = 6, .positions = 512};
}

// Normals: nearly normal numbers (the sum of twelve uniform ones), by integers and one rounding each.
class Normals {
 public:
  explicit Normals(uint64_t seed) : state_(seed) {}

  // Next: mean a whole multiple of sd.
  float Next(int64_t mean_in_sd, double sd) {
    int64_t sum = -6 * 65535;  // minus its mean
    for (int i = 0; i < 3; ++i) {
      const uint64_t w = Word();
      sum += int64_t(w & 0xffff) + int64_t(w >> 16 & 0xffff) + int64_t(w >> 32 & 0xffff) + int64_t(w >> 48);
    }
    return float(double(sum + mean_in_sd * 65536) * (sd / 65536));
  }

 private:
  // SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
  uint64_t Word() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  uint64_t state_;
};

// TinyVocabulary: every lower-case English text and number tokenizes, mostly by letters; exactly 128 entries.
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

// LargeVocabulary: laid out like BERT's (specials at 0 and 100 to 103), then printable ASCII and invented words of
// consonant-vowel syllables, each also as a continuation.
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
  for (size_t at = 0; v.size() < size;
       ++at) {  // each word begets its extensions by a syllable: shorter words come first
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

nlohmann::json ConfigOf(const nn::Dims& dims) {
  return {{"architectures", {"BertModel"}},
          {"model_type", "bert"},
          {"hidden_act", "gelu"},
          {"position_embedding_type", "absolute"},
          {"hidden_size", dims.d},
          {"num_attention_heads", dims.heads},
          {"intermediate_size", dims.ff},
          {"vocab_size", dims.vocab},
          {"num_hidden_layers", dims.layers},
          {"max_position_embeddings", dims.positions},
          {"type_vocab_size", kTypes},
          {"layer_norm_eps", dims.eps}};
}

}  // namespace

Preset ParsePreset(std::string_view name) {
  if (name == "tiny") return Preset::kTiny;
  if (name == "minilm") return Preset::kMiniLm;
  Fail(Cause::kInput, "there is no preset ", Quoted(name), "; choose tiny or minilm");
}

void WriteRandomModel(const std::filesystem::path& dir, Preset preset, uint64_t seed) {
  std::error_code error;
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    if (std::filesystem::exists(dir / file, error)) {
      Fail(Cause::kInput, dir.string(), " already holds a model (", file, "); name an empty folder");
    }
  }
  std::filesystem::create_directories(dir, error);
  if (error) Fail(Cause::kResource, "cannot make the folder ", dir.string(), "; check its parent and the permissions");

  nn::Weights w;
  w.dims = DimsOf(preset);
  Normals normals(seed);
  std::vector<NewTensor> tensors;
  VisitTensors(w, kTypes, [&](const std::string& name, const Shape& shape, std::vector<float>& values, Kind kind) {
    const int64_t inputs = shape.back();
    values.resize(size_t(shape.size() == 2 ? shape[0] * inputs : inputs));
    const double sd = kind == Kind::kTable ? 0.05 : kind == Kind::kProjection ? 1 / std::sqrt(double(inputs)) : 0.1;
    for (float& v : values) v = normals.Next(kind == Kind::kGamma ? 10 : 0, sd);
    tensors.push_back({name, shape, std::span<const float>(values)});
  });
  const auto vocabulary = preset == Preset::kTiny ? TinyVocabulary() : LargeVocabulary(size_t(w.dims.vocab));
  SUF_CHECK(vocabulary.size() == size_t(w.dims.vocab));
  std::string lines;
  for (const std::string& entry : vocabulary) lines += entry + "\n";
  WriteWhole(dir / "vocab.txt", {lines});
  WriteSafetensors(dir / "model.safetensors", tensors);
  WriteWhole(dir / "config.json", {ConfigOf(w.dims).dump(2), "\n"});
}

}  // namespace suf::model
