// The rows of an index, and of its table, as inputs of the traces that read them.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "suf/base/digest.hpp"
#include "suf/nn/plan/index_plan.hpp"
#include "suf/proto/indexes.hpp"
#include "suf/roles/internal/shared_inputs.hpp"
#include "suf/run/inputs.hpp"

namespace suf::roles {

// How the rows of an index come into a trace: by blocks, each with an input.
struct RowShape {
  std::vector<std::string> names;  // of the blocks, without the "W.", "Wh." or "B." before them
  int64_t rows = 0, width = 0, block = 0;
  int bits = 0;             // of a masked word
  bool transposed = false;  // whether a block is (width, rows) instead of (rows, width)
  int64_t rows_of(size_t i) const { return std::min(block, rows - int64_t(i) * block); }
  size_t words_of(size_t i) const { return size_t(rows_of(i) * width); }
  // Returns the bytes of so many rows as W - B.
  uint64_t BytesOf(int64_t count) const { return uint64_t(count * width * bits + 7) / 8; }
};
// Returns the shape of a search's rows. `whole` is the plan with the index (nn::WithIndex).
RowShape SearchShape(const nn::Plan& whole, const nn::Search& search);
// Returns that of the table, without rows if the index has none.
RowShape TableShape(const nn::IndexPlan& index);

// The words of a search's W - B or B, and of a table.
using RowWord = uint32_t;
using TableWord = uint16_t;

// Every such row begins at a whole byte of W - B, and at a whole block of B's stream.
inline constexpr int64_t kRowsOfBytes = 8;
// Reads `count` rows of a segment from `first` on, one behind the other.
template <class T>
using ReadRows = std::function<WipedVector<T>(size_t segment, int64_t first, int64_t count)>;

// Whether a role has the words of a block in memory, or makes them when a backend reads them. The backend keeps what it
// derives from them.
enum class BlockWords { kHeld, kMade };

// The blocks of an index in one role. It keeps those of the last list, so that a longer one has new versions only of
// those that changed. Rows beyond the list are zeros. Inputs whose words are made must not outlive it. Thread-safe.
template <class T>
class RowBlocks {
 public:
  // `prefix` is "W.", "Wh." or "B.".
  RowBlocks(RowShape shape, std::string prefix, BlockWords words)
      : shape_(std::move(shape)), prefix_(std::move(prefix)), words_(words), last_(shape_.names.size()) {}
  const RowShape& shape() const { return shape_; }
  // Sets the inputs of all blocks for this list. Blocks that are made call `read` later, from several threads.
  void Fill(const store::SegmentList& segments, ReadRows<T> read, run::Inputs& inputs);
  // Replaces rows from `rows` on by zeros.
  void Cut(int64_t rows, run::Inputs& inputs) const;

 private:
  struct LastBlock {
    Hash key{};
    run::Inputs inputs;
  };
  void Set(size_t block, std::function<WipedVector<T>()> make, run::Inputs& inputs) const;

  const RowShape shape_;
  const std::string prefix_;
  const BlockWords words_;
  std::mutex m_;
  std::vector<LastBlock> last_;
};

// Returns the inputs for a bundle of a list, from those of all the session's segments. Those of an older list are kept
// in `made`, under `key`.
template <class T>
run::Inputs InputsOfList(const RowBlocks<T>& blocks, const run::Inputs& all, const proto::SessionIndex& session,
                         const Hash& list, SharedInputs<Hash>& made, const Hash& key) {
  const size_t known = proto::SegmentsOf(*session.lists, list).value();
  if (known == session.segments.size()) return all;
  return *made.Get(key, [&](run::Inputs& inputs) {
    inputs = all;
    blocks.Cut(store::RowsOf(std::span(session.segments).first(known)), inputs);
  });
}

// The masks B of an index: a stream for each segment, and one for its table.
class IndexMasks {
 public:
  IndexMasks(View seed, const Hash& index_plan) : seed_(seed), plan_(index_plan) {}
  // Returns `count` rows from `first` on of a segment's stream. `id` is the segment's, or its TableId.
  template <class T>
  WipedVector<T> Rows(const Hash& id, int64_t width, int64_t first, int64_t count) const;

 private:
  const Secret seed_;
  const Hash plan_;
};

// Writes W - B of a segment's rows, packed.
template <class T, class W>
void WriteMasked(const RowShape& shape, const Hash& id, int64_t rows, const IndexMasks& masks,
                 const std::function<WipedVector<W>(int64_t first, int64_t count)>& read,
                 const std::function<void(View)>& out);
// Unpacks rows of what WriteMasked writes.
template <class T>
WipedVector<T> ReadMasked(const RowShape& shape, View bytes, int64_t first, int64_t count);

}  // namespace suf::roles
