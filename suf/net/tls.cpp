#include "suf/net/tls.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <future>

#include "suf/net/descriptors.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/internal/handshake.hpp"
#include "suf/net/internal/x509.hpp"
#include "suf/net/join.hpp"
#include "suf/net/tls_channel.hpp"

namespace suf::net {
namespace {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Ec = std::error_code;

constexpr Millis kHandshake{10'000};  // limit for a client's whole handshake

// Whether text is an IPv6 address, possibly with a zone after a percent sign.
bool IsIpv6(const std::string& text) {
  const size_t zone = text.find('%');
  in6_addr ignored;
  return (zone == text.npos || zone + 1 < text.size()) &&
         inet_pton(AF_INET6, text.substr(0, zone).c_str(), &ignored) == 1;
}

// Whether text can be a host name or an IPv4 address.
bool IsName(const std::string& text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.' || c == '_' || c >= 0x80; };
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), fits);
}

[[noreturn]] void NoAddress(const std::string& text, const std::string& why) {
  Fail(Cause::kInput, Quoted(text), " ", why, "; an address is host:port, as 127.0.0.1:7001 or [::1]:7001");
}

Address Read(const std::string& text, int least_port) {
  std::string host, port;
  const bool brackets = text.starts_with("[");
  const size_t end = brackets ? text.find(']') : text.rfind(':');
  if (brackets) {
    if (end == text.npos) NoAddress(text, "has no closing bracket");
    host = text.substr(1, end - 1);
    if (!IsIpv6(host)) NoAddress(text, "has something else than an IPv6 address in brackets");
    if (end + 1 == text.size() || text[end + 1] != ':') NoAddress(text, "has no port behind its bracket");
    port = text.substr(end + 2);
  } else {
    if (end == text.npos) NoAddress(text, "has no port");
    host = text.substr(0, end);
    port = text.substr(end + 1);
    if (host.empty()) NoAddress(text, "has no host");
    // without brackets, the last colon may be part of an IPv6 address
    if (host.find(':') != host.npos && !IsIpv6(host))
      NoAddress(text, IsIpv6(text) ? "is an IPv6 address without a port" : "has several colons and is no IPv6 address");
    if (host.find(':') == host.npos && !IsName(host)) NoAddress(text, "has no host name or address");
  }
  if (port.empty()) NoAddress(text, "has no port");
  const bool digits = std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int number = digits && port.size() <= 5 ? std::stoi(port) : 65536;
  if (number > 65535 || number < least_port)
    NoAddress(text, Str("has a port that is no number from ", least_port, " to 65535"));
  return {host, uint16_t(number)};
}

}  // namespace

Address Address::Parse(const std::string& text) { return Read(text, 1); }
std::vector<Address> Address::ParseList(const std::string& text) {
  std::vector<Address> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    all.push_back(Parse(text.substr(at, end - at)));
    at = end + 1;
  }
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (all[i].Text() == all[j].Text())
        Fail(Cause::kInput, "the address ", all[i].Text(), " is listed twice; list each process once");
  if (all.size() > kMostListed)
    Fail(Cause::kInput, all.size(), " addresses are listed, and at most ", kMostListed, " are possible; list fewer");
  return all;
}
Address Address::ParseListening(const std::string& text) { return Read(text, 0); }

std::unique_ptr<Channel> DoHandshake(std::shared_ptr<TlsLink> link, bool server, const std::vector<Role>& peers,
                                     Millis timeout, const std::string& who) {
  Ec ec;
  Millis limit = server ? std::min(timeout, kHandshake) : timeout;
  bool ended = link->Handshake(server, Clock::now() + limit, &ec);
  if (server && link->dropped())
    Fail(Cause::kPeer, who, " was dropped in its TLS handshake to make room for newer clients; see who connects here");
  if (!ended)
    Fail(Cause::kPeer, who, " was silent for ", double(limit.count()) / 1000,
         " s in the TLS handshake; see whether it is a suf process");
  SSL* ssl = link->ssl();
  if (ec) {
    bool theirs = link->fault.error != X509_V_OK, ours = AlertOf(ec) >= 0,
         tls = ec.category() == asio::error::get_ssl_category();
    std::string cause = theirs ? Why(link->fault) : Why(ec);
    link->Drain(Clock::now() + kLinger);
    if (theirs)
      Fail(Cause::kRefused, "the certificate of ", who, " is not trusted (", cause, "); ", Remedy(link->fault));
    if (ours)
      Fail(Cause::kRefused, who, " refused our certificate or TLS version (", cause, ")",
           IsOfCertificate(AlertOf(ec)) ? Str(": ", link->OwnCertificate(), "; compare the clocks, and use") : "; use",
           " certificates that were made together");
    if (tls && server)
      Fail(Cause::kRefused, who, " showed no certificate or spoke no TLS 1.3 (", cause,
           "); only suf processes may connect");
    if (tls)
      Fail(Cause::kPeer, who, " speaks no TLS 1.3, or its bytes were altered on the way (", cause,
           "); check the address and the network");
    Fail(Cause::kPeer, who, " ended the connection in the TLS handshake (", cause, "); see its message");
  }
  std::unique_ptr<X509, decltype(&X509_free)> cert(SSL_get1_peer_certificate(ssl), X509_free);
  SUF_CHECK(cert && SSL_get_verify_result(ssl) == X509_V_OK);
  Hash exporter;
  static const char kLabel[] = "EXPORTER-suf-session";
  SUF_CHECK(
      SSL_export_keying_material(ssl, exporter.data(), exporter.size(), kLabel, sizeof kLabel - 1, nullptr, 0, 0) == 1);
  auto role = RoleIn(cert.get());
  // the verified chain ends with the trusted CA, which the checker of a signature brings
  STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
  std::string certificates = PemText(cert.get());
  for (int i = 1; i + 1 < sk_X509_num(chain); ++i) certificates += PemText(sk_X509_value(chain, i));
  Credentials own = link->own();
  Identity self = own.identity(), peer{role.value_or(self.role), KeyHash(cert.get())};
  auto ch = std::make_unique<TlsChannel>(std::move(link), self, peer, exporter, timeout);
  ch->SetSigner(own.signer(), std::move(certificates));
  if (!role || std::find(peers.begin(), peers.end(), *role) == peers.end()) {
    std::string expected;
    for (Role p : peers) expected += Str(expected.empty() ? "" : " or ", Title(p));
    EndSession(*ch, Refusal::kRole, Cause::kRefused, "the certificate of ", who, " is that of ",
               role ? Title(*role) : "no role of suf", ", not of ", expected,
               "; check the address and its certificate folder");
  }
  if (!own.Admits(peer))
    EndSession(*ch, Refusal::kPin, Cause::kRefused, "the key of ", who, " is ", Fingerprint(peer),
               ", another one than our pin names; compare it with that role's operator");
  return ch;
}

namespace {

// Returns a TCP connection; `stop` ends the attempt.
Fd Connect(const Address& where, const std::string& who, Millis timeout, const std::stop_token& stop) {
  asio::io_context io{1};
  tcp::socket socket(io);
  tcp::resolver resolver(io);
  Ec ec;
  auto found = resolver.resolve(where.host, std::to_string(where.port), ec);
  if (ec) Fail(Cause::kPeer, "the host name of ", who, " is unknown (", Why(ec), "); check the address");
  std::stop_callback stopped(stop, [&] { io.stop(); });
  bool done = false;
  asio::async_connect(socket, found, [&](const Ec& e, const tcp::endpoint&) {
    ec = e;
    done = true;
  });
  io.run_until(Clock::now() + timeout);
  if (stop.stop_requested())
    Fail(Cause::kPeer, "nobody answers as ", who, " (it was not waited for); see why the session ended");
  if (!done)
    Fail(Cause::kPeer, who, " did not answer in ", double(timeout.count()) / 1000,
         " s; check the address and that it runs");
  if (ec) Fail(Cause::kPeer, "nobody answers as ", who, " (", Why(ec), "); start it first, or check the address");
  socket.set_option(tcp::no_delay(true), ec);
  return Fd(socket.release());
}

}  // namespace

std::unique_ptr<Channel> Dial(const Credentials& own, const Address& where, Role to, Millis timeout,
                              std::stop_token stop, int streams) {
  SUF_CHECK(streams >= 1 && streams <= kMostStreams);
  std::string who = Str(Title(to), " at ", where.Text());
  const auto connect = [&](auto&& prepare) {
    auto link = std::make_shared<TlsLink>(own, Connect(where, who, timeout, stop));
    link->DropOn(stop);
    prepare(*link);
    return link;
  };
  const auto link = connect([&](TlsLink& l) { l.OfferStreams(StreamsWithin(streams)); });
  auto ch = DoHandshake(link, false, {to}, timeout, who);
  std::vector<std::future<TlsChannel::Side>> joined;
  for (int i = 1; i < link->streams(); ++i)
    joined.push_back(std::async(std::launch::async, [&, i] {
      auto side = DoHandshake(connect([&](TlsLink& l) { l.Join(SeatName(*ch, i)); }), false, {to}, timeout, who);
      return RequestJoin(*ch, static_cast<TlsChannel&>(*side), i);
    }));
  std::vector<TlsChannel::Side> sides;
  for (auto& j : joined) sides.push_back(j.get());
  if (!sides.empty()) static_cast<TlsChannel&>(*ch).AddStreams(std::move(sides));
  return ch;
}

}  // namespace suf::net
