// Peers that are silent, leave, or send more than is due, and a listener that stops.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "suf/net/internal/testing.hpp"
#include "suf/net/tls_channel.hpp"
#include "suf/net/tls_link.hpp"

namespace suf::net {
namespace {

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
  TestServer server(Echo, kQuick);
  const Fd silent = Connected(server);
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  ch->Send(kFirstRun, AsView("served"));
  EXPECT_EQ(ch->Recv(kFirstRun, 9).size(), 6u);
  EXPECT_TRUE(server.Heard(Cause::kPeer, "silent for 1 s in the TLS handshake"));
}

TEST(Tls, AListenerThatNeverAnswersIsNamed) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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
  TestServer server([](Channel& ch) { ch.Recv(kFirstRun, 9); }, kQuick);
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(server.Heard(Cause::kPeer, "the data owner was silent for 1 s"));
}

TEST(Tls, APeerThatDoesNotReadAndOneThatLeavesMidFrameAreNamed) {
  std::promise<void> left;
  TestServer server([&](Channel& ch) { ch.Send(kFirstRun, Bytes(200 << 20)); }, kQuick);
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(server.Heard(Cause::kPeer, "the data owner was silent for 1 s while we waited to send to it"));
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer ended the connection", [&] { ch->Recv(kFirstRun, kMaxFrame); }));
}

TEST(Tls, AFrameBeyondItsLimitIsRefusedBeforeItIsRead) {
  TestServer server([](Channel& ch) { ch.Recv(kFirstRun, 1000); });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer", [&] {
    ch->Send(kFirstRun, Bytes(100 << 20));
    ch->Recv(kFirstRun, 9);
  }));
  EXPECT_TRUE(server.Heard(Cause::kPeer, "sent a frame of 104857600 bytes; the limit here is 1000"));
}

TEST(Tls, ARefusalIsReadEvenWhileSendingALot) {
  TestServer server([](Channel& ch) { ch.Refuse(Refusal::kBusy); });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer is busy", [&] {
    for (int i = 0; i < 100; ++i) ch->Send(kFirstRun, Bytes(1 << 20));
    ch->Recv(kFirstRun, 9);
  }));
}

// Returns whether f became true in time.
bool Within(Millis patience, const std::function<bool()>& f) {
  for (auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;) {
    if (f()) return true;
    std::this_thread::sleep_for(Millis{5});
  }
  return false;
}

TEST(Tls, PeerGoneSeesAHangUpWithoutWaiting) {
  std::promise<bool> alive, gone;
  std::promise<void> go;
  TestServer server([&](Channel& ch) {
    alive.set_value(ch.PeerGone());
    go.get_future().wait();
    gone.set_value(Within(kAmple, [&] { return ch.PeerGone(); }));
  });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  EXPECT_FALSE(alive.get_future().get());
  ch.reset();
  go.set_value();
  EXPECT_TRUE(gone.get_future().get());
}

// A client of the role `data` that writes arbitrary bytes into its TLS connection and waits for nothing.
struct Raw {
  explicit Raw(const TestServer& server) : link(std::make_shared<TlsLink>(Certs::Of(Role::kData), To(server))) {
    std::error_code ec;
    EXPECT_TRUE(link->Handshake(false, std::chrono::steady_clock::now() + kAmple, &ec) && !ec) << ec.message();
  }
  static Fd To(const TestServer& server) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(server.listener.port());
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    return Fd(fd);
  }
  static Bytes Header(uint32_t length, uint16_t kind, uint16_t sequence = 0) {
    Writer w;
    w.Put(length);
    w.Put(kind);
    w.Put(sequence);
    return w.Take();
  }
  // Returns whether all bytes left in time.
  bool Write(View bytes, Millis patience = kAmple) {
    std::error_code ec;
    link->Queue(bytes, &ec);
    for (auto end = std::chrono::steady_clock::now() + patience; !ec && !link->Flush(&ec);)
      if (!link->Wait(false, true, end)) return false;
    return !ec;
  }
  std::shared_ptr<TlsLink> link;
};

constexpr Millis kBrief{300};  // for events that never come, however long the wait

size_t HeldBy(Channel& ch) { return dynamic_cast<TlsChannel&>(ch).held(); }

TEST(Tls, AHeaderTakesNoMemoryForWhatItAnnounces) {
  std::promise<size_t> held;
  TestServer server([&](Channel& ch) {
    ch.set_timeout(kBrief);
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
    TestServer server([&](Channel& ch) {
      EXPECT_EQ(Within(length > 64 ? kAmple : kBrief, [&] { return ch.PeerGone(kControlFrame); }), length > 64)
          << length;
      EXPECT_TRUE(Within(kAmple, [&] { return ch.PeerGone(0); })) << length;
      ch.set_timeout(kBrief);
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
    EXPECT_FALSE(raw.Write(frames, Millis{600})) << length;  // it is not read, so it does not leave
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
          if (engaged) ch.Advance(PeerState::kEngaged);
          there[engaged].set_value();
          (void)ch.RecvExact(kFirstRun, 1);
          ended = true;
        },
        [&](const Error&) { ++come; });
  });
  Address where{"127.0.0.1", listener.port()};
  auto idle = Dial(Certs::Of(Role::kData), where, Role::kDealer, kAmple);
  auto busy = Dial(Certs::Of(Role::kData), where, Role::kDealer, kAmple);
  idle->Send(kFirstRun, Bytes{0});
  busy->Send(kFirstRun, Bytes{1});
  for (auto& t : there) t.get_future().wait();
  listener.Stop();
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer ended the connection", [&] { idle->Recv(kFirstRun, 9); }));
  EXPECT_FALSE(ended);
  busy->Send(kFirstRun, Bytes{1});
  thread.join();
  EXPECT_TRUE(ended);
  EXPECT_EQ(come, 0);
}

TEST(Tls, AStopFromAnotherThreadEndsDialingAndWaiting) {
  for (bool dialed : {false, true}) {
    // the system accepts the connection, but no process answers its greeting
    int deaf = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof at;
    ASSERT_EQ(bind(deaf, reinterpret_cast<sockaddr*>(&at), size), 0);
    ASSERT_EQ(listen(deaf, 1), 0);
    ASSERT_EQ(getsockname(deaf, reinterpret_cast<sockaddr*>(&at), &size), 0);
    std::stop_source stop;
    std::promise<void> there, leave;
    TestServer server([&](Channel&) { leave.get_future().wait(); });
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
