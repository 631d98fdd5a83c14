#include "suf/store/layout.hpp"

#include <algorithm>

namespace suf::store {

BodyLayout::BodyLayout(std::span<const uint64_t> sections) {
  for (uint64_t bytes : sections) {
    if (bytes && (chunks_.empty() || chunks_.back().bytes + bytes > kChunkBytes)) chunks_.push_back({});
    if (!bytes) {
      sections_.push_back({0, 0, 0});
      continue;
    }
    Chunk& c = chunks_.back();
    sections_.push_back({chunks_.size() - 1, c.bytes, bytes});
    c.bytes += bytes;
    ++c.sections;
    bytes_ += bytes;
    largest_ = std::max(largest_, c.bytes);
  }
}

BodyLayout BodyLayout::Even(uint64_t bytes) {
  std::vector<uint64_t> sections(bytes / kChunkBytes, kChunkBytes);
  if (bytes % kChunkBytes) sections.push_back(bytes % kChunkBytes);
  return BodyLayout(sections);
}

}  // namespace suf::store
