// One TCP connection and the TLS on it, driven by poll in the calling thread: nothing waits beyond its deadline, what
// is written leaves in few system calls, and another thread may end it.
#pragma once
#include <openssl/ssl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>

#include "suf/base/bytes.hpp"
#include "suf/proto/credentials.hpp"
#include "suf/proto/internal/file.hpp"

namespace suf::proto {

using Deadline = std::chrono::steady_clock::time_point;

class TlsLink {
 public:
  // Takes over a connected stream socket.
  TlsLink(const Credentials& own, Fd socket);
  ~TlsLink();
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  SSL* ssl() { return ssl_.get(); }
  const Credentials& own() const { return own_; }

  // Handshake: false when the deadline passes first; `error` is set when it failed.
  bool Handshake(bool server, Deadline deadline, std::error_code* error);
  // Read: decrypted bytes that are here already; 0 when there are none, or when `error` is set: asio::error::eof when
  // the peer hung up, OpenSSL's reason in asio's SSL category for an alert or something that is not TLS.
  size_t Read(std::span<uint8_t> out, std::error_code* error);
  // Queue: encrypts; it leaves with Flush.
  void Queue(View plain, std::error_code* error);
  // Flush: sends what the socket takes now. True when all of it is on its way, or `error` is set.
  bool Flush(std::error_code* error);
  size_t queued() const { return out_.size() - sent_; }
  // Wait: until something comes, after a Read that found nothing, or can be written; false when the deadline passes
  // first.
  bool Wait(bool read, bool write, Deadline deadline);

  // HangUp: says that nothing more comes; the peer can still read what was sent.
  void HangUp();
  // Drain: hangs up, and throws away what arrives until the peer hangs up too (a close with unread input would reset
  // the connection before the peer has read our last words).
  void Drain(Deadline deadline);
  // Drop: from any thread; the connection is over at both ends. DropOn: when it is requested.
  void Drop();
  bool dropped() const { return dropped_; }
  void DropOn(std::stop_token stop) {
    stopped_.emplace(std::move(stop), [this] { Drop(); });
  }

 private:
  struct Free {
    void operator()(SSL* s) const { SSL_free(s); }
  };
  static BIO_METHOD* Method();
  std::error_code Failure(int result);

  Credentials own_;
  Fd fd_;
  std::unique_ptr<SSL, Free> ssl_;
  Bytes out_;  // records that did not leave yet
  size_t sent_ = 0;
  std::atomic<bool> dropped_{false};
  std::optional<std::stop_callback<std::function<void()>>> stopped_;  // last: its end waits for a Drop in progress
};

}  // namespace suf::proto
