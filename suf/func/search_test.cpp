// Tests of Fit. Reported errors are measured again at every point, against independent definitions. The search keeps
// its bounds, and every refusal has an error message.
#include "suf/func/search.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "suf/func/internal/formula.hpp"
#include "suf/func/text.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {
namespace {

double TrueGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

FitRequest Request(Real f, FixedPoint in, FixedPoint result, double error) {
  FitRequest q;
  q.what = std::move(f);
  q.in = in;
  q.result = result;
  q.error = error;
  return q;
}

// Returns the largest error over all points of the domain.
double Worst(const FitResult<Function>& fit, const FixedPoint& in, const Real& f) {
  double worst = 0;
  for (uint64_t u = 0; u < uint64_t{1} << in.bits; ++u) {
    const double x = std::ldexp(in.is_signed ? double(ring::Signed(u, in.bits)) : double(u), -in.scale);
    worst = std::max(worst, std::abs(std::ldexp(double(Channels(fit.f, u)[0]), -fit.scale) - f(x)));
  }
  return worst;
}

size_t PiecesOf(const FitResult<Function>& fit) { return std::get<Suf>(fit.f).pieces.size(); }

TEST(Fit, EveryShapeReportsItsError) {
  const FixedPoint in{12, 8, true}, result{32, 12, true};
  for (Knots knots : {Knots::kUniform, Knots::kOctaves, Knots::kFree})
    for (int degree = 0; degree <= 3; ++degree) {
      FitRequest q = Request(TrueGelu, in, result, 0x1p-7);
      q.knots = knots;
      q.degree = degree;
      q.slope = 8;
      const FitResult<Function> fit = Fit(q);
      EXPECT_TRUE(fit.exact);
      EXPECT_LE(fit.error, 0x1p-7);
      EXPECT_NEAR(Worst(fit, in, TrueGelu), fit.error, 1e-12) << int(knots) << degree;
      EXPECT_GE(fit.scale, 12);
      EXPECT_LE(fit.scale, 20);
      EXPECT_EQ(ParseFunction(Print(fit.f)), fit.f);
    }
}

TEST(Fit, FreeKnotsAreFewest) {
  FitRequest q = Request(TrueGelu, {14, 10, true}, {40, 24, true}, 0x1p-11);
  q.degree = 2;
  std::array<size_t, 3> pieces{};
  for (Knots k : {Knots::kUniform, Knots::kOctaves, Knots::kFree}) {
    q.knots = k;
    pieces[size_t(k)] = PiecesOf(Fit(q));
  }
  EXPECT_LT(pieces[2], pieces[0]);
  EXPECT_LT(pieces[2], pieces[1]);
  q.knots.reset();
  q.degree.reset();
  const FitResult<Function> best = Fit(q);  // all shapes, by cost
  EXPECT_LE(double(PiecesOf(best)) * (std::get<Suf>(best.f).degree + 2), double(pieces[2]) * 4);
}

// A relu has two pieces without an error. A table keeps its values. Pieces begin exactly at steps.
TEST(Fit, ExactFunctions) {
  const FitResult<Function> relu =
      Fit(Request([](double x) { return std::max(x, 0.0); }, {20, 8, true}, {32, 8, true}, 1e-9));
  EXPECT_EQ(PiecesOf(relu), 2u);
  EXPECT_EQ(relu.error, 0);
  std::vector<double> values;
  for (int i = 0; i < 256; ++i) values.push_back((i * 37 % 101) / 8.0);
  FitRequest q = Request({}, {8, 0, false}, {16, 3, true}, 1e-9);
  q.what = values;
  const FitResult<Function> table = Fit(q);
  EXPECT_EQ(table.error, 0);
  for (uint64_t u = 0; u < 256; ++u) EXPECT_EQ(double(Channels(table.f, u)[0]) / 8, values[u]);
  const Real steps = [](double x) { return x < 3.25 ? 1 : x < 1000.5 ? 5 : 2; };
  const FitResult<Function> few = Fit(Request(steps, {30, 12, false}, {8, 0, true}, 0.25));
  ASSERT_EQ(PiecesOf(few), 3u);
  EXPECT_TRUE(std::get<Suf>(few.f).pieces[1].begin == 3 * 4096 + 1024);
  EXPECT_TRUE(std::get<Suf>(few.f).pieces[2].begin == 1000 * 4096 + 2048);
}

// In domains of more than 2^24 points the error is a bound, and is marked as one.
TEST(Fit, WideDomainsAreBounded) {
  for (Knots knots : {Knots::kOctaves, Knots::kFree}) {
    FitRequest q = Request([](double x) { return std::log2(1 + x); }, {36, 12, false}, {48, 24, true}, 0x1p-10);
    q.knots = knots;
    q.degree = 1;
    q.slope = 20;
    const FitResult<Function> fit = Fit(q);
    EXPECT_FALSE(fit.exact);
    EXPECT_LE(fit.error, 0x1p-10);
    const Evaluator e(std::get<Suf>(fit.f));
    double worst = 0;
    for (uint64_t u = 0; u < uint64_t{1} << 36; u += 1 + u / 100000) {
      const double want = std::log2(1 + std::ldexp(double(u), -12));
      worst = std::max(worst, std::abs(std::ldexp(double(e.Channels(u)[0]), -fit.scale) - want));
    }
    EXPECT_LE(worst, fit.error);
  }
}

TEST(Fit, PiecesBoundInsteadOfAnError) {
  FitRequest q;
  q.what = "exp(-x)";
  q.in = {12, 8, false};
  q.result = {24, 16, true};
  double last = 1;
  for (int pieces : {2, 4, 16, 64}) {
    q.pieces = pieces;
    const FitResult<Function> fit = Fit(q);
    EXPECT_LE(PiecesOf(fit), size_t(pieces));
    EXPECT_LT(fit.error, last);
    EXPECT_NEAR(Worst(fit, q.in, [](double x) { return std::exp(-x); }), fit.error, 1e-12);
    last = fit.error;
  }
}

// Each coefficient is a multiple of the unit of its scale, and the result has the finest scale.
TEST(Fit, ScalesOfEachDegree) {
  FitRequest q = Request(TrueGelu, {13, 9, true}, {40, 12, true}, 0x1p-8);
  q.degree = 2;
  q.finer = {0, 9, 16};
  const FitResult<Function> fit = Fit(q);
  EXPECT_EQ(fit.scale, 28);
  EXPECT_NEAR(Worst(fit, q.in, TrueGelu), fit.error, 1e-12);
  for (const Piece& p : std::get<Suf>(fit.f).pieces) {
    EXPECT_EQ(p.poly[0][0] % (1 << 16), 0u);
    EXPECT_EQ(p.poly[0][1] % (1 << 7), 0u);
  }
}

TEST(Fit, Tails) {
  FitRequest q = Request(TrueGelu, {20, 10, true}, {40, 12, true}, 0x1p-8);
  q.below = Tail{Tail::kConstant, -4, 0};
  q.above = Tail{Tail::kIdentity, 4.5, 0};
  q.slope = 10;
  const FitResult<Function> fit = Fit(q);
  EXPECT_NEAR(Worst(fit, q.in, [](double x) { return x < -4 ? 0 : x >= 4.5 ? x : TrueGelu(x); }), fit.error, 1e-12);
  EXPECT_LE(fit.error, 0x1p-8);
  for (double x : {-511.0, -100.25, -4.5, 4.5, 77.75, 511.0}) {
    const uint64_t u = uint64_t(int64_t(x * 1024)) & ring::Mask(20);
    EXPECT_EQ(std::ldexp(double(Channels(fit.f, u)[0]), -fit.scale), x < 0 ? 0 : x);
  }
  FitRequest log = Request({}, {10, 4, false}, {24, 12, true}, 0x1p-9);
  log.what = "log2(x)";
  log.below = Tail{Tail::kConstant, 0.25, -2};
  EXPECT_LE(Worst(Fit(log), log.in, [](double x) { return std::log2(std::max(x, 0.25)); }), 0x1p-9);
}

// A tail may be a line of any slope. The error includes the rounding of its slope.
TEST(Fit, TailsOfASlope) {
  const Real f = [](double x) { return x < -3 ? 0.25 * x : x >= 5 ? 1.75 - 0.3 * (x - 5) : std::sin(x); };
  FitRequest q = Request({}, {14, 8, true}, {32, 14, true}, 0x1p-6);
  q.what = "sin(x)";
  q.slope = 6;
  q.below = Tail{Tail::kLine, -3, -0.75, 0.25};
  q.above = Tail{Tail::kLine, 5, 1.75, -0.3};
  const FitResult<Function> fit = Fit(q);
  EXPECT_NEAR(Worst(fit, q.in, f), fit.error, 1e-12);
  EXPECT_GE(std::get<Suf>(fit.f).degree, 1);
  EXPECT_EQ(std::ldexp(double(Channels(fit.f, uint64_t(-20 * 256) & ring::Mask(14))[0]), -fit.scale), -5);
}

// Pieces begin at the cuts of the request, and at 0.
TEST(Fit, GivenKnots) {
  FitRequest q;
  q.what = "abs(x) + exp(x/4)";
  q.in = {12, 7, true};
  q.result = {32, 16, true};
  q.pieces = 16;
  q.knots = Knots::kGiven;
  q.cuts = {-7.5, -2, 3.25, 9};
  q.degree = 2;
  q.slope = 8;
  const FitResult<Function> fit = Fit(q);
  std::vector<uint64_t> begins, want{0, 416, 1152, 2048, 4096 - 960, 4096 - 256};
  for (const Piece& p : std::get<Suf>(fit.f).pieces) begins.push_back(uint64_t(p.begin));
  EXPECT_EQ(begins, want);
  EXPECT_NEAR(Worst(fit, q.in, [](double x) { return std::abs(x) + std::exp(x / 4); }), fit.error, 1e-12);
  q.pieces.reset();
  q.error = 2 * fit.error;
  EXPECT_LE(Fit(q).error, *q.error);
}

TEST(Fit, CostChooses) {
  FitRequest q = Request(TrueGelu, {12, 8, true}, {32, 12, true}, 0x1p-6);
  q.slope = 8;
  q.cost = [](const Suf& f) { return f.degree == 0 ? 1.0 : 2.0; };
  EXPECT_EQ(std::get<Suf>(Fit(q).f).degree, 0);
  q.cost = [](const Suf& f) { return double(f.pieces.size()); };
  const size_t fewest = PiecesOf(Fit(q));
  q.cost = nullptr;
  EXPECT_LE(fewest, PiecesOf(Fit(q)));
}

TEST(Fit, Bipartite) {
  FitRequest q = Request([](double x) { return 1 / (1 + x); }, {14, 14, false}, {16, 14, true}, 0x1p-13);
  q.form = FitForm::kBipartite;
  const FitResult<Function> fit = Fit(q);
  const Split& f = std::get<Split>(fit.f);
  EXPECT_LE(fit.error, 0x1p-13);
  EXPECT_NEAR(Worst(fit, q.in, [](double x) { return 1 / (1 + x); }), fit.error, 1e-12);
  EXPECT_LT(f.high.size() + f.low.size(), size_t{1} << 11);  // a single table would have 2^14 values
  q.in.is_signed = true;
  q.what = "sigmoid(8*x)";
  EXPECT_NEAR(Worst(Fit(q), q.in, [](double x) { return 1 / (1 + std::exp(-8 * x)); }), 0x1p-14, 0x1p-14);
}

TEST(Fit, Formulas) {
  EXPECT_DOUBLE_EQ(RealOf("x*0.5*(1+erf(x/sqrt(2)))")(1.5), TrueGelu(1.5));
  EXPECT_DOUBLE_EQ(RealOf("sigmoid(x) + tanh(x) + exp(x) + log2(x) + sqrt(x) + abs(-x)")(2),
                   1 / (1 + std::exp(-2.0)) + std::tanh(2.0) + std::exp(2.0) + 1 + std::sqrt(2.0) + 2);
  EXPECT_DOUBLE_EQ(RealOf("min(x, 3) + max(x, 4) + sinh(x) + cosh(x) + log(x) + sin(pi)")(5),
                   8 + std::sinh(5.0) + std::cosh(5.0) + std::log(5.0));
  EXPECT_EQ(RealOf("x < 2 ? 1 : -x^2")(3), -9);
}

// If coefficients in units of the result are too coarse, they become finer, and the ring grows as needed. Before that
// the first case took 52,294 pieces.
TEST(Fit, SlopesThatAreLeftOpen) {
  struct Case {
    const char* formula;
    FixedPoint in, result;
    double error;
    size_t pieces;
    int scale, ring;
  };
  const Case cases[] = {
      {"x<1000 ? 0 : (x<5000 ? (x-1000)*0.2 : 800+(x-5000)*0.4)", {20, 0, false}, {32, 2, true}, 1, 3, 17, 37},
      {"x*0.3", {20, 4, true}, {32, 4, true}, 0.5, 2, 18, 33},
      {"x^3", {16, 8, true}, {40, 16, true}, 0x1p-8, 2, 24, 47},
      {"x*min(max(x+3,0),6)/6", {16, 8, true}, {32, 16, true}, 0x1p-8, 4, 23, 32},
      {"sin(x)", {16, 8, true}, {32, 16, true}, 0x1p-8, 143, 30, 32},
      // without a finer slope, because units of the result are cheap enough
      {"x*0.5*(1+erf(x/sqrt(2)))", {16, 9, true}, {32, 16, true}, 0x1p-11, 36, 16, 32},
      {"min(max(x,0),6)", {16, 8, true}, {32, 8, true}, 0x1p-8, 3, 8, 32},
      {"-x^2", {12, 8, true}, {32, 16, true}, 0x1p-8, 2, 16, 32}};
  for (const Case& c : cases) {
    FitRequest q;
    q.what = c.formula;
    q.in = c.in;
    q.result = c.result;
    q.error = c.error;
    const FitResult<Function> fit = Fit(q);
    EXPECT_LE(PiecesOf(fit), c.pieces) << c.formula;
    EXPECT_EQ(fit.scale, c.scale) << c.formula;
    EXPECT_EQ(RingBits(fit.f), c.ring) << c.formula;
    EXPECT_TRUE(fit.exact);
    EXPECT_LE(fit.error, c.error);
    EXPECT_NEAR(Worst(fit, q.in, RealOf(c.formula)), fit.error, 1e-9) << c.formula;
    q.slope = 0;
    if (c.scale != c.result.scale && std::string_view(c.formula) == "sin(x)") {
      EXPECT_GT(PiecesOf(Fit(q)), 800u);
    }
  }
  FitRequest q;  // with the smallest error of three pieces
  q.what = cases[0].formula;
  q.in = {16, 0, false};
  q.result = {32, 2, true};
  q.pieces = 3;
  EXPECT_LE(Fit(q).error, 0.25);
}

// Pieces begin at kinks and jumps of the function if that costs no piece, also in sampled domains.
TEST(Fit, KinksAreMet) {
  for (int bits : {16, 32}) {
    FitRequest q;
    q.what = "min(max(x,0),6)";
    q.in = {bits, 8, true};
    q.result = {40, 8, true};
    q.error = 0.5;
    const FitResult<Function> fit = Fit(q);
    const auto& pieces = std::get<Suf>(fit.f).pieces;
    ASSERT_EQ(pieces.size(), 3u);
    EXPECT_GE(uint64_t(pieces[1].begin), 6u << 8);  // both lines meet there
    EXPECT_LE(uint64_t(pieces[1].begin), (6u << 8) + 1);
    EXPECT_EQ(fit.error, 0);
    q.what = "floor(x/32)";
    q.knots = Knots::kFree;
    q.in = {bits == 16 ? 16 : 20, 8, true};
    q.error = 0.25;
    const FitResult<Function> steps = Fit(q);
    EXPECT_EQ(steps.error, 0);
    EXPECT_EQ(PiecesOf(steps), bits == 16 ? 8u : 128u);
  }
}

// An impossible fit is refused quickly. This one has 166,000 periods of a sine.
TEST(Fit, HopelessIsSoonSaid) {
  FitRequest q;
  q.what = "sin(x)";
  q.in = {32, 12, true};
  q.result = {32, 12, true};
  q.error = 0x1p-8;
  q.pieces = 16384;
  q.knots = Knots::kFree;
  double last = 0;
  int reports = 0;
  q.progress = [&](double done, const std::string& what) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, 1);
    EXPECT_FALSE(what.empty());
    last = done;
    ++reports;
  };
  EXPECT_THROW((void)Fit(q), Error);
  EXPECT_GT(reports, 0);
  EXPECT_LT(reports, 200000);
}

// The list of words is exactly that of the parser.
TEST(Fit, VocabularyIsTheParsers) {
  internal::ParserNames listed;
  listed.variables = {"x"};
  for (const FormulaWord& w : Vocabulary()) {
    const std::string name(w.name);
    EXPECT_FALSE(w.form.empty() || w.meaning.empty()) << name;
    if (w.kind == FormulaWord::kFunction) listed.functions.insert(name);
    if (w.kind == FormulaWord::kConstant) listed.constants.insert(name);
    if (w.kind == FormulaWord::kOperator) listed.operators.insert(name);
  }
  internal::ParserNames parser = internal::NamesOfParser();
  EXPECT_EQ(listed.functions, parser.functions);
  EXPECT_EQ(listed.constants, parser.constants);
  EXPECT_EQ(listed.variables, parser.variables);
  EXPECT_EQ(parser.operators.erase("="), 1u);  // an assignment, which RealOf refuses
  parser.operators.insert("%");
  parser.operators.insert("!");
  EXPECT_EQ(listed.operators, parser.operators);
  // the syntax in the list parses
  for (const FormulaWord& w : Vocabulary()) {
    std::string form;
    for (char c : std::string(w.form)) form += c == 'a' || c == 'b' || c == 'c' || c == 'y' ? 'x' : c;
    if (w.kind == FormulaWord::kFunction) form = std::string(w.name) + std::string(w.form).substr(w.name.size());
    if (w.kind == FormulaWord::kFunction)
      for (size_t i = w.name.size(); i < form.size(); ++i)
        if (std::isalpha(static_cast<unsigned char>(form[i]))) form[i] = 'x';
    if (const size_t more = form.find(", .."); more != form.npos) form.erase(more, 4);
    EXPECT_NO_THROW((void)RealOf(form)(0.5)) << form;
  }
}

TEST(Fit, Rounding) {
  const double at[] = {-2.5, -1.5, -0.75, -0.5, 0, 0.25, 0.5, 1.5, 2.5, 0.49999999999999994};
  const double down[] = {-3, -2, -1, -1, 0, 0, 0, 1, 2, 0}, up[] = {-2, -1, 0, 0, 0, 1, 1, 2, 3, 1},
               away[] = {-3, -2, -1, -1, 0, 0, 1, 2, 3, 0}, halves_up[] = {-2, -1, -1, 0, 0, 0, 1, 2, 3, 0};
  const Real floor = RealOf("floor(x)"), ceil = RealOf("ceil(x)"), round = RealOf("round(x)"), rint = RealOf("rint(x)"),
             trunc = RealOf("trunc(x)"), sign = RealOf("sign(x)"), mod = RealOf("x % 2"), neg = RealOf("mod(x, -2)");
  for (size_t i = 0; i < std::size(at); ++i) {
    EXPECT_EQ(floor(at[i]), down[i]);
    EXPECT_EQ(ceil(at[i]), up[i]);
    EXPECT_EQ(round(at[i]), away[i]);
    EXPECT_EQ(rint(at[i]), halves_up[i]);
    EXPECT_EQ(trunc(at[i]), at[i] < 0 ? up[i] : down[i]);
    EXPECT_EQ(sign(at[i]), (at[i] > 0) - (at[i] < 0));
    EXPECT_EQ(mod(at[i]), at[i] - 2 * std::floor(at[i] / 2));
    EXPECT_EQ(neg(at[i]), at[i] + 2 * std::floor(at[i] / -2));
  }
  EXPECT_EQ(RealOf("-x^2")(3), -9);
  EXPECT_EQ(RealOf("2^3^2")(0), 512);
  EXPECT_EQ(RealOf("!(x > 1) && x != 3 || x >= 5")(0), 1);
  EXPECT_EQ(RealOf("clamp(x, -1, 2) + pow(x, 2) + cbrt(8) + exp2(3) + log10(100) + e - _e + pi - _pi")(5), 2 + 25 + 12);
}

// A fit may use all values of the ring, including the least.
TEST(Fit, TheWholeRing) {
  FitRequest q;
  q.what = "x";
  q.in = {16, 8, true};
  q.result = {16, 8, true};
  q.error = 0x1p-9;
  const FitResult<Function> fit = Fit(q);
  EXPECT_EQ(fit.error, 0);
  EXPECT_EQ(RingBits(fit.f), 16);
}

// Expects that Fit refuses a changed request with an error message that has `part`.
template <class F>
void ExpectRefused(const F& change, Cause cause, const std::string& part) {
  FitRequest q = Request(TrueGelu, {10, 6, true}, {24, 12, true}, 0x1p-6);
  change(q);
  try {
    Fit(q);
    ADD_FAILURE() << "accepted: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), cause) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}
template <class F>
void ExpectMistake(const F& change, const std::string& part) {
  ExpectRefused(change, Cause::kInput, part);
}
template <class F>
void ExpectOutOfReach(const F& change, const std::string& part) {
  ExpectRefused(change, Cause::kRefused, part);
}

TEST(Fit, MistakesInNumbersAreNamed) {
  ExpectMistake([](auto& q) { q.name = "a b"; }, "a name that is one word");
  ExpectMistake([](auto& q) { q.in.bits = 63; }, "the domain's bits of the fit of f is 63; use 1 to 62");
  ExpectMistake([](auto& q) { q.result.bits = 0; }, "the result's ring of the fit of f is 0; use 1 to 64");
  ExpectMistake([](auto& q) { q.in.scale = 65; }, "the input's scale");
  ExpectMistake([](auto& q) { q.result.scale = 65; }, "the result's scale");
  ExpectMistake([](auto& q) { q.slope = -1; }, "the slope of the fit of f is -1");
  ExpectMistake([](auto& q) { q.degree = 4; }, "the degree of the fit of f is 4; use 0 to 3");
  ExpectMistake([](auto& q) { q.pieces = 65537; }, "the number of pieces of the fit of f is 65537");
  ExpectMistake([](auto& q) { q.error.reset(); }, "has no bound; give an error or a number of pieces");
  ExpectMistake([](auto& q) { q.error = 0; }, "use a number over 0");
  ExpectMistake([](auto& q) { q.error = NAN; }, "use a number over 0");
  ExpectMistake([](auto& q) { q.what = Real(); }, "is empty; give a callable");
  ExpectMistake([](auto& q) { q.what = std::vector<double>(3); }, "has 3 values for a domain of 10 bits");
  ExpectMistake([](auto& q) { q.finer = {1}; }, "has scales of its coefficients and no degree; give the degree");
  const auto finer = [](int degree, int bits) {
    return [=](FitRequest& q) {
      q.degree = degree;
      q.finer = {bits};
    };
  };
  ExpectMistake(finer(1, 1), "is 1; use 2 to 2");
  ExpectMistake(finer(0, -1), "the finer scale");
}

TEST(Fit, MistakesInFormulasAreNamed) {
  const std::pair<std::string, const char*> mistakes[] = {
      {"1 + ", "the formula has a mistake at column"},
      {"1 + y", "the formula has a mistake at column 5"},
      {"erf(x", "the formula has a mistake at column"},
      {"", "the formula has a mistake at column 1"},
      {std::string(1025, '1'), "the formula has 1025 bytes; 1024 are the most"},
      {"1, 2", "the formula has 2 results; write one"},
      {"foo(x)", "at column 1: 'foo' is no name, number or operator"},
      {"sin x", "'sin' lacks its argument in parentheses: sin(x)"},
      {"2x", "at column 2: 'x' does not belong there"},
      {"(x", "at column 3: a parenthesis is not closed"},
      {"x+", "at column 3: it ends before a number, x or a function"},
      {"clamp(x,1)", "'clamp' has too few arguments"},
      {"exp(x,1)", "'exp' has too many arguments"},
      {"x<1 ? 2", "a ? lacks its :"},
      {"x=1 ? 2 : 3", "at column 2: '=' compares nothing; write =="},
      {"1/x", "not finite at x = 0; give it a value there (x == 0 ? 0 : ..)"},
      {"log(x)", "is not finite at 513 points from x = -8 to 0; give it a tail there, or another range"},
      {"sqrt(x*x-1)", "not finite at 127 points from x = -0.984375 to 0.984375; give it values there by a case"},
  };
  for (const auto& [formula, part] : mistakes) ExpectMistake([&](FitRequest& q) { q.what = formula; }, part);
  const auto log_of_many = [](FitRequest& q) {
    q.what = "log(x)";
    q.in.bits = 40;
  };
  ExpectMistake(log_of_many, "is not finite at x = ");
}

TEST(Fit, MistakesInTailsAreNamed) {
  ExpectMistake([](auto& q) { q.above = Tail{Tail::kConstant, NAN, 1}; }, "from nan on; use numbers");
  ExpectMistake([](auto& q) { q.below = Tail{Tail::kConstant, 1, INFINITY}; }, "is inf with slope 0 from 1 on");
  ExpectMistake([](auto& q) { q.above = Tail{Tail::kLine, 1, 1, NAN}; }, "with slope nan from 1 on");
  const auto crossed = [](FitRequest& q) {
    q.below = Tail{Tail::kConstant, 2, 0};
    q.above = Tail{Tail::kConstant, 1, 0};
  };
  ExpectMistake(crossed, "the lower tail of f ends at 2, after the upper one's begin at 1");
  const auto line_of_degree_0 = [](FitRequest& q) {
    q.above = Tail{Tail::kLine, 1, 1, 1};
    q.degree = 0;
  };
  ExpectMistake(line_of_degree_0, "a tail of f that is no constant needs degree 1; it has degree 0");
  const auto coarse_identity = [](FitRequest& q) {
    q.above = Tail{Tail::kIdentity, 1, 0};
    q.result.scale = 5;
    q.error = 1;
  };
  ExpectMistake(coarse_identity, "needs a result of scale 6");
}

TEST(Fit, MistakesInCutsAreNamed) {
  const auto given = [](std::vector<double> cuts) {
    return [cuts](FitRequest& q) {
      q.knots = Knots::kGiven;
      q.cuts = cuts;
    };
  };
  ExpectMistake([](auto& q) { q.cuts = {1}; }, "the fit of f has 1 cuts; give some with given knots");
  ExpectMistake(given({}), "the fit of f has 0 cuts");
  ExpectMistake(given({1, 1}), "cut 2 of the fit of f is 1");
  ExpectMistake(given({8}), "between -8 and 8");
  ExpectOutOfReach(given({1}), "the best reached is");
}

// A function that leaves the ring of the result is refused with a ring that would hold it.
TEST(Fit, RefusesValuesThatNoResultHolds) {
  ExpectOutOfReach([](auto& q) { q.what = "exp(x*80)"; },
                   "a result of 24 bits at scale 12 holds -2048 to 2048; use a smaller range of x, or a tail");
  ExpectOutOfReach([](auto& q) { q.above = Tail{Tail::kConstant, 1, 1e9}; }, "reaches 1e+09 at x = 1, and a result");
  ExpectOutOfReach([](auto& q) { q.result.bits = 12; },
                   "the function f reaches 7.98437 at x = 7.98438, and a result of 12 bits at scale 12 holds -0.5 to "
                   "0.5; use a result of 16 bits or more, or a scale of 8 or less");
  const auto two_pieces = [](FitRequest& q) {
    q.result.bits = 12;
    q.error.reset();
    q.pieces = 2;
  };
  ExpectOutOfReach(two_pieces, "use a result of 16 bits");
}

// A bound that no fit reaches is refused with the best error of the search.
TEST(Fit, RefusesBoundsOutOfReach) {
  ExpectOutOfReach([](auto& q) { q.pieces = 2; }, "is out of reach for f with 2 pieces; the best reached is");
  ExpectOutOfReach([](auto& q) { q.why_not = [](const Function&) { return "it is blue"; }; },
                   "a fit of f with an error of 0.015625 is out of reach: it is blue; allow a larger error");
  const auto all_pieces = [](FitRequest& q) {
    q.error = 0x1p-14;
    q.slope = 0;
  };
  ExpectOutOfReach(all_pieces,
                   "out of reach for f with 65536 pieces; the best reached is 0.000121555; allow that, or use a finer "
                   "scale");
  const auto free_knots = [](FitRequest& q) {
    q.error = 1e-9;
    q.in.bits = 16;
    q.knots = Knots::kFree;
    q.slope = 0;
  };
  ExpectOutOfReach(free_knots, "the best reached is 0.00012");
  const auto large_domain = [](FitRequest& q) {
    q.error = 1e-9;
    q.in.bits = 30;
    q.pieces = 64;
    q.what = "sigmoid(x)";
  };
  ExpectOutOfReach(large_domain, "the best reached is 0.");
}

TEST(Fit, RefusesBipartiteFits) {
  const auto bipartite = [](auto change) {
    return [change](FitRequest& q) {
      q.form = FitForm::kBipartite;
      change(q);
    };
  };
  ExpectMistake(bipartite([](auto& q) { q.degree = 1; }), "a bipartite fit of f has a domain");
  ExpectMistake(bipartite([](auto& q) { q.in.bits = 21; }), "of at most 20 bits");
  ExpectOutOfReach(bipartite([](auto& q) { q.error = 0x1p-20; }), "with 131072 values");
  ExpectOutOfReach(bipartite([](auto& q) { q.what = "exp(x*80)"; }), "reaches 2.54449e+277");
}

}  // namespace
}  // namespace suf::func
