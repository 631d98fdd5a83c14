#include "suf/net/channel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "suf/base/file.hpp"
#include "suf/net/pipe.hpp"

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
  w.Put(uint8_t(sent));
  w.Put(uint8_t(peer));
  w.Raw(header);
  WriteAll(fd_, w.bytes(), path_);
  if (peer == Role::kDealer)
    WriteAll(fd_, HashOf({payload}), path_);
  else
    WriteAll(fd_, payload, path_);
}

Traffic& Traffic::operator+=(const Traffic& o) {
  frames_sent += o.frames_sent;
  bytes_sent += o.bytes_sent;
  frames_received += o.frames_received;
  bytes_received += o.bytes_received;
  return *this;
}

// A thread that tags the long frames of a direction, in order, so that no computing thread waits for tags.
class Channel::Tagger {
 public:
  static constexpr size_t kLong = 64 << 10;
  explicit Tagger(Direction& d) : direction_(d), thread_([this] { Loop(); }) {}
  ~Tagger() {
    {
      std::lock_guard l(m_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  static void Tag(Direction& d, View header, View payload) { d.frames.Add(d.tags->Next(header, payload)); }
  // Adds a frame. Copies the payload unless it stays in place.
  void Add(View header, View payload, bool stays) {
    Item item{Bytes(header.begin(), header.end()), payload, {}};
    if (!stays) {
      item.own.assign(payload.begin(), payload.end());
      item.payload = item.own;
    }
    {
      std::lock_guard l(m_);
      items_.push_back(std::move(item));
    }
    changed_.notify_all();
  }
  // Waits until no item reads this memory; without an argument, until there is no item.
  void Wait(std::optional<View> memory = std::nullopt) {
    std::unique_lock l(m_);
    changed_.wait(l, [&] {
      return std::none_of(items_.begin(), items_.end(),
                          [&](const Item& i) { return !memory || Overlap(i.payload, *memory); });
    });
  }
  bool IsIdle() {
    std::lock_guard l(m_);
    return items_.empty();
  }

 private:
  struct Item {
    Bytes header;
    View payload;
    Bytes own;
  };
  void Loop() {
    std::unique_lock l(m_);
    for (;;) {
      changed_.wait(l, [&] { return !items_.empty() || over_; });
      if (items_.empty()) return;
      const Item& item = items_.front();  // others may be added behind it
      l.unlock();
      Tag(direction_, item.header, item.payload);
      l.lock();
      items_.pop_front();
      changed_.notify_all();
    }
  }
  Direction& direction_;
  std::mutex m_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool over_ = false;
  std::thread thread_;
};

Channel::Channel(Identity self, Identity peer, const Hash& exporter, Millis timeout)
    : self_(self), peer_(peer), exporter_(exporter), timeout_(timeout) {}
Channel::~Channel() = default;

void Channel::Advance(PeerState state) noexcept {
  if (state != PeerState::kAccepted) return;
  for (Direction* d : {&sent_, &received_}) d->tagger.reset();  // ends when all frames are tagged
}

void Channel::Direction::AwaitTags() {
  if (tagger) tagger->Wait();
}

void Channel::RecordFrame(bool sent, uint16_t kind, View header, View payload, bool stays) {
  Traffic& t = traffic_[int(phase_)];
  (sent ? t.frames_sent : t.frames_received) += 1;
  (sent ? t.bytes_sent : t.bytes_received) += header.size() + payload.size();
  if (recorder_) recorder_->Add(sent, peer_.role, header, payload);
  if (!transcript_) return;
  Direction& d = sent ? sent_ : received_;
  const bool busy = d.tagger && !d.tagger->IsIdle();
  if (kind >= kFirstRun && d.tags && (busy || (stays && payload.size() >= Tagger::kLong))) {
    if (!d.tagger) d.tagger = std::make_unique<Tagger>(d);
    return d.tagger->Add(header, payload, stays);
  }
  if (busy) d.AwaitTags();
  if (kind >= kFirstRun && d.tags)
    Tagger::Tag(d, header, payload);
  else
    d.frames.Add(header).Add(payload);
}

std::pair<Hash, Hash> Channel::Transcript() {
  sent_.AwaitTags();
  received_.AwaitTags();
  return {sent_.frames.Peek(), received_.frames.Peek()};
}

void Channel::TagFrames(const Hash& own, const Hash& peer) {
  sent_.AwaitTags();
  received_.AwaitTags();
  sent_.tags.emplace(own);
  received_.tags.emplace(peer);
}

void Channel::Release(View memory) {
  const auto last = std::find_if(leaving_.rbegin(), leaving_.rend(), [&](View v) { return Overlap(v, memory); });
  if (last != leaving_.rend()) {
    AwaitSent(memory);
    leaving_.erase(leaving_.begin(), last.base());
  }  // frames leave in order
  for (const Direction* d : {&sent_, &received_})
    if (d->tagger) d->tagger->Wait(memory);
}

Bytes Channel::EncodeHeader(size_t length, uint16_t kind, uint16_t sequence) {
  Writer w;
  w.Put(uint32_t(length));
  w.Put(kind);
  w.Put(sequence);
  return w.Take();
}

void Channel::Send(uint16_t kind, View payload) {
  SUF_CHECK(payload.size() <= kMaxFrame && kind != kRefuse && !sending_);
  if (over_) FailGone();
  if (kind == kGrant || kind == kChoice || kind == kWait) Advance(PeerState::kEngaged);
  Bytes header = EncodeHeader(payload.size(), kind, next_sent_++);
  Put(header, payload);
  RecordFrame(true, kind, header, payload);
}

void Channel::SendUpTo(uint16_t kind, View payload, size_t bytes) {
  SUF_CHECK(payload.size() <= kMaxFrame && (kind == kChunk || kind >= kFirstRun) && bytes <= payload.size());
  if (over_) FailGone();
  if (!bytes && !payload.empty()) return;
  if (!sending_) {
    sending_ = EncodeHeader(payload.size(), kind, next_sent_++);
    length_ = payload.size();
    left_at_ = 0;
  }
  SUF_CHECK(length_ == payload.size() && left_at_ <= bytes);
  if (leaving_.empty() || leaving_.back().data() != payload.data()) leaving_.push_back(payload);
  try {
    PutUpTo(*sending_, payload, left_at_, bytes);
  } catch (...) {
    sending_.reset();  // nothing can follow it
    throw;
  }
  left_at_ = bytes;
  if (bytes < length_) return;
  const Bytes header = *std::exchange(sending_, std::nullopt);
  RecordFrame(true, kind, header, payload, true);
}

// Ends the session unless the frame, which is no refusal, is the next one and of one of these kinds.
void Channel::CheckDue(const ReceivedFrame& f, uint16_t a, uint16_t b) {
  if (f.sequence != next_received_ || (f.kind != a && f.kind != b))
    EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent frame ", f.sequence, " of kind ", f.kind,
               " where frame ", next_received_, " of kind ", a, " was due; install the same suf on all sides");
}

std::pair<uint16_t, Bytes> Channel::Next(uint16_t a, uint16_t b, size_t limit) {
  SUF_CHECK(posted_.empty());
  if (over_) FailGone();
  ReceivedFrame f = Take(std::max(limit, sizeof(Refusal)));
  ThrowIfRefusal(f);
  if (f.payload.size() > limit) FailTooLarge(f.payload.size(), limit);
  CheckDue(f, a, b);
  ++next_received_;
  RecordFrame(false, f.kind, EncodeHeader(f.payload.size(), f.kind, f.sequence), f.payload);
  return {f.kind, std::move(f.payload)};
}

void Channel::FailWrongLength(uint16_t kind, size_t bytes, size_t due) {
  EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent a frame of kind ", kind, " with ", bytes,
             " bytes where ", due, " were due; install the same suf on all sides");
}

std::pair<uint16_t, Bytes> Channel::RecvEither(DueFrame a, DueFrame b) {
  auto [kind, payload] = Next(a.kind, b.kind, std::max(a.bytes, b.bytes));
  if (const size_t bytes = kind == a.kind ? a.bytes : b.bytes; payload.size() != bytes)
    FailWrongLength(kind, payload.size(), bytes);
  return {kind, std::move(payload)};
}

std::optional<Channel::ReceivedFrame> Channel::Fill(size_t) {
  PostedFrame& p = posted_.front();
  if (p.whole) return std::nullopt;
  ReceivedFrame f = Take(std::max(p.buffer.size(), sizeof(Refusal)));
  if (!p.Is(f)) return f;
  std::copy(f.payload.begin(), f.payload.end(), p.buffer.begin());
  p.sequence = f.sequence;
  p.filled = f.payload.size();
  p.whole = true;
  return std::nullopt;
}

void Channel::RecvUpTo(size_t bytes) {
  SUF_CHECK(!posted_.empty() && bytes <= posted_.front().buffer.size());
  if (over_) FailGone();
  const PostedFrame& p = posted_.front();
  if (const std::optional<ReceivedFrame> f = Fill(bytes)) {
    ThrowIfRefusal(*f);
    CheckDue(*f, p.kind, p.kind);
    FailWrongLength(f->kind, f->payload.size(), p.buffer.size());
  }
  if (p.filled) CheckDue({p.kind, p.sequence, {}}, p.kind, p.kind);
  if (bytes < p.buffer.size()) return;
  const PostedFrame done = p;
  posted_.pop_front();
  CheckDue({done.kind, done.sequence, {}}, done.kind, done.kind);
  ++next_received_;
  RecordFrame(false, done.kind, EncodeHeader(bytes, done.kind, done.sequence), done.buffer, true);
}

void Channel::RecvInto(uint16_t kind, std::span<uint8_t> buffer) {
  try {
    Post(kind, buffer);
    RecvUpTo(buffer.size());
  } catch (...) {
    Unpost();
    throw;
  }
}

void Channel::Refuse(Refusal code, uint32_t retry_s) noexcept {
  if (std::exchange(over_, true)) return;
  refusal_ = code;
  Advance(PeerState::kOver);
  Millis before = std::exchange(timeout_, std::min(timeout_, Millis{2000}));
  try {
    const Bytes frame = Encode(RefusalFrame{uint16_t(code), retry_s});
    if (sending_) {  // complete a frame that has begun, so that the peer finds the refusal behind it
      const Bytes zeros(length_);
      PutUpTo(*sending_, zeros, left_at_, length_);
    }
    Put(EncodeHeader(frame.size(), kRefuse, next_sent_++), frame);
    Linger();
  } catch (...) {  // the peer is gone; our own error message matters
  }
  timeout_ = before;
}

void Channel::ThrowIfRefusal(const ReceivedFrame& f) {
  if (f.kind != kRefuse) return;
  over_ = true;
  throw Refused(peer_.role, DecodeRefusal(f.payload), self_.role);
}

void Channel::FailTooLarge(uint64_t bytes, size_t limit) {
  EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent a frame of ", bytes,
             " bytes; the limit here is ", limit, "; install the same suf on all sides");
}

void Channel::FailSilent(const char* doing) {
  Fail(Cause::kPeer, peer_title(), " was silent for ", double(timeout_.count()) / 1000, " s while we waited to ", doing,
       "; see whether it still runs, or allow it more time");
}

void Channel::FailGone() {
  over_ = true;
  if (hung_up_)
    Fail(Cause::kPeer, "our side ended the session with ", peer_title(), " early; see our message about it");
  Fail(Cause::kPeer, peer_title(),
       " ended the connection in the middle of the session; read its message and start again");
}

namespace {

class QueueChannel final : public Channel {
 public:
  struct Shared {
    std::mutex m;
    std::condition_variable changed;
    std::deque<ReceivedFrame> queue[2];  // queue[i] leads to end i
    std::atomic<size_t> waiting[2]{};    // frames in each queue, for polling
    bool open[2] = {true, true};
    void Close(bool a, bool b) {
      std::lock_guard lock(m);
      open[0] &= !a;
      open[1] &= !b;
      changed.notify_all();
    }
    std::optional<std::stop_callback<std::function<void()>>> stopped;
  };
  QueueChannel(std::shared_ptr<Shared> s, int end, Identity self, Identity peer, const Hash& exporter, Millis timeout)
      : Channel(self, peer, exporter, timeout), s_(std::move(s)), end_(end) {}
  ~QueueChannel() override { Linger(); }

  void HangUp() noexcept override {
    NoteHangUp();
    s_->Close(true, true);
  }

  bool PeerGone(size_t due) override {
    std::lock_guard lock(s_->m);
    auto& q = s_->queue[end_];
    return q.empty() ? !s_->open[1 - end_] : MeansGone(q.front(), due);
  }

 private:
  void Put(View header, View payload) override {
    Reader r(header, "a frame header");
    ReceivedFrame f;
    (void)r.Get<uint32_t>();
    f.kind = r.Get<uint16_t>();
    f.sequence = r.Get<uint16_t>();
    f.payload.assign(payload.begin(), payload.end());
    std::unique_lock lock(s_->m);
    if (hung_up() || !s_->open[1 - end_]) {
      for (const ReceivedFrame& waiting : s_->queue[end_]) ThrowIfRefusal(waiting);
      lock.unlock();
      FailGone();
    }
    s_->queue[1 - end_].push_back(std::move(f));
    s_->waiting[1 - end_].fetch_add(1);
    s_->changed.notify_all();
  }

  ReceivedFrame Take(size_t) override {
    std::unique_lock lock(s_->m, std::defer_lock);
    auto& q = s_->queue[end_];
    const auto arrived = [&] { return s_->waiting[end_].load() > 0; };
    if (!Blocked([&] {
          PollUntil(PollDeadline(), arrived, arrived);
          lock.lock();
          return s_->changed.wait_for(lock, timeout(), [&] { return !q.empty() || !s_->open[1 - end_] || hung_up(); });
        })) {
      lock.unlock();
      FailSilent("hear from it");
    }
    if (q.empty() || hung_up()) FailGone();
    ReceivedFrame f = std::move(q.front());
    q.pop_front();
    s_->waiting[end_].fetch_sub(1);
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
