// Lanes that dial a broken peer again, and the file of the texts that are done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "suf/roles/lane_world_test.hpp"
#include "suf/roles/resume_file.hpp"

namespace suf::roles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr net::Millis kLong = std::chrono::hours{1};

// Breaks the first sessions of a P0 inside a run: their serials are burnt.
struct BreaksRuns {
  explicit BreaksRuns(int count) : left(count) {}
  auto Hook() {
    return [this](const PeerName&, const store::Job&, uint64_t serial) {
      const std::lock_guard l(m);
      serials.insert(serial);
      if (left-- > 0) Fail(Cause::kPeer, "the model owner breaks");
    };
  }
  std::mutex m;
  int left;
  std::set<uint64_t> serials;
};

TEST(RetriedLanes, ATextOfABrokenSessionRunsUnderANewSerial) {
  BreaksRuns breaks(2);
  LaneWorld w({.runs = breaks.Hook()});
  Lanes::Options options = w.Options(1);
  options.retry = kLong;
  std::vector<net::Millis> pauses;
  options.retries = [&](const Error& e, net::Millis pause) {
    EXPECT_EQ(e.cause(), Cause::kPeer);
    pauses.push_back(pause);
  };
  Lanes lanes = w.Begin(std::move(options));
  for (int n : {1, 2, 3}) w.Submit(lanes, n);
  lanes.Wait();
  lanes.Close();
  EXPECT_THAT(w.results.ends, ElementsAre(1, 2, 3));
  EXPECT_THAT(w.results.errors, IsEmpty());
  EXPECT_EQ(breaks.serials.size(), 5u) << "each run has a serial of its own";
  ASSERT_EQ(pauses.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_GE(pauses[i], Lanes::kFirstPause * (i + 1) / 2);
    EXPECT_LT(pauses[i], Lanes::kFirstPause * (i + 1) * 3 / 2);
  }
}

TEST(RetriedLanes, APeerThatCannotBeReachedIsDialledAgain) {
  LaneWorld w;
  Lanes::Options options = w.Options(2);
  std::atomic<int> refused{3};
  options.dial = [&, dial = options.dial](std::stop_token stop, size_t server) {
    if (refused-- > 0) Fail(Cause::kPeer, "no process answers");
    return dial(stop, server);
  };
  options.retry = kLong;
  Lanes lanes = w.Begin(std::move(options));
  for (int n : {1, 2, 3, 4}) w.Submit(lanes, n);
  lanes.Wait();
  lanes.Close();
  EXPECT_THAT(w.results.ends, testing::UnorderedElementsAre(1, 2, 3, 4));
}

// A refusal is final, and so is an error of this machine.
TEST(RetriedLanes, OnlyErrorsOfAPeerAreTriedAgain) {
  for (const Cause cause : {Cause::kRefused, Cause::kInput, Cause::kResource}) {
    LaneWorld w;
    Lanes::Options options = w.Options(1);
    options.dial = [&](std::stop_token, size_t) -> std::unique_ptr<net::Channel> { Fail(cause, "not today"); };
    options.retry = kLong;
    options.retries = [](const Error&, net::Millis) { ADD_FAILURE() << "it is tried again"; };
    Lanes lanes = w.Begin(std::move(options));
    w.Submit(lanes, 1);
    lanes.Wait();
    EXPECT_THAT(w.results.errors, ElementsAre("not today"));
  }
}

// Once the time is over, each further text fails at its first attempt.
TEST(RetriedLanes, TheTimeIsThatOfTheWorkerSinceItsLastSuccess) {
  LaneWorld w;
  Lanes::Options options = w.Options(1);
  int dials = 0;
  options.dial = [&](std::stop_token, size_t) -> std::unique_ptr<net::Channel> {
    ++dials;
    Fail(Cause::kPeer, "no process answers");
  };
  options.retry = Lanes::kFirstPause * 2;
  Lanes lanes = w.Begin(std::move(options));
  for (int n : {1, 2, 3}) w.Submit(lanes, n);
  lanes.Wait();
  lanes.Close();
  EXPECT_THAT(w.results.ends, ElementsAre(-1, -2, -3));
  EXPECT_GE(dials, 4) << "the first text had two attempts";
  EXPECT_LE(dials, 6);
}

TEST(RetriedLanes, CloseEndsAPauseAtOnce) {
  LaneWorld w;
  Lanes::Options options = w.Options(1);
  std::promise<void> pausing;
  options.dial = [](std::stop_token, size_t) -> std::unique_ptr<net::Channel> {
    Fail(Cause::kPeer, "no process answers");
  };
  options.retry = kLong;
  options.retries = [&, once = std::make_shared<std::once_flag>()](const Error&, net::Millis) {
    std::call_once(*once, [&] { pausing.set_value(); });
  };
  Lanes lanes = w.Begin(std::move(options));
  w.Submit(lanes, 1);
  pausing.get_future().wait();
  lanes.Close();
  EXPECT_THAT(w.results.errors, ElementsAre(testing::HasSubstr("this text had not begun when")));
}

TEST(RetriedLanes, ATextKeepsItsDealer) {
  BreaksRuns breaks(2);
  LaneWorld w({.runs = breaks.Hook()}, true);
  Lanes::Options options = w.Options(2);
  options.retry = kLong;
  Lanes lanes = w.Begin(std::move(options), w.List(Role::kData));
  w.Submit(lanes, 1);
  lanes.Wait();
  lanes.Close();
  EXPECT_THAT(w.results.ends, ElementsAre(1));
  EXPECT_EQ(std::max(w.dealt[0].load(), w.dealt[1].load()), 3);
  EXPECT_EQ(std::min(w.dealt[0].load(), w.dealt[1].load()), 0) << "no run is with the other dealer";
}

// ---- the file

const Hash kPlan{3}, kWeights{4};

std::vector<model::Ids> ThreeTexts() { return {TextOf(1), TextOf(2), TextOf(1)}; }

Embedding SomeResult(uint64_t serial) {
  Embedding e;
  e.serial = serial;
  e.count = 3;
  e.texts = 2;
  e.variant = 1;
  e.place = 1;
  e.scale = 20;
  e.divisor = 3;
  e.bits = 37;
  e.words = {0, 1, (uint64_t{1} << 37) - 1, uint64_t{1} << 36};
  return e;
}

struct KeptFile {
  Scratch dir;
  std::string path = dir / "done";
  ResumeFile Open() const { return ResumeFile(path, kPlan, ThreeTexts()); }
  std::string Bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
};

TEST(KeptTexts, ResultsAndErrorsComeBackAsTheyWere) {
  KeptFile f;
  {
    ResumeFile file = f.Open();
    EXPECT_THAT(file.Left(), ElementsAre(0u, 1u, 2u));
    file.UseWeights(kWeights);
    file.Add(2, SomeResult(7));
    file.AddError(0, Error(Cause::kResource, "no memory for the result"));
    EXPECT_EQ(file.done(), 2u);
    EXPECT_TRUE(Fails(Cause::kInput, "is in use by another process", [&] { f.Open(); }));
  }
  struct stat s {};
  ASSERT_EQ(stat(f.path.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  ResumeFile file = f.Open();
  EXPECT_THAT(file.Left(), ElementsAre(1u));
  const auto result = file.ResultOf(2);
  const Embedding &e = std::get<Embedding>(result), was = SomeResult(7);
  EXPECT_EQ(e.Integers(), was.Integers());
  EXPECT_EQ(e.Values(), was.Values());
  EXPECT_EQ(std::tie(e.serial, e.count, e.texts, e.variant, e.place),
            std::tie(was.serial, was.count, was.texts, was.variant, was.place));
  const auto error = file.ResultOf(0);
  EXPECT_EQ(std::get<Error>(error).cause(), Cause::kResource);
  EXPECT_STREQ(std::get<Error>(error).what(), "no memory for the result");
  file.UseWeights(kWeights);
  EXPECT_TRUE(Fails(Cause::kRefused, "has other weights than those of the results", [&] { file.UseWeights(Hash{5}); }));
  file.Finish();
}

TEST(KeptTexts, BelongToOnePlanAndOneListOfTexts) {
  KeptFile f;
  f.Open().Add(0, SomeResult(1));
  EXPECT_TRUE(Fails(Cause::kInput, "results of another plan", [&] { ResumeFile(f.path, Hash{9}, ThreeTexts()); }));
  for (const std::vector<model::Ids>& other : {std::vector{TextOf(1), TextOf(2)},
                                               {TextOf(2), TextOf(1), TextOf(1)},
                                               {TextOf(1), TextOf(2), TextOf(1), TextOf(1)}})
    EXPECT_TRUE(Fails(Cause::kInput, "results of other texts", [&] { ResumeFile(f.path, kPlan, other); }));
  for (const char* bytes :
       {"x", "no results at all, but a text that is longer than the header of such a file, 80 bytes"}) {
    f.Write(bytes);
    EXPECT_TRUE(Fails(Cause::kInput, "holds no results of suf", [&] { f.Open(); }));
    EXPECT_EQ(f.Bytes(), bytes) << "a file of somebody else was changed";
  }
}

// A crash cuts the file anywhere. Whole records count, and the file goes on.
TEST(KeptTexts, ACutRecordDoesNotCount) {
  KeptFile f;
  std::vector<size_t> ends;
  {
    ResumeFile file = f.Open();
    ends.push_back(f.Bytes().size());
    file.UseWeights(kWeights);
    ends.push_back(f.Bytes().size());
    for (size_t i = 0; i < 2; ++i) {
      file.Add(i, SomeResult(i));
      ends.push_back(f.Bytes().size());
    }
  }
  const std::string whole = f.Bytes();
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes)
    for (const size_t zeros : {size_t{0}, size_t{5}}) {
      f.Write(whole.substr(0, bytes) + std::string(zeros, '\0'));
      if (zeros && bytes < ends[0]) continue;  // another header
      ResumeFile file = f.Open();
      const size_t expected = bytes < ends[2] ? 0 : bytes < ends[3] ? 1 : 2;
      ASSERT_EQ(file.done(), expected) << bytes;
      file.Add(2, SomeResult(9));
      ASSERT_EQ(file.done(), expected + 1);
    }
}

TEST(KeptTexts, ADamagedRecordInTheMiddleIsAnError) {
  KeptFile f;
  {
    ResumeFile file = f.Open();
    for (size_t i = 0; i < 3; ++i) file.Add(i, SomeResult(i));
  }
  const std::string whole = f.Bytes();
  const size_t record = (whole.size() - 80) / 3;
  for (size_t at = 80; at < 80 + record; ++at) {
    std::string bytes = whole;
    bytes[at] = char(bytes[at] ^ 0x40);
    f.Write(bytes);
    EXPECT_TRUE(Fails(Cause::kResource, "is damaged at byte 80", [&] { f.Open(); })) << at;
  }
}

TEST(KeptTexts, ADiskThatRefusesEndsTheBatch) {
  KeptFile f;
  ResumeFile file = f.Open();
  file.Add(0, SomeResult(1));
  rlimit limit{}, none{f.Bytes().size(), RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, SIG_IGN);
  none.rlim_max = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &none);
  file.Add(1, SomeResult(2));
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_TRUE(file.failed());
  EXPECT_EQ(file.done(), 1u);
  EXPECT_TRUE(Fails(Cause::kResource, f.path, [&] { file.Finish(); }));
}

}  // namespace
}  // namespace suf::roles
