#include "suf/net/internal/tls_channel.hpp"

#include <algorithm>

#include "suf/net/internal/asio.hpp"
#include "suf/net/internal/tls_link.hpp"

namespace suf::net {
namespace {

using Clock = std::chrono::steady_clock;
using Ec = std::error_code;

constexpr size_t kBurst = 4 * kRecord;  // encrypted and sent at once: the peer decrypts while we go on
constexpr size_t kProgress = 65536;     // a peer moves this much per time-out, or it is silent
constexpr size_t kWorthSpare = 4096;  // a shorter payload has memory of its own, so that the spare stays for a long one

// IsOfCertificate: an alert that speaks of the certificate, not of altered bytes.
bool IsOfCertificate(int alert) {
  return (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) || alert == SSL_AD_UNKNOWN_CA ||
         alert == SSL_AD_ACCESS_DENIED || alert == TLS13_AD_CERTIFICATE_REQUIRED;
}

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
  for (const Frame& f : inbox_) sum += f.payload.capacity() + kFrameCost;
  return sum;
}

void TlsChannel::Reach(Stage stage) noexcept {
  pipe_->engaged = stage == Stage::kEngaged;
  if (stage == Stage::kAccepted) block_ = kBlock, pipe_->Widen();
}

void TlsChannel::Put(View header, View payload) {
  // header and start of the payload share a record: a short frame is one write
  std::array<uint8_t, kRecord> first;
  size_t head = std::min(payload.size(), kRecord - header.size());
  std::memcpy(first.data(), header.data(), header.size());
  if (head) std::memcpy(first.data() + header.size(), payload.data(), head);
  Ec ec;
  pipe_->Queue(View(first.data(), header.size() + head), &ec);
  Wipe(first.data(), header.size() + head);
  payload = payload.subspan(head);
  for (size_t room = kBurst - kRecord; !ec; room = kBurst) {
    size_t n = std::min(payload.size(), room);
    pipe_->Queue(payload.first(n), &ec);
    payload = payload.subspan(n);
    if (!ec) ec = Flush();
    if (payload.empty()) break;
  }
  if (!ec) return;
  if (ec == std::errc::not_enough_memory) throw std::bad_alloc();
  LastWord();
  ThrowIfTls(read_error_);
  Gone();
}

// Flush: reads what comes meanwhile, so that two ends that write do not wait for each other.
Ec TlsChannel::Flush() {
  Ec ec;
  const Window w = ahead_;
  auto deadline = Clock::now() + timeout();
  for (size_t mark = pipe_->queued(); !pipe_->Flush(&ec);) {
    if (!pipe_->Wait(MayWait(w), true, deadline)) {
      pipe_->Drop();
      Silent("send to it");
    }
    while (Read(w)) {
    }
    if (mark - pipe_->queued() >= kProgress) mark = pipe_->queued(), deadline = Clock::now() + timeout();
  }
  return ec;
}

// LastWord: the peer may have said why before it went; what it sent before that is thrown away.
void TlsChannel::LastWord() {
  const Window w = One(sizeof(Refusal));
  auto deadline = Clock::now() + kLinger;
  do {
    for (; !inbox_.empty(); inbox_.pop_front()) ThrowIfRefusal(inbox_.front());
    inbox_bytes_ = 0;
    if (have_header_ && length_ > w.bytes) skip_ = Rest(), Forget();
  } while (Clock::now() < deadline && (Read(w) || (MayWait(w) && pipe_->Wait(true, false, deadline))));
}

Channel::Frame TlsChannel::Take(size_t limit) {
  const Window w = One(limit);
  auto deadline = Clock::now() + timeout();
  for (uint64_t mark = bytes_read_; inbox_.empty();) {
    if (have_header_ && length_ > limit) TooLarge(length_, limit);
    if (!Read(w)) {
      if (read_error_) {
        ThrowIfTls(read_error_);
        Gone();
      }
      if (!Blocked([&] { return pipe_->Wait(true, false, deadline); })) Silent("hear from it");
    }
    if (bytes_read_ - mark >= kProgress) mark = bytes_read_, deadline = Clock::now() + timeout();
  }
  Frame f = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= f.payload.size();
  return f;
}

TlsChannel::~TlsChannel() {
  if (lingers_) pipe_->Drain(Clock::now() + kLinger);
  pipe_->Drop();
  Wipe(staging_.data(), staging_.size());
}

// Linger: at the end of the channel, so that who refused has left its seat to others before.
void TlsChannel::Linger() noexcept {
  inbox_.clear(), inbox_bytes_ = 0, staged_ = {};
  Forget();
  lingers_ = true;
}

// ThrowIfTls: the end that TLS itself made, by an alert of the peer or by what it could not decrypt.
void TlsChannel::ThrowIfTls(const Ec& ec) {
  if (ec.category() != asio::error::get_ssl_category()) return;
  if (IsOfCertificate(AlertOf(ec)))
    Fail(Cause::kRefused, peer_title(), " refused our certificate (", ec.message(),
         "); use certificates that were made together");
  Fail(Cause::kPeer, "bytes between ", peer_title(), " and us were altered on the way (", ec.message(),
       "); see to the network and start again");
}

// Open: whether more may be read: of the frame that is arriving, or of the header of one.
bool TlsChannel::Open(const Window& w) const {
  size_t length = have_header_ ? length_ : 0;
  if (w.one) return inbox_.empty() && length <= w.bytes;
  return inbox_.size() < w.frames && inbox_bytes_ + length <= w.bytes;
}

// Read: takes in what is here of one record, into the payload of the frame at hand when most of it is still to come;
// false when nothing is, or the window is full.
bool TlsChannel::Read(const Window& w) {
  if (!Open(w)) return false;
  if (staged_.empty() && !(have_header_ && !Rest())) {  // else what is here was not parsed yet
    if (read_error_) return false;
    if (have_header_ && Rest() >= kRecord) {
      Grow();
      size_t n = pipe_->Read(std::span(frame_.payload).subspan(filled_), &read_error_);
      bytes_read_ += n, filled_ += n;
      if (!Rest()) Finish();
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
      Grow();
      filled_ += pull(frame_.payload.data() + filled_, frame_.payload.size() - filled_);
    } else {
      header_bytes_ += pull(header_.data() + header_bytes_, kFrameHeader - header_bytes_);
      if (header_bytes_ < kFrameHeader) return;
      Reader r(header_, "a frame header");
      length_ = r.Get<uint32_t>();
      frame_.kind = r.Get<uint16_t>(), frame_.sequence = r.Get<uint16_t>();
      header_bytes_ = before_ = filled_ = 0, have_header_ = true;
    }
  }
}

// Grow: room for the next bytes of the payload: a block, or what a spare has already.
void TlsChannel::Grow() {
  Bytes& b = frame_.payload;
  if (filled_ < b.size()) return;
  if (filled_) {
    blocks_.push_back(std::exchange(b, {}));
    before_ += std::exchange(filled_, 0);
  } else if (length_ >= kWorthSpare) {
    b = Spare();
  }
  size_t size = std::min(Rest(), std::max(b.capacity(), block_));
  b.reserve(size);  // no more than that
  b.resize(size);
}

void TlsChannel::Finish() {
  have_header_ = false;
  Bytes& b = frame_.payload;
  if (!blocks_.empty()) {
    blocks_.push_back(std::exchange(b, {}));
    b.reserve(length_);
    for (Bytes& block : blocks_) {
      Append(&b, block);
      block = {};  // its memory goes as that of the whole is touched
    }
    blocks_.clear();
  }
  inbox_bytes_ += b.size();
  inbox_.push_back(std::exchange(frame_, {}));
}

void TlsChannel::Forget() {
  have_header_ = false, frame_ = {};
  blocks_.clear();
}

}  // namespace suf::net
