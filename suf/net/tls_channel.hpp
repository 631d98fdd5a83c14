// Frames over a Pipe. Memory follows the bytes that arrived, never the length in a header: a frame grows in blocks
// while it arrives. A frame that no call waits for is read only if it is small or its buffer is posted. Otherwise the
// channel stops reading, and TCP stops the peer.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "suf/net/channel.hpp"
#include "suf/net/pipe.hpp"
#include "suf/net/stream.hpp"

namespace suf::net {

inline constexpr size_t kAheadFrames = 8, kAheadBytes = 4096;  // read ahead of any call, outside an inference
inline constexpr size_t kFrameCost = 64;                       // memory of a frame besides its payload
inline constexpr Millis kLinger{1000};                         // the longest wait for a peer's last frames

class TlsChannel final : public Channel {
 public:
  // The memory beyond the bytes that arrived is a block, staging_ and OpenSSL's buffers. It is below 64 KiB for a
  // stranger and below 1 MiB later.
  static constexpr size_t kStrangerBlock = 8 << 10, kBlock = 768 << 10;

  TlsChannel(std::shared_ptr<Pipe> pipe, Identity self, Identity peer, const Hash& exporter, Millis timeout)
      : Channel(self, peer, exporter, timeout), pipe_(std::move(pipe)) {}
  ~TlsChannel() override;

  bool PeerGone(size_t due) override;
  void Advance(PeerState state) noexcept override;
  bool IsLocal() const override { return pipe_->IsLocal(); }
  void HangUp() noexcept override;
  void Unpost() override;
  // A further connection and its own exporter.
  struct Side {
    std::shared_ptr<Pipe> pipe;
    Hash exporter;
  };
  // Sends long frames of keys, masked weights and inferences over these connections as well from now on. Both ends call
  // it with the same connections in the same order, before there is such a frame.
  void AddStreams(std::vector<Side> sides);
  // Returns the pipe and ends the channel. Ends the session if bytes were read that no call has taken.
  std::shared_ptr<Pipe> TakePipe();
  // Returns the memory of frames that no call has taken yet, and of the one that is arriving.
  size_t held() const;

 private:
  // The limit of what may be read. If `only_next`, only the frame that a call waits for may be read, of at most
  // `bytes`. Otherwise at most `frames` frames may wait to be taken, with `bytes` bytes in all.
  struct ReadLimit {
    bool only_next;
    size_t frames, bytes;
  };
  static ReadLimit OneFrame(size_t bytes) { return {true, 1, bytes}; }
  void Put(View header, View payload) override;
  void PutUpTo(View header, View payload, size_t from, size_t to) override;
  void PutWhole(View header, View payload, size_t from, size_t to, std::error_code* error);
  ReceivedFrame Take(size_t limit) override;
  std::optional<ReceivedFrame> Fill(size_t bytes) override;
  void OnPost(const PostedFrame& p) override;
  void AwaitSent(View memory) noexcept override;
  void Linger() noexcept override;
  std::error_code Flush();
  void ThrowLastRefusal();
  void ThrowIfTls(const std::error_code& ec);
  bool MayRead(const ReadLimit& limit);
  bool MayWait(const ReadLimit& limit) { return !read_error_ && MayRead(limit); }
  bool Read(const ReadLimit& limit);
  void Parse(const ReadLimit& limit);
  size_t BytesLeft() const { return length_ - before_ - filled_; }
  // Whether such a frame goes over all streams. Then length_ is the length of our share.
  bool UsesStreams(uint16_t kind, size_t bytes) const;
  bool MatchPosted();
  void QueueShare(View payload, size_t from, size_t to, std::error_code* error);
  class StreamGuard;
  template <class F>
  void AwaitStreams(const char* doing, F&& done);
  PostedFrame* NextPosted();
  std::span<uint8_t> NextBuffer();
  void Await(const ReadLimit& limit, const std::function<bool()>& done);
  void AddFilled(size_t bytes);
  void FinishFrame();
  void DropFrame();

  std::shared_ptr<Pipe> pipe_;
  std::vector<std::unique_ptr<Stream>> streams_;  // besides pipe_
  std::mutex sides_m_;                            // guards the member below
  std::vector<std::weak_ptr<Pipe>> sides_;        // the pipes of the streams, for HangUp
  Share share_;                                   // the share of pipe_
  std::array<uint8_t, kRecord + kFrameHeader> staging_;
  View staged_;  // in staging_: arrived and not parsed yet
  std::array<uint8_t, kFrameHeader> header_;
  size_t header_bytes_ = 0;
  // Whether frame_ is arriving. It has length_ bytes, of which before_ are in blocks_ and filled_ in its payload or in
  // target_.
  bool have_header_ = false;
  PostedFrame* target_ = nullptr;  // the posted frame that is arriving
  bool spread_ = false;            // it goes over all streams; without a target none of it is read
  ReceivedFrame frame_;
  std::vector<Bytes> blocks_;
  size_t length_ = 0, before_ = 0, filled_ = 0, skip_ = 0;
  size_t block_ = kStrangerBlock;
  uint64_t bytes_read_ = 0;
  std::error_code read_error_;
  bool lingers_ = false;
  std::deque<ReceivedFrame> inbox_;
  size_t inbox_bytes_ = 0;  // of the payloads
};

}  // namespace suf::net
