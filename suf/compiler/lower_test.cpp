// Every lowering computes every function: under every mask of small rings, and at random up to 64 bits.
#include "suf/compiler/rig_test.hpp"

namespace suf::compiler {
namespace {

// Choices: every lowering that applies, beside a fixed one of the other part.
std::vector<Choice> Choices(const Compiled& c) {
  std::vector<Choice> out;
  std::vector<Lowering> numbers, bits;
  for (const Lowering& l : AllForNumbers())
    if (WhyNotNumbers(c, l).empty() && l.kind != Kind::kStepDcf && (c.f.n <= 10 || l.steps != Steps::kParity))
      numbers.push_back(l);  // TMP
  for (const Lowering& l : AllForBits())
    if (WhyNotBits(c, l).empty() && (c.f.n <= 10 || (l.steps != Steps::kParity && l.kind != Kind::kDense)))
      bits.push_back(l);  // TMP
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
