// Sessions of many frames, and sessions that idle.
#include <malloc.h>

#include <fstream>
#include <future>

#include "suf/base/file.hpp"
#include "suf/net/internal/testing.hpp"

namespace suf::net {
namespace {

constexpr uint32_t kWrap = 1 << 16, kManyFrames = kWrap + 200;  // sequence numbers have 16 bits
constexpr size_t kLongFrame = 20 << 10;                         // goes over all streams

// The payload of frame i: long ones lie around the wrap.
Bytes NumberedPayload(uint32_t i) {
  Writer w;
  w.Put(i);
  Bytes b = w.Take();
  if (i + 8 >= kWrap && i < kWrap + 8) b.resize(kLongFrame, uint8_t(i));
  return b;
}

// Sends the frames, or receives them. Around the wrap, buffers are posted several frames ahead.
void SendMany(Channel& ch) {
  for (uint32_t i = 0; i < kManyFrames; ++i) ch.Send(kFirstRun, NumberedPayload(i));
}
void ReceiveMany(Channel& ch) {
  constexpr uint32_t kAhead = 6;
  std::deque<Bytes> posted;
  const auto post = [&](uint32_t i) {
    posted.emplace_back(NumberedPayload(i).size());
    ch.Post(kFirstRun, posted.back());
  };
  for (uint32_t i = 0; i < kManyFrames; ++i) {
    const Bytes due = NumberedPayload(i);
    if (i + 32 < kWrap || i >= kWrap + 32) {
      ASSERT_EQ(ch.RecvExact(kFirstRun, due.size()), due) << i;
      continue;
    }
    for (uint32_t next = i + uint32_t(posted.size()); next < std::min(i + kAhead, kWrap + 32); ++next) post(next);
    ch.RecvUpTo(due.size() / 2);
    ch.RecvUpTo(due.size());
    ASSERT_EQ(posted.front(), due) << i;
    ch.Release(posted.front());
    posted.pop_front();
  }
}

// One end of a session whose sequence numbers wrap in both directions.
void TalkLong(Channel& ch, bool first, const Hash& own, const Hash& peer) {
  ch.Advance(PeerState::kAccepted);
  ch.TagFrames(own, peer);
  first ? SendMany(ch) : ReceiveMany(ch);
  first ? ReceiveMany(ch) : SendMany(ch);
}

// Compares the ends of such a session, each {transcript, traffic}.
using LongEnd = std::pair<std::pair<Hash, Hash>, Traffic>;
LongEnd EndOf(Channel& ch) { return {ch.Transcript(), ch.traffic(Phase::kControl)}; }
void ExpectEqualEnds(const LongEnd& one, const LongEnd& other) {
  EXPECT_EQ(one.first.first, other.first.second);
  EXPECT_EQ(one.first.second, other.first.first);
  const uint64_t bytes = uint64_t{kManyFrames} * (kFrameHeader + 4) + 16 * (kLongFrame - 4);
  for (const Traffic& t : {one.second, other.second}) {
    EXPECT_EQ(t.frames_sent, kManyFrames);
    EXPECT_EQ(t.frames_received, kManyFrames);
    EXPECT_EQ(t.bytes_sent, bytes);
    EXPECT_EQ(t.bytes_received, bytes);
  }
}

TEST(LongSession, HasMoreFramesThanSequenceNumbersInProcess) {
  auto [a, b] = InProcessPair({Role::kModel, {1}}, {Role::kData, {2}}, kAmple);
  auto other = std::async(std::launch::async, [&, ch = b.get()] { TalkLong(*ch, false, {4}, {3}); });
  TalkLong(*a, true, {3}, {4});
  other.get();
  ExpectEqualEnds(EndOf(*a), EndOf(*b));
}

TEST(LongSession, HasMoreFramesThanSequenceNumbersOverTls) {
  constexpr int kStreams = 4;  // of the long frames
  std::promise<LongEnd> end;
  TestServer server(
      [&](Channel& ch) {
        TalkLong(ch, false, {4}, {3});
        end.set_value(EndOf(ch));
      },
      kAmple, {Role::kData}, kStreams);
  auto ch = Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple, {}, kStreams);
  TalkLong(*ch, true, {3}, {4});
  auto theirs = end.get_future();
  ExpectEqualEnds(EndOf(*ch), theirs.get());
}

constexpr size_t kTagged = 256 << 10;  // bytes of a frame that a thread of the channel tags

// Exchanges frames as an inference does.
void ExchangeLong(Channel& ch, bool first, uint8_t seed) {
  for (uint8_t i = 0; i < 2; ++i) {
    Bytes out(kTagged, uint8_t(seed + i)), in(kTagged);
    ch.Post(kFirstRun, in);
    if (first) ch.SendUpTo(kFirstRun, out, out.size());
    ch.RecvUpTo(in.size());
    if (!first) ch.SendUpTo(kFirstRun, out, out.size());
    EXPECT_EQ(in, out);
    ch.Release(in);
    ch.Release(out);
  }
}

// Uses so much stack as deep calls of an inference would.
__attribute__((noinline)) uint8_t UseStack(size_t bytes) {
  constexpr size_t kEach = 16 << 10;
  volatile uint8_t some[kEach];
  for (size_t i = 0; i < kEach; i += 1 << 10) some[i] = uint8_t(i);
  return uint8_t((bytes > kEach ? UseStack(bytes - kEach) : 0) + some[kEach / 2]);
}

// Returns the resident memory of this process, without pages that the allocator could return.
double ResidentMb() {
  malloc_trim(0);
  std::ifstream f("/proc/self/statm");
  long all = 0, resident = 0;
  f >> all >> resident;
  return double(resident) * double(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Runs so many sessions at once. Each exchanges long frames, idles, and exchanges them again. Returns the memory of an
// idle session in MB, both ends together.
double RunIdleSessions(int sessions_at_once, int streams) {
  std::atomic<int> idle{0}, over{0};
  TestServer server(
      [&](Channel& ch) {
        ch.TagFrames({4}, {3});
        for (uint8_t seed : {uint8_t{1}, uint8_t{9}}) {
          ch.Advance(PeerState::kEngaged);
          ExchangeLong(ch, false, seed);
          (void)UseStack(512 << 10);
          ch.Advance(PeerState::kAccepted);
          ++idle;
          EXPECT_TRUE(ch.Recv(kGo, 0).empty());
        }
        ++over;
      },
      kAmple, {Role::kData}, streams);
  std::vector<std::unique_ptr<Channel>> sessions;
  const auto call = [&] {
    sessions.push_back(Dial(Certs::Of(Role::kData), server.address(), Role::kDealer, kAmple, {}, streams));
    Channel& ch = *sessions.back();
    ch.Advance(PeerState::kAccepted);
    ch.TagFrames({3}, {4});
    ExchangeLong(ch, true, 1);
    ch.Advance(PeerState::kAccepted);
  };
  const auto reaches = [](const std::atomic<int>& count, int expected) {
    const auto end = std::chrono::steady_clock::now() + kAmple;
    while (count < expected && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(Millis{1});
    EXPECT_EQ(count, expected);
  };
  call();  // allocators and libraries make their own data for the first one
  reaches(idle, 1);
  const double before = ResidentMb();
  for (int i = 0; i < sessions_at_once; ++i) call();
  reaches(idle, 1 + sessions_at_once);
  const double each = (ResidentMb() - before) / sessions_at_once;
  for (const auto& ch : sessions) {
    ch->Send(kGo, {});
    ExchangeLong(*ch, true, 9);
    ch->Send(kGo, {});
  }
  reaches(over, 1 + sessions_at_once);
  server.Join();
  EXPECT_TRUE(server.errors.empty());
  return each;
}

// The limit for both ends together, in MB. Sanitizers keep freed memory and have shadows of their own.
constexpr double kMbOfBothEnds = kSanitized ? 64 : 0.6;

TEST(IdleSession, TakesLittleMemoryAndWorksAgain) {
  const double each = RunIdleSessions(24, 1);
  RecordProperty("kb_of_both_ends", int(each * 1024));
  std::printf("an idle session takes %.0f KiB at both ends together\n", each * 1024);
  EXPECT_LE(each, kMbOfBothEnds);
}

TEST(IdleSession, OfSeveralStreamsWorksAgain) { (void)RunIdleSessions(2, 4); }

}  // namespace
}  // namespace suf::net
