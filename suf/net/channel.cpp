#include "suf/net/channel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "suf/base/file.hpp"

namespace suf::net {

Recorder::Recorder(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0)
    Fail(Cause::kResource, "cannot make the record file ", path, " (", SystemError(),
         "); name one that does not exist");
  WriteAll(fd_, AsView("SUFREC2\n"), path_);
}
Recorder::~Recorder() { close(fd_); }

void Recorder::Add(bool sent, Role peer, View header, View payload) {
  Writer w;
  w.Put(uint8_t(sent)), w.Put(uint8_t(peer)), w.Raw(header);
  WriteAll(fd_, w.bytes(), path_);
  if (peer == Role::kDealer)
    WriteAll(fd_, HashOf({payload}), path_);
  else
    WriteAll(fd_, payload, path_);
}

Traffic& Traffic::operator+=(const Traffic& o) {
  frames_sent += o.frames_sent, bytes_sent += o.bytes_sent;
  frames_received += o.frames_received, bytes_received += o.bytes_received;
  return *this;
}

void Channel::Book(bool sent, uint16_t kind, View header, View payload) {
  Traffic& t = traffic_[int(phase_)];
  (sent ? t.frames_sent : t.frames_received) += 1;
  (sent ? t.bytes_sent : t.bytes_received) += header.size() + payload.size();
  Direction& d = sent ? sent_ : received_;
  if (transcript_ && kind >= kFirstRun && d.tags)
    d.frames.Add(d.tags->Next(header, payload));
  else if (transcript_)
    d.frames.Add(header).Add(payload);
  if (recorder_) recorder_->Add(sent, peer_.role, header, payload);
}

namespace {
Bytes EncodeHeader(size_t length, uint16_t kind, uint16_t sequence) {
  Writer w;
  w.Put(uint32_t(length)), w.Put(kind), w.Put(sequence);
  return w.Take();
}
}  // namespace

void Channel::Send(uint16_t kind, View payload) {
  SUF_CHECK(payload.size() <= kMaxFrame && kind != kRefuse);
  if (over_) Gone();
  if (kind == kGrant || kind == kChoice) Reach(Stage::kEngaged);
  Bytes header = EncodeHeader(payload.size(), kind, next_sent_++);
  Put(header, payload);
  Book(true, kind, header, payload);
}

std::pair<uint16_t, Bytes> Channel::Next(uint16_t a, uint16_t b, size_t limit) {
  if (over_) Gone();
  Frame f = Take(std::max(limit, sizeof(Refusal)));
  ThrowIfRefusal(f);
  if (f.payload.size() > limit) TooLarge(f.payload.size(), limit);
  if (f.sequence != next_received_ || (f.kind != a && f.kind != b))
    EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent frame ", f.sequence, " of kind ", f.kind,
               " where frame ", next_received_, " of kind ", a, " was due; install the same suf on all sides");
  ++next_received_;
  Book(false, f.kind, EncodeHeader(f.payload.size(), f.kind, f.sequence), f.payload);
  return {f.kind, std::move(f.payload)};
}

std::pair<uint16_t, Bytes> Channel::RecvEither(Due a, Due b) {
  auto [kind, payload] = Next(a.kind, b.kind, std::max(a.bytes, b.bytes));
  if (const size_t bytes = kind == a.kind ? a.bytes : b.bytes; payload.size() != bytes)
    EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent a frame of kind ", kind, " with ",
               payload.size(), " bytes where ", bytes, " were due; install the same suf on all sides");
  return {kind, std::move(payload)};
}

void Channel::Refuse(Refusal code) noexcept {
  if (std::exchange(over_, true)) return;
  Reach(Stage::kOver);
  Millis before = std::exchange(timeout_, std::min(timeout_, Millis{2000}));
  try {
    Writer w;
    w.Put(uint16_t(code));
    Put(EncodeHeader(w.bytes().size(), kRefuse, next_sent_++), w.bytes());
    Linger();
  } catch (...) {  // the peer is gone; our own sentence says what matters
  }
  timeout_ = before;
}

void Channel::ThrowIfRefusal(const Frame& f) {
  if (f.kind != kRefuse) return;
  over_ = true;
  throw Refused(peer_.role, f.payload.size() == sizeof(uint16_t) ? Reader(f.payload, "a refusal").Get<uint16_t>() : 0);
}

void Channel::TooLarge(uint64_t bytes, size_t limit) {
  EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent a frame of ", bytes,
             " bytes; the limit here is ", limit, "; install the same suf on all sides");
}

void Channel::Silent(const char* doing) {
  Fail(Cause::kPeer, peer_title(), " was silent for ", double(timeout_.count()) / 1000, " s while we waited to ", doing,
       "; see whether it still runs, or allow it more time");
}

void Channel::Gone() {
  over_ = true;
  Fail(Cause::kPeer, peer_title(),
       " ended the connection in the middle of the session; read its message and start again");
}

namespace {

class QueueChannel final : public Channel {
 public:
  struct Shared {
    std::mutex m;
    std::condition_variable changed;
    std::deque<Frame> queue[2];  // queue[i]: towards end i
    bool open[2] = {true, true};
    void Close(bool a, bool b) {
      std::lock_guard lock(m);
      open[0] &= !a, open[1] &= !b;
      changed.notify_all();
    }
    std::optional<std::stop_callback<std::function<void()>>> stopped;
  };
  QueueChannel(std::shared_ptr<Shared> s, int end, Identity self, Identity peer, const Hash& exporter, Millis timeout)
      : Channel(self, peer, exporter, timeout), s_(std::move(s)), end_(end) {}
  ~QueueChannel() override { Linger(); }

  bool PeerGone(size_t due) override {
    std::lock_guard lock(s_->m);
    auto& q = s_->queue[end_];
    return q.empty() ? !s_->open[1 - end_] : GoneBy(q.front(), due);
  }

 private:
  void Put(View header, View payload) override {
    Reader r(header, "a frame header");
    Frame f;
    (void)r.Get<uint32_t>();
    f.kind = r.Get<uint16_t>(), f.sequence = r.Get<uint16_t>();
    f.payload.assign(payload.begin(), payload.end());
    std::unique_lock lock(s_->m);
    if (!s_->open[1 - end_]) {
      for (const Frame& waiting : s_->queue[end_]) ThrowIfRefusal(waiting);
      lock.unlock();
      Gone();
    }
    s_->queue[1 - end_].push_back(std::move(f));
    s_->changed.notify_all();
  }

  Frame Take(size_t) override {
    std::unique_lock lock(s_->m);
    auto& q = s_->queue[end_];
    if (!Blocked(
            [&] { return s_->changed.wait_for(lock, timeout(), [&] { return !q.empty() || !s_->open[1 - end_]; }); })) {
      lock.unlock();
      Silent("hear from it");
    }
    if (q.empty()) Gone();
    Frame f = std::move(q.front());
    q.pop_front();
    return f;
  }

  void Linger() noexcept override { s_->Close(end_ == 0, end_ == 1); }

  std::shared_ptr<Shared> s_;
  int end_;
};

}  // namespace

std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> InProcessPair(Identity a, Identity b, Millis timeout,
                                                                            std::stop_token stop) {
  auto s = std::make_shared<QueueChannel::Shared>();
  s->stopped.emplace(std::move(stop), [q = s.get()] { q->Close(true, true); });
  Hash exporter = RandomHash();
  return {std::make_unique<QueueChannel>(s, 0, a, b, exporter, timeout),
          std::make_unique<QueueChannel>(s, 1, b, a, exporter, timeout)};
}

}  // namespace suf::net
