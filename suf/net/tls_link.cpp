#include "suf/net/tls_link.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "suf/net/internal/asio.hpp"
#include "suf/net/internal/x509.hpp"

namespace suf::net {

namespace {

constexpr size_t kReadBuffer = 128 << 10;  // bytes of records per system call, once the peer is accepted

// The most messages of TLS itself after the handshake, such as tickets. Our side sends none; a peer could send them
// endlessly.
constexpr int kStrays = 8;

// The BIO below TLS. It reads the socket, and keeps written bytes until Flush.
struct BioState {
  int fd;
  Bytes* out;
  bool* dry;
};

int BioRead(BIO* b, char* to, int n) {
  BIO_clear_retry_flags(b);
  auto* state = static_cast<BioState*>(BIO_get_data(b));
  ssize_t got = recv(state->fd, to, size_t(n), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_retry_read(b);
    *state->dry = true;
  }
  return int(got);
}

int BioWrite(BIO* b, const char* from, int n) {
  Bytes& out = *static_cast<BioState*>(BIO_get_data(b))->out;
  BIO_clear_retry_flags(b);
  try {
    Append(&out, View(reinterpret_cast<const uint8_t*>(from), size_t(n)));
  } catch (const std::bad_alloc&) {  // no exception may pass through OpenSSL
    errno = ENOMEM;
    return -1;
  }
  return n;
}

long BioCtrl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH; }

int BioFree(BIO* b) {
  delete static_cast<BioState*>(BIO_get_data(b));
  return 1;
}

}  // namespace

BIO_METHOD* TlsLink::BioMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "suf socket");
    SUF_CHECK(m && BIO_meth_set_read(m, BioRead) && BIO_meth_set_write(m, BioWrite) && BIO_meth_set_ctrl(m, BioCtrl) &&
              BIO_meth_set_destroy(m, BioFree));
    return m;
  }();
  return method;
}

TlsLink::TlsLink(const Credentials& own, Fd socket)
    : own_(own), fd_(std::move(socket)), ssl_(SSL_new(own.loaded().ctx.get())) {
  BIO* bio = ssl_ ? BIO_new(BioMethod()) : nullptr;
  SUF_CHECK(bio);
  BIO_set_data(bio, new BioState{fd_.get(), &out_, &dry_});
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_read_ahead(ssl_.get(), 1);
  SSL_set_mode(ssl_.get(), SSL_MODE_RELEASE_BUFFERS);  // a stranger has a buffer only while bytes arrive
  SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);     // Read checks every record
}
TlsLink::~TlsLink() = default;

namespace {
constexpr std::string_view kStreamProtocol = "suf-stream", kOfferPrefix = "suf-blocks-";
const std::string kSeatPrefix = "suf-stream-";

// Returns the number of streams in a protocol's name, or 0 if the name is not ours.
int StreamsIn(std::string_view name) {
  if (!name.starts_with(kOfferPrefix)) return 0;
  int n = 0;
  const auto [end, error] = std::from_chars(name.data() + kOfferPrefix.size(), name.data() + name.size(), n);
  return error == std::errc() && end == name.data() + name.size() && n > 1 && n <= kMostStreams ? n : 0;
}

void SetProtocols(SSL* ssl, const std::vector<std::string>& names) {
  Bytes list;
  for (const std::string& n : names) {
    list.push_back(uint8_t(n.size()));
    Append(&list, AsView(n));
  }
  SUF_CHECK(SSL_set_alpn_protos(ssl, list.data(), unsigned(list.size())) == 0);
}

std::string_view AgreedProtocol(const SSL* ssl) {
  const uint8_t* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}
}  // namespace

void TlsLink::OfferStreams(int streams) {
  std::vector<std::string> names;
  for (int n = streams; n > 1; --n) names.push_back(Str(kOfferPrefix, n));
  if (!names.empty()) SetProtocols(ssl_.get(), names);
}

void TlsLink::Join(const std::string& seat) {
  SetProtocols(ssl_.get(), {kSeatPrefix + seat, std::string(kStreamProtocol)});
}

int TlsLink::streams() const { return std::max(StreamsIn(AgreedProtocol(ssl_.get())), 1); }
bool TlsLink::is_stream() const { return AgreedProtocol(ssl_.get()) == kStreamProtocol; }

View TlsLink::ChooseProtocol(View offer) {
  View best;
  int most = 1;
  while (!offer.empty() && offer.size() > offer[0]) {
    const View name = offer.subspan(1, offer[0]);
    const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
    if (text == kStreamProtocol) return name;
    if (text.starts_with(kSeatPrefix) && on_seat_)  // only the first one, because each may make us wait
      std::exchange(on_seat_, nullptr)(std::string(text.substr(kSeatPrefix.size())));
    if (const int n = StreamsIn(text); n > most && n <= allowed_) {
      best = name;
      most = n;
    }
    offer = offer.subspan(1 + name.size());
  }
  return best;
}

int AlertOf(const std::error_code& ec) {
  int reason = ERR_GET_REASON(static_cast<unsigned long>(ec.value()));
  return ec.category() == asio::error::get_ssl_category() ? std::max(reason - SSL_AD_REASON_OFFSET, -1) : -1;
}

std::error_code TlsLink::Failure(int result) {
  int saved = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {};
    case SSL_ERROR_SSL: {
      unsigned long code = ERR_get_error();
      if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return asio::error::eof;
      return {int(code), asio::error::get_ssl_category()};
    }
    case SSL_ERROR_SYSCALL:
      if (saved) return {saved, std::system_category()};
      [[fallthrough]];
    default:
      return asio::error::eof;
  }
}

bool TlsLink::Handshake(bool server, Deadline deadline, std::error_code* error) {
  for (;;) {
    ERR_clear_error();
    errno = 0;
    int done = server ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get());
    if (done != 1) *error = Failure(done);
    std::error_code sending;
    while (!Flush(&sending))  // includes an alert
      if (!Wait(false, true, deadline)) return false;
    if (!*error) *error = sending;
    if (done == 1 || *error) return true;
    if (!Wait(true, false, deadline)) return false;
  }
}

void TlsLink::ShrinkBuffers() noexcept {
  enlarge_ = false;
  if (std::exchange(large_, false)) {
    SSL_set_default_read_buffer_len(ssl_.get(), 0);
    SSL_set_mode(ssl_.get(), SSL_MODE_RELEASE_BUFFERS);
  }
  if (!SSL_has_pending(ssl_.get())) SSL_free_buffers(ssl_.get());  // otherwise it is freed when its bytes were read
  if (out_.empty()) out_ = {};
}

size_t TlsLink::Read(std::span<uint8_t> out, std::error_code* error) {
  size_t n = 0;
  if (dropped_) {  // the peer may still be sending
    *error = asio::error::eof;
    return 0;
  }
  do {
    ERR_clear_error();
    errno = 0;
    dry_ = false;
    if (SSL_read_ex(ssl_.get(), out.data(), out.size(), &n)) return n;
    *error = Failure(0);
  } while (!*error && !dry_ && ++strays_ <= kStrays);
  if (!*error && !dry_)
    *error = {int(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNEXPECTED_MESSAGE)), asio::error::get_ssl_category()};
  if (enlarge_ && dry_ && !SSL_has_pending(ssl_.get())) {  // its buffer was just released
    enlarge_ = false;
    large_ = true;
    SSL_set_default_read_buffer_len(ssl_.get(), kReadBuffer);
    SSL_clear_mode(ssl_.get(), SSL_MODE_RELEASE_BUFFERS);
  }
  std::error_code ignored;
  if (*error) Flush(&ignored);  // sends our alert
  return 0;
}

void TlsLink::Queue(View plain, std::error_code* error) {
  size_t n = 0;
  if (plain.empty()) return;
  ERR_clear_error();
  errno = 0;
  if (!SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &n)) *error = Failure(0);
}

bool TlsLink::Flush(std::error_code* error) {
  while (sent_ < out_.size()) {
    ssize_t n = send(fd_.get(), out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) {
      *error = {errno, std::system_category()};
      return true;
    }
    sent_ += size_t(n);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

bool TlsLink::Wait(bool read, bool write, Deadline deadline, int also) {
  return WaitOn(fd_.get(), read, write, deadline, also);
}

void TlsLink::Drain(Deadline deadline) noexcept {
  shutdown(fd_.get(), SHUT_WR);
  std::array<uint8_t, 4096> scratch;
  while (std::chrono::steady_clock::now() < deadline) {
    ssize_t n = recv(fd_.get(), scratch.data(), scratch.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return;
    if (n < 0 && !Wait(true, false, deadline)) return;
  }
}

bool TlsLink::silent() const {
  char first;
  return !greeted_ && recv(fd_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

bool TlsLink::IsLocal() const {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&at), &size)) return false;
  if (at.ss_family == AF_INET) {
    in_addr v4 = reinterpret_cast<const sockaddr_in*>(&at)->sin_addr;
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  if (at.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(&at)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

void TlsLink::Drop() noexcept {
  dropped_ = true;
  shutdown(fd_.get(), SHUT_RDWR);
}

}  // namespace suf::net
