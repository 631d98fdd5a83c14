// Every lowering computes every function: under every mask of small rings, and at random up to 64 bits.
#include <algorithm>

#include "suf/compiler/choose.hpp"
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

// Myl7: the other library's backend, where it was built and runs; else none, and what has no DCF is clear's.
std::unique_ptr<pfss::Backend> Myl7() { return backends::Myl7Supported() ? backends::MakeMyl7() : nullptr; }

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
  auto clear = backends::MakeClear(), myl7 = Myl7();
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
          if (!myl7 || choice.numbers.kind != Kind::kStepDcf) continue;  // without a DCF it runs what clear runs
          Ran theirs = RunOn(f, choice, x, r, ring, *myl7);
          ExpectMeaning(f, theirs, x, ring, "myl7 " + Name(c, choice) + "\n" + func::Print(f));
          EXPECT_NE(theirs.digest, got.digest);
          if (HasFatalFailure()) return;
        }
      }
}

// Key bits of one part at a time.
TEST(Lower, ClosedForms) {
  std::mt19937_64 rng(4);
  auto clear = backends::MakeClear(), myl7 = Myl7();
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
          if (myl7 && s.outputs && choice.numbers.kind == Kind::kStepDcf) {
            EXPECT_EQ(RunOn(f, choice, x, {}, ring, *myl7).key_bits,
                      3 * NumbersKeyBits(c, choice.numbers, {}, ring, fss::DcfScheme::kMyl7));
          }
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

// Every lowering on a backend without DPF trees: it computes the function, or the trace would have a tree.
TEST(Lower, WithoutTrees) {
  std::mt19937_64 rng(6);
  std::unique_ptr<pfss::Backend> lacking = Myl7();
  if (!lacking) {
    using pfss::Op;
    auto clear = backends::MakeClear()->capabilities();
    lacking = backends::MakeClear(clear.Without({Op::kDpfGen, Op::kDpfWindow, Op::kDpfParity, Op::kDpfDense}), 0,
                                  std::make_shared<const pfss::Kernels>());
  }
  int ran = 0, refused = 0;
  for (int n : {8, 12, 33, 64})
    for (int ring : {n - 7, n, 64}) {
      Shape s{n, ring, 5, int(rng() % 4), 2, int(rng() % 3)};
      func::Suf f = RandomSuf(s, rng);
      Compiled c = Compile(f);
      std::vector<uint64_t> x{0, 1, ring::Mask(n)};
      while (x.size() < 40) x.push_back(rng() & ring::Mask(n));
      for (const Choice& choice : Choices(c)) {
        const bool dcf = choice.numbers.kind == Kind::kStepDcf;
        if (dcf && lacking->name() == "clear") continue;  // no kernels
        const std::string what = Name(c, choice) + " on " + lacking->name() + "\n" + func::Print(f);
        try {
          ExpectMeaning(f, RunOn(f, choice, x, {}, ring, *lacking), x, ring, what), ++ran;
        } catch (const Error& e) {
          EXPECT_EQ(e.cause(), Cause::kRefused) << what;
          EXPECT_EQ(e.what(), lacking->name() + " has no DPF tree (dpfgen)") << what;
          Trace any;
          Wire<kPub> w = any.give<1>(pfss::Own<1>(any.input<pfss::kP1>("x", {1}, n, 0)), n, "x");
          (void)Lower(any, c, choice, w, ring);
          EXPECT_TRUE(std::any_of(any.nodes().begin(), any.nodes().end(), [](const pfss::Node& node) {
            return node.op == pfss::Op::kDpfGen;
          })) << what;
          ++refused;
        }
        if (HasFatalFailure()) return;
      }
    }
  EXPECT_GT(ran, 50);
  EXPECT_GT(refused, 10);
}

// What a backend cannot do is no candidate, and says why.
TEST(Choose, CandidatesFitTheBackend) {
  const Compiled c = Compile(func::Parse(
      "suf relu domain 32 ring 32 outputs 1 degree 1\npiece 0 : 0 1\npiece 2147483648 : 0 0\nend 4294967296\n"));
  auto emit = [&](Trace& t, const Choice& choice) {
    Wire<kPub> x = t.give<1>(pfss::Own<1>(t.input<pfss::kP1>("x", {4}, 32, 0)), 32, "x");
    t.reveal<1>(Settle(t, Lower(t, c, choice, x, 32).numbers[0]));
    t.close();
  };
  using pfss::Op;
  pfss::Capabilities all{"toy"}, small = all, none = all;
  small.largest = 30, none.schemes.clear();
  struct Case {
    pfss::Capabilities can;
    std::string lowering, why;
  };
  const Case cases[] = {
      {all, "StepDcf", ""},
      {all, "Parity+Open", ""},
      {all.Without({Op::kDcfGen}), "StepDcf", "toy has no DCF (dcfgen)"},
      {all.Without({Op::kDcfEval}), "StepDcf", "toy has no DCF (dcfeval)"},
      {all.Without({Op::kDcfGen}), "Parity+Open", ""},
      {all.Without({Op::kDpfParity}), "Parity+Open", "toy has no DPF tree (dpfparity)"},
      {all.Without({Op::kDigits}), "Digits+Open", "toy has no operation digits"},
      {small, "StepDcf", "it needs a DCF on 32 bits, and 30 are the most that toy has"},
      {small, "Index/parity", "it needs a DPF on 31 bits, and 30 are the most that toy has"},
      {small, "Index/digits", ""},
      {none, "StepDcf", "toy has no DCF of the scheme suf"},
  };
  for (const Case& k : cases) {
    const std::vector<Candidate> found = Price(c, Profiles()[0].prices, k.can, emit);
    const auto one = std::find_if(found.begin(), found.end(), [&](auto& x) { return x.name == k.lowering; });
    ASSERT_NE(one, found.end());
    EXPECT_EQ(one->why_not, k.why) << k.lowering;
    EXPECT_EQ(one->seconds > 0, k.why.empty());
    EXPECT_TRUE(Best(found).why_not.empty());
  }
}

}  // namespace
}  // namespace suf::compiler
