#include "suf/net/tls.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/internal/tls_channel.hpp"
#include "suf/net/internal/tls_link.hpp"

namespace suf::net {
namespace {

constexpr Millis kQuick{400}, kAmple{20'000};

// Certs: two runs of suf certs, made once: two CAs that do not know each other.
struct Certs {
  Scratch dir;
  Certs() { MakeCerts(dir / "a"), MakeCerts(dir / "b"); }
  static const Certs& Get() {
    static Certs c;
    return c;
  }
  static Credentials Of(Role r, const char* ca = "a") {
    return Credentials(Get().dir / (std::string(ca) + "/" + Name(r)));
  }
};

// Server: a listener of the dealer in a thread of its own, which remembers what went wrong. Its sessions are let to
// end.
struct Server {
  explicit Server(std::function<void(Channel&)> session, Millis timeout = kAmple,
                  std::vector<Role> peers = {Role::kModel, Role::kData})
      : listener(Certs::Of(Role::kDealer), {"127.0.0.1", 0}, std::move(peers), timeout), thread([this, session] {
          auto engaged = [&](Channel& ch) {
            ch.Reach(Stage::kAccepted), ch.Reach(Stage::kEngaged);
            session(ch);
          };
          listener.Run(engaged, [this](const Error& e) {
            errors.push_back(e);
            ++count;
          });
        }) {}
  ~Server() { Join(); }
  void Join() {
    listener.Stop();
    if (thread.joinable()) thread.join();
  }
  Address address() const { return {"127.0.0.1", listener.port()}; }
  // Heard: after the end, exactly one error of this kind was reported.
  testing::AssertionResult Heard(Cause code, const std::string& words) {
    for (auto end = std::chrono::steady_clock::now() + kAmple; !count && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(Millis{5});
    Join();
    if (errors.size() != 1) return testing::AssertionFailure() << errors.size() << " errors";
    return Fails(code, words, [&] { throw errors[0]; });
  }
  Listener listener;
  std::vector<Error> errors;
  std::atomic<int> count{0};
  std::thread thread;
};

void Echo(Channel& ch) { ch.Send(kFirstRun, ch.Recv(kFirstRun, kMaxFrame)); }

TEST(Certs, AreThreeRolesWithPrivateKeysAndNoCaKey) {
  const Scratch& dir = Certs::Get().dir;
  for (Role r : {Role::kDealer, Role::kModel, Role::kData}) {
    EXPECT_EQ(Certs::Of(r).identity().role, r);
    struct stat s;
    ASSERT_EQ(stat((dir / (std::string("a/") + Name(r) + "/key.pem")).c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0600u);
  }
  EXPECT_NE(Certs::Of(Role::kModel).identity().key, Certs::Of(Role::kData).identity().key);
  size_t files = 0;
  for (auto& e : std::filesystem::recursive_directory_iterator(dir / "a")) files += e.is_regular_file();
  EXPECT_EQ(files, 9u);
  EXPECT_TRUE(Fails(Cause::kInput, "exists already", [&] { MakeCerts(dir / "a"); }));
}

TEST(Credentials, AMissingFolderOrAnOpenKeyIsRefused) {
  EXPECT_TRUE(Fails(Cause::kInput, "make certificates", [] { Credentials("/nowhere"); }));
  Scratch dir;
  std::filesystem::copy(Certs::Get().dir / "a/data", dir / "data");
  std::filesystem::copy_file(Certs::Get().dir / "a/model/key.pem", dir / "data/key.pem",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(Fails(Cause::kInput, "data/key.pem", [&] { Credentials(dir / "data"); }));
  chmod((dir / "data/key.pem").c_str(), 0644);
  EXPECT_TRUE(Fails(Cause::kInput, "can be read by others", [&] { Credentials(dir / "data"); }));
}

TEST(Address, ParsesHostAndPort) {
  Address a = Address::Parse("localhost:7001");
  EXPECT_EQ(a.host, "localhost");
  EXPECT_EQ(a.port, 7001);
  for (const char* bad : {"", "localhost", "localhost:", ":7", "h:65536", "h:1x", "h:999999"})
    EXPECT_TRUE(Fails(Cause::kInput, "host:port", [&] { Address::Parse(bad); })) << bad;
}

TEST(Tls, BothEndsKnowRoleKeyAndOneExporter) {
  std::promise<Hash> exporter;
  Server server([&](Channel& ch) {
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
  Server server([&](Channel& ch) {
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
    ch.Expect(2, 2 * n);
    ch.Send(kFirstRun, Bytes(n, mine));
    ch.Send(kFirstRun, Bytes(n, mine));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ch.RecvExact(kFirstRun, n), Bytes(n, uint8_t(3 - mine)));
  };
  Server server([&](Channel& ch) { both(ch, 1); });
  auto ch = Dial(Certs::Of(Role::kModel), server.address(), Role::kDealer, kAmple);
  both(*ch, 2);
  server.Join();
  EXPECT_TRUE(server.errors.empty());
}

TEST(Tls, AnUntrustedCertificateIsRefusedByBothEnds) {
  Server server(Echo);
  EXPECT_TRUE(Fails(Cause::kRefused, "the certificate of the dealer at 127.0.0.1",
                    [&] { Dial(Certs::Of(Role::kData, "b"), server.address(), Role::kDealer, kAmple); }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "refused our certificate"));
}

TEST(Tls, AClientThatTrustsUsButIsNotTrustedHearsSo) {
  Scratch dir;  // our CA's ca.pem with a leaf of the other CA
  std::filesystem::copy(Certs::Get().dir / "b/data", dir / "mixed");
  std::filesystem::copy_file(Certs::Get().dir / "a/data/ca.pem", dir / "mixed/ca.pem",
                             std::filesystem::copy_options::overwrite_existing);
  Server server(Echo);
  EXPECT_TRUE(Fails(Cause::kRefused, "the dealer refused our certificate", [&] {
    auto ch = Dial(Credentials(dir / "mixed"), server.address(), Role::kDealer, kAmple);
    ch->Send(kFirstRun, {});
    ch->Recv(kFirstRun, 9);
  }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "is not trusted"));
}

TEST(Tls, TheWrongRoleIsRefusedByTheServer) {
  Server server(Echo, kAmple, {Role::kData});
  EXPECT_TRUE(Fails(Cause::kRefused, "the dealer does not take our certificate", [&] {
    auto ch = Dial(Certs::Of(Role::kModel), server.address(), Role::kDealer, kAmple);
    ch->Send(kFirstRun, {});
    ch->Recv(kFirstRun, 9);
  }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "is that of the model owner, not of the data owner"));
}

TEST(Tls, TheWrongRoleIsRefusedByTheClient) {
  Server server(Echo);
  EXPECT_TRUE(Fails(Cause::kRefused, "is that of the dealer, not of the model owner",
                    [&] { Dial(Certs::Of(Role::kData), server.address(), Role::kModel, kAmple); }));
  EXPECT_TRUE(server.Heard(Cause::kRefused, "the data owner does not take our certificate"));
}

TEST(Credentials, FingerprintsGoThereAndBack) {
  Identity who = Certs::Of(Role::kModel).identity();
  std::string text = Fingerprint(who);
  EXPECT_EQ(text, "model=" + Hex(who.key));
  EXPECT_EQ(FromFingerprint(text).role, Role::kModel);
  EXPECT_EQ(FromFingerprint(text).key, who.key);
  for (const std::string& bad :
       std::vector<std::string>{"", "model", "model=", "M" + text.substr(1), text + "0", text + "\n", text.substr(5)})
    EXPECT_TRUE(Fails(Cause::kInput, "pin", [&] { FromFingerprint(bad); })) << bad;
}

TEST(Credentials, APinIsForItsRoleAloneAndOneOfSeveralIsEnough) {
  Identity model{Role::kModel, Hash{1}}, dealer{Role::kDealer, Hash{2}};
  Credentials own = Certs::Of(Role::kData);
  EXPECT_TRUE(own.Admits(model) && own.Admits(dealer));
  own.Pin({Role::kModel, Hash{9}});
  EXPECT_FALSE(own.Admits(model));
  EXPECT_TRUE(own.Admits(dealer));
  EXPECT_FALSE(own.Admits({Role::kModel, Hash{2}}));
  own.Pin(model);
  EXPECT_TRUE(own.Admits(model) && own.Admits({Role::kModel, Hash{9}}));
}

TEST(Tls, AnUnpinnedKeyIsRefusedByEitherEnd) {
  Credentials own = Certs::Of(Role::kData);
  own.Pin({Role::kDealer, Hash{1}});
  {
    Server server(Echo);
    EXPECT_TRUE(Fails(Cause::kRefused, "another one than our pin names",
                      [&] { Dial(own, server.address(), Role::kDealer, kAmple); }));
    EXPECT_TRUE(server.Heard(Cause::kRefused, "the data owner does not know our key"));
  }
  own.Pin(Certs::Of(Role::kDealer).identity());
  Server server(Echo);
  auto ch = Dial(own, server.address(), Role::kDealer, kAmple);
  ch->Send(kFirstRun, AsView("x"));
  EXPECT_EQ(ch->RecvExact(kFirstRun, 1)[0], 'x');
}

TEST(Tls, NobodyThere) {
  uint16_t port;
  {
    Listener l(Certs::Of(Role::kDealer), {"127.0.0.1", 0}, {Role::kData});
    port = l.port();
  }
  EXPECT_TRUE(Fails(Cause::kPeer, "nobody answers as the dealer", [&] {
    Dial(Certs::Of(Role::kData), {"127.0.0.1", port}, Role::kDealer, kAmple);
  }));
  Listener taken(Certs::Of(Role::kDealer), {"127.0.0.1", 0}, {Role::kData});
  EXPECT_TRUE(Fails(Cause::kPeer, "unknown", [&] {
    Dial(Certs::Of(Role::kData), {"no.such.invalid", 1}, Role::kDealer, kAmple);
  }));
  EXPECT_TRUE(Fails(Cause::kResource, "cannot listen", [&] {
    Listener second(Certs::Of(Role::kDealer), {"192.0.2.1", 1}, {Role::kData});
  }));
}

TEST(Tls, APeerSilentInTheHandshakeIsNamedAndHoldsUpNobody) {
  Server server(Echo, kQuick);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(server.listener.port()), a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  ch->Send(kFirstRun, AsView("served"));
  EXPECT_EQ(ch->Recv(kFirstRun, 9).size(), 6u);
  EXPECT_TRUE(server.Heard(Cause::kPeer, "silent for 0.4 s in the TLS handshake"));
  close(fd);
}

TEST(Tls, AListenerThatNeverAnswersIsNamed) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  socklen_t n = sizeof a;
  getsockname(fd, reinterpret_cast<sockaddr*>(&a), &n);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer at 127.0.0.1", [&] {
    Dial(Certs::Of(Role::kData), {"127.0.0.1", ntohs(a.sin_port)}, Role::kDealer, kQuick);
  }));
  close(fd);
}

TEST(Tls, ASilentPeerIsNamedAfterTheTimeOut) {
  Server server([](Channel& ch) { ch.Recv(kFirstRun, 9); }, kQuick);
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(server.Heard(Cause::kPeer, "the data owner was silent for 0.4 s"));
}

TEST(Tls, APeerThatDoesNotReadAndOneThatLeavesMidFrameAreNamed) {
  std::promise<void> left;
  Server server([&](Channel& ch) { ch.Send(kFirstRun, Bytes(200 << 20)); }, kQuick);
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(server.Heard(Cause::kPeer, "the data owner was silent for 0.4 s while we waited to send to it"));
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer ended the connection", [&] { ch->Recv(kFirstRun, kMaxFrame); }));
}

TEST(Tls, AFrameBeyondItsLimitIsRefusedBeforeItIsRead) {
  Server server([](Channel& ch) { ch.Recv(kFirstRun, 1000); });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer", [&] {
    ch->Send(kFirstRun, Bytes(100 << 20));
    ch->Recv(kFirstRun, 9);
  }));
  EXPECT_TRUE(server.Heard(Cause::kPeer, "sent a frame of 104857600 bytes; the limit here is 1000"));
}

TEST(Tls, ARefusalIsReadEvenWhileSendingALot) {
  Server server([](Channel& ch) { ch.Refuse(Refusal::kBusy); });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer is busy", [&] {
    for (int i = 0; i < 100; ++i) ch->Send(kFirstRun, Bytes(1 << 20));
    ch->Recv(kFirstRun, 9);
  }));
}

TEST(Tls, ANewSessionHasANewExporter) {
  Server server(Echo);
  Hash seen[2];
  for (Hash& h : seen) {
    auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
    ch->Send(kFirstRun, {});
    ch->Recv(kFirstRun, 0);
    h = ch->exporter();
  }
  EXPECT_NE(seen[0], seen[1]);
}

// For the thread sanitizer: the first handshakes of fresh credentials share what OpenSSL makes of their CA.
TEST(Tls, FirstHandshakesMayComeTogether) {
  for (int i = 0; i < 4; ++i) {
    Server server(Echo);
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

TEST(Tls, PeerGoneSeesAHangUpWithoutWaiting) {
  std::promise<bool> alive, gone;
  std::promise<void> go;
  Server server([&](Channel& ch) {
    alive.set_value(ch.PeerGone());
    go.get_future().wait();
    bool g = false;
    for (int i = 0; i < 200 && !g; ++i) std::this_thread::sleep_for(Millis{10}), g = ch.PeerGone();
    gone.set_value(g);
  });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_FALSE(alive.get_future().get());
  ch.reset();
  go.set_value();
  EXPECT_TRUE(gone.get_future().get());
}

// Raw: a client of the role `data` that writes what it likes into its TLS connection; waits for nothing.
struct Raw {
  explicit Raw(const Server& server) : link(std::make_shared<TlsLink>(Certs::Of(Role::kData), To(server))) {
    std::error_code ec;
    EXPECT_TRUE(link->Handshake(false, std::chrono::steady_clock::now() + kAmple, &ec) && !ec) << ec.message();
  }
  static Fd To(const Server& server) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET, a.sin_port = htons(server.listener.port()), a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    return Fd(fd);
  }
  static Bytes Header(uint32_t length, uint16_t kind, uint16_t sequence = 0) {
    Writer w;
    w.Put(length), w.Put(kind), w.Put(sequence);
    return w.Take();
  }
  // Write: whether all of it went, in that time.
  bool Write(View bytes, Millis patience = kAmple) {
    std::error_code ec;
    link->Queue(bytes, &ec);
    for (auto end = std::chrono::steady_clock::now() + patience; !ec && !link->Flush(&ec);)
      if (!link->Wait(false, true, end)) return false;
    return !ec;
  }
  std::shared_ptr<TlsLink> link;
};

size_t HeldBy(Channel& ch) { return dynamic_cast<TlsChannel&>(ch).held(); }

// Within: until f holds.
bool Within(Millis patience, const std::function<bool()>& f) {
  for (auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;) {
    if (f()) return true;
    std::this_thread::sleep_for(Millis{5});
  }
  return false;
}

TEST(Tls, AHeaderTakesNoMemoryForWhatItAnnounces) {
  std::promise<size_t> held;
  Server server([&](Channel& ch) {
    ch.set_timeout(kQuick);
    EXPECT_TRUE(Fails(Cause::kPeer, "was silent", [&] { ch.RecvExact(kFirstRun, kMaxFrame); }));
    held.set_value(HeldBy(ch));
  });
  Raw raw(server);
  Bytes first = Raw::Header(kMaxFrame, kFirstRun);
  first.resize(100);
  EXPECT_TRUE(raw.Write(first));
  EXPECT_LE(held.get_future().get(), size_t{1} << 20);
}

TEST(Tls, FramesThatNobodyWaitsForAreNotReadBeyondAFewKilobytes) {
  for (uint32_t length : {0u, 1u, 64u, 65u, 8192u, 1u << 20}) {
    std::promise<void> gone, over;
    std::promise<size_t> held;
    Server server([&](Channel& ch) {
      EXPECT_EQ(Within(length > 64 ? kAmple : kQuick, [&] { return ch.PeerGone(kControlFrame); }), length > 64)
          << length;
      EXPECT_TRUE(Within(kAmple, [&] { return ch.PeerGone(0); })) << length;
      ch.set_timeout(kQuick);
      EXPECT_TRUE(Fails(Cause::kPeer, "was silent", [&] { ch.Send(kFirstRun, Bytes(64 << 20)); })) << length;
      held.set_value(HeldBy(ch));
      over.get_future().wait();
    });
    Raw raw(server);
    Bytes frames;
    for (size_t i = 0; frames.size() < 8 << 20; ++i) {
      Bytes one = Raw::Header(length, kClaim, uint16_t(i));
      frames.insert(frames.end(), one.begin(), one.end());
      frames.resize(frames.size() + length);
    }
    EXPECT_FALSE(raw.Write(frames, Millis{600})) << length;  // it is not read, so it does not go
    EXPECT_LE(held.get_future().get(), 8192u) << length;
    over.set_value();
  }
}

TEST(Tls, AListenerThatStopsDropsWhomItDoesNotServe) {
  std::promise<void> there[2];
  std::atomic<int> come{0};
  Listener listener(Certs::Of(Role::kDealer), {"127.0.0.1", 0}, {Role::kData}, kAmple);
  std::atomic<bool> ended{false};
  std::thread thread([&] {
    listener.Run(
        [&](Channel& ch) {
          bool engaged = ch.RecvExact(kFirstRun, 1)[0];
          if (engaged) ch.Reach(Stage::kEngaged);
          there[engaged].set_value();
          (void)ch.RecvExact(kFirstRun, 1);
          ended = true;
        },
        [&](const Error&) { ++come; });
  });
  Address where{"127.0.0.1", listener.port()};
  auto idle = Dial(Certs::Of(Role::kData), where, Role::kDealer, kAmple);
  auto busy = Dial(Certs::Of(Role::kData), where, Role::kDealer, kAmple);
  idle->Send(kFirstRun, Bytes{0}), busy->Send(kFirstRun, Bytes{1});
  for (auto& t : there) t.get_future().wait();
  listener.Stop();
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer ended the connection", [&] { idle->Recv(kFirstRun, 9); }));
  EXPECT_FALSE(ended);
  busy->Send(kFirstRun, Bytes{1});
  thread.join();
  EXPECT_TRUE(ended);
  EXPECT_EQ(come, 0);
}

TEST(Tls, OnlyVersion13AndNoTickets) {
  Server server(Echo, kQuick);
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

TEST(Tls, AStopFromAnotherThreadEndsDialingAndWaiting) {
  for (bool dialed : {false, true}) {
    // the listener takes the connection; without a session it answers no greeting
    int deaf = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof at;
    ASSERT_EQ(bind(deaf, reinterpret_cast<sockaddr*>(&at), size), 0);
    ASSERT_EQ(listen(deaf, 1), 0);
    ASSERT_EQ(getsockname(deaf, reinterpret_cast<sockaddr*>(&at), &size), 0);
    std::stop_source stop;
    std::promise<void> there, leave;
    Server server([&](Channel&) { leave.get_future().wait(); });
    Address where = dialed ? server.address() : Address{"127.0.0.1", ntohs(at.sin_port)};
    auto waiting = std::async(std::launch::async, [&] {
      if (!dialed) there.set_value();
      auto ch = Dial(Certs::Of(Role::kData), where, Role::kDealer, kAmple, stop.get_token());
      there.set_value();
      ch->Recv(kFirstRun, 9);
    });
    there.get_future().wait();
    stop.request_stop();
    std::string said;
    try {
      waiting.get();
    } catch (const Error& e) {
      said = e.what();
    }
    EXPECT_TRUE(said.find("ended the connection") != said.npos || said.find("nobody answers") != said.npos) << said;
    leave.set_value();
    close(deaf);
  }
}

}  // namespace
}  // namespace suf::net
