#include "bench/tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "suf/base/cores.hpp"

namespace suf::bench {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

[[noreturn]] void Gone() {
  Fail(Cause::kPeer, "the other process of the benchmark is gone; its sentence stands above");
}

// Spin: seconds of looking before sleeping.
double Spin() {
  static const double spin = Many(Cores()) ? 2e-3 : 50e-6;
  return spin;
}

}  // namespace

std::array<std::vector<int>, 2> Connected(int count) {
  std::array<std::vector<int>, 2> out;
  const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  sockaddr_in at{};
  at.sin_family = AF_INET, at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  bool fine = door >= 0 && !bind(door, address, size) && !listen(door, count) && !getsockname(door, address, &size);
  for (int i = 0; fine && i < count; ++i) {
    const int there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fine = there >= 0 && !connect(there, address, size);
    const int here = fine ? accept4(door, nullptr, nullptr, SOCK_CLOEXEC) : -1;
    fine = fine && here >= 0;
    for (int s : {there, here}) fine = fine && !setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    out[0].push_back(here), out[1].push_back(there);
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
  for (auto begin = Clock::now(); !bytes.empty();) {
    const bool look = Since(begin) < Spin();
    const ssize_t n = recv(socket, bytes.data(), bytes.size(), look ? MSG_DONTWAIT : 0);
    if (n < 0 && look && errno == EAGAIN) Pause();
    if (n < 0 && (errno == EINTR || (look && errno == EAGAIN))) continue;
    if (n <= 0) Gone();
    bytes = bytes.subspan(size_t(n)), begin = Clock::now();
  }
}

void TcpLink::Moved() {
  ++moves_;
  changed_.notify_all();
}

// Wait: as a condition's, after looking.
template <class F>
void TcpLink::Wait(std::unique_lock<std::mutex>& l, const F& ready) {
  for (const auto begin = Clock::now(); Since(begin) < Spin();) {
    if (ready()) return;
    const uint64_t seen = moves_;
    l.unlock();
    while (moves_ == seen && Since(begin) < Spin()) Pause();
    l = Locked(m_);
  }
  changed_.wait(l, ready);
}

// Cut: how a frame is divided: its chunks go over `ways` sockets in turn, from socket `first` on; each has as many,
// unless the frame is short.
struct TcpLink::Cut {
  static constexpr size_t kShort = size_t{16} << 10, kLeast = size_t{8} << 10, kMost = size_t{64} << 10;
  size_t bytes, first, ways, chunk;
  Cut(size_t frame, size_t sockets)
      : bytes(frame), first(frame > kShort && sockets >= kAside), ways(frame > kShort ? sockets - first : 1) {
    const size_t turns = std::max<size_t>(1, (frame + ways * kMost - 1) / (ways * kMost));
    chunk = std::max(kLeast, (frame + turns * ways - 1) / (turns * ways));
  }
  size_t chunks() const { return (bytes + chunk - 1) / chunk; }
  // Of: how many of the first `chunks` go over this socket. At: which one is its k-th. Whole: those in the first bytes.
  size_t Of(size_t socket, size_t chunks) const {
    const size_t way = socket - first;
    return socket < first || way >= std::min(ways, chunks) ? 0 : (chunks - way - 1) / ways + 1;
  }
  size_t Of(size_t socket) const { return Of(socket, chunks()); }
  size_t At(size_t socket, size_t k) const { return socket - first + k * ways; }
  size_t Whole(size_t until) const { return until == bytes ? chunks() : until / chunk; }
  template <class Span>
  Span Piece(Span frame, size_t c) const {
    return frame.subspan(c * chunk, std::min(chunk, bytes - c * chunk));
  }
};

// In: a frame that is due. Out: one that leaves. done: by socket, its chunks that are through.
struct TcpLink::In {
  int index;
  std::span<uint8_t> room;
  uint64_t number;
  Cut cut;
  std::vector<size_t> done;
  bool begun = false;
};
struct TcpLink::Out {
  View payload;
  uint64_t number;
  Cut cut;
  std::vector<size_t> done;
  size_t final = 0;
};

TcpLink::TcpLink(std::vector<int> sockets, double seconds) : sockets_(std::move(sockets)), seconds_(seconds) {
  for (size_t i = 1; i < sockets_.size(); ++i) {
    threads_.emplace_back([this, i] { ReadThread(i); });
    threads_.emplace_back([this, i] { WriteThread(i); });
  }
}

TcpLink::~TcpLink() {
  {
    const auto l = Locked(m_);
    closed_ = true;
  }
  Moved();
  for (int s : sockets_) (void)shutdown(s, SHUT_RDWR);
  for (auto& t : threads_) t.join();
  for (int s : sockets_) close(s);
}

void TcpLink::Stop() {
  const auto l = Locked(m_);
  if (!closed_) failed_ = "a connection of the benchmark ended";
  Moved();
}

void TcpLink::ReadThread(size_t socket) try {
  for (uint64_t next = 0;;) {
    std::shared_ptr<In> in;
    {
      auto l = Locked(m_);
      const auto due = [&] {
        for (auto& f : posted_)
          if (f->number >= next && f->cut.Of(socket)) return in = f, true;
        return closed_;
      };
      Wait(l, due);
      if (closed_) return;
    }
    next = in->number + 1;
    for (size_t k = 0; k < in->cut.Of(socket); ++k) {
      Get(sockets_[socket], in->cut.Piece(in->room, in->cut.At(socket, k)));
      const auto l = Locked(m_);
      ++in->done[socket];
      Moved();
    }
  }
} catch (const Error&) {
  Stop();
}

void TcpLink::WriteThread(size_t socket) try {
  for (uint64_t next = 0;;) {
    std::shared_ptr<Out> out;
    {
      auto l = Locked(m_);
      Wait(l, [&] { return closed_ || (sending_ && sending_->number >= next && sending_->cut.Of(socket)); });
      if (closed_) return;
      out = sending_;
    }
    next = out->number + 1;
    for (size_t k = 0; k < out->cut.Of(socket); ++k) {
      const size_t c = out->cut.At(socket, k);
      {
        auto l = Locked(m_);
        Wait(l, [&] { return closed_ || out->cut.Whole(out->final) > c; });
        if (closed_) return;
      }
      Put(sockets_[socket], out->cut.Piece(out->payload, c));
      const auto l = Locked(m_);
      ++out->done[socket];
      Moved();
    }
  }
} catch (const Error&) {
  Stop();
}

void TcpLink::Post(int index, std::span<uint8_t> into) {
  const auto l = Locked(m_);
  const size_t n = sockets_.size();
  posted_.push_back(std::make_shared<In>(In{index, into, posts_++, Cut(into.size(), n), std::vector<size_t>(n)}));
  if (n > 1) Moved();
}

// Pump: what is there of the first socket's part of the frames that are due; whether there was any.
bool TcpLink::Pump() {
  bool any = false;
  for (;;) {
    if (!reading_) {
      const auto l = Locked(m_);
      for (auto& f : posted_)
        if (f->number == next_) reading_ = f;
      if (!reading_) return any;
      head_ = at_ = 0, ++next_;
    }
    In& in = *reading_;
    std::span<uint8_t> to;
    if (head_ < sizeof header_)
      to = std::span(reinterpret_cast<uint8_t*>(header_), sizeof header_).subspan(head_);
    else if (in.done[0] < in.cut.Of(0))
      to = in.cut.Piece(in.room, in.cut.At(0, in.done[0])).subspan(at_);
    if (!to.empty()) {
      const ssize_t n = recv(sockets_[0], to.data(), to.size(), MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return any;
      if (n <= 0) Gone();
      any = true;
      if (head_ < sizeof header_) {
        if ((head_ += size_t(n)) < sizeof header_) continue;
        if (header_[0] != uint32_t(in.index) || header_[1] != uint32_t(in.room.size()))
          Fail(Cause::kPeer, "frame ", header_[0], " of ", header_[1], " bytes came where frame ", in.index, " of ",
               in.room.size(), " was due");
        in.begun = true;
      } else if ((at_ += size_t(n)), size_t(n) == to.size()) {
        ++in.done[0], at_ = 0;
      }
    }
    if (head_ == sizeof header_ && in.done[0] == in.cut.Of(0)) reading_.reset();
  }
}

void TcpLink::Write(View bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(sockets_[0], bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(size_t(n));
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (Pump()) continue;
      pollfd p{sockets_[0], short(POLLOUT | (reading_ ? POLLIN : 0)), 0};
      if (poll(&p, 1, int(seconds_ * 1e3)) == 0) Fail(Cause::kPeer, "the peer took nothing for ", seconds_, " s");
    } else {
      Gone();
    }
  }
}

// Through: all that was given of the frame that leaves has left; of a whole one nothing is kept.
void TcpLink::Through() {
  if (!sending_) return;
  Out& out = *sending_;
  auto l = Locked(m_);
  const auto through = [&] {
    for (size_t i = 1; i < sockets_.size(); ++i)
      if (out.done[i] < out.cut.Of(i, out.cut.Whole(out.final))) return !failed_.empty();
    return true;
  };
  for (const auto begin = Clock::now(); !through();) {
    if (Since(begin) > Spin()) (void)changed_.wait_for(l, std::chrono::milliseconds(1), through);
    const uint64_t seen = moves_;
    l.unlock();
    do
      if (!Pump()) Pause();
    while (moves_ == seen && Since(begin) <= Spin());
    l = Locked(m_);
  }
  if (!failed_.empty()) Gone();
  if (out.final == out.payload.size()) sending_.reset();
}

void TcpLink::Send(int index, View payload, size_t bytes) {
  if (sending_ && sending_->final == sending_->payload.size()) Through();
  if (!sending_) {
    const uint32_t head[2] = {uint32_t(index), uint32_t(payload.size())};
    Write(View(reinterpret_cast<const uint8_t*>(head), sizeof head));
    const auto l = Locked(m_);
    const size_t n = sockets_.size();
    sending_ = std::make_shared<Out>(Out{payload, sends_++, Cut(payload.size(), n), std::vector<size_t>(n)});
  }
  Out& out = *sending_;
  {
    const auto l = Locked(m_);
    out.final = bytes;
  }
  if (out.cut.first + out.cut.ways > 1) Moved();
  for (const size_t mine = out.cut.Of(0, out.cut.Whole(bytes)); out.done[0] < mine; ++out.done[0])
    Write(out.cut.Piece(payload, out.cut.At(0, out.done[0])));
}

void TcpLink::Release(View memory) {
  if (sending_ && memory.data() < sending_->payload.data() + sending_->payload.size() &&
      sending_->payload.data() < memory.data() + memory.size())
    Through();
}

void TcpLink::Receive(int index, size_t bytes) {
  auto l = Locked(m_);
  const std::shared_ptr<In> in = posted_.front();
  SUF_CHECK(in->index == index && bytes <= in->room.size());
  const auto begin = Clock::now();
  const size_t chunks = (bytes + in->cut.chunk - 1) / in->cut.chunk;
  const auto here = [&](size_t socket) { return in->done[socket] >= in->cut.Of(socket, chunks); };
  bool waiting = !in->begun;
  while (!in->begun || !here(0)) {
    l.unlock();
    const bool any = Pump();
    if (in->begun && std::exchange(waiting, false)) waited_ += Since(begin);
    if (!any) Pause();
    if (!any && Since(begin) > Spin()) {
      pollfd p{sockets_[0], POLLIN, 0};
      if (poll(&p, 1, int(seconds_ * 1e3)) == 0)
        Fail(Cause::kPeer, "the peer was silent for ", seconds_, " s (frame ", index, ")");
    }
    l = Locked(m_);
  }
  for (size_t i = 1; i < sockets_.size(); ++i) Wait(l, [&] { return here(i) || !failed_.empty(); });
  if (!failed_.empty()) Gone();
  if (bytes == in->room.size()) posted_.pop_front();
}

}  // namespace suf::bench
