// Model directories in the layout of Hugging Face: a configuration becomes a graph, safetensors become its weights. A
// family is a builder in families/ and nothing else.
#pragma once
#include <filesystem>
#include <span>
#include <string_view>

#include "suf/model/vocabulary.hpp"
#include "suf/nn/graph/graph.hpp"
#include "suf/nn/plan/about.hpp"

namespace suf::model {

// A random model for tests and benchmarks: its name and config.json. `query_key` is the spread of the weights of
// queries and keys, in units of 1/sqrt(inputs). `pooling` is a pooling_mode; if it is set, a folder says so. `outliers`
// channels have a gamma that is 10 to 30 times the others (WriteRandomModel).
struct Preset {
  const char* name;
  const char* config;
  double query_key = 1;
  const char* pooling = "";
  int outliers = 0;
};

// The end of a tensor's name, and the one that older exports have instead.
struct TensorRename {
  std::string_view name, older;
};

// The head of a family's classifiers, by its tensors' names without ".weight" and ".bias". The first row of the last
// layer goes through `dense` and its activation, and `out` gives the logits.
struct ClassifierHead {
  const char *dense, *activation, *out;
};

// A family of models. `name` is model_type in config.json. Some exports have `prefix` before tensor names. `min_tokens`
// is the length of the shortest text. If `sentences`, the model reads word pieces, and `build` ends with the rows of
// the last layer. The result is an embedding of them, or the logits of a classifier, as the files state.
//
// `build` makes the graph from config.json. With `pairs`, tokens have types if the model knows several; otherwise all
// are of type 0. It throws Cause::kInput naming the file, the field, its value and the supported values.
struct Family {
  const char* name;
  const char* prefix;
  std::span<const TensorRename> renamed;
  int min_tokens;
  bool sentences;
  std::span<const Preset> presets;
  nn::Graph (*build)(const std::filesystem::path& dir, bool pairs);
  const ClassifierHead* classifier = nullptr;  // null: classifiers are not supported

  // The end of the names of the Python modules whose code `build` computes, which auto_map may name. Empty: none.
  std::string_view code = {};
};

std::span<const Family* const> Families();

struct LoadedModel {
  nn::Graph graph;  // not folded
  nn::Checkpoint weights;
  int min_tokens = 1;
  Vocabulary vocabulary = {};  // file "": the directory has none
  nn::About about = {};
  std::string longest_said_by = {};  // the field with about.longest: "tokenizer_config.json: model_max_length"
};

// Reads the graph of the model in `dir`, which may be a directory of sentence-transformers. Throws Cause::kInput naming
// the file and the field that is missing or not supported.
// `about`, if set, receives what else the files say: the result, the texts that it takes, labels and prompts.
nn::Graph ReadGraph(const std::filesystem::path& dir, nn::About* about = nullptr);
// Reads a model with every tensor that the graph names, all finite. Leaves out other tensors. Throws like ReadGraph.
// Throws likewise for a tensor that is missing, or of another shape or type. Tensors of further layers and of adapters
// are refused, and so are a norm's weights that are all 0. Throws if the vocabulary has more entries than the
// configuration.
LoadedModel Load(const std::filesystem::path& dir);

}  // namespace suf::model
