// One more connection of a session: carries its share of long frames, in a thread of its own, from and into the memory
// of the frames themselves. docs/design/streams.md#connections.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

#include "suf/base/file.hpp"
#include "suf/net/internal/pipe.hpp"

namespace suf::net {

// Which bytes of a long frame of `length` bytes go over connection `index` of `count`: every count-th block, so
// that the first bytes of a frame are the first to come. A frame that has less than a block of 32 KiB for each
// connection has shorter ones: all of them carry some of it.
struct Share {
  static constexpr size_t kBlock = 32 << 10, kLeast = 8 << 10, kGrain = 1 << 10;
  size_t index = 0, count = 1;  // count 0: none of it
  size_t Block(size_t length) const {
    return std::clamp((length + count * kGrain - 1) / (count * kGrain) * kGrain, kLeast, kBlock);
  }
  // Of what this connection carries, byte `at` on, as far as it lies in one piece; `place` is that in the frame,
  // or the frame's length where the share has ended.
  struct Piece {
    size_t place, bytes;
  };
  Piece At(size_t at, size_t length) const {
    if (!count) return {length, 0};
    const size_t block = Block(length), place = (at / block * count + index) * block + at % block;
    if (place >= length) return {length, 0};
    return {place, std::min(block - at % block, length - place)};
  }
  // Of the frame's bytes before `end`, so many are this connection's.
  size_t Bytes(size_t end, size_t length) const {
    if (!count) return 0;
    const size_t block = Block(length), round = count * block, rest = end % round, skipped = index * block;
    return end / round * block + std::clamp(rest, skipped, skipped + block) - skipped;
  }
  size_t Bytes(size_t length) const { return Bytes(length, length); }
  // Bytes [at, to) of this connection's share of a frame, a burst at most; where it stopped.
  size_t QueueBurst(Pipe& pipe, View payload, size_t at, size_t to, std::error_code* error) const;
};

// Used by one thread beside its own, which watches what moved and takes no lock for that: while frames follow
// each other neither sleeps.
class Stream {
 public:
  Stream(std::shared_ptr<Pipe> pipe, Share share);
  ~Stream();  // hangs up
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Bytes [from, to) of a frame are final, and leave as far as they are ours; the header goes before the first.
  // The payload stays where it is until Sent.
  void Send(View header, View payload, size_t from, size_t to);
  // A frame with this header is due, after those that were due before.
  void Expect(View header, std::span<uint8_t> room);
  // What left() will be once none of this memory is read any more. left: how much of what was given is on
  // its way, or forgotten: a number that grows.
  uint64_t LeftWithout(View memory);
  uint64_t left() const { return left_; }
  // All that was given is on its way. Came: our share of the first so many bytes of the oldest frame is there.
  bool Sent() const { return !leaving_; }
  bool Came(size_t bytes) const;
  // The oldest frame, which came, is done with.
  void Took();
  // Returns when nothing that was given is read or written any more; the stream is over.
  void Forget() noexcept;
  // moved: another number whenever anything moved, or it ended. Wait: while it is this one, or that long.
  uint64_t moved() const { return moved_; }
  void Wait(uint64_t moved, std::chrono::milliseconds time);
  // failed: what ended it; asio::error::eof where the peer hung up, protocol_error where it sent the header of another
  // frame.
  std::error_code failed();

 private:
  static constexpr size_t kHeader = 8 + 4;
  using Header = std::array<uint8_t, kHeader>;
  Header HeaderOf(View frame) const;
  struct Outgoing {
    Header header;
    View payload;
    size_t at, to;  // of our share
    bool begins;
  };
  struct Incoming {
    Header due, header;
    std::span<uint8_t> room;
    size_t headed = 0, at = 0;  // bytes of the header, of our share
    bool Whole(const Share& share) const { return headed == kHeader && at == share.Bytes(room.size()); }
  };
  void Begin();
  void Wake();
  void Loop();
  bool Write(Outgoing& o, std::error_code* error);
  bool Read(Incoming& i, std::error_code* error);
  void Tell();

  const std::shared_ptr<Pipe> pipe_;
  const Share share_;
  Fd wake_;
  std::mutex m_;
  std::condition_variable changed_;
  std::deque<Outgoing> out_;
  std::deque<Incoming> in_;
  size_t reading_ = 0;  // of in_: those before it came
  // told under the lock, read without it: frames that leave; of the oldest one that comes its length, and of our share,
  // once the header is here, the bytes and one more
  std::atomic<size_t> leaving_{0}, length_{0}, came_{0};
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> left_{0};
  std::atomic<uint64_t> moved_{0}, asked_{0};  // asked_: times that the thread was given something
  std::atomic<bool> asleep_{false};            // the thread: only then wake_ is written
  bool over_ = false, busy_ = false;
  std::error_code error_;
  std::thread thread_;  // from the first frame on
};

}  // namespace suf::net
