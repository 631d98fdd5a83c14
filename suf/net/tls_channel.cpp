#include "suf/net/tls_channel.hpp"

#include <algorithm>

#include "suf/net/internal/asio.hpp"
#include "suf/net/tls_link.hpp"

namespace suf::net {
namespace {

using Clock = std::chrono::steady_clock;
using Ec = std::error_code;

constexpr size_t kSpread = 16 << 10;  // longer frames go over all streams
constexpr size_t kAside = 4;          // from this many connections on, the first carries no share: its thread computes
constexpr Millis kLook{50};           // how often a thread that waits for a stream polls the first connection
constexpr size_t kProgress = 65536;   // a peer that moves fewer bytes per time-out is silent

}  // namespace

bool TlsChannel::PeerGone(size_t due) {
  const Window w = One(std::max(due, sizeof(Refusal)));
  while (Read(w)) {
  }
  if (!inbox_.empty()) return GoneBy(inbox_.front(), due);
  return read_error_ || (have_header_ && length_ > w.bytes);
}

size_t TlsChannel::held() const {
  size_t sum = frame_.payload.capacity();
  for (const Bytes& b : blocks_) sum += b.capacity();
  for (const ReceivedFrame& f : inbox_) sum += f.payload.capacity() + kFrameCost;
  return sum;
}

void TlsChannel::Unpost() {
  if (posted_.empty()) return;
  for (const auto& s : streams_) s->Forget();
  if (target_) {
    skip_ = Rest();
    Forget();
  }
  Channel::Unpost();
}

void TlsChannel::Reach(Stage stage) noexcept {
  pipe_->engaged = stage == Stage::kEngaged;
  if (stage == Stage::kAccepted) {
    block_ = kBlock;
    pipe_->Widen();
  }
}

void TlsChannel::Spread(std::vector<Side> sides) {
  SUF_CHECK(streams_.empty());
  Sha256 all;
  all.Add(AsView("suf streams")).Add(exporter());
  const size_t own = sides.size() + 1 < kAside, count = sides.size() + own;
  share_ = {0, own ? count : 0};
  for (Side& s : sides) {
    all.Add(s.exporter);
    streams_.push_back(std::make_unique<Stream>(std::move(s.pipe), Share{streams_.size() + own, count}));
  }
  Bind(all.Done());
}

std::shared_ptr<Pipe> TlsChannel::Hand() {
  SUF_CHECK(streams_.empty());
  if (!inbox_.empty() || !staged_.empty() || have_header_ || header_bytes_)
    EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(),
               " sent frames of a session where a stream of one was opened; install the same suf on all sides");
  return std::move(pipe_);
}

bool TlsChannel::Spreads(uint16_t kind, size_t bytes) const {
  return !streams_.empty() && bytes > kSpread && (kind == kChunk || kind >= kFirstRun);
}

void TlsChannel::Posting(const PostedFrame& p) {
  if (!Spreads(p.kind, p.room.size())) return;
  for (const auto& s : streams_) s->Expect(EncodeHeader(p.room.size(), p.kind, p.sequence), p.room);
}

// Waits until done() is true for each stream. Meanwhile reads the peer's frames on the first connection.
template <class F>
void TlsChannel::AwaitStreams(const char* doing, F&& done) {
  for (const auto& s : streams_) {
    auto deadline = Clock::now() + timeout();
    for (uint64_t mark; mark = s->moved(), !done(*s);) {
      if (const Ec ec = s->failed()) {
        if (ec == std::errc::protocol_error)
          EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(),
                     " sent another frame over a stream than was due; install the same suf on all sides");
        LastWord();
        ThrowIfTls(ec);
        Gone();
      }
      Blocked([&] { s->Wait(mark, kLook); });
      if (done(*s)) break;
      const Window w{false, kAheadFrames, kAheadBytes};
      while (Read(w)) {
      }
      if (!done(*s) && (read_error_ || (!inbox_.empty() && inbox_.front().kind == kRefuse))) {
        LastWord();
        ThrowIfTls(read_error_);
        Gone();
      }
      if (s->moved() != mark)
        deadline = Clock::now() + timeout();
      else if (Clock::now() >= deadline)
        Silent(doing);
    }
  }
}

// A scope guard. If its scope throws, no stream reads or writes any memory that may now be freed.
class TlsChannel::Forgetting {
 public:
  explicit Forgetting(TlsChannel& ch) : ch_(ch), before_(std::uncaught_exceptions()) {}
  ~Forgetting() {
    if (std::uncaught_exceptions() > before_)
      for (const auto& s : ch_.streams_) s->Forget();
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
  const Forgetting forgetting(*this);
  PutUpTo(header, payload, 0, payload.size());
  if (!streams_.empty() && !over()) AwaitStreams("send to it", [](Stream& s) { return s.Sent(); });
}

void TlsChannel::Leave(View memory) noexcept {
  for (const auto& s : streams_) {
    if (s->Sent()) continue;
    const uint64_t due = s->LeftWithout(memory);
    auto deadline = Clock::now() + timeout();
    for (uint64_t mark; mark = s->moved(), s->left() < due && !s->failed() && Clock::now() < deadline;) {
      s->Wait(mark, kLook);
      if (s->moved() != mark) deadline = Clock::now() + timeout();
    }
    if (s->left() < due) s->Forget();
  }
}

void TlsChannel::PutUpTo(View header, View payload, size_t from, size_t to) {
  const Forgetting forgetting(*this);
  Ec ec;
  if (Spreads(Reader(header.subspan(4), "a frame header").Get<uint16_t>(), payload.size())) {
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
  LastWord();
  ThrowIfTls(read_error_);
  Gone();
}

void TlsChannel::PutWhole(View header, View payload, size_t from, size_t to, Ec* error) {
  Ec& ec = *error;
  payload = payload.subspan(from, to - from);
  size_t room = kBurst;
  if (from == 0) {  // header and first bytes share a record, so that a short frame is one write
    std::array<uint8_t, kRecord> first;
    size_t head = std::min(payload.size(), kRecord - header.size());
    std::memcpy(first.data(), header.data(), header.size());
    if (head) std::memcpy(first.data() + header.size(), payload.data(), head);
    pipe_->Queue(View(first.data(), header.size() + head), &ec);
    Wipe(first.data(), header.size() + head);
    payload = payload.subspan(head);
    room -= kRecord;
  }
  for (; !ec; room = kBurst) {
    size_t n = std::min(payload.size(), room);
    pipe_->Queue(payload.first(n), &ec);
    payload = payload.subspan(n);
    if (!ec) ec = Flush();
    if (payload.empty()) break;
  }
}

// Sends all queued bytes. Meanwhile reads incoming bytes, so that two ends that write do not wait for each other.
Ec TlsChannel::Flush() {
  Ec ec;
  const Window w{false, kAheadFrames, kAheadBytes};
  auto deadline = Clock::now() + timeout();
  for (size_t mark = pipe_->queued(); !pipe_->Flush(&ec);) {
    if (!pipe_->Wait(MayWait(w), true, deadline)) {
      pipe_->Drop();
      Silent("send to it");
    }
    while (Read(w)) {
    }
    if (mark - pipe_->queued() >= kProgress) {
      mark = pipe_->queued();
      deadline = Clock::now() + timeout();
    }
  }
  return ec;
}

// Throws the peer's refusal if it sent one before it went. Discards its frames before that.
void TlsChannel::LastWord() {
  const Window w = One(sizeof(Refusal));
  auto deadline = Clock::now() + kLinger;
  do {
    for (; !inbox_.empty(); inbox_.pop_front()) ThrowIfRefusal(inbox_.front());
    inbox_bytes_ = 0;
    if (have_header_ && (target_ || length_ > w.bytes)) {
      skip_ = Rest();
      Forget();
    }
  } while (Clock::now() < deadline && (Read(w) || (MayWait(w) && pipe_->Wait(true, false, deadline))));
}

// Reads until here() is true. The next frame has at most w.bytes bytes, unless it is posted.
void TlsChannel::Await(const Window& w, const std::function<bool()>& here) {
  auto deadline = Clock::now() + timeout();
  for (uint64_t mark = bytes_read_; !here();) {
    if (have_header_ && spread_ && !Match())
      EndSession(*this, Refusal::kProtocol, Cause::kPeer, peer_title(), " sent a frame of kind ", frame_.kind,
                 " over its streams where none was due; install the same suf on all sides");
    if (have_header_ && !target_ && length_ > w.bytes) TooLarge(length_, w.bytes);
    if (!Read(w)) {
      if (read_error_) {
        ThrowIfTls(read_error_);
        Gone();
      }
      if (!Blocked([&] { return pipe_->Wait(true, false, deadline); })) Silent("hear from it");
    }
    if (bytes_read_ - mark >= kProgress) {
      mark = bytes_read_;
      deadline = Clock::now() + timeout();
    }
  }
}

Channel::ReceivedFrame TlsChannel::Take(size_t limit) {
  Await(One(limit), [&] { return !inbox_.empty(); });
  ReceivedFrame f = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= f.payload.size();
  return f;
}

std::optional<Channel::ReceivedFrame> TlsChannel::Fill(size_t bytes) {
  const Forgetting forgetting(*this);
  PostedFrame& p = posted_.front();
  const bool all = bytes == p.room.size();
  Await(One(std::max(p.room.size(), sizeof(Refusal))),
        [&] { return p.whole || (!all && p.filled >= bytes) || !inbox_.empty(); });
  if (p.whole || (!all && p.filled >= bytes)) {
    if (!Spreads(p.kind, p.room.size())) return std::nullopt;
    AwaitStreams("hear from it", [&](Stream& s) { return s.Came(bytes); });
    if (all)
      for (const auto& s : streams_) s->Took();
    return std::nullopt;
  }
  ReceivedFrame f = Take(0);  // it has arrived
  if (!p.Is(f)) return f;
  std::copy(f.payload.begin(), f.payload.end(), p.room.begin());  // it arrived before its buffer was posted
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
  Forget();
  streams_.clear();  // the peer's wait for them ends, and it reads the first connection
  lingers_ = true;
}

// Throws if TLS itself ended the connection: by an alert of the peer, or because it could not decrypt bytes.
void TlsChannel::ThrowIfTls(const Ec& ec) {
  if (ec.category() != asio::error::get_ssl_category()) return;
  if (IsOfCertificate(AlertOf(ec)))
    Fail(Cause::kRefused, peer_title(), " refused our certificate (", Why(ec), "): ", pipe_->Own(),
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
bool TlsChannel::Open(const Window& w) {
  if (have_header_ && spread_ && !Match()) return false;
  if (target_ || (!have_header_ && NextPosted())) return true;
  size_t length = have_header_ ? length_ : 0;
  if (w.one) return inbox_.empty() && length <= w.bytes;
  return inbox_.size() < w.frames && inbox_bytes_ + length <= w.bytes;
}

// Reads the bytes of one record that have arrived. They go directly into the payload if most of the frame is still to
// come. Returns false if nothing arrived or the window is full.
bool TlsChannel::Read(const Window& w) {
  if (!Open(w)) return false;
  if (staged_.empty() && !(have_header_ && !Rest())) {  // otherwise parse the staged bytes first
    if (read_error_) return false;
    if (have_header_ && Rest() >= kRecord) {
      size_t n = pipe_->Read(Room(), &read_error_);
      bytes_read_ += n;
      Filled(n);
      return n > 0;
    }
    size_t n = pipe_->Read(staging_, &read_error_);
    bytes_read_ += n;
    staged_ = View(staging_.data(), n);
    if (!n) return false;
  }
  Parse(w);
  return true;
}

void TlsChannel::Parse(const Window& w) {
  auto pull = [&](uint8_t* to, size_t most) {
    size_t n = std::min(staged_.size(), most);
    if (n && to) std::memcpy(to, staged_.data(), n);
    staged_ = staged_.subspan(n);
    return n;
  };
  while (Open(w)) {
    if (have_header_ && !Rest()) {
      Finish();
      continue;
    }
    if (staged_.empty()) return;
    if (skip_) {
      skip_ -= pull(nullptr, skip_);
    } else if (have_header_) {
      const std::span<uint8_t> room = Room();
      Filled(pull(room.data(), room.size()));
    } else {
      header_bytes_ += pull(header_.data() + header_bytes_, kFrameHeader - header_bytes_);
      if (header_bytes_ < kFrameHeader) return;
      Reader r(header_, "a frame header");
      length_ = r.Get<uint32_t>();
      frame_.kind = r.Get<uint16_t>();
      frame_.sequence = r.Get<uint16_t>();
      header_bytes_ = before_ = filled_ = 0;
      have_header_ = true;
      spread_ = Spreads(frame_.kind, length_);
      (void)Match();
    }
  }
}

// Whether the frame that is arriving is the posted one that is due. If so, its bytes go into that buffer.
bool TlsChannel::Match() {
  if (target_) return true;
  PostedFrame* p = NextPosted();
  if (!p || p->kind != frame_.kind || p->room.size() != length_) return false;
  target_ = p;
  p->sequence = frame_.sequence;
  if (spread_) length_ = share_.Bytes(length_);
  return true;
}

// Returns the memory for the next bytes of the payload: in the posted buffer, or in a block.
std::span<uint8_t> TlsChannel::Room() {
  if (target_ && spread_) {
    const Share::FrameSlice p = share_.At(filled_, target_->room.size());
    return target_->room.subspan(p.place, p.bytes);
  }
  if (target_) return target_->room.subspan(filled_);
  Bytes& b = frame_.payload;
  if (filled_ == b.size()) {
    if (filled_) {
      blocks_.push_back(std::exchange(b, {}));
      before_ += std::exchange(filled_, 0);
    }
    const size_t size = std::min(Rest(), block_);
    b.reserve(size);  // exactly that much
    b.resize(size);
  }
  return std::span(b).subspan(filled_);
}

void TlsChannel::Filled(size_t bytes) {
  filled_ += bytes;
  if (target_) target_->filled = spread_ ? share_.At(filled_, target_->room.size()).place : filled_;
  if (!Rest()) Finish();
}

void TlsChannel::Finish() {
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

void TlsChannel::Forget() {
  have_header_ = false;
  target_ = nullptr;
  frame_ = {};
  blocks_.clear();
}

}  // namespace suf::net
