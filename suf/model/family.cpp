#include "suf/model/family.hpp"

#include <charconv>

#include "suf/model/internal/config.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/tokenizer.hpp"
#include "suf/nn/ops/lookup.hpp"

namespace suf::model {

namespace {

const Family& FamilyOf(const std::filesystem::path& dir) {
  const Fields f(dir / "config.json");
  std::string names;
  for (const Family* family : Families()) {
    if (f.Text("model_type") == family->name) return *family;
    names += (names.empty() ? "" : ", ") + std::string(family->name);
  }
  Fail(Cause::kInput, (dir / "config.json").string(), ": model_type is ",
       f.Has("model_type") ? Quoted(f.Text("model_type")) : "missing", ", only ", names,
       " are supported; use another model");
}

// Beyond: a leaf's name with its number raised by one: a tensor of the next layer, or "".
std::string Beyond(const std::string& name, int64_t* layer) {
  for (size_t at = 0; (at = name.find('.', at)) != std::string::npos; ++at) {
    const char *begin = name.data() + at + 1, *end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(begin, end, *layer);
    if (error == std::errc{} && stop != end && *stop == '.')
      return name.substr(0, at + 1) + std::to_string(*layer + 1) + std::string(stop, end);
  }
  return "";
}

void CheckLayers(const nn::Graph& graph, const Safetensors& tensors, const std::string& prefix,
                 const std::string& file) {
  int64_t last = -1;
  std::string beyond;
  for (const nn::Leaf& leaf : graph.leaves()) {
    int64_t layer = -1;
    const std::string next = Beyond(leaf.name, &layer);
    if (!next.empty() && layer > last) last = layer, beyond = next;
  }
  if (!beyond.empty() && tensors.Has(prefix + beyond))
    Fail(Cause::kInput, file, " has a tensor ", Quoted(prefix + beyond), " beyond the ", last + 1,
         " layers of config.json; use the files of one model");
}

}  // namespace

nn::Graph ReadGraph(const std::filesystem::path& dir) { return FamilyOf(dir).build(dir); }

Model Load(const std::filesystem::path& dir) {
  const Family& family = FamilyOf(dir);
  Model m{family.build(dir), {}, family.min_tokens};
  const auto vocabulary = dir / "vocab.txt", file = dir / "model.safetensors";
  const int64_t words = m.graph.node(0).As<nn::Lookup>()->table.shape()[0];
  std::error_code error;
  if (std::filesystem::exists(vocabulary, error) || family.word_pieces) {
    if (const size_t n = ReadVocabulary(vocabulary).size(); n != size_t(words))
      Fail(Cause::kInput, vocabulary.string(), " has ", n, " entries, config.json says vocab_size ", words,
           "; use the files of one model");
  }
  Safetensors tensors(file);
  const std::string prefix = tensors.Has(family.prefix + m.graph.leaves().at(0).name) ? family.prefix : "";
  CheckLayers(m.graph, tensors, prefix, file.string());
  for (const nn::Leaf& leaf : m.graph.leaves())
    m.weights.Set(leaf.name, {leaf.shape, tensors.Floats(prefix + leaf.name, leaf.shape)});
  return m;
}

}  // namespace suf::model
