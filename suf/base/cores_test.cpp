#include "suf/base/cores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>

namespace suf {
namespace {

TEST(Cores, AreDividedAmongRunningInferences) {
  const int all = Cores();
  EXPECT_EQ(RunningCores(), all);
  {
    const RunningInference one;
    EXPECT_EQ(one.cores(), all);
    EXPECT_EQ(RunningCores(), all);
    std::optional<RunningInference> two(std::in_place);
    EXPECT_EQ(two->cores(), std::max(1, all / 2));
    EXPECT_EQ(RunningCores(), std::max(1, all / 2));
    EXPECT_EQ(one.cores(), all) << "it keeps what it got";
    two.reset();
    EXPECT_EQ(RunningCores(), all);
  }
  std::deque<RunningInference> many(size_t(all) + 3);
  EXPECT_EQ(many.back().cores(), 1);
}

// A peer that stops must not halve the cores of others until its time-out.
TEST(Cores, OfAStalledInferenceAreFree) {
  const int all = Cores();
  RunningInference stalled;
  const auto now = RunningInference::Clock::now();
  stalled.Wait(now - RunningInference::kStalled * 2);
  EXPECT_EQ(RunningInference().cores(), all);
  stalled.Resume();
  EXPECT_EQ(RunningInference().cores(), std::max(1, all / 2));
  stalled.Wait(now + std::chrono::hours(1));  // its wait has just begun
  EXPECT_EQ(RunningInference().cores(), std::max(1, all / 2));
}

TEST(CoreContention, LastsAfterTwoLossesOfAPollingThread) {
  using namespace std::chrono_literals;
  const CoreContention::Clock::time_point start{1h};
  CoreContention one_pause, rare, contention;
  for (auto at : {start, start + 1ms, start + 1900us}) one_pause.Lost(at);
  EXPECT_FALSE(one_pause.IsAt(start + 2ms)) << "all cores stopped once";
  for (auto at : {start, start + 20ms}) rare.Lost(at);
  EXPECT_FALSE(rare.IsAt(start + 20ms));
  for (auto at : {start, start + 3ms}) contention.Lost(at);
  EXPECT_TRUE(contention.IsAt(start + 3ms));
  EXPECT_TRUE(contention.IsAt(start + 202ms));
  EXPECT_FALSE(contention.IsAt(start + 203ms));
  contention.Lost(start + 210ms);
  EXPECT_FALSE(contention.IsAt(start + 210ms)) << "the loss before is long ago";
  contention.Lost(start + 215ms);
  EXPECT_TRUE(contention.IsAt(start + 215ms));
}

}  // namespace
}  // namespace suf
