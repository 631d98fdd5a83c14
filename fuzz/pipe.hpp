// A pipe whose bytes come from an input, as records {u16: 2 (length - 1) + whether it is a run; bytes}. A run has one
// byte, which is repeated 8 length times.
#pragma once
#include <poll.h>

#include <atomic>

#include "fuzz/peer.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/tls_channel.hpp"

namespace suf::fuzz {

inline constexpr size_t kMostBytes = 5 << 18;  // sent by the peer in one execution: just above the longest chunk

class FuzzPipe : public Pipe {
 public:
  explicit FuzzPipe(View input) : input_(input) {}
  size_t Read(std::span<uint8_t> out, std::error_code* error) override {
    SUF_CHECK(!over_ && !out.empty());
    if (dropped_) {
      *error = asio::error::eof;
      return 0;
    }
    if (!run_ && !input_.empty() && came < kMostBytes) {
      uint16_t head = Pull<uint16_t>(input_);
      run_ = size_t(head >> 1) + 1;
      repeat_ = head & 1;
      if (!repeat_) run_ = std::min(run_, input_.size());
      if (repeat_) {
        byte_ = Pull<uint8_t>(input_);
        run_ *= 8;
      }
    }
    size_t n = std::min({run_, out.size(), kRecord});
    if (!n) *error = asio::error::eof;
    if (repeat_)
      std::fill_n(out.begin(), n, byte_);
    else if (n)
      std::copy_n(PullBytes(input_, n).begin(), n, out.begin());
    run_ -= n;
    came += n;
    return n;
  }
  void Queue(View plain, std::error_code*) override { queued_ += plain.size(); }
  bool Flush(std::error_code* error) override {
    if (broken) *error = std::make_error_code(std::errc::broken_pipe);
    if (!broken && stuck) {
      --stuck;
      return false;
    }
    queued_ = 0;
    return true;
  }
  size_t queued() const override { return queued_; }
  bool Wait(bool read, bool write, Deadline, int also) override {
    if (pollfd p{also, POLLIN, 0}; !read && !write && also >= 0) return poll(&p, 1, 1000) > 0;
    return write || (read && (run_ || !input_.empty()));
  }
  void Drain(Deadline) noexcept override { over_ = true; }
  void Drop() noexcept override { dropped_ = true; }  // called on a stream while its thread reads
  size_t came = 0;                                    // bytes received
  int stuck = 0;                                      // number of writes that will block
  bool broken = false;

 private:
  View input_;
  size_t run_ = 0, queued_ = 0;
  bool repeat_ = false, over_ = false;
  std::atomic<bool> dropped_{false};
  uint8_t byte_ = 0;
};

}  // namespace suf::fuzz
