// A tensor is a value in memory: row-major elements of 1, 2, 4, 8 or a multiple of 8 bytes. Its memory is page-aligned
// and wiped at the end of its run.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "suf/pfss/backend.hpp"

namespace suf::cpu {

// Memory for tensors. Blocks of dead tensors serve again, also in later runs, so few fresh pages are touched.
// Thread-safe.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::shared_ptr<uint8_t> Take(size_t bytes);
  // Wipes every block that was used since the last call and is free now. Called at the end of a run.
  void WipeIdle();

 private:
  std::mutex m_;
  struct Block {
    uint8_t* p;
    bool used;  // and not yet wiped
  };
  std::multimap<size_t, Block> idle_;  // by size
};

struct PackedTensor {
  std::shared_ptr<const uint8_t> data;
  int element = 0;         // bytes per element
  bool splat = false;      // one element stands for all
  bool is_signed = false;  // wider words are extended by the sign, as for an input in its host's form
  const uint8_t* at(size_t i) const { return data.get() + (splat ? 0 : i * size_t(element)); }
};

// Returns log2 of the bytes of an element of at most 8 bytes, the type code of strips.hpp.
constexpr int Code(int element) { return element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3; }

}  // namespace suf::cpu
