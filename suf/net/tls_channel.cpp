#include "suf/net/tls_channel.hpp"

#include <algorithm>

#include "suf/base/stack.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/tls_link.hpp"

namespace suf::net {
namespace {

using Clock = std::chrono::steady_clock;
using Ec = std::error_code;

constexpr size_t kSpreadAbove = 16 << 10;  // longer frames go over all streams
constexpr size_t kFirstAside = 4;    // from this many connections on, the first carries no share: its thread computes
constexpr size_t kProgress = 65536;  // a peer that moves fewer bytes per time-out is silent

}  // namespace

bool TlsChannel::PeerGone(size_t due) {
  const ReadLimit limit = OneFrame(std::max(due, sizeof(Refusal)));
  while (Read(limit)) {
  }
  if (!inbox_.empty()) return MeansGone(inbox_.front(), due);
  return read_error_ || (have_header_ && length_ > limit.bytes);
}

size_t TlsChannel::held() const {
  size_t sum = frame_.payload.capacity();
  for (const Bytes& b : blocks_) sum += b.capacity();
  for (const ReceivedFrame& f : inbox_) sum += f.payload.capacity() + kFrameCost;
  return sum;
}

void TlsChannel::Unpost() {
  if (posted_.empty()) return;
  for (const auto& s : streams_) s->Close();
  if (target_) {
    skip_ = BytesLeft();
    DropFrame();
  }
  Channel::Unpost();
}

void TlsChannel::Advance(PeerState state) noexcept {
  Channel::Advance(state);
  // a Listener that stops lets a refusal leave
  if (state != PeerState::kOver) pipe_->engaged = state == PeerState::kEngaged;
  pipe_->idle = state == PeerState::kAccepted;
  if (state == PeerState::kEngaged && block_ == kBlock) pipe_->EnlargeBuffers();
  if (state != PeerState::kAccepted) return;
  if (std::exchange(block_, kBlock) == kStrangerBlock) return pipe_->EnlargeBuffers();
  pipe_->ShrinkBuffers();  // it idles
  for (const auto& s : streams_) s->ShrinkBuffers();
  ReleaseUnusedStack();
}

void TlsChannel::HangUp() noexcept {
  NoteHangUp();
  pipe_->Drop();
  const std::lock_guard l(sides_m_);
  for (const auto& side : sides_)
    if (const auto pipe = side.lock()) pipe->Drop();
}

void TlsChannel::AddStreams(std::vector<Side> sides) {
  SUF_CHECK(streams_.empty());
  Sha256 all;
  all.Add(AsView("suf streams")).Add(exporter());
  const size_t own = sides.size() + 1 < kFirstAside, count = sides.size() + own;
  share_ = {0, own ? count : 0};
  const std::lock_guard l(sides_m_);
  for (Side& s : sides) {
    all.Add(s.exporter);
    sides_.push_back(s.pipe);
    streams_.push_back(std::make_unique<Stream>(std::move(s.pipe), Share{streams_.size() + own, count}));
  }
  Bind(all.Done());
  spread_ = have_header_ && UsesStreams(frame_.kind, length_);  // its header came before the last stream
}

std::shared_ptr<Pipe> TlsChannel::TakePipe() {
  SUF_CHECK(streams_.empty());
  if (!inbox_.empty() || !staged_.empty() || have_header_ || header_bytes_)
    EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(),
               " sent frames of a session where a stream of one was opened; install the same suf on all sides");
  return std::move(pipe_);
}

bool TlsChannel::UsesStreams(uint16_t kind, size_t bytes) const {
  return !streams_.empty() && bytes > kSpreadAbove && (kind == kChunk || kind >= kFirstRun);
}

void TlsChannel::OnPost(const PostedFrame& p) {
  if (p.buffer.size() > kRecord && block_ == kBlock) pipe_->EnlargeBuffers();
  if (!UsesStreams(p.kind, p.buffer.size())) return;
  for (const auto& s : streams_) s->Expect(EncodeHeader(p.buffer.size(), p.kind, p.sequence), p.buffer);
}

// Waits until done() is true for each stream. Meanwhile reads the peer's frames on the first connection.
template <class F>
void TlsChannel::AwaitStreams(const char* doing, F&& done) {
  for (const auto& s : streams_) {
    auto deadline = Clock::now() + timeout();
    for (uint64_t mark = s->progress(); !done(*s); mark = s->progress()) {
      if (const Ec ec = s->failed()) {
        if (ec == std::errc::protocol_error)
          EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(),
                     " sent another frame over a stream than was due; install the same suf on all sides");
        ThrowLastRefusal();
        ThrowIfTls(ec);
        FailGone();
      }
      Blocked([&] { s->Wait(mark, kPeerPoll); });
      if (done(*s)) break;
      const ReadLimit limit{false, kAheadFrames, kAheadBytes};
      while (Read(limit)) {
      }
      if (!done(*s) && (read_error_ || (!inbox_.empty() && inbox_.front().kind == kRefuse))) {
        ThrowLastRefusal();
        ThrowIfTls(read_error_);
        FailGone();
      }
      if (s->progress() != mark)
        deadline = Clock::now() + timeout();
      else if (Clock::now() >= deadline)
        FailSilent(doing);
    }
  }
}

// A scope guard. If its scope throws, no stream reads or writes any memory that may now be freed.
class TlsChannel::StreamGuard {
 public:
  explicit StreamGuard(TlsChannel& ch) : ch_(ch), before_(std::uncaught_exceptions()) {}
  ~StreamGuard() {
    if (std::uncaught_exceptions() > before_)
      for (const auto& s : ch_.streams_) s->Close();
  }

 private:
  TlsChannel& ch_;
  const int before_;
};

// Queues our share of bytes [from, to) of a frame that goes over all streams.
void TlsChannel::QueueShare(View payload, size_t from, size_t to, Ec* error) {
  const size_t end = share_.Bytes(to, payload.size());
  for (size_t at = share_.Bytes(from, payload.size()); at < end && !*error;) {
    at = share_.QueueBurst(*pipe_, payload, at, end, error);
    if (!*error) *error = Flush();
  }
}

void TlsChannel::Put(View header, View payload) {
  const StreamGuard guard(*this);
  PutUpTo(header, payload, 0, payload.size());
  if (!streams_.empty() && !over()) AwaitStreams("send to it", [](Stream& s) { return s.AllSent(); });
}

void TlsChannel::AwaitSent(View memory) noexcept {
  for (const auto& s : streams_) {
    if (s->AllSent()) continue;
    const uint64_t due = s->SentCountWithout(memory);
    auto deadline = Clock::now() + timeout();
    for (uint64_t mark = s->progress(); s->sent_count() < due && !s->failed() && Clock::now() < deadline;
         mark = s->progress()) {
      s->Wait(mark, kPeerPoll);
      if (s->progress() != mark) deadline = Clock::now() + timeout();
    }
    if (s->sent_count() < due) s->Close();
  }
}

void TlsChannel::PutUpTo(View header, View payload, size_t from, size_t to) {
  const StreamGuard guard(*this);
  Ec ec;
  if (UsesStreams(Reader(header.subspan(4), "a frame header").Get<uint16_t>(), payload.size())) {
    if (!over())
      for (const auto& s : streams_) s->Send(header, payload, from, to);
    if (from == 0) pipe_->Queue(header, &ec);
    QueueShare(payload, from, to, &ec);
    if (!ec && pipe_->queued()) ec = Flush();  // a header without a share
  } else {
    PutWhole(header, payload, from, to, &ec);
  }
  if (!ec) return;
  if (ec == std::errc::not_enough_memory) throw std::bad_alloc();
  ThrowLastRefusal();
  ThrowIfTls(read_error_);
  FailGone();
}

void TlsChannel::PutWhole(View header, View payload, size_t from, size_t to, Ec* error) {
  Ec& ec = *error;
  payload = payload.subspan(from, to - from);
  size_t capacity = kBurst;
  if (from == 0) {  // header and first bytes share a record, so that a short frame is one write
    std::array<uint8_t, kRecord> first;
    size_t head = std::min(payload.size(), kRecord - header.size());
    std::memcpy(first.data(), header.data(), header.size());
    if (head) std::memcpy(first.data() + header.size(), payload.data(), head);
    pipe_->Queue(View(first.data(), header.size() + head), &ec);
    Wipe(first.data(), header.size() + head);
    payload = payload.subspan(head);
    capacity -= kRecord;
  }
  for (; !ec; capacity = kBurst) {
    size_t n = std::min(payload.size(), capacity);
    pipe_->Queue(payload.first(n), &ec);
    payload = payload.subspan(n);
    if (!ec) ec = Flush();
    if (payload.empty()) break;
  }
}

// Sends all queued bytes. Meanwhile reads incoming bytes, so that two ends that write do not wait for each other.
Ec TlsChannel::Flush() {
  Ec ec;
  const ReadLimit limit{false, kAheadFrames, kAheadBytes};
  auto deadline = Clock::now() + timeout();
  for (size_t mark = pipe_->queued(); !pipe_->Flush(&ec);) {
    if (!pipe_->Wait(MayWait(limit), true, deadline)) {
      pipe_->Drop();
      FailSilent("send to it");
    }
    while (Read(limit)) {
    }
    if (mark - pipe_->queued() >= kProgress) {
      mark = pipe_->queued();
      deadline = Clock::now() + timeout();
    }
  }
  return ec;
}

// Throws the peer's refusal if it sent one before it went. Discards its frames before that.
void TlsChannel::ThrowLastRefusal() {
  const ReadLimit limit = OneFrame(sizeof(Refusal));
  auto deadline = Clock::now() + kLinger;
  do {
    for (; !inbox_.empty(); inbox_.pop_front()) ThrowIfRefusal(inbox_.front());
    inbox_bytes_ = 0;
    if (have_header_ && (target_ || length_ > limit.bytes)) {
      skip_ = BytesLeft();
      DropFrame();
    }
  } while (Clock::now() < deadline && (Read(limit) || (MayWait(limit) && pipe_->Wait(true, false, deadline))));
}

// Reads until done() is true. The next frame has at most limit.bytes bytes, unless it is posted.
void TlsChannel::Await(const ReadLimit& limit, const std::function<bool()>& done) {
  auto deadline = Clock::now() + timeout();
  for (uint64_t mark = bytes_read_; !done();) {
    if (have_header_ && spread_ && !MatchPosted())
      EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent a frame of kind ", frame_.kind,
                 " over its streams where none was due; install the same suf on all sides");
    if (have_header_ && !target_ && length_ > limit.bytes) FailTooLarge(length_, limit.bytes);
    if (!Read(limit)) {
      if (read_error_) {
        ThrowIfTls(read_error_);
        FailGone();
      }
      if (!Blocked([&] { return pipe_->Wait(true, false, deadline); })) FailSilent("hear from it");
    }
    if (bytes_read_ - mark >= kProgress) {
      mark = bytes_read_;
      deadline = Clock::now() + timeout();
    }
  }
}

Channel::ReceivedFrame TlsChannel::Take(size_t limit) {
  Await(OneFrame(limit), [&] { return !inbox_.empty(); });
  ReceivedFrame f = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= f.payload.size();
  return f;
}

std::optional<Channel::ReceivedFrame> TlsChannel::Fill(size_t bytes) {
  const StreamGuard guard(*this);
  PostedFrame& p = posted_.front();
  const bool all = bytes == p.buffer.size();
  Await(OneFrame(std::max(p.buffer.size(), sizeof(Refusal))),
        [&] { return p.whole || (!all && p.filled >= bytes) || !inbox_.empty(); });
  if (p.whole || (!all && p.filled >= bytes)) {
    if (!UsesStreams(p.kind, p.buffer.size())) return std::nullopt;
    AwaitStreams("hear from it", [&](Stream& s) { return s.HasArrived(bytes); });
    if (all)
      for (const auto& s : streams_) s->PopReceived();
    return std::nullopt;
  }
  ReceivedFrame f = Take(0);  // it has arrived
  if (!p.Is(f)) return f;
  std::copy(f.payload.begin(), f.payload.end(), p.buffer.begin());  // it arrived before its buffer was posted
  p.sequence = f.sequence;
  p.filled = f.payload.size();
  p.whole = true;
  return std::nullopt;
}

TlsChannel::~TlsChannel() {
  streams_.clear();
  if (!pipe_) return;
  if (lingers_) pipe_->Drain(Clock::now() + kLinger);
  pipe_->Drop();
  Wipe(staging_.data(), staging_.size());
}

// Leaves the wait to the destructor, so that a session that refused first frees its place.
void TlsChannel::Linger() noexcept {
  inbox_.clear();
  inbox_bytes_ = 0;
  staged_ = {};
  DropFrame();
  streams_.clear();  // the peer's wait for them ends, and it reads the first connection
  lingers_ = true;
}

// Throws if TLS itself ended the connection: by an alert of the peer, or because it could not decrypt bytes.
void TlsChannel::ThrowIfTls(const Ec& ec) {
  if (ec.category() != asio::error::get_ssl_category()) return;
  if (IsOfCertificate(AlertOf(ec)))
    Fail(Cause::kRefused, peer_title(), " refused our certificate (", Why(ec), "): ", pipe_->OwnCertificate(),
         "; compare the clocks, and use certificates that were made together");
  Fail(Cause::kPeer, "bytes between ", peer_title(), " and us were altered on the way (", Why(ec),
       "); see to the network and start again");
}

// Returns the posted frame that is due next. Returns null if none is posted, all have arrived, or another frame came
// before.
Channel::PostedFrame* TlsChannel::NextPosted() {
  if (!inbox_.empty()) return nullptr;
  const auto next = std::find_if(posted_.begin(), posted_.end(), [](const PostedFrame& p) { return !p.whole; });
  return next == posted_.end() ? nullptr : &*next;
}

// Whether more may be read: of the frame that is arriving, or of a header.
bool TlsChannel::MayRead(const ReadLimit& limit) {
  if (have_header_ && spread_ && !MatchPosted()) return false;
  if (target_ || (!have_header_ && NextPosted())) return true;
  size_t length = have_header_ ? length_ : 0;
  if (limit.only_next) return inbox_.empty() && length <= limit.bytes;
  return inbox_.size() < limit.frames && inbox_bytes_ + length <= limit.bytes;
}

// Reads the bytes of one record that have arrived. They go directly into the payload if most of the frame is still to
// come. Returns false if nothing arrived or the window is full.
bool TlsChannel::Read(const ReadLimit& limit) {
  if (!MayRead(limit)) return false;
  if (staged_.empty() && !(have_header_ && !BytesLeft())) {  // otherwise parse the staged bytes first
    if (read_error_) return false;
    if (have_header_ && BytesLeft() >= kRecord) {
      size_t n = pipe_->Read(NextBuffer(), &read_error_);
      bytes_read_ += n;
      AddFilled(n);
      return n > 0;
    }
    size_t n = pipe_->Read(staging_, &read_error_);
    bytes_read_ += n;
    staged_ = View(staging_.data(), n);
    if (!n) return false;
  }
  Parse(limit);
  return true;
}

void TlsChannel::Parse(const ReadLimit& limit) {
  auto pull = [&](uint8_t* to, size_t most) {
    size_t n = std::min(staged_.size(), most);
    if (n && to) std::memcpy(to, staged_.data(), n);
    staged_ = staged_.subspan(n);
    return n;
  };
  while (MayRead(limit)) {
    if (have_header_ && !BytesLeft()) {
      FinishFrame();
      continue;
    }
    if (staged_.empty()) return;
    if (skip_) {
      skip_ -= pull(nullptr, skip_);
    } else if (have_header_) {
      const std::span<uint8_t> buffer = NextBuffer();
      AddFilled(pull(buffer.data(), buffer.size()));
    } else {
      header_bytes_ += pull(header_.data() + header_bytes_, kFrameHeader - header_bytes_);
      if (header_bytes_ < kFrameHeader) return;
      Reader r(header_, "a frame header");
      length_ = r.Get<uint32_t>();
      frame_.kind = r.Get<uint16_t>();
      frame_.sequence = r.Get<uint16_t>();
      header_bytes_ = before_ = filled_ = 0;
      have_header_ = true;
      spread_ = UsesStreams(frame_.kind, length_);
      if (length_ > kRecord && block_ == kBlock) pipe_->EnlargeBuffers();
      (void)MatchPosted();
    }
  }
}

// Whether the frame that is arriving is the posted one that is due. If so, its bytes go into that buffer.
bool TlsChannel::MatchPosted() {
  if (target_) return true;
  PostedFrame* p = NextPosted();
  if (!p || p->kind != frame_.kind || p->buffer.size() != length_) return false;
  target_ = p;
  p->sequence = frame_.sequence;
  if (spread_) length_ = share_.Bytes(length_);
  return true;
}

// Returns the memory for the next bytes of the payload: in the posted buffer, or in a block.
std::span<uint8_t> TlsChannel::NextBuffer() {
  if (target_ && spread_) {
    const Share::FrameSlice p = share_.At(filled_, target_->buffer.size());
    return target_->buffer.subspan(p.place, p.bytes);
  }
  if (target_) return target_->buffer.subspan(filled_);
  Bytes& b = frame_.payload;
  if (filled_ == b.size()) {
    if (filled_) {
      blocks_.push_back(std::exchange(b, {}));
      before_ += std::exchange(filled_, 0);
    }
    const size_t size = std::min(BytesLeft(), block_);
    b.reserve(size);  // exactly that much
    b.resize(size);
  }
  return std::span(b).subspan(filled_);
}

void TlsChannel::AddFilled(size_t bytes) {
  filled_ += bytes;
  if (target_) target_->filled = spread_ ? share_.At(filled_, target_->buffer.size()).place : filled_;
  if (!BytesLeft()) FinishFrame();
}

void TlsChannel::FinishFrame() {
  have_header_ = false;
  if (PostedFrame* p = std::exchange(target_, nullptr)) return void(p->whole = true);
  Bytes& b = frame_.payload;
  if (!blocks_.empty()) {
    blocks_.push_back(std::exchange(b, {}));
    b.reserve(length_);
    for (Bytes& block : blocks_) {
      Append(&b, block);
      block = {};  // freed while the memory of the whole is touched
    }
    blocks_.clear();
  }
  inbox_bytes_ += b.size();
  inbox_.push_back(std::exchange(frame_, {}));
}

void TlsChannel::DropFrame() {
  have_header_ = false;
  target_ = nullptr;
  frame_ = {};
  blocks_.clear();
}

}  // namespace suf::net
