// Lanes over several dealers, and over several processes of the model owner.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "suf/roles/lane_world_test.hpp"
#include "suf/store/draws.hpp"

namespace suf::roles {
namespace {

using testing::ElementsAre;

// A world with two listed dealers.
struct SpreadWorld : LaneWorld {
  explicit SpreadWorld(Server::Options o = {}) : LaneWorld(std::move(o), true) {}
  Lanes BeginListed(int parallel) { return Begin(Options(parallel), List(Role::kData)); }
  // Submits texts of these numbers, and waits. Returns those that failed.
  std::vector<int> Failing(Lanes& lanes, const std::vector<int>& numbers) {
    results.ends.clear();
    for (int n : numbers) Submit(lanes, n);
    lanes.Wait();
    std::vector<int> failed;
    for (int n : results.ends)
      if (n < 0) failed.push_back(-n);
    std::sort(failed.begin(), failed.end());
    return failed;
  }
};

const std::vector<int> kNumbers = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5};

TEST(SpreadLanes, EachTextRunsWithTheDealerThatItDrew) {
  SpreadWorld w;
  Lanes lanes = w.BeginListed(4);
  EXPECT_THAT(w.Failing(lanes, kNumbers), ElementsAre());
  lanes.Close();
  EXPECT_EQ(w.results.ends.size(), kNumbers.size());
  EXPECT_EQ(w.dealt[0] + w.dealt[1], int(kNumbers.size()));
  size_t of[2] = {};
  for (const store::LaneId& id : w.home[1].Lanes({})) {
    of[0] += store::BelongsTo(id, kId[int(Role::kDealer)].key);
    of[1] += store::BelongsTo(id, kSecondDealer.key);
  }
  EXPECT_EQ(of[0] + of[1], w.home[1].Lanes({}).size());
  for (int i : {0, 1}) EXPECT_EQ(of[i] > 0, w.dealt[i] > 0) << "all texts drew one dealer: once in 2^19";
  EXPECT_EQ(w.set_up, 1) << "the masked weights come once";
}

// A model owner could move texts to a dealer by refusing the others, if a text drew again.
TEST(SpreadLanes, ATextNeverDrawsAgain) {
  SpreadWorld w;
  w.cut_off = true;
  std::vector<int> failed;
  {
    Lanes lanes = w.BeginListed(2);
    failed = w.Failing(lanes, kNumbers);
    for (const std::string& e : w.results.errors) EXPECT_EQ(e, "the second dealer cannot be reached");
    EXPECT_EQ(w.dealt[0], int(kNumbers.size() - failed.size())) << "other texts run";
    for (int turn = 0; turn < 2; ++turn) EXPECT_EQ(w.Failing(lanes, failed), failed) << "in this process";
  }
  Lanes lanes = w.BeginListed(2);
  EXPECT_EQ(w.Failing(lanes, failed), failed) << "with other lanes";
  w.cut_off = false;
  EXPECT_THAT(w.Failing(lanes, failed), ElementsAre());
  EXPECT_EQ(w.dealt[1], int(failed.size()));
  EXPECT_EQ(w.dealt[0], int(kNumbers.size() - failed.size()));
  lanes.Close();
}

TEST(SpreadLanes, TextsWithAuditsAreSpreadAsWell) {
  SpreadWorld w;
  Lanes::Options options = w.Options(3);
  options.client.audits = 5;
  options.batch = 2;
  EXPECT_EQ(w.Run(std::move(options), w.List(Role::kData), kNumbers), kNumbers.size());
  EXPECT_EQ(w.results.ends.size(), kNumbers.size());
  EXPECT_TRUE(w.results.errors.empty());
  const store::Draws left(w.home[1], {kId[int(Role::kDealer)].key, kSecondDealer.key});
  EXPECT_EQ(std::filesystem::file_size(w.dir / "p1/draws"), 0u) << "each text has its result";
}

TEST(SpreadLanes, EachDealerNeedsASession) {
  SpreadWorld w;
  EXPECT_TRUE(Fails(Cause::kInput, "1 session is allowed and 2 dealers are listed", [&] { w.BeginListed(1); }));
}

// Counts connections by process of the model owner. All of them reach the same one.
Lanes::Options Spread(LaneWorld& w, int parallel, std::array<std::atomic<int>, 2>& dialled, std::atomic<int>& moves,
                      const bool& down) {
  Lanes::Options options = w.Options(parallel);
  options.servers = 2;
  options.dial = [&, dial = options.dial](std::stop_token stop, size_t server) {
    ++dialled.at(server);
    if (server == 0 && down) Fail(Cause::kPeer, "process 0 is gone");
    return dial(stop, server);
  };
  options.moves = [&](size_t server, const Error&) {
    EXPECT_EQ(server, 0u);
    ++moves;
  };
  return options;
}

TEST(SpreadLanes, SessionsAreSpreadOverProcesses) {
  LaneWorld w;
  std::array<std::atomic<int>, 2> dialled = {};
  std::atomic<int> moves{0};
  const bool down = false;
  const size_t texts = w.Run(Spread(w, 4, dialled, moves, down), {1, 2, 3, 4, 5});
  EXPECT_EQ(texts, 5u);
  for (int i : {0, 1}) EXPECT_EQ(dialled.at(size_t(i)), 2);
  int at[2] = {};
  for (const store::LaneId& id : w.home[1].Lanes({})) ++at[id[0] % 2];
  for (int i : {0, 1}) EXPECT_EQ(at[i], 2) << "a lane keeps its process";
  EXPECT_EQ(moves, 0);
}

TEST(SpreadLanes, SessionsOfALostProcessOpenAtAnother) {
  LaneWorld w;
  std::array<std::atomic<int>, 2> dialled = {};
  std::atomic<int> moves{0};
  const bool down = true;
  Lanes lanes = w.Begin(Spread(w, 4, dialled, moves, down));
  for (int n : {1, 2, 3, 4, 5}) w.Submit(lanes, n);
  lanes.Wait();
  lanes.Close();
  EXPECT_TRUE(w.results.errors.empty());
  EXPECT_EQ(w.results.ends.size(), 5u);
  EXPECT_GE(moves, 1);
  EXPECT_EQ(dialled[0], moves);
}

// The rules of P0 fail before the first claim, as if its database were gone.
struct FailingRules : proto::OwnerPolicy {
  explicit FailingRules(int failures) : left(failures) {}
  void Check(const Hash&) override {}
  std::shared_ptr<void> Admit(const Hash&) override { return nullptr; }
  proto::TurnGroup GroupOf(const Hash& owner) noexcept override { return {owner, 8}; }
  std::unique_ptr<proto::JobTicket> Begin(const proto::JobNotice&) override {
    if (left-- > 0) Fail(Cause::kResource, "nothing can be counted");
    return nullptr;
  }
  std::shared_ptr<void> Wait(const Hash&) noexcept override { return nullptr; }
  void Refused(const Hash&, const std::optional<store::Job>&, net::Refusal) noexcept override {}
  std::atomic<int> left;
};

TEST(SpreadLanes, ATextThatSpentNothingMovesOnce) {
  for (const int failures : {1, 2}) {
    FailingRules rules(failures);
    LaneWorld w({.policy = &rules});
    std::array<std::atomic<int>, 2> dialled = {};
    std::atomic<int> moves{0};
    const bool down = false;
    Lanes lanes = w.Begin(Spread(w, 1, dialled, moves, down));
    w.Submit(lanes, 1);
    lanes.Wait();
    lanes.Close();
    EXPECT_THAT(w.results.ends, ElementsAre(failures == 1 ? 1 : -1));
    EXPECT_EQ(moves, 1);
    EXPECT_EQ(w.ran.size(), failures == 1 ? 1u : 0u);
  }
}

}  // namespace
}  // namespace suf::roles
