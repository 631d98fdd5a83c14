// Tests endings of a trace: one value or several, learned by either party or by both, and kept shares. The halves of
// kept shares are PRG words, the dealer's words, constants or sums. Every backend gives the same words.
#include "suf/backends/rig_test.hpp"
#include "suf/pfss/dag.hpp"

namespace suf::backends {
namespace {

TEST(Endings, KeptSharesAreTheValueAndSendNothing) {
  Fixture f;
  constexpr int64_t kCount = 37;
  SharedWire<kPub> x = f.Wire1("x", {kCount}, 13);
  Dealt word = f.t.deal(Lift(x.r) * 3, 20);
  Const nothing = f.t.constant({0}, {});
  Const zeros{&f.t, f.t.fn(Op::kBroadcast, {nothing.id()}, {kCount})};
  f.t.keep(Sh(word));                                           // a PRG word and a dealt one; no other node reads them
  f.t.keep(Low(Sh(word), 7));                                   // narrower
  f.t.keep({Low(zeros, 13) + Low(x.hat, 13), Low(zeros, 13)});  // public and constant
  Sh product = Sh(word) * x.hat;
  f.t.keep(product);
  f.t.reveal<1>(product);
  f.t.reveal<0>(Low(Sh(word), 5));
  f.t.reveal<1>(Low(Sh(word), 6));
  run::PairRun run = Compare(f);
  Schedule s(f.t);
  LintReport lint = Lint(s);
  EXPECT_EQ(lint.results, 3);
  EXPECT_EQ(f.t.result(0), -1);  // more than one value
  EXPECT_EQ(f.t.results(0).size(), 5u);
  EXPECT_EQ(f.t.results(1).size(), 6u);
  EXPECT_EQ(run.result[0].size(), 5u * kCount);
  auto at = [&](int p, size_t value, size_t i) { return run.result[size_t(p)][value * kCount + i]; };
  for (size_t i = 0; i < kCount; ++i) {
    const uint64_t hat = (at(0, 2, i) + at(1, 2, i)) & ring::Mask(13), r = (hat - f.given["x"][i]) & ring::Mask(13),
                   word_i = 3 * r & ring::Mask(20);
    EXPECT_EQ((at(0, 0, i) + at(1, 0, i)) & ring::Mask(20), word_i);
    EXPECT_EQ((at(0, 1, i) + at(1, 1, i)) & ring::Mask(7), word_i & ring::Mask(7));
    EXPECT_EQ((at(0, 3, i) + at(1, 3, i)) & ring::Mask(13), word_i * hat & ring::Mask(13));
    EXPECT_EQ(at(1, 4, i), word_i * hat & ring::Mask(13));
    EXPECT_EQ(at(0, 4, i), word_i & ring::Mask(5));
    EXPECT_EQ(at(1, 5, i), word_i & ring::Mask(6));
  }
}

TEST(Endings, AreInTheDigests) {
  enum End { kKept, kLearned, kTwice };
  auto digests = [](End end) {
    Trace t;
    SharedWire<kPub> x = t.give<1>(t.input<kP1>("x", {4}, 12, 0), 12, "x");
    Sh y = Low(Sh(t.deal(Lift(x.r) * 3, 12)), 12);
    if (end == kKept)
      t.keep(y);
    else
      t.reveal<0>(y);
    if (end == kTwice) t.keep(y);
    t.close();
    Schedule s(t);
    EXPECT_EQ(Lint(s).results, end != kKept);
    // A kept share is no message, and nothing here waits for one.
    EXPECT_EQ(s.frames().size(), end == kKept ? 0u : 1u);
    return std::pair{t.digest(), DagDigest(t)};
  };
  auto kept = digests(kKept), learned = digests(kLearned), twice = digests(kTwice);
  EXPECT_NE(kept.first, learned.first);
  EXPECT_NE(kept.second, learned.second);
  EXPECT_NE(twice.first, learned.first);
  EXPECT_NE(twice.second, learned.second);
}

// A bare message next to a kept share is found, because only a learned result excuses one.
TEST(Endings, AKeptShareExcusesNoMessage) {
  Trace t;
  SharedWire<kPub> x = t.give<1>(t.input<kP1>("x", {4}, 12, 0), 12, "x");
  Dealt word = t.deal(Lift(x.r) * 3, 12);
  Pub bare(&t, Trace::Raw{t}.send(word.b.id(), 1));
  Sh y{Own<0>(word.a) + bare, word.b};
  t.keep(y);
  t.close();
  EXPECT_EQ(Lint(Schedule(t)).faults.size(), 1u);
}

}  // namespace
}  // namespace suf::backends
