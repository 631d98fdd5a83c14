// What a Hugging Face model directory says about itself, read strictly: a model that we would compute wrongly is
// refused.
#pragma once
#include <filesystem>

#include "suf/nn/weights.hpp"

namespace suf::model {

// Config: the encoder's shape, and the rows of its token-type table.
struct Config {
  nn::Dims dims;
  int64_t types = 0;
};

// ReadConfig: config.json, and where present tokenizer_config.json and 1_Pooling/config.json, of directory `dir`.
// Accepted: an uncased BERT encoder, exact GELU, absolute positions, heads that divide d, mean pooling.
// Throws Cause::kInput naming the file, the field, what it holds and what is supported.
Config ReadConfig(const std::filesystem::path& dir);

}  // namespace suf::model
