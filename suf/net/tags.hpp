// GMAC tags (NIST SP 800-38D, AES-128) of a sequence of pieces: chunks of a bundle or frames of an inference.
#pragma once
#include <array>
#include <utility>
#include <vector>

#include "suf/base/bytes.hpp"

namespace suf::net {

// Tags of pieces 0, 1, 2, .. under one key. The number is the nonce, so that no piece can be altered, left out or
// moved. A key serves one sequence. Speed: 9 GB/s, compared with 1.9 GB/s of SHA-256.
class ChunkTags {
 public:
  static constexpr size_t kBytes = 16;
  explicit ChunkTags(const Hash& key);
  // Returns taggers with one key, for threads that make tags at once: one for four cores, 2 to `most`.
  static std::vector<ChunkTags> Several(const Hash& key, int most = 3);
  ~ChunkTags();
  ChunkTags(ChunkTags&& o) noexcept : ctx_(std::exchange(o.ctx_, nullptr)), next_(o.next_) {}
  ChunkTags& operator=(ChunkTags&& o) noexcept {
    std::swap(ctx_, o.ctx_);
    next_ = o.next_;
    return *this;
  }
  std::array<uint8_t, kBytes> Next(View data) { return Next(data, {}); }
  // Returns the tag of the next piece, which has two parts.
  std::array<uint8_t, kBytes> Next(View head, View data) { return Of(next_++, head, data); }
  // Returns the tag of piece `number`, in any order. Several threads may each use a ChunkTags of the same key.
  std::array<uint8_t, kBytes> Of(uint64_t number, View head, View data);

 private:
  void* ctx_;
  uint64_t next_ = 0;
};

}  // namespace suf::net
