// Model directories as Hugging Face lays them out: a configuration becomes a graph, safetensors its weights. A family
// is a builder in families/ and nothing else.
#pragma once
#include <filesystem>
#include <span>
#include <string_view>

#include "suf/nn/graph.hpp"

namespace suf::model {

// Preset: a random model for tests and benchmarks: its name and config.json. query_key: spread of the weights of
// queries and keys, in units of 1/sqrt(inputs).
struct Preset {
  const char* name;
  const char* config;
  double query_key = 1;
};

// Family: name: model_type in config.json. prefix: before tensor names in some exports. min_tokens: of the shortest
// text. word_pieces: a vocab.txt must be there. build: the graph, from config.json and what lies beside it; throws
// Cause::kInput naming the file, the field, what it holds and what is supported.
struct Family {
  const char* name;
  const char* prefix;
  int min_tokens;
  bool word_pieces;
  std::span<const Preset> presets;
  nn::Graph (*build)(const std::filesystem::path& dir);
};

std::span<const Family* const> Families();

// Model: a graph, not folded, with its weights.
struct Model {
  nn::Graph graph;
  nn::Weights weights;
  int min_tokens = 1;
};

// ReadGraph: of the model in `dir`. Load: with every tensor that the graph names, all finite; other tensors are left
// out. Throw Cause::kInput naming the file and the field or tensor that is missing, of another shape or type, or a
// tensor of a layer beyond the configuration's, or the vocabulary whose size is not the configuration's.
nn::Graph ReadGraph(const std::filesystem::path& dir);
Model Load(const std::filesystem::path& dir);

}  // namespace suf::model
