// Pieces around zero with one line on each side, under every mask of small rings and at random above.
#include "suf/compiler/sides.hpp"

#include <cmath>

#include "suf/compiler/rig_test.hpp"

namespace suf::compiler {
namespace {

constexpr Stages kStages[] = {Stages::kOne, Stages::kTwo, Stages::kThree};

// The size of a function of x of n bits, at bit s of the wire. It has 2^p pieces of width 2^a around zero.
struct Size {
  int n, s, a, p;
};

// The lines on both sides: none, constants, one slope above as of GELU, and both of any slope.
enum class Ends { kNone, kConstants, kAbove, kAny };
constexpr Ends kEnds[] = {Ends::kNone, Ends::kConstants, Ends::kAbove, Ends::kAny};

func::Lines RandomLines(const Size& z, Ends ends, std::mt19937_64& rng) {
  const auto number = [&](int64_t most) { return int64_t(rng() % uint64_t(2 * most + 1)) - most; };
  func::Lines l{z.a, 0, 0, {}, {}};
  for (int i = 0; i < 1 << z.p; ++i) {
    l.offset.push_back(number(60));
    l.rise.push_back(number(9));
  }
  l.bits = z.n;
  if (ends == Ends::kConstants || ends == Ends::kAny) {
    l.below.offset = number(40) | 1;
    l.above.offset = number(40) | 1;
  }
  if (ends == Ends::kAbove) l.above.rise = 8;
  if (ends == Ends::kAny) {
    l.below.rise = number(5) * 2 + 1;
    l.above.rise = -6;
  }
  return l;
}

CutReading EntryOf(const Size& z, Stages stages) {
  const uint64_t round = z.s ? uint64_t{1} << (z.s - 1) : 0;
  return {z.s, round + (uint64_t{1} << (z.n + z.s - 1)), stages};
}

// Runs the lines, and compares every element with the function's text. Key bits are compared with their closed form.
Ran ExpectLines(const func::Lines& l, const Size& z, Stages stages, int ring, const std::vector<uint64_t>& x,
                const std::vector<uint64_t>& r) {
  static const auto clear = reference::MakeClear();
  const int k = z.n + z.s;
  const SidedFunction f = SidesOf(l, "lines");
  const CutReading entry = EntryOf(z, stages);
  EXPECT_EQ(WhyNotSides(f, {Kind::kWindowLut, StepSource::kDigits, stages}), "");
  const Ran got = RunShares(
      [&](Trace& t, const Wire<kPub>& w) {
        FunctionShares y;
        y.numbers = {LowerSides(t, f, entry, w, ring)};
        EXPECT_FALSE(y.numbers[0].owed);
        return y;
      },
      k, x, r, *clear);
  const func::Suf text = func::ToSuf(l, "lines", 64);
  for (size_t i = 0; i < x.size(); ++i) {
    const uint64_t u = (x[i] + entry.offset) & ring::Mask(k);
    EXPECT_EQ(got.at[i].numbers, MeaningOf(text, u >> z.s, ring).numbers) << "at " << x[i];
    if (testing::Test::HasFailure()) return got;
  }
  EXPECT_EQ(got.key_bits, int64_t(x.size()) * SidesKeyBits(f, entry, ring));
  // the openings of WindowLut, and P0's share of the result
  EXPECT_EQ(got.flights, stages == Stages::kOne ? 4 : 6);
  return got;
}

TEST(Sides, EveryMaskOfSmallRings) {
  std::mt19937_64 rng(1);
  for (const Size& z : {Size{4, 0, 1, 2}, Size{4, 2, 1, 2}, Size{5, 1, 2, 2}, Size{5, 0, 1, 3}, Size{5, 1, 1, 2}})
    for (Ends ends : kEnds)
      for (Stages stages : kStages)
        for (int ring : {3, z.n, z.n + z.s + 3, 31}) {
          std::vector<uint64_t> x, r;
          for (uint64_t v = 0; v < uint64_t{1} << (z.n + z.s); ++v)
            for (uint64_t mask = 0; mask < uint64_t{1} << (z.n + z.s); ++mask) {
              x.push_back(v);
              r.push_back(mask);
            }
          ExpectLines(RandomLines(z, ends, rng), z, stages, ring, x, r);
          ASSERT_FALSE(HasFailure()) << "x of " << z.n << " bits at " << z.s << ", pieces 2^" << z.a << ", lines "
                                     << int(ends) << ", stages " << int(stages) << ", ring " << ring;
        }
}

// Places near each end of a piece, of a side and of the ring, and random ones.
TEST(Sides, WideRings) {
  std::mt19937_64 rng(2);
  for (const Size& z : {Size{17, 15, 6, 6}, Size{32, 0, 21, 6}, Size{20, 11, 3, 10}, Size{50, 11, 40, 4},
                        Size{24, 4, 6, 2}, Size{61, 0, 30, 3}})
    for (Ends ends : kEnds)
      for (Stages stages : kStages)
        for (int ring : {20, 45, 64}) {
          const int k = z.n + z.s;
          std::vector<uint64_t> x;
          const int64_t core = int64_t{1} << (z.a + z.p - 1), piece = int64_t{1} << z.a, half = int64_t{1} << (z.n - 1);
          for (int64_t at : {-half, -core, -piece, int64_t{0}, piece, core, half - 1})
            for (int64_t d : {-1, 0, 1}) x.push_back((uint64_t(at + d) << z.s) & ring::Mask(k));
          for (int i = 0; i < 20; ++i) x.push_back(rng() & ring::Mask(k));
          for (int i = 0; i < 20; ++i) x.push_back((rng() - (uint64_t(core) << z.s)) & ring::Mask(z.a + z.p + z.s));
          if (z.n == 61 && stages == Stages::kOne) continue;  // more digits than one stage reads
          ExpectLines(RandomLines(z, ends, rng), z, stages, ring, x, {});
          ASSERT_FALSE(HasFailure()) << "x of " << z.n << " bits at " << z.s << ", pieces 2^" << z.a << ", lines "
                                     << int(ends) << ", stages " << int(stages) << ", ring " << ring;
        }
}

// GELU as MPNet needs it: 17 bits at bit 15, 2^6 pieces of an eighth, into a ring of 45. An even grid has 2^11 pieces.
// With pieces of a quarter it has 2^10, which WindowLut reads with more key.
TEST(Sides, SizeOfGelu) {
  const func::Real gelu = [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); };
  const auto fit = func::WithSides(gelu, func::FitLines(gelu, 6, 6, 9, 6), 17);
  const SidedFunction f = SidesOf(fit.f, "gelu");
  const CompiledFunction even = Compile(func::ToSuf(func::FitLines(gelu, 7, 10, 9, 6).f, "gelu", 64));
  for (Stages stages : kStages) {
    const CutReading entry = EntryOf({17, 15, 6, 6}, stages);
    const int64_t bits = SidesKeyBits(f, entry, 45),
                  wider = NumbersKeyBits(even, {Kind::kWindowLut, StepSource::kDigits, stages}, entry, 45);
    std::printf("stages %d: %d bits of key, %d with 2^10 pieces\n", int(stages), int(bits), int(wider));
    EXPECT_LT(bits, wider - 150);
    EXPECT_LT(bits, 1600);
  }
}

TEST(Sides, OtherLoweringsAreRefused) {
  std::mt19937_64 rng(3);
  const SidedFunction f = SidesOf(RandomLines({6, 0, 1, 3}, Ends::kAny, rng), "lines");
  for (const Lowering& l : AllForNumbers()) EXPECT_EQ(WhyNotSides(f, l).empty(), l.kind == Kind::kWindowLut) << Name(l);
  func::Lines same{1, 0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}};  // pieces that are no different from their sides
  same.bits = 6;
  EXPECT_EQ(WhyNotSides(SidesOf(same, "zero"), {Kind::kWindowLut}),
            "it has 2^0 different pieces around zero, and 2^2 are the least");
}

}  // namespace
}  // namespace suf::compiler
