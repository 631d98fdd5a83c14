#include "suf/net/channel.hpp"

#include <fstream>
#include <thread>

#include "suf/base/scratch_test.hpp"

namespace suf::net {
namespace {

const Identity kP0{Role::kModel, {1}}, kP1{Role::kData, {2}}, kD{Role::kDealer, {3}};
constexpr Millis kShort{100};

TEST(Channel, FramesArriveInOrderCountedHashedAndByPhase) {
  auto [a, b] = InProcessPair(kP0, kP1);
  a->Send(kHello, AsView("hello"));
  a->set_phase(Phase::kOnline);
  a->Send(kFirstRun, Bytes(1000));
  EXPECT_EQ(b->Recv(kHello, 5), Bytes({'h', 'e', 'l', 'l', 'o'}));
  b->set_phase(Phase::kOffline);
  EXPECT_EQ(b->RecvExact(kFirstRun, 1000).size(), 1000u);
  EXPECT_EQ(a->traffic(Phase::kControl).bytes_sent, 13u);
  EXPECT_EQ(a->traffic(Phase::kOnline).bytes_sent, 1008u);
  EXPECT_EQ(a->traffic(Phase::kOnline).frames_sent, 1u);
  EXPECT_EQ(b->traffic(Phase::kControl).bytes_received, 13u);
  EXPECT_EQ(b->traffic(Phase::kOffline).bytes_received, 1008u);
  EXPECT_EQ(a->Transcript().first, b->Transcript().second);
  EXPECT_NE(a->Transcript().first, b->Transcript().first);
  EXPECT_EQ(a->exporter(), b->exporter());
  EXPECT_EQ(b->peer().key, kP0.key);
}

// Short frames, and long ones, which a thread tags. A buffer may be reused as soon as it is released.
TEST(Channel, TagsOfFramesThatCameAreThoseOfFramesThatLeft) {
  const Hash keys[] = {{1}, {2}};
  std::vector<std::pair<Hash, Hash>> seen;
  for (bool answers : {false, true}) {
    auto [a, b] = InProcessPair(kP0, kP1);
    a->TagFrames(keys[0], keys[1]);
    b->TagFrames(keys[1], keys[0]);
    for (size_t n : {size_t{0}, size_t{5}, size_t{70'000}, size_t{9}, size_t{200'000}, size_t{64} << 10}) {
      const Bytes sent(n, uint8_t(n + 3));
      Bytes buffer(n);
      b->Post(kFirstRun, buffer);
      a->SendUpTo(kFirstRun, sent, n);
      b->RecvUpTo(n);
      EXPECT_EQ(buffer, sent);
      if (answers) {
        b->SendUpTo(kFirstRun, buffer, n);
        Bytes back(n);
        a->Post(kFirstRun, back);
        a->RecvUpTo(n);
        a->Release(back);
        std::fill(back.begin(), back.end(), uint8_t{0});
      }
      a->Release(sent);
      b->Release(buffer);
      std::fill(buffer.begin(), buffer.end(), uint8_t{0});
    }
    const auto ours = a->Transcript(), theirs = b->Transcript();
    EXPECT_EQ(ours.first, theirs.second);
    EXPECT_EQ(ours.second, theirs.first);
    seen.push_back(ours);
  }
  EXPECT_EQ(seen[0].first, seen[1].first);
  EXPECT_NE(seen[0].second, seen[1].second);
}

TEST(Channel, AnotherKindOrTooMuchOrTooLittleEndsTheSessionOnBothSides) {
  for (int bad = 0; bad < 3; ++bad) {
    auto [a, b] = InProcessPair(kP0, kP1);
    a->Send(bad == 0 ? kBye : kHello, Bytes(bad == 1 ? 17 : 15));
    EXPECT_TRUE(Fails(Cause::kPeer, "the model owner sent", [&] { b->RecvExact(kHello, 16); })) << bad;
    EXPECT_TRUE(Fails(Cause::kPeer, "the data owner received a frame that it did not expect", [&] {
      a->Recv(kHello, 9);
    })) << bad;
  }
}

TEST(Channel, ASilentPeerIsNamed) {
  auto [a, b] = InProcessPair(kP0, kD, kShort);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer was silent for 0.1 s", [&] { a->Recv(kHello, 9); }));
}

// The buffer may be freed then, while the session still reports to the peer why it ends. If it stayed posted, that
// would be a Bug.
TEST(Channel, ARoomThatWasNotFilledIsNotPostedAnyMore) {
  auto [a, b] = InProcessPair(kP0, kD, kShort);
  Bytes buffer(9);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer was silent", [&] { a->RecvInto(kChunk, buffer); }));
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer was silent", [&] { a->Recv(kChunk, 9); }));
  b->Send(kChunk, Bytes(8));
  EXPECT_TRUE(Fails(Cause::kPeer, "with 8 bytes where 9 were due", [&] { a->RecvInto(kChunk, buffer); }));
}

TEST(Channel, AGonePeerIsNamedAfterItsLastFrames) {
  auto [a, b] = InProcessPair(kP0, kP1);
  b->Send(kHello, {});
  EXPECT_FALSE(a->PeerGone());
  b.reset();
  EXPECT_FALSE(a->PeerGone());
  a->Recv(kHello, 0);
  EXPECT_TRUE(a->PeerGone());
  EXPECT_TRUE(Fails(Cause::kPeer, "the data owner ended the connection", [&] { a->Recv(kHello, 0); }));
  EXPECT_TRUE(Fails(Cause::kPeer, "the data owner ended the connection", [&] { a->Send(kHello, {}); }));
}

TEST(Channel, ARefusalReachesThePeerOnceAsItsSentence) {
  auto [a, b] = InProcessPair(kP0, kD);
  b->Refuse(Refusal::kBusy);
  b->Refuse(Refusal::kPlan);
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer is busy", [&] { a->Send(kHello, {}); }));
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer ended", [&] { a->Recv(kHello, 0); }));
  EXPECT_TRUE(Fails(Cause::kPeer, "the model owner ended", [&] { b->Send(kHello, {}); }));
}

TEST(Channel, GuardedTellsThePeer) {
  auto [a, b] = InProcessPair(kP0, kP1);
  EXPECT_THROW(Guarded(*a, [] { Fail(Cause::kInput, "no"); }), Error);
  EXPECT_TRUE(Fails(Cause::kPeer, "for a reason of its own", [&] { b->Recv(kHello, 0); }));
}

TEST(Refusal, EveryCodeHasItsOwnSentenceAndUnknownCodesReadAsGaveUp) {
  std::string known;
  for (uint16_t c = 0; c <= uint16_t(Refusal::kPin); ++c) {
    std::string s = Refused(Role::kData, c).what();
    EXPECT_EQ(known.find(s), std::string::npos) << s;
    known += s;
  }
  EXPECT_STREQ(Refused(Role::kData, 999).what(), Refused(Role::kData, 0).what());
  EXPECT_EQ(Refused(Role::kData, uint16_t(Refusal::kPlan)).cause(), Cause::kRefused);
}

TEST(Recorder, HoldsPeerFramesWholeAndDealerFramesAsHashes) {
  Scratch dir;
  Bytes secret(50, 7);
  {
    Recorder r(dir / "rec");
    auto [a, b] = InProcessPair(kP0, kP1);
    auto [c, d] = InProcessPair(kP0, kD);
    a->set_recorder(&r);
    c->set_recorder(&r);
    a->Send(kHello, AsView("abc"));
    d->Send(kChunk, secret);
    c->Recv(kChunk, 50);
  }
  std::ifstream f(dir / "rec", std::ios::binary);
  Bytes file((std::istreambuf_iterator<char>(f)), {});
  Writer w;
  w.Raw(AsView("SUFREC2\n"));
  w.Put(uint8_t{1});
  w.Put(uint8_t(Role::kData));
  w.Put(uint32_t{3});
  w.Put(uint16_t(kHello));
  w.Put(uint16_t{0});
  w.Raw(AsView("abc"));
  w.Put(uint8_t{0});
  w.Put(uint8_t(Role::kDealer));
  w.Put(uint32_t{50});
  w.Put(uint16_t(kChunk));
  w.Put(uint16_t{0});
  w.Raw(HashOf({secret}));
  EXPECT_EQ(file, w.bytes());
  EXPECT_TRUE(Fails(Cause::kResource, "record file", [&] { Recorder again(dir / "rec"); }));
}

}  // namespace
}  // namespace suf::net
