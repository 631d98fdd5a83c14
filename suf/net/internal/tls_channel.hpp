// Frames over a Pipe. What it holds of them follows what came, never what a header announces: a frame grows in blocks
// while it arrives, and one that nobody waits for is read only where it is small or its reader has posted room for it.
// Beyond that it stops reading, and TCP holds the peer up.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <memory>

#include "suf/net/channel.hpp"
#include "suf/net/internal/pipe.hpp"
#include "suf/net/internal/stream.hpp"

namespace suf::net {

inline constexpr size_t kAheadFrames = 8, kAheadBytes = 4096;  // read before anybody waits, outside an inference
inline constexpr size_t kFrameCost = 64;                       // memory of a frame beside its payload
inline constexpr Millis kLinger{1000};                         // at most, for a peer's last words

class TlsChannel final : public Channel {
 public:
  // The memory ahead of the bytes that came is a block, staging_ and what OpenSSL holds: below 64 KiB for a stranger,
  // below 1 MiB after.
  static constexpr size_t kStrangerBlock = 8 << 10, kBlock = 768 << 10;

  TlsChannel(std::shared_ptr<Pipe> pipe, Identity self, Identity peer, const Hash& exporter, Millis timeout)
      : Channel(self, peer, exporter, timeout), pipe_(std::move(pipe)) {}
  ~TlsChannel() override;

  bool PeerGone(size_t due) override;
  void Reach(Stage stage) noexcept override;
  void Unpost() override;
  // Spread: long frames of keys, masked weights and inferences go over these connections as well from now on; each has
  // an exporter of its own. Both ends call it, with the same ones in the same order, before there is such a frame.
  struct Side {
    std::shared_ptr<Pipe> pipe;
    Hash exporter;
  };
  void Spread(std::vector<Side> sides);
  // The pipe, of which nothing was read that nobody took; the channel is over.
  std::shared_ptr<Pipe> Hand();
  // held: memory of frames that nobody took yet, and of the one that is arriving.
  size_t held() const;

 private:
  // What may be read now: the one frame that is waited for, of at most `bytes`; or, ahead, so many frames that
  // nobody took yet, with so many bytes in all.
  struct Window {
    bool one;
    size_t frames, bytes;
  };
  static Window One(size_t limit) { return {true, 1, limit}; }
  void Put(View header, View payload) override;
  void PutUpTo(View header, View payload, size_t from, size_t to) override;
  void PutWhole(View header, View payload, size_t from, size_t to, std::error_code* error);
  Frame Take(size_t limit) override;
  std::optional<Frame> Fill(size_t bytes) override;
  void Posting(const Posted& p) override;
  void Leave(View memory) noexcept override;
  void Linger() noexcept override;
  std::error_code Flush();
  void LastWord();
  void ThrowIfTls(const std::error_code& ec);
  bool Open(const Window& w);
  bool MayWait(const Window& w) { return !read_error_ && Open(w); }
  bool Read(const Window& w);
  void Parse(const Window& w);
  size_t Rest() const { return length_ - before_ - filled_; }
  // Whether such a frame goes over all streams; then length_ is that of our share of it.
  bool Spreads(uint16_t kind, size_t bytes) const;
  bool Match();
  void QueueShare(View payload, size_t from, size_t to, std::error_code* error);
  class Forgetting;
  template <class F>
  void AwaitStreams(const char* doing, F&& done);
  Posted* NextPosted();
  std::span<uint8_t> Room();
  void Await(const Window& w, const std::function<bool()>& here);
  void Filled(size_t bytes);
  void Finish();
  void Forget();

  std::shared_ptr<Pipe> pipe_;
  std::vector<std::unique_ptr<Stream>> streams_;  // beside pipe_
  Share share_;                                   // of pipe_
  std::array<uint8_t, kRecord + kFrameHeader> staging_;
  View staged_;  // in staging_: came, and not parsed yet
  std::array<uint8_t, kFrameHeader> header_;
  size_t header_bytes_ = 0;
  bool have_header_ =
      false;  // frame_ is on its way: length_ bytes, of them before_ in blocks_ and filled_ in its payload, or target_
  Posted* target_ = nullptr;  // the posted frame that is on its way
  bool spread_ = false;       // it goes over all streams; without a target nothing of it is read
  Frame frame_;
  std::vector<Bytes> blocks_;
  size_t length_ = 0, before_ = 0, filled_ = 0, skip_ = 0;
  size_t block_ = kStrangerBlock;
  uint64_t bytes_read_ = 0;
  std::error_code read_error_;
  bool lingers_ = false;
  std::deque<Frame> inbox_;
  size_t inbox_bytes_ = 0;  // payloads
};

}  // namespace suf::net
