// One TCP connection and the TLS on it, driven by poll in the calling thread: nothing waits beyond its deadline, what
// is written leaves in few system calls, and another thread may end it.
#pragma once
#include <openssl/ssl.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "suf/base/file.hpp"
#include "suf/net/credentials.hpp"
#include "suf/net/internal/pipe.hpp"
#include "suf/net/internal/why.hpp"

namespace suf::net {

// The TLS alert by which the peer ended the connection; -1 when it was none.
int AlertOf(const std::error_code& ec);

class TlsLink final : public Pipe {
 public:
  // Takes over a connected stream socket.
  TlsLink(const Credentials& own, Fd socket);
  ~TlsLink() override;
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  SSL* ssl() { return ssl_.get(); }
  const Credentials& own() const { return own_; }
  std::string Own() const override { return own_.Text(); }
  CertFault fault;  // of the peer's certificate, once the handshake failed by it

  // Before the handshake, of a client: for a session, over how many streams it may go; of one connection:
  // nothing is said of them. Join: that this is one of another session's streams, and the name of its seat there (for
  // a server that knows no seats, it says the former alone, too). Allow: of a server, over how many.
  void Offer(int streams);
  void Join(const std::string& seat);
  void Allow(int streams) { allowed_ = streams; }
  // Calls `seat` in the handshake, in its thread, with the name of the seat that a client asks for.
  void OnSeat(std::function<void(const std::string&)> seat) { on_seat_ = std::move(seat); }
  // The whole greeting of a client came (ClientHello). silent: neither that, nor is anything there to be read;
  // from any thread.
  void Greeted() { greeted_ = true; }
  bool silent() const;
  // streams: what both ends agreed on in the handshake. joins: whether this is one of another session's.
  int streams() const;
  bool joins() const;
  // Of a server: of a client's offer, in the wire format of ALPN (RFC 7301); empty: none of it.
  View Choose(View offer);
  // False when the deadline passes first; `error` is set when it failed.
  bool Handshake(bool server, Deadline deadline, std::error_code* error);
  size_t Read(std::span<uint8_t> out, std::error_code* error) override;
  void Queue(View plain, std::error_code* error) override;
  bool Flush(std::error_code* error) override;
  size_t queued() const override { return out_.size() - sent_; }
  bool Wait(bool read, bool write, Deadline deadline, int also = -1) override;
  void Drain(Deadline deadline) noexcept override;
  void Drop() noexcept override;
  void Widen() override { widen_ = true; }
  // DropOn: Drop, when it is requested.
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
  int strays_ = 0;
  bool dry_ = false;    // the socket had nothing more
  bool widen_ = false;  // as soon as OpenSSL's buffer is empty
  int allowed_ = 1;
  std::function<void(const std::string&)> on_seat_;
  std::atomic<bool> greeted_{false};
  std::atomic<bool> dropped_{false};
  std::optional<std::stop_callback<std::function<void()>>> stopped_;  // last: its end waits for a Drop in progress
};

}  // namespace suf::net
