// The values of a run in memory: row-major elements of 1, 2, 4, 8 or a multiple of 8 bytes. Memory is page-aligned and
// wiped at the end of the run.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "suf/cpu/strips.hpp"
#include "suf/exec/pool.hpp"
#include "suf/grouping/map.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::cpu {

inline constexpr size_t kGrain = 1024;  // elements that justify a thread

// Memory for tensors. Blocks of dead tensors serve again, also in later runs, so few fresh pages are touched. No block
// is ever pinned or given back to the system, unlike the pages of exec::HostBuffer. Thread-safe.
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
  uint64_t version = 0;    // of an input (pfss::Io::Data)
  const uint8_t* at(size_t i) const { return data.get() + (splat ? 0 : i * size_t(element)); }
};

// Returns log2 of the bytes of an element of at most 8 bytes, the type code of strips.hpp.
constexpr int Code(int element) { return element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3; }

// Calls f(T{}) with the word type of an element size.
template <class F>
void By(int element, F f) {
  switch (element) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      SUF_CHECK(false);
  }
}

template <class T>
T* As(uint8_t* p) {
  return reinterpret_cast<T*>(p);
}
template <class T>
const T* As(const uint8_t* p) {
  return reinterpret_cast<const T*>(p);
}

// The tensors of one run. It knows the element size, the count and the memory of each node's value, and converts
// between sizes. It knows nothing of messages, keys or the order of work. Const functions are thread-safe.
class Tensors {
 public:
  Tensors(const pfss::Schedule& s, const StripLoops& loops, exec::Pool& pool, Arena& arena);
  // Frees and wipes all values.
  ~Tensors();

  const pfss::Schedule& schedule() const { return s_; }
  const pfss::Node& node(int i) const { return t_.node(i); }
  const pfss::Node& arg(const pfss::Node& n, size_t k) const { return t_.node(n.args[k]); }
  size_t count(int i) const { return counts_[size_t(i)]; }
  // Returns the bytes of an element of node i in memory.
  int element(int i) const { return elements_[size_t(i)]; }
  const PackedTensor& of(int i) const { return values_[size_t(i)]; }
  const PackedTensor& in(const pfss::Node& n, size_t k) const { return of(n.args[k]); }

  // Allocates memory for node i and makes it the node's value.
  std::shared_ptr<uint8_t> Make(int i);
  // Makes v the value of node i.
  void Put(int i, PackedTensor v) { values_[size_t(i)] = std::move(v); }
  // Makes an input the value of node i. If it is `unread`, each Words(i) and Result(i) reads its words, and no other
  // function may.
  void PutInput(int i, const pfss::Io::Data& data, bool unread);
  // Frees the value of node i.
  void Drop(int i) { values_[size_t(i)] = {}; }
  // Allocates memory that is no node's value.
  std::shared_ptr<uint8_t> Scratch(size_t bytes) const { return arena_.Take(bytes); }

  // Returns operand a as words of type T, in memory of its own if necessary. `canonical` reduces them to their ring.
  template <class T>
  std::shared_ptr<const T> Words(int a, bool canonical) const;
  // Returns operand a's elements at `element` bytes each.
  std::shared_ptr<const uint8_t> Raw(int a, int element) const;
  // Writes n elements of a map from `lo` on, as words of `element` bytes.
  void Load(const grouping::IndexMap& map, size_t lo, size_t n, int element, void* to) const;
  // Returns node i's value, one reduced word per element.
  std::vector<uint64_t> Result(int i) const;

 private:
  // Returns node i's value, with the words of an unread input.
  PackedTensor Readable(int i) const;
  // Writes n elements of v from lo on as words of `element` bytes.
  void Widen(const PackedTensor& v, size_t lo, size_t n, int element, void* to) const;

  const pfss::Schedule& s_;
  const pfss::Trace& t_;
  const StripLoops& loops_;
  exec::Pool& pool_;
  Arena& arena_;
  std::vector<size_t> counts_;
  std::vector<int> elements_;
  std::vector<PackedTensor> values_;
  std::map<int, std::function<std::shared_ptr<const void>()>> unread_;  // inputs by node
};

}  // namespace suf::cpu
