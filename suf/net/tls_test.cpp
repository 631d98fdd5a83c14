#include "suf/net/tls.hpp"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <fstream>
#include <future>

#include "suf/net/internal/testing.hpp"
#include "suf/net/tls_link.hpp"

namespace suf::net {
namespace {

TEST(Address, ParsesHostAndPort) {
  Address a = Address::Parse("localhost:7001");
  EXPECT_EQ(a.host, "localhost");
  EXPECT_EQ(a.port, 7001);
  for (const auto& [text, host] : {std::pair{"[::1]:7001", "::1"},
                                   {"::1:7001", "::1"},
                                   {"[fe80::1%eth0]:7001", "fe80::1%eth0"},
                                   {"1:2:3:4:5:6:7:8:7001", "1:2:3:4:5:6:7:8"},
                                   {"[::ffff:10.0.0.1]:7001", "::ffff:10.0.0.1"}}) {
    a = Address::Parse(text);
    EXPECT_EQ(a.host, host);
    EXPECT_EQ(a.port, 7001);
    EXPECT_EQ(a.Text(), Str("[", host, "]:7001"));
  }
  EXPECT_EQ(Address::Parse("10.0.0.1:00080").Text(), "10.0.0.1:80");
}

TEST(Address, SaysWhatIsWrong) {
  const char *port = "has a port that is no number from 1 to 65535", *none = "has no port";
  for (const auto& [text, why] : {std::pair{"", none},
                                  {"localhost", none},
                                  {"localhost:", none},
                                  {"[::1]:", none},
                                  {"[::1]", "has no port behind its bracket"},
                                  {"[::1]7001", "has no port behind its bracket"},
                                  {"[::1:7001", "has no closing bracket"},
                                  {"[here]:7001", "has something else than an IPv6 address in brackets"},
                                  {"[127.0.0.1]:7001", "has something else than an IPv6 address in brackets"},
                                  {"[::1%]:7001", "has something else than an IPv6 address in brackets"},
                                  {":7", "has no host"},
                                  {"::1", "is an IPv6 address without a port"},
                                  {"1:2:3:4:5:6:7:8", "is an IPv6 address without a port"},
                                  {"a:b:7", "has several colons and is no IPv6 address"},
                                  {"https://h:7", "has several colons and is no IPv6 address"},
                                  {"a b:7", "has no host name or address"},
                                  {"a/b:7", "has no host name or address"},
                                  {"h:65536", port},
                                  {"h:1x", port},
                                  {"h:-1", port},
                                  {"h: 1", port},
                                  {"h:999999", port},
                                  {"h:18446744073709551617", port},
                                  {"h:0", port},
                                  {"[::1]:0", port}})
    EXPECT_TRUE(Fails(Cause::kInput,
                      Str("\"", text, "\" ", why, "; an address is host:port, as 127.0.0.1:7001 or [::1]:7001").c_str(),
                      [text = text] { Address::Parse(text); }))
        << text;
  EXPECT_EQ(Address::ParseListening("[::1]:0").port, 0);
  EXPECT_TRUE(Fails(Cause::kInput, "no number from 0 to 65535", [] { Address::ParseListening("h:65536"); }));
}

TEST(Tls, ListensAtAnIpv6Address) {
  Listener listener(Certs::Of(Role::kDealer), Address::ParseListening("[::1]:0"), {Role::kData}, kAmple);
  std::thread thread(
      [&] { listener.Run([](Channel& ch) { Echo(ch); }, [](const Error& e) { ADD_FAILURE() << e.what(); }); });
  {
    auto ch = Dial(Certs::Of(Role::kData), Address::Parse(Str("[::1]:", listener.port())), Role::kDealer, kAmple);
    ch->Send(kFirstRun, AsView("x"));
    EXPECT_EQ(ch->RecvExact(kFirstRun, 1)[0], 'x');
  }
  listener.Stop();
  thread.join();
}

TEST(Tls, BothEndsKnowRoleKeyAndOneExporter) {
  std::promise<Hash> exporter;
  TestServer server([&](Channel& ch) {
    EXPECT_EQ(ch.peer().role, Role::kData);
    EXPECT_EQ(ch.peer().key, Certs::Of(Role::kData).identity().key);
    exporter.set_value(ch.exporter());
    Echo(ch);
  });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_EQ(ch->peer().key, Certs::Of(Role::kDealer).identity().key);
  ch->Send(kFirstRun, AsView("x"));
  EXPECT_EQ(ch->RecvExact(kFirstRun, 1)[0], 'x');
  EXPECT_EQ(exporter.get_future().get(), ch->exporter());
  EXPECT_EQ(ch->traffic(Phase::kControl).bytes_sent, 9u);
  server.Join();
  EXPECT_TRUE(server.errors.empty());
}

TEST(Tls, EveryFrameSizeArrivesWholeAndInOrder) {
  std::vector<size_t> sizes = {0, 1, 16375, 16376, 16377, 32768, 100'003, 5'000'000, 0, 3};
  TestServer server([&](Channel& ch) {
    for (size_t i = 0; i < sizes.size(); ++i) Echo(ch);
  });
  auto ch = Dial(Certs::Of(Role::kModel), server.address(), Role::kDealer, kAmple);
  for (size_t n : sizes) {
    Bytes b(n);
    RandomBytes(b);
    ch->Send(kFirstRun, b);
    EXPECT_EQ(ch->RecvExact(kFirstRun, n), b) << n;
  }
}

TEST(Tls, BothSidesMaySendLargeFramesAtOnce) {
  const size_t n = 24 << 20;
  auto both = [&](Channel& ch, uint8_t mine) {
    Bytes buffers[2] = {Bytes(n), Bytes(n)};
    for (Bytes& buffer : buffers) ch.Post(kFirstRun, buffer);
    ch.Send(kFirstRun, Bytes(n, mine));
    ch.Send(kFirstRun, Bytes(n, mine));
    for (Bytes& buffer : buffers) {
      ch.RecvUpTo(n);
      EXPECT_EQ(buffer, Bytes(n, uint8_t(3 - mine)));
    }
  };
  TestServer server([&](Channel& ch) { both(ch, 1); });
  auto ch = Dial(Certs::Of(Role::kModel), server.address(), Role::kDealer, kAmple);
  both(*ch, 2);
  server.Join();
  EXPECT_TRUE(server.errors.empty());
}

TEST(Tls, AnUntrustedCertificateIsRefusedByBothEnds) {
  TestServer server(Echo);
  EXPECT_TRUE(Fails(Cause::kRefused, "the certificate of the dealer at 127.0.0.1",
                    [&] { Dial(Certs::Of(Role::kData, "b"), server.address(), Role::kDealer, kAmple); }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "refused our certificate"));
}

TEST(Tls, AClientThatTrustsUsButIsNotTrustedHearsSo) {
  Scratch dir;  // a leaf of the other CA, and both CAs in its ca.pem
  std::filesystem::copy(Certs::Get().dir / "b/data", dir / "mixed");
  std::ofstream(dir / "mixed/ca.pem", std::ios::app) << std::ifstream(Certs::Get().dir / "a/data/ca.pem").rdbuf();
  TestServer server(Echo);
  EXPECT_TRUE(Fails(Cause::kRefused, "the dealer refused our certificate", [&] {
    auto ch = Dial(Credentials(dir / "mixed"), server.address(), Role::kDealer, kAmple);
    ch->Send(kFirstRun, {});
    ch->Recv(kFirstRun, 9);
  }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "is not trusted"));
}

TEST(Tls, TheWrongRoleIsRefusedByTheServer) {
  TestServer server(Echo, kAmple, {Role::kData});
  EXPECT_TRUE(Fails(Cause::kRefused, "the dealer rejected our certificate", [&] {
    auto ch = Dial(Certs::Of(Role::kModel), server.address(), Role::kDealer, kAmple);
    ch->Send(kFirstRun, {});
    ch->Recv(kFirstRun, 9);
  }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "is that of the model owner, not of the data owner"));
}

TEST(Tls, TheWrongRoleIsRefusedByTheClient) {
  TestServer server(Echo);
  EXPECT_TRUE(Fails(Cause::kRefused, "is that of the dealer, not of the model owner",
                    [&] { Dial(Certs::Of(Role::kData), server.address(), Role::kModel, kAmple); }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "the data owner rejected our certificate"));
}

TEST(Tls, AnUnpinnedKeyIsRefusedByEitherEnd) {
  Credentials own = Certs::Of(Role::kData);
  own.Pin({Role::kDealer, Hash{1}});
  {
    TestServer server(Echo);
    EXPECT_TRUE(Fails(Cause::kRefused, "another one than our pin names",
                      [&] { Dial(own, server.address(), Role::kDealer, kAmple); }));
    EXPECT_TRUE(server.Heard(Cause::kRefused, "the data owner does not know our key"));
  }
  own.Pin(Certs::Of(Role::kDealer).identity());
  TestServer server(Echo);
  auto ch = Dial(own, server.address(), Role::kDealer, kAmple);
  ch->Send(kFirstRun, AsView("x"));
  EXPECT_EQ(ch->RecvExact(kFirstRun, 1)[0], 'x');
}

TEST(Tls, ANewSessionHasANewExporter) {
  TestServer server(Echo);
  Hash seen[2];
  for (Hash& h : seen) {
    auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
    ch->Send(kFirstRun, {});
    ch->Recv(kFirstRun, 0);
    h = ch->exporter();
  }
  EXPECT_NE(seen[0], seen[1]);
}

// For the thread sanitizer: the first handshakes of fresh credentials share data that OpenSSL makes from their CA.
TEST(Tls, FirstHandshakesMayComeTogether) {
  for (int i = 0; i < 4; ++i) {
    TestServer server(Echo);
    Credentials own = Certs::Of(Role::kData);
    std::vector<std::future<Identity>> clients;
    for (int k = 0; k < 6; ++k)
      clients.push_back(std::async(std::launch::async, [&] {
        auto ch = Dial(own, server.address(), Role::kDealer, kAmple);
        ch->Send(kFirstRun, {});
        ch->Recv(kFirstRun, 0);
        return ch->peer();
      }));
    for (auto& c : clients) EXPECT_EQ(c.get().key, Certs::Of(Role::kDealer).identity().key);
    server.Join();
    EXPECT_TRUE(server.errors.empty());
  }
}

TEST(Tls, OnlyVersion13AndNoTickets) {
  TestServer server(Echo, kQuick);
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ctx(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    std::string d = Certs::Get().dir / "a/data/";
    SSL_CTX_use_certificate_file(ctx.get(), (d + "cert.pem").c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(ctx.get(), (d + "key.pem").c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_set_max_proto_version(ctx.get(), version);
    std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_ssl_connect(ctx.get()), BIO_free_all);
    BIO_set_conn_hostname(bio.get(), server.address().Text().c_str());
    EXPECT_EQ(BIO_do_connect(bio.get()) == 1, version == TLS1_3_VERSION);
    if (version == TLS1_3_VERSION) {
      uint8_t frame[8] = {0, 0, 0, 0, 0, 1, 0, 0}, back[8];
      ASSERT_EQ(BIO_write(bio.get(), frame, 8), 8);
      ASSERT_EQ(BIO_read(bio.get(), back, 8), 8);  // a ticket would have been processed on the way
      SSL* ssl = nullptr;
      BIO_get_ssl(bio.get(), &ssl);
      EXPECT_FALSE(SSL_SESSION_is_resumable(SSL_get_session(ssl)));
    }
  }
}

}  // namespace
}  // namespace suf::net
