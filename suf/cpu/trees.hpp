// Bulk operations on trees: keys of DPFs and DCFs and their reads.
#pragma once
#include <functional>

#include "suf/cpu/tensors.hpp"

namespace suf::cpu {

// The tree operations of a run. They know how threads share keys: by tiles, because the words of a tile's keys lie
// together.
class TreeOperations {
 public:
  TreeOperations(Tensors& tensors, exec::Pool& pool, ring::Isa variant)
      : tensors_(tensors), pool_(pool), variant_(variant), loops_(LoopsFor(variant)) {}
  // Computes node i, of class kTree.
  void Run(int i, const pfss::Randomness& randomness);

 private:
  using TreeKey = std::array<uint8_t, 16>;

  void DpfKeys(int i, const TreeKey& tree_key);
  void DpfReads(int i, const TreeKey& tree_key);
  void DcfKeys(int i, const TreeKey& tree_key);
  void DcfShares(int i, const TreeKey& tree_key);
  // Calls f for parts of the keys that begin with a tile and have `grain` tiles or a multiple.
  void ByTiles(size_t keys, size_t grain, const std::function<void(size_t first, size_t count)>& f);
  // Writes `count` words to the elements of node i from number `at` on.
  void PutWords(const uint64_t* words, size_t count, int i, size_t at, uint8_t* to) const;

  Tensors& tensors_;
  exec::Pool& pool_;
  ring::Isa variant_;
  const StripLoops& loops_;
};

}  // namespace suf::cpu
