// One further connection of a session. It carries its share of long frames in its own thread, directly from and into
// the buffers of the frames. See docs/design/streams.md#connections.
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
#include "suf/net/pipe.hpp"

namespace suf::net {

// The part of a long frame that goes over connection `index` of `count`. It has every count-th block, so that a frame's
// first bytes arrive first. Blocks have 32 KiB. A frame with less than one block per connection has shorter blocks, so
// that every connection carries some of it.
struct Share {
  static constexpr size_t kBlock = 32 << 10, kLeast = 8 << 10, kGrain = 1 << 10;
  size_t index = 0, count = 1;  // count 0: no part
  size_t Block(size_t length) const {
    return std::clamp((length + count * kGrain - 1) / (count * kGrain) * kGrain, kLeast, kBlock);
  }
  // A piece of this connection's share without gaps: its place in the frame, and its bytes.
  struct FrameSlice {
    size_t place, bytes;
  };
  // Returns the piece that begins at byte `at` of this connection's share. At the end of the share, its place is the
  // frame's length.
  FrameSlice At(size_t at, size_t length) const {
    if (!count) return {length, 0};
    const size_t block = Block(length), place = (at / block * count + index) * block + at % block;
    if (place >= length) return {length, 0};
    return {place, std::min(block - at % block, length - place)};
  }
  // Returns how many of the frame's bytes before `end` belong to this connection.
  size_t Bytes(size_t end, size_t length) const {
    if (!count) return 0;
    const size_t block = Block(length), round = count * block, rest = end % round, skipped = index * block;
    return end / round * block + std::clamp(rest, skipped, skipped + block) - skipped;
  }
  size_t Bytes(size_t length) const { return Bytes(length, length); }
  // Queues bytes [at, to) of this connection's share of a frame, at most one burst. Returns the end of those queued.
  size_t QueueBurst(Pipe& pipe, View payload, size_t at, size_t to, std::error_code* error) const;
};

// A connection with its own thread. One other thread uses it and polls its progress without a lock. While frames follow
// each other, neither thread sleeps.
class Stream {
 public:
  Stream(std::shared_ptr<Pipe> pipe, Share share);
  ~Stream();  // hangs up
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Sends our part of bytes [from, to) of a frame, which are final; the header goes before the first. The payload must
  // stay in place until AllSent.
  void Send(View header, View payload, size_t from, size_t to);
  // Receives our part of a frame with this header, after those that were expected before.
  void Expect(View header, std::span<uint8_t> buffer);
  // Returns the value that sent_count() will have once none of this memory is read any more.
  uint64_t SentCountWithout(View memory);
  // Returns how many of the parts passed to Send have left or were dropped. It only grows.
  uint64_t sent_count() const { return sent_count_; }
  // Whether everything passed to Send is on its way.
  bool AllSent() const { return !leaving_; }
  // Whether our part of the first `bytes` bytes of the oldest frame has arrived.
  bool HasArrived(size_t bytes) const;
  // Removes the oldest frame, which has arrived.
  void PopReceived();
  // Ends the stream. On return none of the passed memory is read or written any more.
  void Close() noexcept;
  // Frees the buffers of the connection until it has work again.
  void ShrinkBuffers() noexcept;
  // Returns a number that changes whenever bytes moved or the stream ended.
  uint64_t progress() const { return progress_; }
  // Waits while progress() is `seen`, at most for `time`.
  void Wait(uint64_t seen, std::chrono::milliseconds time);
  // Returns the error that ended the stream. It is asio::error::eof if the peer hung up, protocol_error if it sent the
  // header of another frame.
  std::error_code failed();

 private:
  static constexpr size_t kHeader = 8 + 4;
  using Header = std::array<uint8_t, kHeader>;
  Header HeaderOf(View frame) const;
  struct OutgoingFrame {
    Header header;
    View payload;
    size_t at, to;  // positions in our share
    bool begins;
  };
  struct IncomingFrame {
    Header due, header;
    std::span<uint8_t> buffer;
    size_t headed = 0, at = 0;  // bytes that arrived: of the header, of our share
    bool IsWhole(const Share& share) const { return headed == kHeader && at == share.Bytes(buffer.size()); }
  };
  void StartOrWake();
  void Wake();
  void Loop();
  bool Write(OutgoingFrame& o, std::error_code* error);
  bool Read(IncomingFrame& i, std::error_code* error);
  void Publish();

  const std::shared_ptr<Pipe> pipe_;
  const Share share_;
  Fd wake_;
  std::mutex m_;
  std::condition_variable changed_;
  std::deque<OutgoingFrame> out_;
  std::deque<IncomingFrame> in_;
  // Index into in_: the frames before it have arrived.
  size_t reading_ = 0;
  // Published under the lock, read without it: the frames that leave. For the oldest incoming frame whose header
  // arrived: its length, and the bytes of our share plus one.
  std::atomic<size_t> leaving_{0}, length_{0}, arrived_{0};
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> sent_count_{0};
  std::atomic<uint64_t> progress_{0}, requests_{0};  // requests_: number of requests to the thread
  std::atomic<bool> asleep_{false};                  // the thread sleeps; only then is wake_ written
  std::atomic<bool> shrink_{false};                  // a request to the thread
  bool over_ = false, busy_ = false;
  std::error_code error_;
  std::thread thread_;  // started by the first frame
};

}  // namespace suf::net
