#include "suf/net/stream.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace suf::net {

size_t Share::QueueBurst(Pipe& pipe, View payload, size_t at, size_t to, std::error_code* error) const {
  for (size_t capacity = kBurst; capacity && at < to && !*error;) {
    const FrameSlice p = At(at, payload.size());
    const size_t n = std::min({p.bytes, to - at, capacity});
    pipe.Queue(payload.subspan(p.place, n), error);
    at += n;
    capacity -= n;
  }
  return at;
}

Stream::Stream(std::shared_ptr<Pipe> pipe, Share share)
    : pipe_(std::move(pipe)), share_(share), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_)
    Fail(Cause::kResource, "no descriptor for a stream (", SystemError(), "); allow more, or take fewer streams");
}

Stream::~Stream() {
  pipe_->Drop();
  Close();
  if (thread_.joinable()) thread_.join();
}

Stream::Header Stream::HeaderOf(View frame) const {
  Header h;
  SUF_CHECK(frame.size() + 4 == h.size());
  std::copy(frame.begin(), frame.end(), h.begin());
  const auto index = uint32_t(share_.index);
  std::memcpy(h.data() + frame.size(), &index, sizeof index);
  return h;
}

void Stream::StartOrWake() {
  if (thread_.joinable()) return Wake();
  thread_ = std::thread([this] { Loop(); });
}

void Stream::Wake() {
  ++requests_;
  const uint64_t one = 1;
  if (asleep_) (void)!::write(wake_.get(), &one, sizeof one);
}

// Publishes the state for the thread that polls.
void Stream::Publish() {
  const bool due = !in_.empty() && in_.front().headed == kHeader;
  leaving_ = out_.size();
  length_ = due ? in_.front().buffer.size() : 0;
  arrived_ = due ? in_.front().at + 1 : 0;
  failed_ = bool(error_);
}

void Stream::Send(View header, View payload, size_t from, size_t to) {
  const size_t at = share_.Bytes(from, payload.size()), end = share_.Bytes(to, payload.size());
  if (from && at == end) return;  // none of it is ours
  {
    const auto l = SpinThenLock(m_);
    if (over_) return;
    out_.push_back({HeaderOf(header), payload, at, end, from == 0});
    Publish();
  }
  StartOrWake();
}

void Stream::Expect(View header, std::span<uint8_t> buffer) {
  {
    const auto l = SpinThenLock(m_);
    if (over_) return;
    in_.push_back({HeaderOf(header), {}, buffer});
  }
  StartOrWake();
}

void Stream::ShrinkBuffers() noexcept {
  if (!thread_.joinable()) return;
  shrink_ = true;
  Wake();
}

uint64_t Stream::SentCountWithout(View memory) {
  const auto l = SpinThenLock(m_);
  const auto last = std::find_if(out_.rbegin(), out_.rend(), [&](const auto& o) { return Overlap(o.payload, memory); });
  return sent_count_ + uint64_t(last.base() - out_.begin());
}

bool Stream::HasArrived(size_t bytes) const {
  const size_t arrived = arrived_;  // read first, because it is published last
  return arrived && arrived > share_.Bytes(bytes, length_);
}

void Stream::PopReceived() {
  const auto l = SpinThenLock(m_);
  SUF_CHECK(reading_ > 0);
  in_.pop_front();
  --reading_;
  Publish();
}

void Stream::Close() noexcept {
  std::unique_lock l(m_);
  over_ = true;
  ++progress_;
  Wake();
  changed_.wait(l, [&] { return !busy_; });
  sent_count_ += out_.size();
  out_.clear();
  in_.clear();
  reading_ = 0;
  Publish();
}

void Stream::Wait(uint64_t seen, std::chrono::milliseconds time) {
  const auto moved = [&] { return progress_ != seen; };
  if (PollUntil(PollDeadline(), moved, moved)) return;
  std::unique_lock l(m_);
  changed_.wait_for(l, time, moved);
}

std::error_code Stream::failed() {
  if (!failed_) return {};
  const auto l = SpinThenLock(m_);
  return error_;
}

// Sends as much of our share as the socket takes now. Returns whether anything moved.
bool Stream::Write(OutgoingFrame& o, std::error_code* error) {
  bool moved = false;
  while (!*error) {
    if (!pipe_->queued()) {
      if (o.begins) {
        pipe_->Queue(o.header, error);
        o.begins = false;
        moved = true;
      }
      const size_t at = o.at;
      o.at = share_.QueueBurst(*pipe_, o.payload, at, o.to, error);
      moved |= o.at > at;
      if (!pipe_->queued()) return moved;
    }
    const size_t before = pipe_->queued();
    const bool gone = pipe_->Flush(error);
    moved |= pipe_->queued() < before;
    if (!gone) break;
  }
  return moved;
}

// Reads the bytes of our share that have arrived, at most one burst. Returns whether anything moved.
bool Stream::Read(IncomingFrame& i, std::error_code* error) {
  const size_t ours = share_.Bytes(i.buffer.size()), begun = i.headed + i.at;
  while (!*error && (i.headed < kHeader || i.at < ours) && i.headed + i.at < begun + kBurst) {
    const bool heading = i.headed < kHeader;
    const Share::FrameSlice p = share_.At(i.at, i.buffer.size());
    const size_t n =
        pipe_->Read(heading ? std::span(i.header).subspan(i.headed) : i.buffer.subspan(p.place, p.bytes), error);
    if (!n) break;
    (heading ? i.headed : i.at) += n;
    if (heading && i.headed == kHeader && i.header != i.due) *error = std::make_error_code(std::errc::protocol_error);
  }
  return i.headed + i.at > begun;
}

void Stream::Loop() {
  auto l = SpinThenLock(m_);
  while (!over_ && !error_) {
    // the oldest of each direction; others may be added behind it
    const uint64_t requests = requests_;
    std::optional<OutgoingFrame> o;
    if (!out_.empty()) o = out_.front();
    std::optional<IncomingFrame> i;
    if (reading_ < in_.size()) i = in_[reading_];
    std::error_code error;
    busy_ = true;
    l.unlock();
    if (o || i) pipe_->EnlargeBuffers();
    const bool wrote = o && Write(*o, &error), arrived = i && !error && Read(*i, &error);
    const bool stuck = pipe_->queued(), written = o && !o->begins && o->at == o->to && !stuck;
    l = SpinThenLock(m_);
    busy_ = false;
    error_ = error;
    if (over_) {
      o.reset();
      i.reset();
    }
    if (o) out_.front() = *o;
    if (written && o) {
      out_.pop_front();
      ++sent_count_;
    }
    if (i) in_[reading_] = *i;
    if (i && i->IsWhole(share_)) ++reading_;
    // a frame that became due meanwhile may already lie in our buffers
    const bool due = !i && reading_ < in_.size(), moved = wrote || arrived || written || error;
    Publish();
    if (moved) ++progress_;
    changed_.notify_all();
    if (moved || due || over_ || error_) continue;
    const bool more = reading_ < in_.size();
    l.unlock();
    if (!more && !stuck && shrink_.exchange(false)) pipe_->ShrinkBuffers();
    const auto requested = [&] { return requests_ != requests; };
    if (!PollUntil(
            PollDeadline(), [&] { return requested() || pipe_->Wait(more, stuck, Deadline{}); }, requested)) {
      asleep_ = true;
      if (!requested()) (void)pipe_->Wait(more, stuck, Deadline::max(), wake_.get());
      asleep_ = false;
      uint64_t woken;
      (void)!::read(wake_.get(), &woken, sizeof woken);
    }
    l = SpinThenLock(m_);
  }
}

}  // namespace suf::net
