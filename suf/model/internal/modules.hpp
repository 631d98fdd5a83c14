// The files that sentence-transformers keeps beside a model: modules.json, the list of steps, and their settings. One
// list is supported: the model, the mean or one of its rows, division by its norm. Private to the module.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "suf/nn/ops.hpp"

namespace suf::model {

// The places of a directory's modules.
struct Modules {
  std::filesystem::path transformer;  // the folder of config.json, weights and tokenizer
  std::filesystem::path pooling;      // its config.json; "" if it has no folder
  std::filesystem::path normalize;    // its config.json, which need not exist
  bool listed = false;                // there is a modules.json
};

// Reads modules.json, or the names of folders if there is none. Throws Cause::kInput, naming file and field, for other
// modules and for another order.
Modules ReadModules(const std::filesystem::path& dir);

// Returns the pooling of rows, of `width` numbers each, whose unit vector the settings request. The text must be taken
// as it is. Throws Cause::kInput, naming file and field, for other settings.
nn::PoolRows::Kind ReadPooling(const std::filesystem::path& dir, const Modules& modules, int64_t width);

// The most tokens of a text (0: no limit) and the field with this limit, "tokenizer_config.json: model_max_length".
struct LongestText {
  int64_t tokens = 0;
  std::string said_by;
};
// Reads the length to which sentence-transformers cuts texts.
LongestText ReadLongest(const std::filesystem::path& transformer);

}  // namespace suf::model
