// Every lowering computes every function: under every mask of small rings, and at random up to 64 bits.
#include "suf/compiler/rig_test.hpp"

namespace suf::compiler {
namespace {

// Choices: every lowering that applies, beside a fixed one of the other part.
std::vector<Choice> Choices(const Compiled& c) {
  std::vector<Choice> out;
  std::vector<Lowering> numbers, bits;
  for (const Lowering& l : AllForNumbers())
    if (WhyNotNumbers(c, l).empty()) numbers.push_back(l);
  for (const Lowering& l : AllForBits())
    if (WhyNotBits(c, l).empty()) bits.push_back(l);
  size_t most = std::max(numbers.size(), bits.size());
  for (size_t i = 0; i < most; ++i)
    out.push_back({numbers.empty() ? Lowering{} : numbers[i % numbers.size()],
                   bits.empty() ? Lowering{} : bits[i % bits.size()]});
  return out;
}

// Pairs: every x under every mask.
void Pairs(int n, std::vector<uint64_t>* x, std::vector<uint64_t>* r) {
  for (uint64_t a = 0; a < uint64_t{1} << n; ++a)
    for (uint64_t b = 0; b < uint64_t{1} << n; ++b) x->push_back(a), r->push_back(b);
}

TEST(Passes, TheCompiledFunctionIsTheFunction) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 300; ++round) {
    Shape s{int(rng() % 9) + 1, int(rng() % 64) + 1, int(rng() % 6) + 1,
            int(rng() % 4),     int(rng() % 3) + 1,  int(rng() % 4)};
    func::Suf f = RandomSuf(s, rng);
    Compiled c = Compile(f);
    for (uint64_t x = 0; x < uint64_t{1} << s.n; ++x) {
      func::Value v = Eval(c, x);
      Meaning m = MeaningOf(f, x, s.ring);
      ASSERT_EQ(v.poly, m.numbers) << x << "\n" << func::Print(f);
      ASSERT_EQ(v.bits, m.bits) << x << "\n" << func::Print(f) << Text(c, "primitives");
    }
  }
}

TEST(Lower, EveryMaskOfSmallRings) {
  std::mt19937_64 rng(2);
  auto clear = backends::MakeClear();
  for (int n : {1, 2, 3, 4, 5})
    for (int ring : {1, n, n + 3, 31})
      for (int round = 0; round < 6; ++round) {
        Shape s{n, ring, round % 5 + 1, round % 4, round % 2 + 1, round % 3};
        func::Suf f = RandomSuf(s, rng);
        Compiled c = Compile(f);
        std::vector<uint64_t> x, r;
        Pairs(n, &x, &r);
        for (const Choice& choice : Choices(c)) {
          Ran got = RunOn(f, choice, x, r, ring, *clear);
          ExpectMeaning(f, got, x, ring, Name(c, choice) + "\n" + func::Print(f));
          if (HasFatalFailure()) return;
        }
      }
}

// Key bits of one part at a time.
TEST(Lower, ClosedForms) {
  std::mt19937_64 rng(4);
  auto clear = backends::MakeClear();
  for (int n : {3, 8, 12, 32, 40})
    for (int ring : {n - 2, n, n + 9})
      for (int round = 0; round < 8; ++round) {
        Shape s{n, ring, round % 6 + 1, round % 4, round % 2 + 1, 0};
        if (round % 2) s.outputs = round % 4 == 1, s.formulas = 1 - s.outputs + round / 4;
        if (s.outputs > 0) s.formulas = 0;
        func::Suf f = RandomSuf(s, rng);
        Compiled c = Compile(f);
        const std::vector<uint64_t> x{0, 1, 5};
        for (const Choice& choice : Choices(c)) {
          Ran got = RunOn(f, choice, x, {}, ring, *clear);
          const int64_t want = s.outputs ? NumbersKeyBits(c, choice.numbers, {}, ring) : BitsKeyBits(c, choice.bits);
          EXPECT_EQ(got.key_bits, 3 * want) << Name(c, choice) << " " << ring << "\n" << func::Print(f);
          if (HasFailure()) return;
        }
      }
}

// Bytes of key of both parties: ReLU to shares, and sixteen cubic pieces, at 32 bits.
TEST(Lower, KnownCosts) {
  func::Suf relu = func::Parse(
      "suf relu domain 32 ring 32 outputs 1 degree 1\npiece 0 : 0 1\npiece 2147483648 : 0 0\nend 4294967296\n");
  Compiled c = Compile(relu);
  auto bytes = [&](Kind kind, Steps steps) { return double(NumbersKeyBits(c, {kind, steps}, {}, 32)) / 8; };
  EXPECT_EQ(bytes(Kind::kOpenSteps, Steps::kParity), 812);
  EXPECT_EQ(bytes(Kind::kOpenSteps, Steps::kDigits), 50.375);
  EXPECT_EQ(bytes(Kind::kOpenSteps, Steps::kBlocks), 26.75);
  std::mt19937_64 rng(5);
  func::Suf cubic = RandomSuf({32, 32, 1, 3, 1, 0}, rng);
  cubic.end = func::U128{1} << 32;
  for (uint64_t i = 1; i < 16; ++i)
    cubic.pieces.push_back({i * 250000001, {{rng() >> 32, rng() >> 32, rng() >> 32, rng() >> 32}}});
  c = Compile(cubic);
  EXPECT_EQ(bytes(Kind::kStepDcf, {}), 2096);
  EXPECT_EQ(bytes(Kind::kIndex, Steps::kParity), 854);
  EXPECT_EQ(bytes(Kind::kIndex, Steps::kBlocks), 72);
}

TEST(Lower, WideRingsAtRandom) {
  std::mt19937_64 rng(3);
  auto clear = backends::MakeClear();
  for (int n : {8, 16, 31, 32, 33, 63, 64})
    for (int ring : {n - 7, n, n + 5, 64})
      for (int round = 0; round < 2; ++round) {
        if (ring > 64) continue;
        Shape s{n, ring, round ? 17 : 4, int(rng() % 4), round + 1, int(rng() % 4)};
        func::Suf f = RandomSuf(s, rng);
        Compiled c = Compile(f);
        std::vector<uint64_t> x;
        for (const func::Piece& p : f.pieces)
          for (int d : {-1, 0, 1}) x.push_back((uint64_t(p.begin) + uint64_t(d)) & ring::Mask(n));
        while (x.size() < 60) x.push_back(rng() & ring::Mask(n));
        for (const Choice& choice : Choices(c)) {
          Ran got = RunOn(f, choice, x, {}, ring, *clear, round);
          ExpectMeaning(f, got, x, ring, Name(c, choice) + "\n" + func::Print(f));
          if (HasFatalFailure()) return;
        }
      }
}

}  // namespace
}  // namespace suf::compiler
