// The transport below a TlsChannel: bytes in order, both ways, with a deadline for every wait. The product's is
// TlsLink; a fuzz target has its own.
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
inline constexpr size_t kBurst = 4 * kRecord;  // encrypted and sent at once: the peer decrypts while we continue

using Deadline = std::chrono::steady_clock::time_point;

// Implements Pipe::Wait for a socket.
bool WaitOn(int fd, bool read, bool write, Deadline deadline, int also);

class Pipe {
 public:
  virtual ~Pipe() = default;
  // Reads bytes that have arrived. Returns 0 if there are none, or if it sets `error`. This is asio::error::eof if the
  // peer hung up. After an alert or bytes that are not TLS, it is OpenSSL's reason in asio's SSL category.
  virtual size_t Read(std::span<uint8_t> out, std::error_code* error) = 0;
  // Queues bytes, which leave with Flush.
  virtual void Queue(View plain, std::error_code* error) = 0;
  // Sends as many bytes as the socket takes now. Returns true if all are on their way or `error` is set.
  virtual bool Flush(std::error_code* error) = 0;
  virtual size_t queued() const = 0;
  // Waits until bytes arrive, bytes can be written, or the descriptor `also` can be read. A wait
  // for bytes follows a Read that found none. Returns false if the deadline passes first. Polls once, even if the
  // deadline has passed.
  virtual bool Wait(bool read, bool write, Deadline deadline, int also = -1) = 0;
  // Hangs up, and discards incoming bytes until the peer hangs up or the deadline passes. A close with unread input
  // would reset the connection before the peer has read our last frames.
  virtual void Drain(Deadline deadline) noexcept = 0;
  // Ends the connection at both ends. Thread-safe.
  virtual void Drop() noexcept = 0;
  // Whether the peer has a loopback address.
  virtual bool IsLocal() const { return false; }
  // Returns a description of our own certificate, for error messages.
  virtual std::string OwnCertificate() const { return {}; }
  // Uses large buffers from now on, for fewer system calls.
  virtual void EnlargeBuffers() {}
  // Frees unused buffers, and uses small ones from now on. Not while bytes are queued.
  virtual void ShrinkBuffers() noexcept {}
  // Whether a Listener that stops lets this session finish.
  std::atomic<bool> engaged{false};
  // Whether a Listener that stops drops this session when it finds it so: its peer is accepted, and nothing runs.
  std::atomic<bool> idle{false};
};

}  // namespace suf::net
