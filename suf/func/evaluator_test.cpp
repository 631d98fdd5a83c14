// The prepared evaluator and the typed unpacking, against Evaluate, Channels and Pack.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "suf/func/suf.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {
namespace {

using Rng = std::mt19937_64;

U128 Threshold(Rng& rng, int n) {
  const U128 edges[] = {0, 1, U128{1} << (n - 1), U128{1} << n};
  return rng() % 3 == 0 ? edges[rng() % 4] : U128(rng() & ring::Mask(n));
}

Formula RandomFormula(Rng& rng, int n, int depth) {
  Formula f;
  if (depth > 0 && rng() % 4 > 0) {
    f = RandomFormula(rng, n, depth - 1);
    const auto op = Term::Kind(Term::kNot + rng() % 4);
    if (op != Term::kNot) {
      const Formula right = RandomFormula(rng, n, depth - 1);
      f.insert(f.end(), right.begin(), right.end());
    }
    f.push_back({op});
    return f;
  }
  const Term::Kind leaves[] = {Term::kLt, Term::kLtLow, Term::kMsb, Term::kIn, Term::kTrue, Term::kFalse};
  Term t{leaves[rng() % 6]};
  if (t.kind == Term::kLtLow) {
    t.f = int(1 + rng() % uint64_t(n));
    t.value = Threshold(rng, t.f);
  }
  if (t.kind == Term::kLt || t.kind == Term::kIn) t.value = Threshold(rng, n);
  if (t.kind == Term::kMsb) t.value = Threshold(rng, n) & ring::Mask(n);
  if (t.kind == Term::kIn) t.upper = std::max(t.value, Threshold(rng, n));
  return {t};
}

Suf Random(Rng& rng, int n) {
  Suf f{"f", n, int(1 + rng() % 64), int(rng() % 3), int(rng() % 4), {}, 0, {}, {}};
  std::vector<U128> cuts{0};
  if (f.outputs > 0)
    for (uint64_t i = rng() % 6; i > 0; --i) cuts.push_back(rng() & ring::Mask(n));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  f.end = rng() % 2 ? U128{1} << n : cuts.back() + 1;
  for (U128 cut : cuts) {
    Piece& p = f.pieces.emplace_back(Piece{cut, {}});
    for (int j = 0; j < f.outputs; ++j) {
      auto& c = p.poly.emplace_back();
      for (int d = 0; d <= f.degree; ++d) c.push_back(rng() & ring::Mask(f.ring));
    }
  }
  for (uint64_t i = rng() % 4; i > 0; --i) f.formulas.push_back(RandomFormula(rng, n, 4));
  for (int i = 0; i < f.outputs; ++i)
    f.channels.push_back({rng() % 2 ? OutputChannel::kSigned : OutputChannel::kUnsigned,
                          int(1 + rng() % uint64_t(f.ring)), i, Str("y", i)});
  for (size_t i = 0; i < f.formulas.size(); ++i) f.channels.push_back({OutputChannel::kBit, 1, int(i), Str("b", i)});
  std::shuffle(f.channels.begin(), f.channels.end(), rng);
  Verify(f);
  return f;
}

void Same(const Suf& f, const Evaluator& e, uint64_t x) {
  const Value v = Evaluate(f, x);
  const std::vector<int64_t> channels = Channels(f, x);
  for (int j = 0; j < f.outputs; ++j) ASSERT_EQ(e.At(x, j), v.poly[size_t(j)]) << x;
  uint64_t bits = 0;
  for (size_t i = 0; i < v.bits.size(); ++i) {
    ASSERT_EQ(e.Bit(x, int(i)), v.bits[i]) << x;
    bits |= uint64_t{v.bits[i]} << i;
  }
  ASSERT_EQ(e.Bits(x), bits);
  ASSERT_EQ(e.Channels(x), channels);
  ASSERT_EQ(Unpack(f.channels, Pack(f, x)), channels);
}

TEST(Evaluator, IsEvaluateEverywhere) {
  Rng rng(11);
  for (int n = 1; n <= 9; ++n)
    for (int i = 0; i < 150; ++i) {
      const Suf f = Random(rng, n);
      const Evaluator e(f);
      EXPECT_EQ(e.channels(), f.channels.size());
      for (uint64_t x = 0; x < uint64_t{1} << n; ++x) ASSERT_NO_FATAL_FAILURE(Same(f, e, x));
    }
}

TEST(Evaluator, IsEvaluateOnWideDomains) {
  Rng rng(12);
  for (int n : {31, 32, 33, 63, 64})
    for (int i = 0; i < 300; ++i) {
      const Suf f = Random(rng, n);
      const Evaluator e(f);
      std::vector<uint64_t> points{0, ring::Mask(n), uint64_t{1} << (n - 1), uint64_t(f.end)};
      for (const Piece& p : f.pieces) points.insert(points.end(), {uint64_t(p.begin), uint64_t(p.begin) - 1});
      for (const Formula& g : f.formulas)
        for (const Term& t : g)
          for (U128 v : {t.value, t.upper, (U128{1} << (n - 1)) - t.value})
            points.insert(points.end(), {uint64_t(v), uint64_t(v) - 1});
      for (int k = 0; k < 10; ++k) points.push_back(rng());
      for (uint64_t x : points) ASSERT_NO_FATAL_FAILURE(Same(f, e, x & ring::Mask(n)));
    }
}

TEST(Evaluator, RefusesWhatIsNotThere) {
  Rng rng(13);
  Suf f = Random(rng, 8);
  f.formulas = {{{Term::kTrue}}};
  f.channels = {{OutputChannel::kBit, 1, 0, "b"}};
  const Evaluator e(f);
  EXPECT_THROW((void)e.Bit(256, 0), Bug);
  EXPECT_THROW((void)e.Bit(0, 1), Bug);
  EXPECT_THROW((void)e.Bits(256), Bug);
  std::vector<int64_t> two(2);
  EXPECT_THROW(e.Channels(0, two), Bug);
  EXPECT_THROW(Unpack(f.channels, {}), Bug);
}

// Words of 64 bits keep every bit.
TEST(Unpack, KeepsWholeWords) {
  const std::vector<OutputChannel> c{{OutputChannel::kUnsigned, 64, 0, "u"},
                                     {OutputChannel::kSigned, 64, 0, "s"},
                                     {OutputChannel::kSigned, 3, 0, "t"},
                                     {OutputChannel::kBit, 1, 0, "b"}};
  const std::vector<uint64_t> words{~uint64_t{0} - 1, uint64_t{1} << 63, 0b1101};
  const std::vector<int64_t> out = Unpack(c, words);
  EXPECT_EQ(uint64_t(out[0]), ~uint64_t{0} - 1);
  EXPECT_EQ(out[1], INT64_MIN);
  EXPECT_EQ(out[2], -3);
  EXPECT_EQ(out[3], 1);
}

}  // namespace
}  // namespace suf::func
