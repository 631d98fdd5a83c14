// Draws of a dealer for each text: random, durable, and kept until the text has a result.
#include "suf/store/draws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "suf/base/scratch_test.hpp"

namespace suf::store {
namespace {

const std::vector<Hash> kFour = {Hash{1}, Hash{2}, Hash{3}, Hash{4}};

Hash TagOf(const Draws& draws, int text) { return draws.TagOf(AsView(std::to_string(text))); }

size_t One(Draws& draws, int text) {
  const Hash tag = TagOf(draws, text);
  return draws.Draw(std::span(&tag, 1))[0];
}

// 4,000 draws among 4: each has 1,000 on average, with a standard deviation of 27.4.
TEST(Draws, EachDealerHasItsShare) {
  Scratch dir;
  Home home(dir / "s");
  Draws draws(home, kFour);
  std::vector<Hash> tags;
  for (int i = 0; i < 4000; ++i) tags.push_back(TagOf(draws, i));
  std::vector<int> count(4);
  for (const size_t d : draws.Draw(tags)) ++count.at(d);
  for (const int c : count) EXPECT_LT(std::abs(c - 1000), 6 * std::sqrt(4000 * 0.25 * 0.75)) << c;
}

// A text without a result has the same draw in its next run, also in another process.
TEST(Draws, ATextWithoutAResultKeepsItsDealer) {
  Scratch dir;
  std::vector<size_t> first;
  constexpr int kTexts = 64;
  {
    Home home(dir / "s");
    Draws draws(home, kFour);
    for (int i = 0; i < kTexts; ++i) {
      first.push_back(One(draws, i));
      draws.Keep(TagOf(draws, i), first.back());
      EXPECT_EQ(One(draws, i), first.back());
    }
  }
  for (int turn = 0; turn < 3; ++turn) {
    Home home(dir / "s");
    Draws draws(home, {kFour.rbegin(), kFour.rend()});  // the order of the list does not count
    for (int i = 0; i < kTexts; ++i) EXPECT_EQ(3 - One(draws, i), first[size_t(i)]) << turn;
  }
}

TEST(Draws, ATextWithAResultIsForgotten) {
  Scratch dir;
  constexpr int kTexts = 64;
  std::vector<size_t> first;
  {
    Home home(dir / "s");
    Draws draws(home, kFour);
    for (int i = 0; i < kTexts; ++i) {
      first.push_back(One(draws, i));
      draws.Settle(TagOf(draws, i), first.back());
    }
  }
  Home home(dir / "s");
  Draws draws(home, kFour);
  EXPECT_EQ(std::filesystem::file_size(dir / "s/draws"), 0u) << "a start leaves out what is settled";
  int same = 0;
  for (int i = 0; i < kTexts; ++i) same += One(draws, i) == first[size_t(i)];
  EXPECT_LT(same, kTexts);  // all equal: once in 2^128
}

// Equal texts that run at the same time draw apart. One that has no result leaves its draw to one later text.
TEST(Draws, EqualTextsDrawApart) {
  Scratch dir;
  Home home(dir / "s");
  Draws draws(home, kFour);
  const std::vector<Hash> tags(64, TagOf(draws, 1));
  const std::vector<size_t> drawn = draws.Draw(tags);
  EXPECT_GT(std::set<size_t>(drawn.begin(), drawn.end()).size(), 1u);
  draws.Keep(tags[0], drawn[0]);
  EXPECT_EQ(One(draws, 1), drawn[0]);
}

TEST(Draws, ADealerThatWasDroppedIsReported) {
  Scratch dir;
  Home home(dir / "s");
  Hash tag{};
  size_t drawn = 0;
  {
    Draws draws(home, kFour);
    drawn = One(draws, 1);
    tag = TagOf(draws, 1);
  }
  std::vector<Hash> others = kFour;
  others.erase(others.begin() + ssize_t(drawn));
  Draws draws(home, others);
  EXPECT_TRUE(Fails(Cause::kInput, "which is not listed now; list that dealer again", [&] { (void)One(draws, 1); }));
  (void)One(draws, 2);
}

// A torn record at the end is that of a draw that was never used. Other damage is reported.
TEST(Draws, ReadsAFileThatACrashLeft) {
  Scratch dir;
  Home home(dir / "s");
  size_t drawn = 0;
  {
    Draws draws(home, kFour);
    drawn = One(draws, 1);
  }
  std::ofstream(dir / "s/draws", std::ios::app | std::ios::binary) << std::string(64, '\1');
  {
    Draws draws(home, kFour);
    EXPECT_EQ(One(draws, 1), drawn);
  }
  std::ofstream(dir / "s/draws", std::ios::app | std::ios::binary) << std::string(65, '\7');
  EXPECT_TRUE(Fails(Cause::kResource, "is damaged at byte 65", [&] { Draws draws(home, kFour); }));
}

TEST(Draws, ThreadsDrawSideBySide) {
  Scratch dir;
  Home home(dir / "s");
  constexpr int kTexts = 50;
  {
    Draws draws(home, kFour);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kTexts; ++i) {
          const size_t dealer = One(draws, t * kTexts + i);
          if (i % 2)
            draws.Settle(TagOf(draws, t * kTexts + i), dealer);
          else
            draws.Keep(TagOf(draws, t * kTexts + i), dealer);
        }
      });
  }
  Draws draws(home, kFour);
  EXPECT_EQ(std::filesystem::file_size(dir / "s/draws"), 4 * kTexts / 2 * 65u);
}

}  // namespace
}  // namespace suf::store
