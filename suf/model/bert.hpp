// Loading a BERT encoder: config.json, model.safetensors and vocab.txt of a Hugging Face directory.
#pragma once
#include <filesystem>

#include "suf/nn/weights.hpp"

namespace suf::model {

// LoadBert: the weights of the model in `dir`, every value finite; names with or without the "bert." prefix; the pooler
// and heads are left out. Throws Cause::kInput naming the file and the tensor that is missing, of another shape or
// type, or the vocabulary whose size is not the config's.
nn::Weights LoadBert(const std::filesystem::path& dir);

}  // namespace suf::model
