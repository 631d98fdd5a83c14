// Reuse of chunk memory: a buffer that is no longer needed serves other chunks.
#pragma once
#include <algorithm>
#include <deque>
#include <utility>

#include "suf/exec/host.hpp"

namespace suf::store {

// Idle buffers of one body's chunks. Few are wiped while chunks come and go; all are wiped at the end.
class BufferPool {
 public:
  // `usual` is the size of a new buffer in bytes, unless more is requested. `window` is the bytes of chunks in use at
  // once.
  BufferPool(size_t usual, uint64_t window) : usual_(usual), most_(window + std::min(window, ~window)) {}
  // Returns the smallest idle buffer that is large enough, or a new one. Idle buffers more than twice as large as a new
  // one are not used. If all buffers would then exceed twice the window, idle ones are freed, oldest first.
  exec::HostBuffer Take(size_t bytes) {
    const size_t made = std::max(bytes, usual_);
    auto best = idle_.end();
    for (auto i = idle_.begin(); i != idle_.end(); ++i)
      if (i->size() >= bytes && i->size() <= 2 * made && (best == idle_.end() || i->size() < best->size())) best = i;
    if (best != idle_.end()) {
      exec::HostBuffer buffer = std::move(*best);
      idle_.erase(best);
      return buffer;
    }
    for (all_ += made; all_ > most_ && !idle_.empty(); idle_.pop_front()) all_ -= idle_.front().size();
    return exec::HostBuffer(made);
  }
  // Takes back a buffer that is no longer needed.
  void Return(exec::HostBuffer buffer) {
    if (!buffer.empty()) idle_.push_back(std::move(buffer));
  }
  // Returns all idle buffers, so that the caller frees them. No more are needed.
  std::deque<exec::HostBuffer> TakeAll() { return std::exchange(idle_, {}); }

 private:
  const size_t usual_;
  const uint64_t most_;
  uint64_t all_ = 0;  // bytes of all buffers
  std::deque<exec::HostBuffer> idle_;
};

}  // namespace suf::store
