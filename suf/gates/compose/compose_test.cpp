// Compositions and single gates as traces: every value of small rings, random ones of wide rings, every lowering. The
// protocol's outputs equal Evaluate, and its bytes those of the schedule.
#include <gtest/gtest.h>

#include <random>

#include "suf/backends/every_test.hpp"
#include "suf/func/library.hpp"
#include "suf/gates/compose/composition.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/run/pair.hpp"

namespace suf::gates {

namespace {

// Returns a library function for x, whose channel and ring it chooses.
func::Function LibraryFunctionFor(const std::string& name, bool, const ValueType& x) {
  return func::Make(name, x.bits, x.scale).f;
}

struct ComposeRun {
  std::array<std::vector<Ints>, 2> outputs;
  int flights = 0;
  int64_t key_bytes = 0;
};

// Runs a composition between two parties. Shares of shared inputs are random.
ComposeRun RunComposition(const Composition& c, const GateChoices& choices, const std::vector<Ints>& inputs,
                          int64_t rows) {
  Trace t;
  Emit(t, c, choices, rows);
  pfss::Schedule s(t);
  const pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
  EXPECT_EQ(pfss::EndingOf(t), EndingOf(c));
  std::mt19937_64 rng(7);
  run::Inputs given[3];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputStatement& in = c.text().inputs[i];
    std::vector<uint64_t> words(inputs[i].begin(), inputs[i].end());
    if (in.from != Origin::kShared) {
      if (in.type.kind != ValueKind::kNumber)
        for (uint64_t& w : words) w &= ring::Mask(in.type.bits);
      given[in.from == Origin::kP1].Set(in.name.name, words);
      continue;
    }
    std::vector<uint64_t> mask(words.size());
    for (size_t k = 0; k < words.size(); ++k) {
      mask[k] = rng() & ring::Mask(in.type.bits);
      words[k] =
          (in.type.kind == ValueKind::kNumber ? words[k] - mask[k] : words[k] ^ mask[k]) & ring::Mask(in.type.bits);
    }
    given[0].Set(in.name.name, mask);
    given[1].Set(in.name.name, words);
  }
  static const auto every = backends::Every();
  static size_t turn = 0;
  const auto serial = uint8_t(++turn);
  pfss::BundleSecrets secrets{{Secret(Hash{1, serial}), Secret(Hash{2, serial})}, Hash{serial}};
  run::PairRun run = run::RunPair({s, backends::InTurn(every, turn), {&given[0], &given[1], &given[2]}, secrets});
  for (int p : {0, 1}) {
    EXPECT_EQ(run.online[size_t(p)], s.sent(p, true));
    EXPECT_EQ(run.frames[size_t(p)], s.frame_count(p, true));
    EXPECT_EQ(int64_t(run.key[size_t(p)].size()), s.key_bytes(p));
  }
  ComposeRun out;
  for (int p : {0, 1}) out.outputs[size_t(p)] = OutputWords(c, p, run.result[size_t(p)], rows);
  out.flights = s.flights();
  out.key_bytes = s.key_bytes(0) + s.key_bytes(1);
  return out;
}

// Runs a composition and compares each output with Evaluate.
ComposeRun Check(const Composition& c, const GateChoices& choices, const std::vector<Ints>& inputs, int64_t rows,
                 const std::string& what) {
  ComposeRun run = RunComposition(c, choices, inputs, rows);
  const std::vector<Ints> values = Evaluate(c, inputs, rows);
  for (size_t o = 0; o < c.text().outputs.size(); ++o) {
    const OutputStatement& out = c.text().outputs[o];
    const auto v = size_t(c.value(out.name.name));
    const ValueType& type = c.values()[v].type;
    if (out.to == To::kShared) {
      Ints sum;
      for (size_t i = 0; i < values[v].size(); ++i) {
        const uint64_t a = uint64_t(run.outputs[0][o][i]), b = uint64_t(run.outputs[1][o][i]);
        const uint64_t w = (type.kind == ValueKind::kNumber ? a + b : a ^ b) & ring::Mask(type.bits);
        sum.push_back(type.is_signed ? Number(w, type.bits) : int64_t(w));
      }
      EXPECT_EQ(sum, values[v]) << what << ", " << out.name.name;
      continue;
    }
    for (To alone : {To::kP1, To::kP0})
      if (out.to != alone) {
        const size_t party = alone == To::kP1 ? 0 : 1;
        EXPECT_EQ(run.outputs[party][o], values[v]) << what << ", " << out.name.name;
      }
  }
  return run;
}

// Returns every tuple of inputs, one a row. There are random ones if tuples are more than `most`, or rows have several
// numbers.
std::vector<Ints> TuplesOf(const Composition& c, int64_t most, int64_t* rows, std::mt19937_64& rng) {
  Bound count = 1;
  int64_t per_row = 0;
  bool all = true;
  for (const InputStatement& in : c.text().inputs) {
    all &= in.type.shape == pfss::Shape{kRows};
    count = std::min<Bound>(count * (in.type.high - in.type.low + 1), Bound{1} << 62);
    per_row += pfss::Size(SetRows(in.type.shape, 1));
  }
  all &= count <= most;
  *rows = all ? int64_t(count) : std::max<int64_t>(1, most / per_row);
  std::vector<Ints> out;
  Bound stride = 1;
  for (const InputStatement& in : c.text().inputs) {
    const Bound size = in.type.high - in.type.low + 1;
    Ints x(size_t(pfss::Size(SetRows(in.type.shape, *rows))));
    for (size_t i = 0; i < x.size(); ++i) {
      const Bound at = all ? Bound(i) / stride % size : i == 0 ? 0 : i == 1 ? size - 1 : Bound(rng()) % size;
      x[i] = int64_t(in.type.low + at);
    }
    stride *= size;
    out.push_back(std::move(x));
  }
  return out;
}

TEST(Compose, EveryGateOfSmallRingsEqualsItsMeaningByEveryLowering) {
  std::mt19937_64 rng(3);
  int gates = 0;
  for (const GateEntry* gate : All()) {
    for (int bits : {4, 6, 8, 13, 32})
      for (const SingleGate& use : gate->Samples(bits)) {
        SCOPED_TRACE(Str(gate->facts.name, " of ", bits, " bits"));
        std::optional<Composition> made;
        try {
          made.emplace(TextOf(*gate, use, LibraryFunctionFor), LibraryFunctionFor);
        } catch (const Error& e) {
          ADD_FAILURE() << e.what();
          continue;
        }
        const Composition& c = *made;
        int64_t rows = 0;
        const std::vector<Ints> in = TuplesOf(c, bits <= 6 ? 4096 : 200, &rows, rng);
        for (const std::string& option : gate->Options(c.gates()[0].use))
          Check(c, {option}, in, rows, Str(gate->facts.name, " ", option, " of ", bits, " bits"));
        ++gates;
      }
  }
  EXPECT_GE(gates, 5 * 30);
}

// Returns random numbers of the inputs' ranges.
std::vector<Ints> SomeInputs(const Composition& c, int64_t rows, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Ints> out;
  for (size_t i = 0; i < c.text().inputs.size(); ++i) {
    const ValueType& type = c.text().inputs[i].type;
    Ints x(size_t(CountOf(c, int(i), rows)));
    for (int64_t& v : x) v = int64_t(type.low + Bound(rng()) % (type.high - type.low + 1));
    out.push_back(std::move(x));
  }
  return out;
}

// The composition of docs/gates.md: P1 brings features, P0 weights; P1 learns two scores a row.
constexpr const char* kScores = R"(
x    = input p1 32:12 [n, 16]
v    = input p0 16:10 [16]
y, b = reluars(x, shift=8) outputs y, w
s    = dot(y, v)
z    = select(b, v)
t    = sum(z)
output s -> p1
output t -> p1
)";

TEST(Compose, ScoresEqualTheirMeaningAndOpenEachValueOnce) {
  const Composition c(ParseComposition(kScores), LibraryFunctionFor);
  EXPECT_EQ(Name(c.values()[size_t(c.value("s"))].type), "signed 43:14 [n]");
  for (int64_t rows : {1, 3, 17}) {
    const ComposeRun run = Check(c, DefaultChoices(c), SomeInputs(c, rows, uint64_t(rows)), rows, "scores");
    EXPECT_EQ(run.outputs[0][0], Ints{});
  }
  const GateChoices cheap = Choose(c, compiler::Profiles()[0].prices, 8);
  Check(c, cheap, SomeInputs(c, 8, 5), 8, "chosen");
}

// Returns the key bytes and flights of a text for `rows` rows.
ComposeRun CostOf(const std::string& text, int64_t rows) {
  const Composition c(ParseComposition(text), LibraryFunctionFor);
  return Check(c, DefaultChoices(c), SomeInputs(c, rows, 11), rows, text);
}

TEST(Compose, TwoGatesOnOneValueShareItsOpeningAndItsTables) {
  const std::string input = "x = input shared 32:12 [n]\n", both = "output y -> p1\noutput z -> p1\n";
  const std::string y = "y = lrs(x, shift=8)\n", z = "z = ars(x, shift=8)\n";
  const ComposeRun one = CostOf(input + y + "output y -> p1\n", 64);
  const ComposeRun other = CostOf(input + z + "output z -> p1\n", 64);
  const ComposeRun two = CostOf(input + y + z + both, 64);
  EXPECT_EQ(two.flights, std::max(one.flights, other.flights));
  EXPECT_LT(two.key_bytes, one.key_bytes + other.key_bytes);
}

TEST(Compose, EveryOriginAndEndingOfNumbersBitsAndMasks) {
  for (const char* from : {"p0", "p1", "shared"})
    for (const char* to : {"p0", "p1", "both", "shared"}) {
      const std::string text = Str("x = input ", from, " 9:0 [n]\nm = input ", from, " mask 5 [n]\nb = input ", from,
                                   " bit [n]\ny = add(x, x, ring=9)\nq = xor(m, m)\nd = not(b)\noutput y -> ", to,
                                   "\noutput q -> ", to, "\noutput d -> ", to, "\noutput m -> ", to, "\n");
      CostOf(text, 5);
    }
}

TEST(Compose, FunctionsAndTablesByEveryLowering) {
  const char* texts[] = {
      "x = input p1 12:6 [n]\ny = function(x, gelu)\noutput y -> p1\n",
      "x = input shared 10:4 [n]\ny, i, h = function(x, relu) outputs y, index, hot\noutput y -> p1\noutput i -> "
      "both\noutput h -> shared\n",
      "i = input p1 4:0:u [n]\ny = table(i, {1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -16})\noutput y -> "
      "p1\n",
  };
  for (const char* text : texts) {
    const Composition c(ParseComposition(text), LibraryFunctionFor);
    for (const std::string& option : c.gates()[0].gate->Options(c.gates()[0].use))
      Check(c, {option}, SomeInputs(c, 40, 3), 40, Str(text, option));
  }
}

// Returns the message of a text that must be refused.
std::string Refusal(const std::string& text) {
  try {
    const Composition c(ParseComposition(text), LibraryFunctionFor);
    (void)DefaultChoices(c);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Compose, ARefusalNamesTheLineAndTheRemedy) {
  const std::string x = "x = input p1 32:12 [n]\n", out = "output y -> p1\n";
  const std::pair<std::string, const char*> cases[] = {
      {x + "y = add(x, z)\n" + out, "line 2"},
      {x + "y = bit(x, i=1)\n" + out, "line 2"},
      {x + "w = input p1 32:12 [n]\ny = add(x, x)\n" + out, "nothing reads"},
      {x + "y = add(x, x)\nz = add(x, x)\n" + out, "line 3"},
      {x + "y = add(x, x)\n", "no output"},
      {x + "v = input p0 16:10 [3]\ny = add(x, v)\n" + out, "line 3"},
      {"x = input p1 64:0 [n]\ny = add(x, x)\n" + out, "over 64"},
      {x + "y = ars(x, shift=8, ring=4)\nz = clamp(y, low=0, high=5)\noutput y -> p1\noutput z -> p1\n", "accepted"},
      {"x = input shared 32:12 [n]\ny = gapars(x, shift=8, ring=40)\n" + out, "line 1"},
  };
  for (const auto& [text, part] : cases)
    EXPECT_NE(Refusal(text).find(part), std::string::npos) << text << Refusal(text);
}

// A gate of a program's own: the double of x, by adding shares.
class DoubleEntry final : public GateEntry {
 public:
  DoubleEntry()
      : GateEntry({.name = "double",
                   .meaning = "x + x",
                   .inputs = {{"x", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "one bit more than x"}}}) {}
  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    return {NumberIn(2 * x.low, 2 * x.high, x.scale, x.shape, "y")};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kShares, u.ring[0]}}; }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    Ints y;
    for (int64_t x : in[0]) y.push_back(2 * x);
    return {y};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse&,
                                                const std::vector<GateOperand>& in) const override {
    const OwedWord x = in[0].AsShares(t);
    GateOperand y;
    y.shares = compiler::Map(x, [](auto v) { return v + v; });
    return {y};
  }
};

TEST(Compose, AProgramAddsAGateOfItsOwn) {
  const size_t before = All().size();
  Register(std::make_unique<DoubleEntry>());
  Register(std::make_unique<DoubleEntry>());  // replaces the one of its name
  EXPECT_EQ(All().size(), before + 1);
  const Composition c(
      ParseComposition("x = input p1 8:2 [n]\ny = double(x)\nz = relu(y)\noutput z -> p1\noutput y -> p0\n"));
  std::mt19937_64 rng(5);
  int64_t rows = 0;
  const std::vector<Ints> in = TuplesOf(c, 256, &rows, rng);
  EXPECT_EQ(rows, 256);
  Check(c, DefaultChoices(c), in, rows, "double");
}

TEST(Compose, RowsOnDifferentAxesAreRefused) {
  try {
    Composition c(
        ParseComposition("x = input p1 8:0 [n, 1, 8]\nw = input p1 8:0 [n, 1]\ny = add(x, w)\noutput y -> p1\n"));
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("on different axes"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace suf::gates
