// Published constructions whose programs or keys depend on the mask of their wire (docs/papers-to-code.md). Each has a
// model of a few lines, which shows the mask. Programs and keys of ours do not depend on it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "suf/compiler/rig_test.hpp"

namespace suf::compiler {
namespace {

constexpr int kBits = 4;
constexpr uint64_t kWhole = uint64_t{1} << kBits;

// Returns a function of two constants: 1 below `cut`, 2 from there on, and the bit x < cut.
func::Suf TwoConstants(uint64_t cut) {
  func::Suf f;
  f.name = "two";
  f.n = kBits;
  f.ring = 8;
  f.pieces = {{0, {{1}}}, {cut, {{2}}}};
  f.end = kWhole;
  f.formulas = {{{func::Term::kLt, 0, cut}}};
  return f;
}

// The public parts of SUF's programs for TwoConstants under mask r.
struct PublicShape {
  bool both;         // the formula of x < cut: AND without a wrap of [r, r + cut), otherwise OR (paper.md, 3.3.1)
  size_t cutpoints;  // of the coefficients, without steps of height 0 (src/compiler/suf_to_pfss.cpp, build_coeff_step)
  auto operator<=>(const PublicShape&) const = default;
};
PublicShape ShapeUnder(uint64_t cut, uint64_t r) {
  const uint64_t begin[2] = {r, (cut + r) % kWhole}, end[2] = {begin[1], r};
  std::vector<std::pair<uint64_t, int>> steps;
  for (int i = 0; i < 2; ++i) {
    steps.emplace_back(begin[i], i + 1);
    if (begin[i] >= end[i]) steps.emplace_back(0, i + 1);  // a piece that wraps is split
  }
  std::stable_sort(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.first < b.first; });
  size_t cutpoints = 0;
  for (size_t i = 1; i < steps.size(); ++i) cutpoints += steps[i].second != steps[i - 1].second;
  return {r + cut < kWhole, cutpoints};
}

// A program's shape shows whether the interval wraps, and how many of its cutpoints coincide. With cut = 8 the first
// is the top bit of r. Ours has one trace for all masks.
TEST(Published, AShapeThatDependsOnTheMask) {
  EXPECT_EQ(ShapeUnder(8, 3), (PublicShape{true, 2}));
  EXPECT_EQ(ShapeUnder(8, 12), (PublicShape{false, 2}));
  EXPECT_EQ(ShapeUnder(8, 0), (PublicShape{true, 1}));
  for (uint64_t r = 0; r < kWhole; ++r) EXPECT_EQ(ShapeUnder(8, r).both, r < 8) << r;

  auto clear = reference::MakeClear();
  for (uint64_t cut : {uint64_t{5}, uint64_t{8}}) {
    const func::Suf f = TwoConstants(cut);
    std::vector<uint64_t> x;
    for (uint64_t i = 0; i < kWhole; ++i) x.push_back(i);
    for (const Choice& choice : Choices(Compile(f))) {
      std::optional<Ran> first;
      for (uint64_t r = 0; r < kWhole; ++r) {
        const Ran got = RunOn(f, choice, x, std::vector<uint64_t>(kWhole, r), f.ring, *clear);
        ExpectMeaning(f, got, x, f.ring, "mask " + std::to_string(r));
        if (!first) first = got;
        EXPECT_EQ(got.digest, first->digest) << r;
        EXPECT_EQ(got.key_bits, first->key_bits) << r;
        EXPECT_EQ(got.key[0].size(), first->key[0].size()) << r;
        EXPECT_EQ(got.key[1].size(), first->key[1].size()) << r;
      }
    }
  }
}

int64_t Ones(View bytes) {
  int64_t n = 0;
  for (uint8_t b : bytes) n += std::popcount(b);
  return n;
}

// The words of a published key that depend on r.
struct PublishedKey {
  uint64_t step[2];  // FuseFSS (src/dmpf.cpp): differences of the coefficients of max(x, 0) as a polynomial in x + r
  uint64_t wrap[2];  // SUF (include/proto/reluars_dealer.hpp): the wrap's additive shares, dealt at random if it is 1
};
PublishedKey DealAs(uint64_t r, bool coin) {
  const uint64_t wrap = r >> 63;
  return {{0 - r, 1}, {wrap ? coin : 0u, wrap ? !coin : 0u}};
}

// Keys of two published constructions under the least and the largest mask have different numbers of ones. One party's
// key gives r or its top bit. Bundles of ours have as many ones under both masks.
TEST(Published, AKeyThatDependsOnTheMask) {
  const uint64_t x = 77, r = 0x8000000000001234, opened = x + r;
  EXPECT_EQ(opened + DealAs(r, false).step[0], x);
  EXPECT_EQ(DealAs(r, true).wrap[0], 1u);
  for (bool coin : {false, true}) EXPECT_EQ(DealAs(r >> 1, coin).wrap[0], 0u);  // so 1 says that r >= 2^63

  constexpr size_t kCount = 4000;
  std::mt19937_64 rng(3);
  int64_t wraps[2] = {};
  for (size_t i = 0; i < kCount; ++i)
    for (int top : {0, 1}) {
      const PublishedKey key = DealAs(top ? ~uint64_t{0} : 0, rng() & 1);
      wraps[top] += int64_t(key.wrap[0] + key.wrap[1]);
    }
  EXPECT_EQ(wraps[0], 0);
  EXPECT_EQ(wraps[1], int64_t{kCount});

  auto clear = reference::MakeClear();
  const func::Suf f = TwoConstants(8);
  for (const Choice& choice : Choices(Compile(f))) {
    int64_t ones[2][2] = {}, bits = 0;
    for (int top : {0, 1}) {
      const Ran got = RunOn(f, choice, std::vector<uint64_t>(kCount, 3),
                            std::vector<uint64_t>(kCount, top ? kWhole - 1 : 0), f.ring, *clear);
      for (int p : {0, 1}) ones[p][top] = Ones(got.key[size_t(p)]);
      bits = got.key_bits;
    }
    // six standard deviations of the difference of two sums of independent bits
    for (int p : {0, 1}) EXPECT_NEAR(double(ones[p][0]), double(ones[p][1]), 6 * std::sqrt(double(bits) / 2)) << p;
  }
}

}  // namespace
}  // namespace suf::compiler
