// Model directories as Hugging Face lays them out: a configuration becomes a graph, safetensors its weights. A family
// is a builder in families/ and nothing else.
#pragma once
#include <filesystem>
#include <span>
#include <string_view>

#include "suf/model/vocabulary.hpp"
#include "suf/nn/graph.hpp"

namespace suf::model {

// A random model for tests and benchmarks: its name and config.json. query_key: spread of the weights of
// queries and keys, in units of 1/sqrt(inputs).
struct Preset {
  const char* name;
  const char* config;
  double query_key = 1;
};

// The end of a tensor's name, and what older exports have in its place.
struct Renamed {
  std::string_view name, older;
};

// Name: model_type in config.json. prefix: before tensor names in some exports. min_tokens: of the shortest
// text. sentences: it reads word pieces and gives the unit vector of the mean of all rows, which the files of the
// directory must say, too. build: the graph, from config.json; throws Cause::kInput naming the file, the field, what it
// holds and what is supported.
struct Family {
  const char* name;
  const char* prefix;
  std::span<const Renamed> renamed;
  int min_tokens;
  bool sentences;
  std::span<const Preset> presets;
  nn::Graph (*build)(const std::filesystem::path& dir);
};

std::span<const Family* const> Families();

struct Model {
  nn::Graph graph;  // not folded
  nn::Weights weights;
  int min_tokens = 1;
  Vocabulary vocabulary = {};        // file "": the directory has none
  int64_t longest = 0;               // the most tokens of a text that the files allow; 0: any number
  std::string longest_said_by = {};  // the field that says so: "tokenizer_config.json: model_max_length"
};

// Of the model in `dir`. Load: with every tensor that the graph names, all finite; other tensors are left
// out. The directory may be one of sentence-transformers. Throw Cause::kInput naming the file and the field or tensor
// that is missing, of another shape or type, or a tensor of a layer beyond the configuration's, or the vocabulary that
// has more entries than the configuration.
nn::Graph ReadGraph(const std::filesystem::path& dir);
Model Load(const std::filesystem::path& dir);

}  // namespace suf::model
