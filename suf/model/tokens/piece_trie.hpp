// A set of texts with ids, to find all of them that begin at a place of a longer text. Private to the module.
#pragma once
#include <utility>
#include <vector>

#include "suf/model/tokens/parts.hpp"

namespace suf::model {

// A trie over code points. Nodes are numbered level by level, so that the children of a node are neighbours.
class PieceTrie {
 public:
  static constexpr uint32_t kRoot = 0, kNone = 0xffffffff;

  // The texts are distinct and not empty.
  explicit PieceTrie(std::vector<std::pair<CodePoints, int32_t>> pieces);

  // Returns the node that a node's text leads to with one more character, or kNone.
  uint32_t Child(uint32_t node, char32_t c) const {
    if (node == kRoot) return c < roots_.size() ? roots_[c] : kNone;
    return ChildOf(node, c);
  }
  // Returns the node of a text, or kNone.
  uint32_t Find(PointsView text) const;
  // Returns the id of a node's text, or -1.
  int32_t id(uint32_t node) const { return ids_[node]; }

 private:
  uint32_t ChildOf(uint32_t node, char32_t c) const;

  std::vector<uint32_t> roots_;  // the root's children, by character
  std::vector<uint32_t> first_;  // the first child of each node; the last ends before that of the next node
  std::vector<char32_t> labels_;
  std::vector<int32_t> ids_;
};

}  // namespace suf::model
