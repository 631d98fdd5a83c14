#include "suf/proto/tls.hpp"

#include <deque>

#include "suf/proto/internal/asio.hpp"
#include "suf/proto/internal/secured.hpp"
#include "suf/proto/internal/x509.hpp"

namespace suf::proto {
namespace {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Ec = std::error_code;

constexpr size_t kRecord = 16384;                // payload of one TLS record
constexpr size_t kBurst = 4 * kRecord;           // encrypted and sent at once: the peer decrypts while we go on
constexpr size_t kReadAhead = size_t{64} << 20;  // read while we write, up to here
constexpr size_t kProgress = 65536;              // a peer moves this much per time-out, or it is silent
constexpr Millis kLinger{1000};
constexpr Millis kHandshake{10'000};  // at most, for a client's whole handshake

// AlertOf: the TLS alert by which the peer ended the connection; -1 when it was none.
int AlertOf(const Ec& ec) {
  int reason = ERR_GET_REASON(static_cast<unsigned long>(ec.value()));
  return ec.category() == asio::error::get_ssl_category() ? std::max(reason - SSL_AD_REASON_OFFSET, -1) : -1;
}

// IsOfCertificate: an alert that speaks of the certificate, not of altered bytes.
bool IsOfCertificate(int alert) {
  return (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) || alert == SSL_AD_UNKNOWN_CA ||
         alert == SSL_AD_ACCESS_DENIED || alert == TLS13_AD_CERTIFICATE_REQUIRED;
}

}  // namespace

Address Address::Parse(const std::string& text) {
  size_t colon = text.rfind(':');
  unsigned long port = 0;
  bool ok = colon != std::string::npos && colon > 0 && colon + 1 < text.size() && text.size() - colon <= 6;
  for (size_t i = colon + 1; ok && i < text.size(); ++i)
    ok = text[i] >= '0' && text[i] <= '9', port = port * 10 + (unsigned long)(text[i] - '0');
  if (!ok || port > 65535) Fail(Exit::kInput, "an address is host:port with a port up to 65535; got \"", text, "\"");
  return {text.substr(0, colon), uint16_t(port)};
}

namespace {

class TlsChannel final : public Channel {
 public:
  TlsChannel(std::shared_ptr<TlsLink> link, Identity self, Identity peer, const Hash& exporter, Millis timeout)
      : Channel(self, peer, exporter, timeout), link_(std::move(link)) {}
  ~TlsChannel() override {
    link_->Drop();
    Wipe(staging_.data(), staging_.size());
  }

  bool PeerGone() override {
    while (Read()) {
    }
    return inbox_.empty() ? bool(read_error_) : inbox_.front().kind == kRefuse;
  }

 private:
  void Put(View header, View payload) override {
    // header and start of the payload share a record: a short frame is one write
    std::array<uint8_t, kRecord> first;
    size_t head = std::min(payload.size(), kRecord - header.size());
    std::memcpy(first.data(), header.data(), header.size());
    if (head) std::memcpy(first.data() + header.size(), payload.data(), head);
    Ec ec;
    link_->Queue(View(first.data(), header.size() + head), &ec);
    Wipe(first.data(), header.size() + head);
    payload = payload.subspan(head);
    for (size_t room = kBurst - kRecord; !ec; room = kBurst) {
      size_t n = std::min(payload.size(), room);
      link_->Queue(payload.first(n), &ec);
      payload = payload.subspan(n);
      if (!ec) ec = Flush();
      if (payload.empty()) break;
    }
    if (!ec) return;
    // the peer may have said why before it went
    for (auto deadline = Clock::now() + kLinger; Read() || (MayRead() && link_->Wait(true, false, deadline));) {
    }
    for (const Frame& f : inbox_) ThrowIfRefusal(f);
    ThrowIfTls(read_error_);
    Gone();
  }

  // Flush: reads what comes meanwhile, so that two ends that write do not wait for each other.
  Ec Flush() {
    Ec ec;
    auto deadline = Clock::now() + timeout();
    for (size_t mark = link_->queued(); !link_->Flush(&ec);) {
      if (!link_->Wait(MayRead(), true, deadline)) {
        link_->Drop();
        Silent("send to it");
      }
      while (Read()) {
      }
      if (mark - link_->queued() >= kProgress) mark = link_->queued(), deadline = Clock::now() + timeout();
    }
    return ec;
  }

  Frame Take(size_t limit) override {
    limit_ = limit;
    auto deadline = Clock::now() + timeout();
    for (uint64_t mark = bytes_read_; inbox_.empty();) {
      if (bad_length_) TooLarge(bad_length_, limit_);
      if (read_error_) {
        ThrowIfTls(read_error_);
        Gone();
      }
      if (!Read() && !read_error_ && !Blocked([&] { return link_->Wait(true, false, deadline); }))
        Silent("hear from it");
      if (bytes_read_ - mark >= kProgress) mark = bytes_read_, deadline = Clock::now() + timeout();
    }
    limit_ = kMaxFrame;
    Frame f = std::move(inbox_.front());
    inbox_.pop_front();
    inbox_bytes_ -= f.payload.size();
    return f;
  }

  void Linger() noexcept override {
    link_->HangUp();
    for (auto deadline = Clock::now() + kLinger; Read() || (MayRead() && link_->Wait(true, false, deadline));)
      inbox_.clear(), inbox_bytes_ = 0;  // what arrives is thrown away
    link_->Drop();
  }

  // ThrowIfTls: the end that TLS itself made, by an alert of the peer or by what it could not decrypt.
  void ThrowIfTls(const Ec& ec) {
    if (ec.category() != asio::error::get_ssl_category()) return;
    if (IsOfCertificate(AlertOf(ec)))
      Fail(Exit::kRefused, peer_title(), " refused our certificate (", ec.message(),
           "); use certificates of one suf certs run");
    Fail(Exit::kPeer, "bytes between ", peer_title(), " and us were altered on the way (", ec.message(),
         "); see to the network and start again");
  }

  bool MayRead() const { return !read_error_ && !bad_length_ && inbox_bytes_ <= kReadAhead; }

  // Read: what is here of one record, into the payload of the frame at hand when most of it is still to come; false
  // when nothing is.
  bool Read() {
    if (!MayRead()) return false;
    size_t due = have_header_ ? frame_.payload.size() - filled_ : 0;
    bool direct = due >= kRecord;
    size_t n =
        link_->Read(direct ? std::span(frame_.payload).subspan(filled_, due) : std::span(staging_), &read_error_);
    bytes_read_ += n;
    if (direct)
      filled_ += n, Finish();
    else
      Parse(View(staging_.data(), n));
    return n > 0;
  }

  void Parse(View in) {
    while (!in.empty() && !bad_length_) {
      if (!have_header_) {
        size_t n = std::min(in.size(), kFrameHeader - header_.size());
        header_.insert(header_.end(), in.begin(), in.begin() + long(n));
        in = in.subspan(n);
        if (header_.size() < kFrameHeader) return;
        Reader r(header_, "a frame header");
        uint32_t length = r.Get<uint32_t>();
        frame_.kind = r.Get<uint16_t>(), frame_.sequence = r.Get<uint16_t>();
        header_.clear();
        if (length > limit_ || length > kMaxFrame) {
          bad_length_ = length;
          return;
        }
        frame_.payload = Room(length), filled_ = 0, have_header_ = true;
      }
      size_t n = std::min(in.size(), frame_.payload.size() - filled_);
      if (n) std::memcpy(frame_.payload.data() + filled_, in.data(), n);
      filled_ += n, in = in.subspan(n);
      Finish();
    }
  }

  void Finish() {
    if (!have_header_ || filled_ < frame_.payload.size()) return;
    have_header_ = false;
    inbox_bytes_ += frame_.payload.size();
    inbox_.push_back(std::exchange(frame_, {}));
    limit_ = kMaxFrame;  // of the frame that is waited for, no longer of the next
  }

  std::shared_ptr<TlsLink> link_;
  std::array<uint8_t, kRecord + kFrameHeader> staging_;
  Bytes header_;
  Frame frame_;
  size_t filled_ = 0, limit_ = kMaxFrame, inbox_bytes_ = 0;
  uint64_t bytes_read_ = 0, bad_length_ = 0;
  bool have_header_ = false;
  Ec read_error_;
  std::deque<Frame> inbox_;
};

}  // namespace

std::unique_ptr<Channel> Secured(std::shared_ptr<TlsLink> link, bool server, const std::vector<Role>& peers,
                                 Millis timeout, const std::string& who) {
  Ec ec;
  Millis limit = server ? std::min(timeout, kHandshake) : timeout;
  bool ended = link->Handshake(server, Clock::now() + limit, &ec);
  if (server && link->dropped())
    Fail(Exit::kPeer, who, " was dropped in its TLS handshake to make room for newer clients; see who connects here");
  if (!ended)
    Fail(Exit::kPeer, who, " was silent for ", double(limit.count()) / 1000,
         " s in the TLS handshake; see whether it is a suf process");
  SSL* ssl = link->ssl();
  if (ec) {
    bool theirs = SSL_get_verify_result(ssl) != X509_V_OK, ours = AlertOf(ec) >= 0,
         tls = ec.category() == asio::error::get_ssl_category();
    std::string cause = theirs ? X509_verify_cert_error_string(SSL_get_verify_result(ssl)) : ec.message();
    link->Drain(Clock::now() + kLinger);
    if (theirs)
      Fail(Exit::kRefused, "the certificate of ", who, " is not trusted (", cause,
           "); use certificates of one suf certs run");
    if (ours)
      Fail(Exit::kRefused, who, " refused our certificate or TLS version (", cause,
           "); use certificates of one suf certs run");
    if (tls && server)
      Fail(Exit::kRefused, who, " showed no certificate or spoke no TLS 1.3 (", cause,
           "); only suf processes may connect");
    if (tls)
      Fail(Exit::kPeer, who, " speaks no TLS 1.3, or its bytes were altered on the way (", cause,
           "); check the address and the network");
    Fail(Exit::kPeer, who, " ended the connection in the TLS handshake (", cause, "); see its message");
  }
  std::unique_ptr<X509, decltype(&X509_free)> cert(SSL_get1_peer_certificate(ssl), X509_free);
  SUF_CHECK(cert && SSL_get_verify_result(ssl) == X509_V_OK);
  Hash exporter;
  static const char kLabel[] = "EXPORTER-suf-session";
  SUF_CHECK(
      SSL_export_keying_material(ssl, exporter.data(), exporter.size(), kLabel, sizeof kLabel - 1, nullptr, 0, 0) == 1);
  auto role = RoleIn(cert.get());
  Credentials own = link->own();
  Identity self = own.identity(), peer{role.value_or(self.role), KeyHash(cert.get())};
  auto ch = std::make_unique<TlsChannel>(std::move(link), self, peer, exporter, timeout);
  if (!role || std::find(peers.begin(), peers.end(), *role) == peers.end()) {
    std::string expected;
    for (Role p : peers) expected += Str(expected.empty() ? "" : " or ", Title(p));
    EndSession(*ch, Refusal::kRole, Exit::kRefused, "the certificate of ", who, " is that of ",
               role ? Title(*role) : "no role of suf", ", not of ", expected,
               "; check the address and its certificate folder");
  }
  if (!own.Admits(peer))
    EndSession(*ch, Refusal::kPin, Exit::kRefused, "the key of ", who, " is ", Fingerprint(peer),
               ", another one than --pin names; compare it with that role's operator");
  return ch;
}

namespace {

// Connect: a TCP connection; `stop` ends the attempt.
Fd Connect(const Address& where, const std::string& who, Millis timeout, const std::stop_token& stop) {
  asio::io_context io{1};
  tcp::socket socket(io);
  tcp::resolver resolver(io);
  Ec ec;
  auto found = resolver.resolve(where.host, std::to_string(where.port), ec);
  if (ec) Fail(Exit::kPeer, "the host name of ", who, " is unknown (", ec.message(), "); check the address");
  std::stop_callback stopped(stop, [&] { io.stop(); });
  bool done = false;
  asio::async_connect(socket, found, [&](const Ec& e, const tcp::endpoint&) { ec = e, done = true; });
  io.run_until(Clock::now() + timeout);
  if (stop.stop_requested())
    Fail(Exit::kPeer, "nobody answers as ", who, " (it was not waited for); see why the session ended");
  if (!done)
    Fail(Exit::kPeer, who, " did not answer in ", double(timeout.count()) / 1000,
         " s; check the address and that it runs");
  if (ec) Fail(Exit::kPeer, "nobody answers as ", who, " (", ec.message(), "); start it first, or check the address");
  socket.set_option(tcp::no_delay(true), ec);
  return Fd(socket.release());
}

}  // namespace

std::unique_ptr<Channel> Dial(const Credentials& own, const Address& where, Role to, Millis timeout,
                              std::stop_token stop) {
  std::string who = Str(Title(to), " at ", where.Text());
  auto link = std::make_shared<TlsLink>(own, Connect(where, who, timeout, stop));
  link->DropOn(std::move(stop));
  return Secured(std::move(link), false, {to}, timeout, who);
}

}  // namespace suf::proto
