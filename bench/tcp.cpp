#include "bench/tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "suf/base/file.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/tls_channel.hpp"

namespace suf::bench {
namespace {

[[noreturn]] void Gone() { Fail(Cause::kPeer, "the other process of the benchmark is gone; see its error above"); }

// A pipe over a plain socket. Queued bytes are sent from their own memory, unless they are short.
class Socket final : public net::Pipe {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  size_t Read(std::span<uint8_t> out, std::error_code* error) override {
    const ssize_t n = recv(fd_.get(), out.data(), out.size(), MSG_DONTWAIT);
    if (!n || (n < 0 && errno != EAGAIN && errno != EINTR)) *error = asio::error::eof;
    return n > 0 ? size_t(n) : 0;
  }
  void Queue(View bytes, std::error_code*) override {
    if (bytes.empty()) return;
    if (used_ == items_.size()) items_.emplace_back();
    Item& item = items_[used_++];
    const bool copied = bytes.size() <= net::kRecord;  // callers may have so few bytes on their stack
    if (copied) item.own.assign(bytes.begin(), bytes.end());
    item.rest = copied ? View(item.own) : bytes;
    queued_ += bytes.size();
  }
  bool Flush(std::error_code* error) override {
    while (queued_) {
      std::array<iovec, 16> parts;
      size_t many = 0;
      for (size_t i = first_; i < used_ && many < parts.size(); ++i)
        parts[many++] = {const_cast<uint8_t*>(items_[i].rest.data()), items_[i].rest.size()};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = many;
      const ssize_t n = sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return false;
      if (n < 0) {
        *error = asio::error::eof;
        return true;
      }
      queued_ -= size_t(n);
      for (size_t left = size_t(n); left;) {
        View& rest = items_[first_].rest;
        const size_t gone = std::min(left, rest.size());
        rest = rest.subspan(gone);
        left -= gone;
        first_ += rest.empty();
      }
    }
    first_ = used_ = 0;
    return true;
  }
  size_t queued() const override { return queued_; }
  bool Wait(bool read, bool write, net::Deadline deadline, int also = -1) override {
    return net::WaitOn(fd_.get(), read, write, deadline, also);
  }
  void Drain(net::Deadline) noexcept override { Drop(); }
  void Drop() noexcept override { shutdown(fd_.get(), SHUT_RDWR); }

 private:
  struct Item {
    Bytes own;
    View rest;
  };
  const Fd fd_;
  std::vector<Item> items_;      // reused by later calls
  size_t first_ = 0, used_ = 0;  // the queued ones among them
  size_t queued_ = 0;            // in bytes
};

}  // namespace

std::array<std::vector<int>, 2> Connected(int count) {
  std::array<std::vector<int>, 2> out;
  const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  bool fine = door >= 0 && !bind(door, address, size) && !listen(door, count) && !getsockname(door, address, &size);
  for (int i = 0; fine && i < count; ++i) {
    const int there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fine = there >= 0 && !connect(there, address, size);
    const int here = fine ? accept4(door, nullptr, nullptr, SOCK_CLOEXEC) : -1;
    fine = fine && here >= 0;
    for (int s : {there, here}) fine = fine && !setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    out[0].push_back(here);
    out[1].push_back(there);
  }
  if (door >= 0) close(door);
  if (!fine)
    Fail(Cause::kResource, "cannot make ", count, " TCP connections on this machine (", std::strerror(errno), ")");
  return out;
}

void Put(int socket, View bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Gone();
    bytes = bytes.subspan(size_t(n));
  }
}

void Get(int socket, std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = recv(socket, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Gone();
    bytes = bytes.subspan(size_t(n));
  }
}

std::unique_ptr<net::Channel> TcpChannel(const std::vector<int>& sockets) {
  auto channel = std::make_unique<net::TlsChannel>(std::make_shared<Socket>(sockets[0]), net::Identity{Role::kData},
                                                   net::Identity{Role::kData}, Hash{}, net::kTimeout);
  channel->set_transcript(false);
  channel->Advance(net::PeerState::kAccepted);
  std::vector<net::TlsChannel::Side> sides;
  for (size_t i = 1; i < sockets.size(); ++i) sides.push_back({std::make_shared<Socket>(sockets[i]), Hash{}});
  if (!sides.empty()) channel->AddStreams(std::move(sides));
  return channel;
}

}  // namespace suf::bench
