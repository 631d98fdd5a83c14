// Every lowering computes every function, under every mask of small rings and at random up to 64 bits.
#include <algorithm>

#include "suf/compiler/choose.hpp"
#include "suf/compiler/rig_test.hpp"

namespace suf::compiler {
namespace {

// Returns the backend of the library myl7, or null if it was not built or cannot run.
std::unique_ptr<pfss::Backend> Myl7() { return reference::Myl7WhyNot().empty() ? reference::MakeMyl7() : nullptr; }

// Appends every x with every mask.
void Pairs(int n, std::vector<uint64_t>* x, std::vector<uint64_t>* r) {
  for (uint64_t a = 0; a < uint64_t{1} << n; ++a)
    for (uint64_t b = 0; b < uint64_t{1} << n; ++b) {
      x->push_back(a);
      r->push_back(b);
    }
}

TEST(Passes, TheCompiledFunctionIsTheFunction) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 300; ++round) {
    Shape s{int(rng() % 9) + 1, int(rng() % 64) + 1, int(rng() % 6) + 1,
            int(rng() % 4),     int(rng() % 3) + 1,  int(rng() % 4)};
    func::Suf f = RandomSuf(s, rng);
    CompiledFunction c = Compile(f);
    for (uint64_t x = 0; x < uint64_t{1} << s.n; ++x) {
      func::Value v = Eval(c, x);
      Meaning m = MeaningOf(f, x, s.ring);
      ASSERT_EQ(v.poly, m.numbers) << x << "\n" << func::Print(f);
      ASSERT_EQ(v.bits, m.bits) << x << "\n" << func::Print(f) << PassText(c, "primitives");
    }
  }
}

TEST(Lower, EveryMaskOfSmallRings) {
  std::mt19937_64 rng(2);
  auto clear = reference::MakeClear(), myl7 = Myl7();
  for (int n : {1, 2, 3, 4, 5})
    for (int ring : {1, n, n + 3, 31})
      for (int round = 0; round < 6; ++round) {
        Shape s{n, ring, round % 5 + 1, round % 4, round % 2 + 1, round % 3};
        func::Suf f = RandomSuf(s, rng);
        CompiledFunction c = Compile(f);
        std::vector<uint64_t> x, r;
        Pairs(n, &x, &r);
        for (const Choice& choice : Choices(c)) {
          Ran got = RunOn(f, choice, x, r, ring, *clear);
          ExpectMeaning(f, got, x, ring, Name(c, choice) + "\n" + func::Print(f));
          if (HasFatalFailure()) return;
          if (!myl7 || choice.numbers.kind != Kind::kStepDcf) continue;  // without a DCF it equals clear
          Ran theirs = RunOn(f, choice, x, r, ring, *myl7);
          ExpectMeaning(f, theirs, x, ring, "myl7 " + Name(c, choice) + "\n" + func::Print(f));
          EXPECT_NE(theirs.digest, got.digest);
          if (HasFatalFailure()) return;
        }
      }
}

// Compares key bits with closed forms, for numbers or for bits alone.
TEST(Lower, ClosedForms) {
  std::mt19937_64 rng(4);
  auto clear = reference::MakeClear(), myl7 = Myl7();
  for (int n : {3, 8, 12, 32, 40})
    for (int ring : {n - 2, n, n + 9})
      for (int round = 0; round < 8; ++round) {
        Shape s{n, ring, round % 6 + 1, round % 4, round % 2 + 1, 0};
        if (round % 2) {
          s.outputs = round % 4 == 1;
          s.formulas = 1 - s.outputs + round / 4;
        }
        if (s.outputs > 0) s.formulas = 0;
        func::Suf f = RandomSuf(s, rng);
        CompiledFunction c = Compile(f);
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

// Returns a function with pieces of width 2^a on a domain of a + p bits. Coefficients have `bits` bits.
func::Suf OnGrid(int a, int p, int ring, int degree, int outputs, std::mt19937_64& rng, int bits = 64) {
  func::Suf f;
  do {  // until neighbours differ at the finest cutpoints of the grid
    f = RandomSuf({a + p, ring, 1, degree, outputs, 0}, rng);
    f.pieces.resize(size_t{1} << p, f.pieces[0]);
    f.end = func::U128{1} << (a + p);
    for (size_t i = 0; i < f.pieces.size(); ++i) {
      f.pieces[i].begin = func::U128{i} << a;
      for (auto& poly : f.pieces[i].poly)
        for (uint64_t& v : poly) v = uint64_t(ring::Signed(rng() & ring::Mask(bits), bits)) & ring::Mask(ring);
    }
  } while (Compile(f).grid() != a);
  return f;
}

// Checks both methods to read a grid, in one, two and three stages: results, key bits and flights.
void OnGridIsRight(const func::Suf& f, const CutReading& entry, const std::vector<uint64_t>& z,
                   const std::vector<uint64_t>& r, int ring, pfss::Backend& backend) {
  const CompiledFunction c = Compile(f);
  const int k = f.n + entry.shift;
  std::vector<uint64_t> x;
  for (uint64_t v : z) x.push_back(((v + entry.offset) & ring::Mask(k)) >> entry.shift);
  for (const Lowering& l : AllForNumbers()) {
    if (l.kind != Kind::kWindowLut && l.kind != Kind::kWindowBoth) continue;
    const std::string why = WhyNotNumbers(c, l);
    if (l.openings == Openings::kNarrow && why == "its entries are as wide as its ring") continue;
    ASSERT_EQ(why, "");
    Ran got = RunOn(f, {l, {}}, z, r, ring, backend, false, entry, k);
    ExpectMeaning(f, got, x, ring, Name(c, l) + "\n" + func::Print(f));
    EXPECT_EQ(got.key_bits, int64_t(z.size()) * NumbersKeyBits(c, l, entry, ring)) << Name(c, l);
    // Stages to shares, plus a flight to give x. P0's share of the result is sent with the last stage or after it.
    const int more = (l.kind == Kind::kWindowLut ? 3 : 1) + int(l.stages) - 1;
    EXPECT_TRUE(got.flights == more + 1 || got.flights == more + 2) << Name(c, l) << " " << got.flights;
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Lower, GridsUnderEveryMask) {
  std::mt19937_64 rng(6);
  auto clear = reference::MakeClear();
  for (auto [a, p] : {std::pair{1, 1}, {1, 3}, {2, 2}, {3, 1}, {4, 2}})
    for (int degree : {0, 1, 2, 3})
      for (int ring : {a + p - 1, a + p, a + p + 9, 64}) {
        std::vector<uint64_t> x, r;
        Pairs(a + p, &x, &r);
        for (int bits : {64, 3}) {
          OnGridIsRight(OnGrid(a, p, ring, degree, 1 + degree % 2, rng, bits), {}, x, r, ring, *clear);
          if (HasFatalFailure()) return;
        }
      }
  // constants behind a shift are read from the digits of the wire itself
  for (int shift : {1, 2})
    for (uint64_t offset : {0, 5}) {
      std::vector<uint64_t> z, r;
      Pairs(4 + shift, &z, &r);
      OnGridIsRight(OnGrid(2, 2, 13, 0, 2, rng, 6), {shift, offset, Stages::kOne}, z, r, 13, *clear);
      if (HasFatalFailure()) return;
    }
}

TEST(Lower, WideGrids) {
  std::mt19937_64 rng(7);
  exec::Pool pool(1);
  const auto every = backends::Every(pool);
  for (int n : {16, 31, 33, 64})
    for (int p : {1, 6, 10}) {
      const int degree = int(rng() % 4), ring = std::min(64, n - 7 + int(rng() % 15));
      const func::Suf f = OnGrid(n - p, p, ring, degree, 2, rng, p == 6 ? 5 : 64);
      std::vector<uint64_t> x;
      for (int i = 0; i < 40; ++i)
        x.push_back(((uint64_t(f.pieces[rng() % f.pieces.size()].begin) + rng() % 3 - 1)) & ring::Mask(n));
      for (auto& b : every) {
        OnGridIsRight(f, {}, x, {}, ring, *b);
        if (HasFatalFailure()) return;
      }
    }
}

// Key bytes of both parties at 32 bits, for ReLU to shares and for sixteen cubic pieces.
TEST(Lower, KnownCosts) {
  func::Suf relu = func::Parse(
      "suf relu domain 32 ring 32 outputs 1 degree 1\npiece 0 : 0 1\npiece 2147483648 : 0 0\nend 4294967296\n");
  CompiledFunction c = Compile(relu);
  auto bytes = [&](Kind kind, StepSource steps) { return double(NumbersKeyBits(c, {kind, steps}, {}, 32)) / 8; };
  EXPECT_EQ(bytes(Kind::kOpenSteps, StepSource::kParity), 812);
  EXPECT_EQ(bytes(Kind::kOpenSteps, StepSource::kDigits), 50.375);
  EXPECT_EQ(bytes(Kind::kOpenSteps, StepSource::kBlocks), 26.75);
  std::mt19937_64 rng(5);
  func::Suf cubic = RandomSuf({32, 32, 1, 3, 1, 0}, rng);
  cubic.end = func::U128{1} << 32;
  for (uint64_t i = 1; i < 16; ++i)
    cubic.pieces.push_back({i * 250000001, {{rng() >> 32, rng() >> 32, rng() >> 32, rng() >> 32}}});
  c = Compile(cubic);
  EXPECT_EQ(bytes(Kind::kStepDcf, {}), 2096);
  EXPECT_EQ(bytes(Kind::kIndex, StepSource::kParity), 854);
  // With four flights the key has 72 bytes. The borrows at x_hat and at 15 cutpoints take 50, the table of the piece 2
  // and words 20. The borrows read one view of r, so the tables of its digits are dealt once, and the monomials 16
  // times. Digits planned for 16 borrows have larger tables and fewer monomials. Those planned for one take 108.5
  // bytes.
  EXPECT_EQ(bytes(Kind::kIndex, StepSource::kBlocks), 72);
  const std::vector<Cut> cuts{{32, 1}};
  const int borrows = 16;
  auto of = [&](const DigitPlan& plan) { return double(DigitsKeyBits(plan, cuts, Stages::kThree, borrows)) / 8; };
  const double words = (16 + 5 * 32) / 8.0;
  EXPECT_EQ(of(PlanDigits(cuts, Stages::kThree, borrows)) + words, 72);
  EXPECT_EQ(of(PlanDigits(cuts, Stages::kThree)) + words, 108.5);
}

TEST(Lower, WideRingsAtRandom) {
  std::mt19937_64 rng(3);
  auto clear = reference::MakeClear();
  for (int n : {8, 16, 31, 32, 33, 63, 64})
    for (int ring : {n - 7, n, n + 5, 64})
      for (int round = 0; round < 2; ++round) {
        if (ring > 64) continue;
        Shape s{n, ring, round ? 17 : 4, int(rng() % 4), round + 1, int(rng() % 4)};
        func::Suf f = RandomSuf(s, rng);
        CompiledFunction c = Compile(f);
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

// On a backend without DPF trees, lowerings that need a tree are refused, and all others compute the function.
TEST(Lower, WithoutTrees) {
  std::mt19937_64 rng(6);
  std::unique_ptr<pfss::Backend> lacking = Myl7();
  if (!lacking) {
    using pfss::Op;
    auto clear = reference::MakeClear()->capabilities();
    lacking = reference::MakeClear(clear.Without({Op::kDpfGen, Op::kDpfWindow, Op::kDpfParity, Op::kDpfDense}), 0,
                                   std::make_shared<const pfss::Kernels>());
  }
  int ran = 0, refused = 0;
  for (int n : {8, 12, 33, 64})
    for (int ring : {n - 7, n, 64}) {
      Shape s{n, ring, 5, int(rng() % 4), 2, int(rng() % 3)};
      func::Suf f = RandomSuf(s, rng);
      CompiledFunction c = Compile(f);
      std::vector<uint64_t> x{0, 1, ring::Mask(n)};
      while (x.size() < 40) x.push_back(rng() & ring::Mask(n));
      for (const Choice& choice : Choices(c)) {
        const bool dcf = choice.numbers.kind == Kind::kStepDcf;
        if (dcf && lacking->name() == "clear") continue;  // it has no kernels
        const std::string what = Name(c, choice) + " on " + lacking->name() + "\n" + func::Print(f);
        try {
          ExpectMeaning(f, RunOn(f, choice, x, {}, ring, *lacking), x, ring, what);
          ++ran;
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

// A lowering that the backend cannot run is no candidate, and has a reason.
TEST(Choose, CandidatesFitTheBackend) {
  const CompiledFunction c = Compile(func::Parse(
      "suf relu domain 32 ring 32 outputs 1 degree 1\npiece 0 : 0 1\npiece 2147483648 : 0 0\nend 4294967296\n"));
  auto emit = [&](Trace& t, const Choice& choice) {
    Wire<kPub> x = t.give<1>(pfss::Own<1>(t.input<pfss::kP1>("x", {4}, 32, 0)), 32, "x");
    t.reveal<1>(DealOwed(t, Lower(t, c, choice, x, 32).numbers[0]));
    t.close();
  };
  using pfss::Op;
  pfss::Capabilities all{"toy"}, small = all, none = all;
  small.largest = 30;
  none.schemes.clear();
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
