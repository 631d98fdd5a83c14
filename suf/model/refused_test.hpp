// For tests of families: configurations that are refused, each for one field, and leaves of a graph.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

#include "suf/model/family.hpp"
#include "suf/model/testing.hpp"
#include "suf/nn/graph/graph.hpp"

namespace suf::model {

// Returns a leaf of a graph by name; null if there is none.
inline const nn::Leaf* Find(const nn::Graph& g, const std::string& name) {
  for (const nn::Leaf& leaf : g.leaves())
    if (leaf.name == name) return &leaf;
  return nullptr;
}

struct Case {
  std::string field;
  nlohmann::json value;  // discarded: the field is removed
  std::string sentence;
};

// Expects a refusal of `good` with each case's field changed.
inline void ExpectRefused(const nlohmann::json& good, const std::vector<Case>& cases) {
  const ModelFolder folder;
  for (const Case& c : cases) {
    nlohmann::json config = good;
    config[c.field] = c.value;
    if (c.value.is_discarded()) config.erase(c.field);
    folder.Write("config.json", config.dump());
    ExpectSentence([&] { (void)ReadGraph(folder.path()); }, c.sentence);
  }
}

}  // namespace suf::model
