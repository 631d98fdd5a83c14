// What sentence-transformers keeps beside a model: modules.json, the list of what is computed, and the settings of
// these modules. One list is supported: the model, the mean of its rows, division by its norm. Private to the room.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace suf::model {

// Where a directory keeps its modules.
struct Modules {
  std::filesystem::path transformer;  // the folder of config.json, weights and tokenizer
  std::filesystem::path pooling;      // its config.json; "" if no folder is for it
  std::filesystem::path normalize;    // its config.json, which need not exist
  bool listed = false;                // there is a modules.json
};

// Reads modules.json, or the names of folders if there is none. Throws Cause::kInput, naming file and field, for other
// modules and for another order.
Modules ReadModules(const std::filesystem::path& dir);

// Checks that the settings ask for the unit vector of the mean of all rows, of `width` numbers each, of the text as it
// is. Throws Cause::kInput, naming file and field, if they ask for something else.
void CheckSentences(const std::filesystem::path& dir, const Modules& modules, int64_t width);

// The most tokens of a text, and the field that says so: "tokenizer_config.json: model_max_length". 0: no limit.
struct LongestText {
  int64_t tokens = 0;
  std::string said_by;
};
// Reads the limit that sentence-transformers cuts texts at.
LongestText ReadLongest(const std::filesystem::path& transformer);

}  // namespace suf::model
