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

}  // namespace
}  // namespace suf
