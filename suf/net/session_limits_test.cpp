// How many sessions a listener takes, which of them it drops when it stops, and sessions that are hung up.
#include <sys/resource.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "suf/net/descriptors.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/internal/testing.hpp"
#include "suf/net/tls_link.hpp"

namespace suf::net {
namespace {

// A listener of the dealer in its own thread. Its sessions are neither accepted nor engaged by themselves.
struct SessionServer {
  explicit SessionServer(std::function<void(Channel&)> session, int sessions = kSessions,
                         const Credentials& own = Certs::Of(Role::kDealer))
      : listener(own, {"127.0.0.1", 0}, {Role::kModel, Role::kData}, kAmple, 1, sessions), thread([this, session] {
          listener.Run(session, [this](const Error& e) {
            const std::lock_guard l(m);
            said.push_back(e.what());
            changed.notify_all();
          });
        }) {}
  ~SessionServer() { Join(); }
  void Join() {
    listener.Stop();
    if (thread.joinable()) thread.join();
  }
  // Waits for the first error. A listener that stops reports none of a client that it has just refused.
  void AwaitError() {
    std::unique_lock l(m);
    EXPECT_TRUE(changed.wait_for(l, kAmple, [&] { return !said.empty(); }));
  }
  // Returns a session that the server counted. Throws the error of a refusal.
  std::unique_ptr<Channel> Call(const Credentials& as) {
    auto ch = Dial(as, {"127.0.0.1", listener.port()}, Role::kDealer, kAmple);
    (void)ch->Recv(kWelcome, 0);
    return ch;
  }
  Listener listener;
  std::mutex m;  // guards the member below, until Join
  std::vector<std::string> said;
  std::condition_variable changed;
  std::thread thread;
};

// A session that greets and waits for its end.
void GreetAndWait(Channel& ch) {
  ch.Send(kWelcome, {});
  (void)ch.Recv(kBye, 0);
}

TEST(Listener, RefusesTheSessionBeyondItsNumber) {
  SessionServer server(GreetAndWait, 2);
  const Credentials data = Certs::Of(Role::kData);
  auto first = server.Call(data), second = server.Call(data);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer is busy", [&] { server.Call(data); }));
  first->Send(kBye, {});
  std::unique_ptr<Channel> third;
  for (const auto end = std::chrono::steady_clock::now() + kAmple; !third && std::chrono::steady_clock::now() < end;)
    try {
      third = server.Call(data);
    } catch (const Error&) {  // the first one has not ended yet
    }
  EXPECT_TRUE(third);
  EXPECT_FALSE(second->PeerGone(0));
  server.AwaitError();
  server.Join();
  ASSERT_FALSE(server.said.empty());
  EXPECT_EQ(server.said[0], "the data owner came while 2 sessions are running, the most here; it must try again later");
}

// One data owner cannot hold all sessions. At a dealer, the model owner's one certificate serves all data owners.
TEST(Listener, ADataOwnerHasAtMost72Sessions) {
  Scratch dir;
  MakeCerts(dir / "c", {.owners = {"alice", "bob"}});
  const Credentials alice(dir / "c/data-alice"), bob(dir / "c/data-bob"), model(dir / "c/model");
  SessionServer server(GreetAndWait, 2 * kSessionsOfOne + 8, Credentials(dir / "c/dealer"));
  std::vector<std::unique_ptr<Channel>> all;
  for (int i = 0; i < kSessionsOfOne; ++i) all.push_back(server.Call(alice));
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer is busy", [&] { server.Call(alice); }));
  EXPECT_NO_THROW(all.push_back(server.Call(bob)));
  for (int i = 0; i <= kSessionsOfOne; ++i) EXPECT_NO_THROW(all.push_back(server.Call(model))) << i;
  server.AwaitError();
  server.Join();
  ASSERT_EQ(server.said.size(), 1u);
  EXPECT_EQ(server.said[0],
            "the data owner came while 72 sessions of its certificate are running, the most of one; it must end some "
            "of them");
}

TEST(Listener, HasMoreSessionsForMoreInferencesAtOnce) {
  EXPECT_EQ(SessionsFor(1), 96);
  EXPECT_EQ(SessionsFor(2), 128);
  EXPECT_EQ(SessionsFor(16), 576);
  EXPECT_LT(kSessionsOfOne, kSessions);
}

TEST(Descriptors, AreAllowedAsFarAsTheSystemLets) {
  rlimit had{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &had), 0);
  const rlimit few{256, had.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(DescriptorsFor(10, 1), 128u + 10 * 8);
  EXPECT_EQ(DescriptorsFor(96, 16), 128u + 96 * 68);
  EXPECT_EQ(AllowDescriptors(10, 1), "");
  rlimit now{};
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 256u);  // it sufficed
  EXPECT_EQ(AllowDescriptors(32, 1), "");
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 384u);
  if (had.rlim_max < 8'000'000'000) {  // a limit that exists
    const std::string lack = AllowDescriptors(1'000'000'000, 1);
    EXPECT_EQ(lack,
              Str("1000000000 sessions may take 8000000128 file descriptors, and this process may open ", had.rlim_max,
                  "; raise its limit of open files, or a client will be refused when they are used up"));
  }
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &had), 0);
}

// A listener that stops drops a session that idles after its work. One that works is dropped as soon as it idles.
TEST(Listener, StopEndsASessionAsSoonAsItIdles) {
  enum : uint8_t { kIdles, kWillIdle, kWorks };
  std::promise<void> there[3], go;
  std::atomic<int> ended{0};
  SessionServer server([&](Channel& ch) {
    const uint8_t what = ch.RecvExact(kRequest, 1)[0];
    ch.Advance(PeerState::kAccepted);
    ch.Send(kGrant, {});  // engages
    if (what == kIdles) ch.Advance(PeerState::kAccepted);
    there[what].set_value();
    if (what == kWillIdle) {
      go.get_future().wait();
      ch.Advance(PeerState::kAccepted);
    }
    (void)ch.Recv(kBye, 0);
    ++ended;
  });
  std::unique_ptr<Channel> sessions[3];
  for (uint8_t what : {kIdles, kWillIdle, kWorks}) {
    sessions[what] = Dial(Certs::Of(Role::kData), {"127.0.0.1", server.listener.port()}, Role::kDealer, kAmple);
    sessions[what]->Send(kRequest, Bytes{what});
    EXPECT_TRUE(sessions[what]->Recv(kGrant, 0).empty());
    there[what].get_future().wait();
  }
  EXPECT_EQ(server.listener.Running().size(), 2u);
  server.listener.Stop();
  const auto ends = [&](uint8_t what) {
    return Fails(Cause::kPeer, "the dealer ended the connection", [&] { sessions[what]->Recv(kBye, 0); });
  };
  EXPECT_TRUE(ends(kIdles));
  EXPECT_FALSE(sessions[kWillIdle]->PeerGone(0));
  go.set_value();
  EXPECT_TRUE(ends(kWillIdle));
  EXPECT_FALSE(sessions[kWorks]->PeerGone(0));
  sessions[kWorks]->Send(kBye, {});
  server.Join();
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(server.said.empty()) << server.said[0];
}

constexpr const char* kOurEnd = "our side ended the session with the dealer early";

constexpr size_t kMoreThanBuffersHold = 100 << 20;  // bytes, of the sockets of five streams

// Waits of a channel's own thread.
enum class HungIn { kRecv, kHalfOfALongFrame, kSend };

// Hangs up a session that waits in this way, from another thread.
void HangUpWhile(HungIn wait, Channel& ch) {
  std::promise<void> begun;
  auto own = std::async(std::launch::async, [&] {
    EXPECT_TRUE(ch.Recv(kGo, 0).empty());
    begun.set_value();
    Bytes buffer(wait == HungIn::kHalfOfALongFrame ? 1 << 20 : 0);
    EXPECT_TRUE(Fails(Cause::kPeer, kOurEnd, [&] {
      if (wait == HungIn::kSend) ch.Send(kFirstRun, Bytes(kMoreThanBuffersHold));
      if (wait == HungIn::kRecv) ch.Recv(kBye, 0);
      ch.RecvInto(kFirstRun, buffer);
    }));
    EXPECT_TRUE(ch.PeerGone(0));
    EXPECT_TRUE(Fails(Cause::kPeer, kOurEnd, [&] { ch.Recv(kBye, 0); }));
    EXPECT_TRUE(Fails(Cause::kPeer, kOurEnd, [&] { ch.Send(kBye, {}); }));
  });
  begun.get_future().wait();
  ch.HangUp();
  ch.HangUp();
  own.get();
}

// The peer of HangUpWhile: begins, and finds the end. If we send, it reads nothing until `over`.
void MeetHangUp(HungIn wait, Channel& ch, std::future<void> over) {
  ch.Send(kGo, {});
  const Bytes payload(1 << 20);
  const std::shared_ptr<void> released(nullptr, [&](void*) { ch.Release(payload); });
  if (wait == HungIn::kHalfOfALongFrame) ch.SendUpTo(kFirstRun, payload, payload.size() / 2);
  if (wait == HungIn::kSend) over.wait();
  (void)ch.Recv(kFirstRun, kMaxFrame);
}

TEST(HangUp, EndsATlsSessionAtBothEnds) {
  for (int streams : {1, 2, 5})
    for (HungIn wait : {HungIn::kRecv, HungIn::kHalfOfALongFrame, HungIn::kSend}) {
      std::promise<void> over;
      TestServer server([&](Channel& ch) { MeetHangUp(wait, ch, over.get_future()); }, kAmple, {Role::kData}, streams);
      auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple, {}, streams);
      HangUpWhile(wait, *ch);
      over.set_value();
      EXPECT_TRUE(server.Heard(Cause::kPeer, "the data owner ended the connection")) << streams << " " << int(wait);
    }
}

TEST(HangUp, EndsAnInProcessSessionAtBothEnds) {
  for (HungIn wait : {HungIn::kRecv, HungIn::kHalfOfALongFrame}) {  // such a channel never waits in Send
    auto [near, far] = InProcessPair({Role::kData, {1}}, {Role::kDealer, {2}}, kAmple);
    auto peer = std::async(std::launch::async, [&, ch = far.get()] {
      EXPECT_TRUE(Fails(Cause::kPeer, "the data owner ended the connection", [&] { MeetHangUp(wait, *ch, {}); }));
    });
    HangUpWhile(wait, *near);
    peer.get();
    EXPECT_TRUE(far->PeerGone(0));
  }
}

// Frames that arrived before are not received either, however many the peer sends.
TEST(HangUp, EndsASessionWhosePeerGoesOnSending) {
  auto [near, far] = InProcessPair({Role::kData, {1}}, {Role::kDealer, {2}}, kAmple);
  far->Send(kGo, {});
  near->HangUp();
  EXPECT_TRUE(Fails(Cause::kPeer, kOurEnd, [&, ch = near.get()] { ch->Recv(kGo, 0); }));
  std::promise<void> sent;
  TestServer server([&](Channel& ch) {
    ch.Send(kGo, {});
    sent.set_value();
    (void)ch.Recv(kBye, 0);
  });
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple);
  sent.get_future().wait();
  ch->HangUp();
  EXPECT_TRUE(Fails(Cause::kPeer, kOurEnd, [&] { ch->Recv(kGo, 0); }));
}

}  // namespace
}  // namespace suf::net
