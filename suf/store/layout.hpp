// The layout of a body in chunks of whole sections, so that each section is contiguous. Both ends of a delivery derive
// it from the same lengths.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace suf::store {

inline constexpr size_t kChunkBytes = size_t{1} << 20;

class BodyLayout {
 public:
  // Lays out sections of these lengths in order, as many per chunk as kChunkBytes hold. A longer one has a chunk of its
  // own.
  explicit BodyLayout(std::span<const uint64_t> sections);
  // Returns the layout of a body without sections. Each chunk of kChunkBytes, and a shorter last one, is one section.
  static BodyLayout Even(uint64_t bytes);

  // The place of a section in its chunk's data. A section of 0 bytes lies in no chunk.
  struct SectionPlace {
    size_t chunk;
    uint64_t at, bytes;
  };
  const std::vector<SectionPlace>& sections() const { return sections_; }
  // Bytes of a chunk's data, and the number of sections in it.
  struct Chunk {
    uint64_t bytes;
    size_t sections;
  };
  const std::vector<Chunk>& chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }      // bytes of the body
  uint64_t largest() const { return largest_; }  // bytes of the largest chunk's data

 private:
  std::vector<SectionPlace> sections_;
  std::vector<Chunk> chunks_;
  uint64_t bytes_ = 0, largest_ = 0;
};

using SharedLayout = std::shared_ptr<const BodyLayout>;
inline SharedLayout EvenBody(uint64_t bytes) { return std::make_shared<const BodyLayout>(BodyLayout::Even(bytes)); }

}  // namespace suf::store
