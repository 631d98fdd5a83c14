#include "suf/proto/tls.hpp"

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#if defined(__SANITIZE_THREAD__)
#define ASIO_DISABLE_FENCED_BLOCK
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ASIO_DISABLE_FENCED_BLOCK
#endif
#endif
#include <asio.hpp>
#include <asio/ssl.hpp>
#include <atomic>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "suf/proto/internal/secured.hpp"
#include "suf/proto/internal/x509.hpp"

namespace suf::proto {
namespace {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Ec = asio::error_code;

constexpr size_t kRecord = 16384;                // payload of one TLS record
constexpr size_t kReadAhead = size_t{64} << 20;  // read while we write, up to here
constexpr size_t kProgress = 65536;              // a peer moves this much per time-out, or it is silent
constexpr Millis kLinger{1000};
constexpr int kConnections = 32;

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

// Link: one connection and the loop that drives it. Callbacks run only inside Step, in the calling thread.
struct Link {
  explicit Link(const Credentials& c) : own(c), tls(Shared(c)), stream(io, tls) {}

  // Shared: asio's context takes over a reference of its own.
  static SSL_CTX* Shared(const Credentials& c) {
    SSL_CTX_up_ref(c.loaded().ctx.get());
    return c.loaded().ctx.get();
  }
  auto& socket() { return stream.next_layer(); }
  // Step: runs one callback; false when the deadline passes first.
  bool Step(Clock::time_point deadline) {
    io.restart();
    return io.run_one_until(deadline) > 0;
  }
  bool Until(const bool& done, Clock::time_point deadline) {
    while (!done)
      if (!Step(deadline)) return false;
    return true;
  }
  // Close: also lets every pending callback run, since they refer to their callers' frames.
  void Close() noexcept {
    Ec ignored;
    socket().close(ignored);
    io.restart();
    io.run();
  }
  // HangUp: closes after the peer had time to read what we sent (a close with unread input would reset the connection).
  void HangUp() noexcept {
    Ec ec;
    socket().shutdown(tcp::socket::shutdown_send, ec);
    std::array<uint8_t, 4096> scratch;
    bool done = false;  // outside the loop: Close runs the callback of a read that is still pending
    for (auto deadline = Clock::now() + kLinger; !ec;) {
      done = false;
      socket().async_read_some(asio::buffer(scratch), [&](const Ec& e, size_t) { ec = e, done = true; });
      if (!Until(done, deadline)) break;
    }
    Close();
  }

  Credentials own;
  asio::io_context io{1};
  asio::ssl::context tls;
  asio::ssl::stream<tcp::socket> stream;
};

class TlsChannel final : public Channel {
 public:
  TlsChannel(std::unique_ptr<Link> link, Identity self, Identity peer, const Hash& exporter, Millis timeout)
      : Channel(self, peer, exporter, timeout), link_(std::move(link)) {}
  ~TlsChannel() override { link_->Close(); }

  bool PeerGone() override {
    StartRead();
    link_->io.restart();
    link_->io.poll();
    return read_error_ && inbox_.empty();
  }

 private:
  void Put(View header, View payload) override {
    // header and start of the payload share a record: a short frame is one write
    std::array<uint8_t, kRecord> first;
    size_t head = std::min(payload.size(), kRecord - header.size());
    std::memcpy(first.data(), header.data(), header.size());
    if (head) std::memcpy(first.data() + header.size(), payload.data(), head);
    ahead_ = true;
    Ec ec = Write(View(first.data(), header.size() + head));
    if (!ec) ec = Write(payload.subspan(head));
    ahead_ = false;
    if (!ec) return;
    // the peer may have said why before it went
    for (auto deadline = Clock::now() + kLinger; !read_error_ && !bad_length_;) {
      StartRead();
      if (!link_->Step(deadline)) break;
    }
    for (const Frame& f : inbox_) ThrowIfRefusal(f);
    ThrowIfTls(read_error_);
    Gone();
  }

  Ec Write(View v) {
    auto deadline = Clock::now() + timeout();
    for (size_t moved = 0; !v.empty();) {
      Ec ec;
      size_t n = 0;
      bool done = false;
      StartRead();
      link_->stream.async_write_some(asio::buffer(v.data(), v.size()),
                                     [&](const Ec& e, size_t bytes) { ec = e, n = bytes, done = true; });
      if (!link_->Until(done, deadline)) {
        link_->Close();
        Silent("send to it");
      }
      if (ec) return ec;
      v = v.subspan(n);
      if ((moved += n) >= kProgress) moved = 0, deadline = Clock::now() + timeout();
    }
    return {};
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
      StartRead();
      if (!link_->Step(deadline)) Silent("hear from it");
      if (bytes_read_ - mark >= kProgress) mark = bytes_read_, deadline = Clock::now() + timeout();
    }
    limit_ = kMaxFrame;
    Frame f = std::move(inbox_.front());
    inbox_.pop_front();
    inbox_bytes_ -= f.payload.size();
    return f;
  }

  void Linger() noexcept override {
    // TLS reads go on (a raw read would fight with a pending one); what arrives is thrown away
    Ec ignored;
    link_->socket().shutdown(tcp::socket::shutdown_send, ignored);
    for (auto deadline = Clock::now() + kLinger; !read_error_ && !bad_length_;) {
      inbox_.clear(), inbox_bytes_ = 0;
      StartRead();
      if (!link_->Step(deadline)) break;
    }
    link_->Close();
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

  // StartRead: keeps one read pending, into the payload of the frame at hand when most of it is still to come.
  void StartRead() {
    if (reading_ || read_error_ || bad_length_ || inbox_bytes_ > kReadAhead) return;
    reading_ = true;
    size_t due = have_header_ ? frame_.payload.size() - filled_ : 0;
    direct_ = due >= kRecord;
    auto where = direct_ ? asio::buffer(frame_.payload.data() + filled_, due) : asio::buffer(staging_);
    link_->stream.async_read_some(where, [this](const Ec& ec, size_t n) {
      reading_ = false;
      bytes_read_ += n;
      if (ec)
        read_error_ = ec;
      else if (direct_)
        filled_ += n, Finish();
      else
        Parse(View(staging_.data(), n));
      if (ahead_) StartRead();
    });
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
        frame_.payload.resize(length), filled_ = 0, have_header_ = true;
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

  std::unique_ptr<Link> link_;
  std::array<uint8_t, kRecord + kFrameHeader> staging_;
  Bytes header_;
  Frame frame_;
  size_t filled_ = 0, limit_ = kMaxFrame, inbox_bytes_ = 0;
  uint64_t bytes_read_ = 0, bad_length_ = 0;
  bool have_header_ = false, reading_ = false, direct_ = false, ahead_ = false;
  Ec read_error_;
  std::deque<Frame> inbox_;
};

// Secure: the handshake, then both roles checked; `who` names the peer in sentences.
std::unique_ptr<Channel> Secure(std::unique_ptr<Link> link, bool server, const std::vector<Role>& peers, Millis timeout,
                                const std::string& who) {
  Ec ec;
  bool done = false;
  link->socket().set_option(tcp::no_delay(true), ec);
  ec.clear();
  link->stream.async_handshake(server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
                               [&](const Ec& e) { ec = e, done = true; });
  if (!link->Until(done, Clock::now() + timeout)) {
    link->Close();
    Fail(Exit::kPeer, who, " was silent for ", double(timeout.count()) / 1000,
         " s in the TLS handshake; see whether it is a suf process");
  }
  SSL* ssl = link->stream.native_handle();
  if (ec) {
    bool theirs = SSL_get_verify_result(ssl) != X509_V_OK, ours = AlertOf(ec) >= 0,
         tls = ec.category() == asio::error::get_ssl_category();
    std::string cause = theirs ? X509_verify_cert_error_string(SSL_get_verify_result(ssl)) : ec.message();
    link->HangUp();
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
  Identity self = link->own.identity();
  auto ch = std::make_unique<TlsChannel>(std::move(link), self, Identity{role.value_or(self.role), KeyHash(cert.get())},
                                         exporter, timeout);
  if (!role || std::find(peers.begin(), peers.end(), *role) == peers.end()) {
    std::string expected;
    for (Role p : peers) expected += Str(expected.empty() ? "" : " or ", Title(p));
    EndSession(*ch, Refusal::kRole, Exit::kRefused, "the certificate of ", who, " is that of ",
               role ? Title(*role) : "no role of suf", ", not of ", expected,
               "; check the address and its certificate folder");
  }
  return ch;
}

}  // namespace

std::unique_ptr<Channel> Secured(const Credentials& own, int socket, bool server, const std::vector<Role>& peers,
                                 Millis timeout, const std::string& who) {
  auto link = std::make_unique<Link>(own);
  link->socket().assign(tcp::v4(), socket);
  return Secure(std::move(link), server, peers, timeout, who);
}

std::unique_ptr<Channel> Dial(const Credentials& own, const Address& where, Role to, Millis timeout) {
  auto link = std::make_unique<Link>(own);
  std::string who = Str(Title(to), " at ", where.Text());
  Ec ec;
  tcp::resolver resolver(link->io);
  auto found = resolver.resolve(where.host, std::to_string(where.port), ec);
  if (ec) Fail(Exit::kPeer, "the host name of ", who, " is unknown (", ec.message(), "); check the address");
  bool done = false;
  asio::async_connect(link->socket(), found, [&](const Ec& e, const tcp::endpoint&) { ec = e, done = true; });
  if (!link->Until(done, Clock::now() + timeout)) {
    link->Close();
    Fail(Exit::kPeer, who, " did not answer in ", double(timeout.count()) / 1000,
         " s; check the address and that it runs");
  }
  if (ec) Fail(Exit::kPeer, "nobody answers as ", who, " (", ec.message(), "); start it first, or check the address");
  return Secure(std::move(link), false, {to}, timeout, who);
}

struct Listener::State {
  State(const Credentials& c, std::vector<Role> p, Millis t) : own(c), peers(std::move(p)), timeout(t) {}
  Credentials own;
  std::vector<Role> peers;
  Millis timeout;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  std::atomic<int> running{0};
  std::mutex log;
  struct Worker {
    std::thread thread;
    std::atomic<bool> ended{false};
  };
  std::list<Worker> workers;
};

Listener::Listener(const Credentials& own, const Address& where, std::vector<Role> peers, Millis timeout)
    : s_(std::make_unique<State>(own, std::move(peers), timeout)) {
  Ec ec;
  tcp::resolver resolver(s_->io);
  auto found = resolver.resolve(where.host, std::to_string(where.port), tcp::resolver::passive, ec);
  tcp::endpoint at;
  if (!ec) at = found.begin()->endpoint();
  if (!ec) s_->acceptor.open(at.protocol(), ec);
  if (!ec) s_->acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) s_->acceptor.bind(at, ec);
  if (!ec) s_->acceptor.listen(kConnections, ec);
  if (ec) Fail(Exit::kResource, "cannot listen on ", where.Text(), " (", ec.message(), "); choose another address");
}
Listener::~Listener() = default;

uint16_t Listener::port() const { return s_->acceptor.local_endpoint().port(); }

void Listener::Run(const std::function<void(Channel&)>& session, const std::function<void(const Error&)>& failed) {
  State& s = *s_;
  auto serve = [&](std::unique_ptr<Link> link) {
    auto report = [&](const Error& e) {
      std::lock_guard lock(s.log);
      failed(e);
    };
    try {
      Ec ec;
      std::string who = Str("the client at ", link->socket().remote_endpoint(ec));
      session(*Secure(std::move(link), true, s.peers, s.timeout, who));
    } catch (const Error& e) {
      report(e);
    } catch (const std::exception& e) {
      report(Error(Exit::kResource, Str("a session ended by an internal error: ", e.what())));
    }
  };
  std::function<void()> accept = [&] {
    auto link = std::make_shared<std::unique_ptr<Link>>(std::make_unique<Link>(s.own));
    s.acceptor.async_accept((*link)->socket(), [&, link](const Ec& ec) {
      if (!s.acceptor.is_open()) return;
      s.workers.remove_if([](State::Worker& w) { return w.ended && (w.thread.join(), true); });
      if (!ec && s.workers.size() < kConnections) {  // above that, strangers are dropped
        State::Worker& w = s.workers.emplace_back();
        w.thread = std::thread([&, link] {
          serve(std::move(*link));
          w.ended = true;
        });
      }
      if (ec) std::this_thread::sleep_for(Millis{50});  // out of descriptors: do not spin
      accept();
    });
  };
  accept();
  s.io.run();
  for (auto& w : s.workers) w.thread.join();
  s.workers.clear();
}

void Listener::Stop() {
  asio::post(s_->io, [this] {
    Ec ignored;
    s_->acceptor.close(ignored);
  });
}

}  // namespace suf::proto
