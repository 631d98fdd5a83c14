// One TCP connection with TLS, driven by poll in the calling thread. Every wait has a deadline, writes leave in few
// system calls, and another thread may end the connection.
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
#include "suf/net/pipe.hpp"
#include "suf/net/why.hpp"

namespace suf::net {

// Returns the TLS alert by which the peer ended the connection, or -1 if it was none.
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
  std::string OwnCertificate() const override { return own_.Text(); }
  CertFault fault;  // of the peer's certificate, if the handshake failed because of it

  // Offers up to `streams` connections for a session, before a client's handshake. For one connection it sends no
  // offer.
  void OfferStreams(int streams);
  // Marks the connection, before a client's handshake, as a stream that takes this seat of a session. A server that
  // knows no seats still recognises a stream.
  void Join(const std::string& seat);
  // Sets how many streams a server accepts, before the handshake.
  void AllowStreams(int streams) { allowed_ = streams; }
  // Sets a callback for the name of the seat that a client requests. The handshake calls it in its own thread.
  void OnSeat(std::function<void(const std::string&)> seat) { on_seat_ = std::move(seat); }
  // Notes that the client's whole greeting (ClientHello) arrived.
  void NoteGreeting() { greeted_ = true; }
  // Whether neither the greeting nor any unread byte has arrived. Thread-safe.
  bool silent() const;
  // Returns the number of streams that both ends agreed on in the handshake.
  int streams() const;
  // Whether this connection is a stream of another connection's session.
  bool is_stream() const;
  // Chooses from a client's offer, at a server, in the wire format of ALPN (RFC 7301). Returns nothing if no entry is
  // ours.
  View ChooseProtocol(View offer);
  // Returns false if the deadline passes first. Sets `error` if the handshake failed.
  bool Handshake(bool server, Deadline deadline, std::error_code* error);
  size_t Read(std::span<uint8_t> out, std::error_code* error) override;
  void Queue(View plain, std::error_code* error) override;
  bool Flush(std::error_code* error) override;
  size_t queued() const override { return out_.size() - sent_; }
  bool Wait(bool read, bool write, Deadline deadline, int also = -1) override;
  void Drain(Deadline deadline) noexcept override;
  void Drop() noexcept override;
  bool IsLocal() const override;
  void EnlargeBuffers() override { enlarge_ = !large_; }
  void ShrinkBuffers() noexcept override;
  bool dropped() const { return dropped_; }
  // Calls Drop when a stop is requested.
  void DropOn(std::stop_token stop) {
    stopped_.emplace(std::move(stop), [this] { Drop(); });
  }

 private:
  struct SslDeleter {
    void operator()(SSL* s) const { SSL_free(s); }
  };
  static BIO_METHOD* BioMethod();
  std::error_code Failure(int result);

  Credentials own_;
  Fd fd_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  Bytes out_;  // encrypted records that have not left yet
  size_t sent_ = 0;
  int strays_ = 0;
  bool dry_ = false;      // the socket had no more bytes
  bool enlarge_ = false;  // enlarge the buffer as soon as OpenSSL's is empty
  bool large_ = false;    // the buffer is large
  int allowed_ = 1;
  std::function<void(const std::string&)> on_seat_;
  std::atomic<bool> greeted_{false};
  std::atomic<bool> dropped_{false};
  std::optional<std::stop_callback<std::function<void()>>> stopped_;  // last, because its destructor waits for a Drop
};

}  // namespace suf::net
