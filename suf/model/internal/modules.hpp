// The files that sentence-transformers keeps beside a model: modules.json, the list of steps, and their settings. The
// model's rows are pooled. A linear map and division by the norm may follow. Private to the module.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "suf/nn/ops.hpp"
#include "suf/nn/plan/about.hpp"

namespace suf::model {

// The places of a directory's modules.
struct Modules {
  std::filesystem::path transformer;                // the folder of config.json, weights and tokenizer
  std::filesystem::path pooling = {};               // its config.json; "" if it has no folder
  std::optional<std::filesystem::path> dense = {};  // its folder, with weights
  std::filesystem::path normalize = {};             // its config.json, which need not exist
  bool normalised = true;                           // the list has a Normalize; so has a directory without a list
  bool listed = false;                              // there is a modules.json
};

// A linear map behind the pooling, with its activation.
struct DenseModule {
  int64_t inputs = 0, outputs = 0;
  bool bias = true, tanh = false;
};
// The steps behind the model's rows.
struct EmbeddingSteps {
  nn::PoolRows::Kind pooling = nn::PoolRows::kSum;
  std::optional<DenseModule> dense = {};
  bool unit = true;  // the result is divided by its norm
};

// Reads modules.json, or the names of folders if there is none. Throws Cause::kInput, naming file and field, for other
// modules and for another order.
Modules ReadModules(const std::filesystem::path& dir);

// Returns the steps behind rows of `width` numbers. Sets the kind of the result, the prompts and the similarity. Throws
// Cause::kInput, naming file and field, for other settings.
EmbeddingSteps ReadSteps(const std::filesystem::path& dir, const Modules& modules, int64_t width, nn::About* about);

// The most tokens of a text (0: no limit) and the field with this limit, "tokenizer_config.json: model_max_length".
struct LongestText {
  int64_t tokens = 0;
  std::string said_by;
};
// Reads the length to which sentence-transformers cuts texts.
LongestText ReadLongest(const std::filesystem::path& transformer);

}  // namespace suf::model
