// How a body lies in chunks: whole sections, so that a section is in one piece wherever its chunk is. Both ends of a
// delivery derive it from the same lengths.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace suf::store {

inline constexpr size_t kChunkBytes = size_t{1} << 20;

class Layout {
 public:
  // Sections of these lengths, in order: as many a chunk as kChunkBytes hold; a longer one has a chunk of its own.
  explicit Layout(std::span<const uint64_t> sections);
  // Of a body without sections: each chunk of kChunkBytes, the last one shorter, is one section.
  static Layout Even(uint64_t bytes);

  // Where it lies in its chunk's data; one of 0 bytes lies in none.
  struct Section {
    size_t chunk;
    uint64_t at, bytes;
  };
  const std::vector<Section>& sections() const { return sections_; }
  // Bytes of data, and how many sections share them.
  struct Chunk {
    uint64_t bytes;
    size_t sections;
  };
  const std::vector<Chunk>& chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }      // of the body
  uint64_t largest() const { return largest_; }  // chunk's data

 private:
  std::vector<Section> sections_;
  std::vector<Chunk> chunks_;
  uint64_t bytes_ = 0, largest_ = 0;
};

using SharedLayout = std::shared_ptr<const Layout>;
inline SharedLayout EvenBody(uint64_t bytes) { return std::make_shared<const Layout>(Layout::Even(bytes)); }

}  // namespace suf::store
