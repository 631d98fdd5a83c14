// What lies under a TlsChannel: bytes in order, both ways, none of it waiting beyond a deadline. TlsLink is the one of
// the product; a fuzz target has its own.
#pragma once
#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <system_error>

#include "suf/base/bytes.hpp"
#include "suf/base/cores.hpp"

namespace suf::net {

inline constexpr size_t kRecord = 16384;       // payload of one TLS record
inline constexpr size_t kBurst = 4 * kRecord;  // encrypted and sent at once: the peer decrypts while we go on

using Deadline = std::chrono::steady_clock::time_point;

// Pipe::Wait of a socket.
bool WaitOn(int fd, bool read, bool write, Deadline deadline, int also);

class Pipe {
 public:
  virtual ~Pipe() = default;
  // Bytes that are here already; 0 when there are none, or when `error` is set: asio::error::eof when the peer
  // hung up, OpenSSL's reason in asio's SSL category for an alert or something that is not TLS.
  virtual size_t Read(std::span<uint8_t> out, std::error_code* error) = 0;
  // It leaves with Flush.
  virtual void Queue(View plain, std::error_code* error) = 0;
  // Sends what the socket takes now. True when all of it is on its way, or `error` is set.
  virtual bool Flush(std::error_code* error) = 0;
  virtual size_t queued() const = 0;
  // Until something comes, after a Read that found nothing, or can be written, or the descriptor `also` can be
  // read; false when the deadline passes first. It looks once, also where the deadline has passed.
  virtual bool Wait(bool read, bool write, Deadline deadline, int also = -1) = 0;
  // Hangs up, and throws away what arrives until the peer hangs up too or the deadline passes (a close with
  // unread input would reset the connection before the peer has read our last words).
  virtual void Drain(Deadline deadline) noexcept = 0;
  // From any thread; the connection is over at both ends.
  virtual void Drop() noexcept = 0;
  // Returns what our end shows of itself, for error messages.
  virtual std::string Own() const { return {}; }
  // From now on large buffers, for fewer system calls.
  virtual void Widen() {}
  // engaged: whether a Listener that stops lets this one go on.
  std::atomic<bool> engaged{false};
};

}  // namespace suf::net
