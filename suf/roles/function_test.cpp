// A function between a server and a client, with the dealer, over channels in one process. Every origin and ending, one
// output channel and several, several calls and audits, and the refusals of each role.
#include "suf/roles/function.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <random>

#include "suf/base/scratch_test.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/func/library.hpp"
#include "suf/func/text.hpp"
#include "suf/reference/clear.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/links_test.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::roles {
namespace {

using gates::Origin;
using gates::To;
using Words = std::vector<uint64_t>;

const char* const kMixed =
    "suf mixed domain 12 ring 20 outputs 2 degree 1\npoly 0 : 5 3 | 7 0\npoly 1000 : -2 -9 | 0 1\nend 4096\n"
    "formula lt 17\nchannel signed 20 0 y\nchannel bit 1 0 small\nchannel unsigned 12 1 z\n";

gates::FunctionFile FileOf(const std::string& text, const std::string& lowering, Origin from, To to) {
  gates::FunctionFile file{{func::ParseFunction(text), {}, from, to}, 64};
  file.plan.choice = gates::ChoiceOf(file.plan.f, lowering);
  return gates::ParseFile(gates::Print(file));  // as each role reads it
}

// The dealer runs on the reference backend, the parties on packed.
struct FunctionWorld {
  explicit FunctionWorld(const gates::FunctionFile& file, Client::Options options = {}, uint32_t ahead = 1) {
    Dealer::Options deal;
    deal.service.partner_wait = net::Millis{20'000};
    deal.service.ahead = store::JobOf(5);
    deal.service.ahead_count = ahead;
    for (int r = 0; r < 3; ++r) engine[r].emplace(file, r ? *packed : *clear);
    dealer.emplace(*engine[0], dir / "dealer", std::move(deal));
    options.keys.ahead = ahead;
    client.emplace(*engine[2], store[1], links.Dial(Role::kData), std::move(options));
  }
  // Called when P0 writes its result, before `learned` has it.
  std::function<void()> writes = [] {};
  // Starts P0 with these values.
  void Serve(const Words& values, uint32_t ahead = 1) {
    Server::Options options;
    options.keys.ahead = ahead;
    options.audited = [this](const store::Job&, uint64_t) { ++audited; };
    server.emplace(*engine[1],
                   ServerDataOf(engine[1]->plan(), WipedVector<uint64_t>(values.begin(), values.end()),
                                [this](uint32_t, Words words) {
                                  writes();
                                  learned.push_back(std::move(words));
                                }),
                   store[0], links.Dial(Role::kModel), std::move(options));
  }
  // Runs calls of P1 with these values in one session.
  std::vector<JobResult> Run(const std::vector<Words>& values) {
    std::vector<JobResult> out;
    links.Talk(*server, [&](net::Channel& ch) {
      Client::Session session(*client, ch);
      std::vector<JobRequest> jobs;
      for (const Words& v : values)
        jobs.push_back(Values(engine[2]->plan(), WipedVector<uint64_t>(v.begin(), v.end()), session.brought()));
      session.Run(std::move(jobs), [&](size_t, JobResult r) { out.push_back(std::move(r)); });
      session.End();
    });
    return out;
  }
  Scratch dir;
  std::unique_ptr<pfss::Backend> packed = cpu::MakePacked(exec::Default()), clear = reference::MakeClear();
  std::optional<FunctionEngine> engine[3];
  store::Home store[2] = {store::Home(dir / "p0"), store::Home(dir / "p1")};
  std::optional<Dealer> dealer;
  Links links{dealer};
  std::optional<Server> server;
  std::optional<Client> client;
  std::vector<Words> learned;
  int audited = 0;
};

// Returns the values of the function's evaluator, by channel, modulo 2^bits.
std::vector<Words> Meaning(const gates::FunctionPlan& plan, const Words& x) {
  const auto channels = func::ChannelsOf(plan.f);
  std::vector<Words> y(channels.size());
  for (uint64_t v : x)
    for (size_t c = 0; c < channels.size(); ++c)
      y[c].push_back(uint64_t(func::Channels(plan.f, v)[c]) & ring::Mask(channels[c].bits));
  return y;
}

TEST(Function, EveryOriginAndEndingGivesItsMeaningToWhomThePlanSays) {
  std::mt19937_64 rng(7);
  const Words x{0, 16, 17, 999, 1000, 4095, 2048};
  for (Origin from : {Origin::kP0, Origin::kP1, Origin::kShared})
    for (To to : {To::kP0, To::kP1, To::kBoth, To::kShared})
      for (const char* lowering : {"StepDcf, PackedCompare", "Index/digits, Digits"}) {
        SCOPED_TRACE(Str(gates::Name(from), " to ", gates::Name(to), " by ", lowering));
        const gates::FunctionFile file = FileOf(kMixed, lowering, from, to);
        FunctionWorld w(file, {.semi_honest = lowering[0] == 'I' && gates::RevealsToP0(file.plan)});
        const gates::FunctionPlan& plan = w.engine[0]->plan();
        Words own[2] = {x, x};
        if (from == Origin::kShared)
          for (size_t i = 0; i < x.size(); ++i) {
            own[0][i] = rng() & 4095;
            own[1][i] = (x[i] - own[0][i]) & 4095;
          }
        w.Serve(from == Origin::kP1 ? Words{} : own[0]);
        const std::vector<JobResult> ran = w.Run({own[1]});
        ASSERT_FALSE(w.links.served) << w.links.served->what();
        ASSERT_EQ(ran.size(), 1u);
        EXPECT_EQ(w.learned.size(), Learns(plan, 0));
        std::vector<Words> y[2];
        for (int p : {0, 1}) {
          const Words words = p ? ran[0].words : w.learned.empty() ? Words{} : w.learned[0];
          EXPECT_EQ(words.empty(), !Learns(plan, p));
          if (Learns(plan, p)) y[p] = gates::ChannelWords(plan, words, int64_t(x.size()));
        }
        const std::vector<Words> want = Meaning(plan, x);
        if (to == To::kShared) {
          for (size_t c = 0; c < want.size(); ++c)
            for (size_t i = 0; i < x.size(); ++i)
              EXPECT_EQ((y[0][c][i] + y[1][c][i]) & ring::Mask(func::ChannelsOf(plan.f)[c].bits), want[c][i]);
        } else {
          for (int p : {0, 1})
            if (Learns(plan, p)) {
              EXPECT_EQ(y[p], want);
            }
        }
        const pfss::Schedule& s = *ran[0].work->schedule;
        EXPECT_EQ(ran[0].bytes.p0, uint64_t(s.sent(0, true) + s.frame_count(0, true) * int(net::kFrameHeader)));
        EXPECT_EQ(ran[0].bytes.p1, uint64_t(s.sent(1, true) + s.frame_count(1, true) * int(net::kFrameHeader)));
      }
}

TEST(Function, RunsInARowTakeKeysFromTheStoreAndAuditsOpenOthers) {
  int audited = 0;
  Client::Options options{.audits = 2, .semi_honest = true};
  options.audited = [&] { ++audited; };
  FunctionWorld w(FileOf(kMixed, "Index/blocks, Blocks", Origin::kP1, To::kBoth), std::move(options), 3);
  w.Serve({}, 3);
  const std::vector<Words> x{{1, 2, 3, 4, 5}, {4000, 17, 16, 0, 9}};
  const std::vector<JobResult> ran = w.Run(x);
  ASSERT_EQ(ran.size(), 2u);
  for (size_t i : {0, 1}) {
    EXPECT_EQ(gates::ChannelWords(w.engine[0]->plan(), ran[i].words, 5), Meaning(w.engine[0]->plan(), x[i]));
    EXPECT_EQ(w.learned[i], ran[i].words);
  }
  EXPECT_EQ(audited, 2);
  EXPECT_EQ(w.audited, 2);
  EXPECT_TRUE(w.links.served == std::nullopt);
}

// With these lowerings P0's openings reach P1's bare share, so a P0 that alters them learns more than F(x).
TEST(Function, AClientRefusesASteeringBeforeAnythingIsSpent) {
  for (const char* lowering : {"Index/digits, PackedCompare", "StepDcf, Digits"})
    for (Origin from : {Origin::kP1, Origin::kShared})
      for (To to : {To::kP0, To::kBoth}) {
        SCOPED_TRACE(Str(gates::Name(from), " to ", gates::Name(to), " by ", lowering));
        FunctionWorld w(FileOf(kMixed, lowering, from, to));
        w.Serve(from == Origin::kP1 ? Words{} : Words{1, 2});
        EXPECT_TRUE(
            Fails(Cause::kRefused, "a P0 that alters its messages learns more of our values than the result", [&] {
              w.Run({{3, 4}});
            }));
        EXPECT_EQ(OnlyLane(w.store[1])->ledger().floor(), 0u);
        EXPECT_TRUE(w.learned.empty());
      }
}

// P0 waits with its result until P1 has its own. P0 uses its result only after P1's last frame.
TEST(Function, P0WritesWhatItLearnedWhenP1HearsNoMoreOfTheCall) {
  for (To to : {To::kP0, To::kBoth, To::kShared}) {
    SCOPED_TRACE(gates::Name(to));
    FunctionWorld w(FileOf(kMixed, "StepDcf, PackedCompare", Origin::kP1, to));
    std::promise<void> done;
    bool after = false;
    w.writes = [&] { after = done.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready; };
    w.Serve({});
    w.links.Talk(*w.server, [&](net::Channel& ch) {
      Client::Session session(*w.client, ch);
      std::vector<JobRequest> jobs;
      jobs.push_back(Values(w.engine[2]->plan(), WipedVector<uint64_t>{5, 2000}, session.brought()));
      session.Run(std::move(jobs), [&](size_t, JobResult r) {
        EXPECT_EQ(r.words.empty(), to == To::kP0);
        EXPECT_TRUE(w.learned.empty());
        done.set_value();  // the call is over for P1, and P0 has written nothing
      });
      session.End();
      EXPECT_EQ(w.learned.size(), 1u) << "the end of the session waits for P0";
    });
    EXPECT_TRUE(after);
    EXPECT_FALSE(w.links.served);
  }
}

// A P0 that cannot write its result does not keep P1 from its own.
TEST(Function, P1HasItsResultWhenP0CannotWriteItsOwn) {
  FunctionWorld w(FileOf(kMixed, "StepDcf, PackedCompare", Origin::kP1, To::kBoth));
  w.writes = [] { Fail(Cause::kResource, "cannot write"); };
  w.Serve({});
  std::vector<JobResult> ran;
  EXPECT_TRUE(Fails(Cause::kPeer, "", [&] {
    w.links.Talk(*w.server, [&](net::Channel& ch) {
      Client::Session session(*w.client, ch);
      std::vector<JobRequest> jobs;
      jobs.push_back(Values(w.engine[2]->plan(), WipedVector<uint64_t>{5, 2000}, session.brought()));
      session.Run(std::move(jobs), [&](size_t, JobResult r) { ran.push_back(std::move(r)); });
      session.End();
    });
  }));
  ASSERT_EQ(ran.size(), 1u);
  EXPECT_EQ(gates::ChannelWords(w.engine[0]->plan(), ran[0].words, 2), Meaning(w.engine[0]->plan(), {5, 2000}));
}

TEST(Function, AConstantNeedsNoFrameBetweenItsEnds) {
  for (To to : {To::kP1, To::kShared}) {
    FunctionWorld w(FileOf("suf c domain 8 ring 8 outputs 1 degree 0\npiece 0 : -3\nend 256\nchannel signed 8 0 y\n",
                           "Constant", Origin::kP1, to));
    w.Serve({});
    const std::vector<JobResult> ran = w.Run({{1, 2}});
    ASSERT_EQ(ran.size(), 1u);
    Words y = ran[0].words;
    if (to == To::kShared)
      for (size_t i = 0; i < 2; ++i) y[i] = (y[i] + w.learned.at(0)[i]) & 255;
    EXPECT_EQ(y, (Words{253, 253}));
  }
}

TEST(Function, PartiesWithAnotherNumberOfValuesAreRefused) {
  FunctionWorld w(FileOf(kMixed, "StepDcf, Digits", Origin::kShared, To::kP1));
  w.Serve({1, 2, 3});
  EXPECT_TRUE(Fails(Cause::kInput,
                    "the model owner brings another number of values than we do; give both parties the same number",
                    [&] {
                      w.Run({{1, 2}});
                    }));
  ASSERT_TRUE(w.links.served);
  EXPECT_THAT(w.links.served->what(), testing::HasSubstr("announced 2 values, we bring 3; give both parties as many"));
  EXPECT_EQ(OnlyLane(w.store[1])->ledger().floor(), 0u) << "nothing is spent";
  EXPECT_TRUE(Fails(Cause::kInput, "the call has 65 values; the plan covers 1 to 64; bring fewer",
                    [&] { w.Run({Words(65)}); }));
}

TEST(Function, AnotherEndingThanThePlansIsRefusedByEachRole) {
  const auto file = FileOf(kMixed, "StepDcf, Digits", Origin::kP1, To::kShared);
  for (To to : {To::kP0, To::kP1, To::kBoth, To::kShared}) {
    auto plan = file.plan;
    plan.to = to;
    auto clear = reference::MakeClear();
    Engine engine({.hash = {},
                   .most = 8,
                   .unit = {},
                   .ending = gates::EndingOf(file.plan),
                   .emit = [&](pfss::Trace& t, const store::Job& job) { gates::Emit(t, plan, job.tokens); },
                   .masked = {}},
                  *clear);
    if (to == To::kShared)
      EXPECT_EQ(engine.Compile(2)->trace.results(0).size(), 3u);
    else
      EXPECT_TRUE(Fails(Cause::kRefused, "it reveals or keeps other results than the plan names",
                        [&] { (void)engine.Compile(2); }));
  }
}

TEST(Function, RolesWithOtherPlansPartBeforeAnythingIsSpent) {
  FunctionWorld w(FileOf(kMixed, "StepDcf, Digits", Origin::kP1, To::kP1)),
      other(FileOf(kMixed, "StepDcf, Digits", Origin::kP1, To::kBoth));
  w.Serve({});
  other.Serve({});
  EXPECT_TRUE(Fails(Cause::kRefused, "holds another plan",
                    [&] { w.links.Talk(*other.server, [&](net::Channel& ch) { Client::Session s(*w.client, ch); }); }));
}

}  // namespace
}  // namespace suf::roles
