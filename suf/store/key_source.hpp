// The key sections of one bundle, as they arrive from the dealer's link, from disk, or from memory.
#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "suf/net/tags.hpp"
#include "suf/store/buffer_pool.hpp"
#include "suf/store/layout.hpp"

namespace suf::store {

// A source of key sections between two sides. The reader (a run) takes sections in order and releases them. The
// feeder fills chunks in order, never more than a window ahead of the reader. Each side may be any thread. Released
// memory serves later chunks; all of it is wiped at the end.
class KeySource {
 public:
  // A window that holds all chunks.
  static constexpr uint64_t kWhole = ~uint64_t{0};
  // `window` is the bytes of chunks that may lie here behind the furthest requested one. One chunk may always lie here.
  KeySource(SharedLayout layout, uint64_t window);
  ~KeySource();
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;
  const BodyLayout& layout() const { return *layout_; }
  const SharedLayout& SharedBody() const { return layout_; }
  uint64_t window() const { return window_; }

  // Waits until the chunk of section i is here and verified; returns the section, valid until Release. Throws the
  // feeder's error, even if the chunk arrived before it.
  View Section(size_t i);
  // Returns whether Section would return at once.
  bool IsReady(size_t i) const;
  // Releases section i, which is not read any more. Once per section.
  void Release(size_t i);
  // Waits for a chunk and returns its data. Needs a source that holds all chunks (kWhole).
  View Data(size_t chunk);
  // Waits until all chunks have arrived and are verified, read or not.
  void AwaitAll();
  // Ends the feeder, because nothing more will be requested.
  void Close() noexcept;
  // Returns the feeder's error, or null.
  std::exception_ptr failed() const;
  // Returns how many seconds the reader has waited so far.
  double waited() const;
  using SystemClock = std::chrono::system_clock;
  // Returns when the first chunk and the latest chunk arrived; nothing before the first one.
  std::optional<std::pair<SystemClock::time_point, SystemClock::time_point>> arrival() const;

  // Returns buffers for the next chunks, at most `most` and as many as the window allows. In each the tag comes before
  // the data. Waits for the first. Returns none if all chunks arrived or the reader has closed.
  std::vector<std::span<uint8_t>> NextBuffers(size_t most);
  // Returns the buffer for the next chunk; empty if there is none.
  std::span<uint8_t> NextBuffer() {
    const auto one = NextBuffers(1);
    return one.empty() ? std::span<uint8_t>() : one[0];
  }
  // Reports that the first `many` of these buffers are filled and verified.
  void MarkFilled(size_t many = 1);
  // Reports that nothing more arrives, with the error.
  void Fail(std::exception_ptr error);
  // Runs `f` in a thread of this source. An exception from `f` is the feeder's error.
  void Feed(std::function<void(KeySource&)> f);
  // Feeds a body from memory, which must outlive the source.
  void FeedFrom(View body);

 private:
  struct SourceChunk {
    exec::HostBuffer buffer;
    size_t left = 0;  // sections that were not released
  };
  void Await(std::unique_lock<std::mutex>& lock, size_t chunk);
  View DataOf(size_t chunk) const;
  std::span<uint8_t> BufferOf(size_t chunk);

  const SharedLayout layout_;
  const uint64_t window_;
  mutable std::mutex m_;
  std::condition_variable changed_;
  std::vector<SourceChunk> chunks_;
  BufferPool idle_;
  size_t arrived_ = 0, requested_ = 0;  // chunks that arrived; chunks up to the furthest requested one
  uint64_t ahead_ = 0;                  // bytes of chunks that arrived and were not requested
  bool closed_ = false;
  std::exception_ptr error_;
  double waited_ = 0;
  SystemClock::time_point first_, latest_;  // arrival times
  std::thread feeder_;
};

}  // namespace suf::store
