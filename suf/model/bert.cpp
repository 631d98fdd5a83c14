#include "suf/model/bert.hpp"

#include <algorithm>
#include <cmath>

#include "suf/base/error.hpp"
#include "suf/model/config.hpp"
#include "suf/model/internal/bert_tensors.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/tokenizer.hpp"

namespace suf::model {

nn::Weights LoadBert(const std::filesystem::path& dir) {
  const Config config = ReadConfig(dir);
  const auto vocabulary = dir / "vocab.txt", file = dir / "model.safetensors";
  if (const size_t n = ReadVocabulary(vocabulary).size(); n != size_t(config.dims.vocab)) {
    Fail(Cause::kInput, vocabulary.string(), " has ", n, " entries, config.json says vocab_size ", config.dims.vocab,
         "; use the files of one model");
  }
  Safetensors tensors(file);
  const std::string prefix = tensors.Has("bert.embeddings.word_embeddings.weight") ? "bert." : "";
  const std::string beyond = Str(prefix, "encoder.layer.", config.dims.layers, ".attention.self.query.weight");
  if (tensors.Has(beyond)) {
    Fail(Cause::kInput, file.string(), " has a tensor ", Quoted(beyond), " beyond the ", config.dims.layers,
         " layers of config.json; use the files of one model");
  }
  nn::Weights w;
  w.dims = config.dims;
  VisitTensors(w, config.types, [&](const std::string& name, const Shape& shape, std::vector<float>& values, Kind) {
    values = tensors.Floats(prefix + name, shape);
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      Fail(Cause::kInput, file.string(), ": tensor ", Quoted(prefix + name),
           " holds a value that is not finite; export the model again");
    }
  });
  w.type.resize(size_t(w.dims.d));  // a single text: every token is of type 0
  return w;
}

}  // namespace suf::model
