// Every lowering against two evaluators. Functions of the library and random ones run under every mask of small rings.
// Random functions of 1 to 64 bits run on every backend. Two functions share one wire.
#include "suf/compiler/rig_test.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/func/library.hpp"

namespace suf::compiler {
namespace {

uint64_t Draw(std::mt19937_64& rng, uint64_t most) { return rng() % (most + 1); }

// Compares the two independent evaluators.
void Agree(const func::Suf& f, const std::vector<uint64_t>& x) {
  for (uint64_t v : x) {
    const func::Value theirs = func::Evaluate(f, v);
    const Meaning own = MeaningOf(f, v, f.ring);
    ASSERT_EQ(theirs.poly, own.numbers) << v;
    ASSERT_EQ(theirs.bits, own.bits) << v;
  }
}

// Returns functions of n bits: some of the library, and a random one of each shape. The bits of relubits are its
// helpers w, t and d.
std::vector<func::Suf> Small(int n, std::mt19937_64& rng) {
  std::vector<func::Suf> out;
  for (const char* name : {"relu", "relubits", "gelu"}) {
    if (n < 8) continue;
    out.push_back(std::get<func::Suf>(func::Make(name, n, 2).f));
  }
  const Shape shapes[] = {{n, n + 3, 3, 0, 1, 0}, {n, n, 5, 1, 2, 1}, {n, 2 * n, 4, 3, 1, 2}, {n, 64, 2, 2, 3, 3}};
  for (const Shape& s : shapes) out.push_back(RandomSuf(s, rng));
  func::Suf bits = RandomSuf({n, n, 1, 0, 0, 3}, rng);  // without pieces
  bits.pieces.clear();
  bits.end = 0;
  out.push_back(bits);
  return out;
}

TEST(Matrix, EveryMaskOfEveryShape) {
  std::mt19937_64 rng(11);
  exec::Pool pool(2);
  auto packed = cpu::MakePacked(pool);
  std::set<std::string> names;
  for (int n : {1, 4, 6, 8}) {
    std::vector<uint64_t> x, r;
    for (uint64_t a = 0; a < uint64_t{1} << n; ++a)
      for (uint64_t b = 0; b < uint64_t{1} << n; ++b) {
        x.push_back(a);
        r.push_back(b);
      }
    for (const func::Suf& f : Small(n, rng)) {
      const CompiledFunction c = Compile(f);
      int round = 0;
      for (const Choice& choice : Choices(c)) {
        // under chosen masks of P1, or under random ones of both parties, 2^n for each x
        const bool shared = ++round % 2 == 0;
        Ran got = RunOn(f, choice, x, r, f.ring, *packed, shared);
        ExpectMeaning(f, got, x, f.ring, Name(c, choice) + "\n" + func::Print(f));
        if (HasFatalFailure()) return;
        names.insert(Name(c, choice));
      }
    }
  }
  EXPECT_GE(names.size(), 40u);
}

TEST(Matrix, RandomFunctionsOfEverySize) {
  std::mt19937_64 rng(12);
  exec::Pool pool(2);
  const auto every = backends::Every(pool);
  std::set<int> degrees, outputs, formulas;
  size_t most = 0;
  for (int n : {1, 4, 8, 16, 31, 32, 33, 63, 64})
    for (int ring : {std::max(1, n - 5), n, std::min(64, n + 7)})
      for (int round = 0; round < 2; ++round) {
        Shape s{n, ring, 1 + int(Draw(rng, 6)), int(Draw(rng, 3)), int(Draw(rng, 3)), int(Draw(rng, 3))};
        if (round) s.pieces = 20 + int(Draw(rng, 20));
        if (s.outputs + s.formulas == 0) s.formulas = 1;
        func::Suf f = RandomSuf(s, rng);
        if (s.outputs == 0 && round) {
          f.pieces.clear();
          f.end = 0;
        }
        most = std::max(most, f.pieces.size());
        degrees.insert(f.degree);
        outputs.insert(f.outputs);
        formulas.insert(s.formulas);
        const CompiledFunction c = Compile(f);
        std::vector<uint64_t> x;
        for (const func::Piece& p : f.pieces)
          for (int d : {-1, 0, 1})
            if (x.size() < 30) x.push_back((uint64_t(p.begin) + uint64_t(d)) & ring::Mask(n));
        for (const func::Formula& g : f.formulas)
          for (const func::Term& t : g)
            if (x.size() < 36) x.push_back(uint64_t(t.value) & ring::Mask(n));
        while (x.size() < 40) x.push_back(rng() & ring::Mask(n));
        Agree(f, x);
        for (const Choice& choice : Choices(c)) {
          // masks are random in every run
          Ran got = RunOn(f, choice, x, {}, ring, *every[rng() % every.size()], rng() % 2);
          ExpectMeaning(f, got, x, ring, Name(c, choice) + "\n" + func::Print(f));
          if (HasFatalFailure()) return;
        }
      }
  EXPECT_EQ(degrees.size(), 4u);
  EXPECT_EQ(outputs.size(), 4u);
  EXPECT_EQ(formulas.size(), 4u);
  EXPECT_GE(most, 30u);
}

// Returns both parties' key bits for one element if these functions read one wire, with owed words dealt.
int64_t KeyOf(const std::vector<func::Suf>& all, const Choice& choice) {
  Trace t;
  pfss::Own<1> v = t.input<pfss::kP1>("x", {1}, 64, 0);
  Wire<kPub> x = t.give<1>(v, all[0].n, "x");
  for (const func::Suf& f : all) {
    FunctionShares y = Lower(t, Compile(f), choice, x, f.ring);
    for (const OwedWord& o : y.numbers) t.reveal<1>(DealOwed(t, o));
  }
  t.close();
  pfss::Schedule s(t);
  EXPECT_TRUE(pfss::Lint(s).faults.empty());
  return s.key_bits(0) + s.key_bits(1);
}

// Two functions on one wire share tables and trees, which both pay for only once.
TEST(Matrix, TwoFunctionsOnOneWireShareTablesAndTrees) {
  std::mt19937_64 rng(13);
  const Shape shape{32, 20, 4, 1, 1, 0};
  std::vector<func::Suf> pair;
  while (pair.size() < 2) {
    // of one key size, so that both have the same digits; other widths would have other tables
    func::Suf f = RandomSuf(shape, rng);
    auto size = [&](const func::Suf& g) {
      return NumbersKeyBits(Compile(g), {Kind::kIndex, StepSource::kDigits}, {}, shape.ring);
    };
    if (Compile(f).pieces() == 5 && (pair.empty() || size(f) == size(pair[0]))) pair.push_back(f);
  }
  auto saved = [&](const Choice& choice) {
    return KeyOf({pair[0]}, choice) + KeyOf({pair[1]}, choice) - KeyOf(pair, choice);
  };
  const int64_t tree = 2 * int64_t(fss::DpfKeyBits(32));
  EXPECT_GE(saved({{Kind::kOpenSteps, StepSource::kParity}, {}}), tree);
  EXPECT_GE(saved({{Kind::kIndex, StepSource::kParity}, {}}), tree);
  for (Kind kind : {Kind::kOpenSteps, Kind::kIndex})
    for (StepSource steps : {StepSource::kDigits, StepSource::kBlocks})
      EXPECT_GT(saved({{kind, steps}, {}}), 0) << Name({kind, steps});
  // a second copy of a function costs only what it opens
  const std::vector<func::Suf> twice{pair[0], pair[0]};
  for (const Lowering& l : AllForNumbers())
    if (WhyNotNumbers(Compile(pair[0]), l).empty() && l.kind != Kind::kDense) {
      EXPECT_LT(KeyOf(twice, {l, {}}), 2 * KeyOf({pair[0]}, {l, {}})) << Name(l);
    }
}

}  // namespace
}  // namespace suf::compiler
