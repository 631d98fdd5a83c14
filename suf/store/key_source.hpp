// The key sections of one bundle as they come: from the dealer's link, from disk, or all of them from memory.
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
#include "suf/store/idle_rooms.hpp"
#include "suf/store/layout.hpp"

namespace suf::store {

// A reader, the run, takes sections in their order and gives them back; a feeder fills chunks in their order
// and never more than a window ahead of the reader. Each side may be any thread. The memory of what was given back
// serves later chunks; all of it is wiped at the end.
class KeySource {
 public:
  // window: bytes of chunks that may lie here behind the furthest one that was asked for; one chunk may in any case.
  // kWhole: all of them.
  static constexpr uint64_t kWhole = ~uint64_t{0};
  KeySource(SharedLayout layout, uint64_t window);
  ~KeySource();
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;
  const Layout& layout() const { return *layout_; }
  const SharedLayout& SharedBody() const { return layout_; }
  uint64_t window() const { return window_; }

  // Number i, once its chunk is here and verified, until Give. Throws what the feeder failed with, also where
  // the chunk came before.
  View Section(size_t i);
  // Whether Section would return at once.
  bool Ready(size_t i) const;
  // Section i is read no more; once each.
  void Give(size_t i);
  // A chunk's data, waited for. Of a source that holds all of them.
  View Data(size_t chunk);
  // Returns when all has come and was verified, read or not.
  void Whole();
  // Nothing more is asked for, so the feeder ends.
  void Close() noexcept;
  // failed: what the feeder failed with, if it did. waited: seconds that the reader waited, so far.
  std::exception_ptr failed() const;
  double waited() const;
  // came: when the first chunk and when the last one so far was here; none before the first.
  using Clock = std::chrono::system_clock;
  std::optional<std::pair<Clock::time_point, Clock::time_point>> came() const;

  // For the next chunks, `most` of them at most, each with its tag before its data, as many as the window has
  // room for; waits for the first. Empty when there is none, or the reader has closed. Room: for one.
  std::vector<std::span<uint8_t>> Rooms(size_t most);
  std::span<uint8_t> Room() {
    const auto one = Rooms(1);
    return one.empty() ? std::span<uint8_t>() : one[0];
  }
  // What Rooms gave is filled and verified, so many of them.
  void Came(size_t many = 1);
  // Nothing more comes.
  void Fail(std::exception_ptr error);
  // Runs `f` in a thread of this source's own; what it throws is the failure.
  void Feed(std::function<void(KeySource&)> f);
  // A body in memory, which outlives the source.
  void FeedFrom(View body);

 private:
  struct Chunk {
    exec::HostBuffer room;
    size_t left = 0;  // sections that were not given back
  };
  void Await(std::unique_lock<std::mutex>& lock, size_t chunk);
  View DataOf(size_t chunk) const;
  std::span<uint8_t> RoomOf(size_t chunk);

  const SharedLayout layout_;
  const uint64_t window_;
  mutable std::mutex m_;
  std::condition_variable changed_;
  std::vector<Chunk> chunks_;
  IdleRooms idle_;
  size_t came_ = 0, asked_ = 0;  // chunks that are here; that were asked for: up to the furthest
  uint64_t ahead_ = 0;           // bytes of those that came and were not asked for
  bool closed_ = false;
  std::exception_ptr error_;
  double waited_ = 0;
  Clock::time_point first_, latest_;  // when chunks came
  std::thread feeder_;
};

}  // namespace suf::store
