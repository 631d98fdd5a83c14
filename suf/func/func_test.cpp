#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "suf/func/fit.hpp"
#include "suf/func/suf.hpp"
#include "suf/func/text.hpp"

namespace suf::func {
namespace {

// A function with every feature, on 4 bits.
Suf Example() {
  Suf f{"example", 4, 6, 2, 2, {}, 13, {}, {}};
  f.pieces = {{0, {{1, 2, 63}, {5, 0, 0}}}, {3, {{60, 1, 0}, {0, 1, 1}}}, {12, {{7, 0, 0}, {32, 0, 0}}}};
  f.formulas = {{{Term::kLt, 0, 7}, {Term::kLtLow, 2, 3}, {Term::kAnd}, {Term::kMsb, 0, 3}, {Term::kNot}, {Term::kOr}},
                {{Term::kLt, 0, 16}, {Term::kLt, 0, 0}, {Term::kXor}}};
  f.channels = {{Channel::kBit, 1, 0, "near"},
                {Channel::kSigned, 6, 0, "y"},
                {Channel::kUnsigned, 4, 1, "low"},
                {Channel::kBit, 1, 1, "always"}};
  return f;
}

constexpr const char* kExample =
    "suf example domain 4 ring 6 outputs 2 degree 2\n"
    "piece 0 : 1 2 -1 | 5 0 0\n"
    "piece 3 : -4 1 0 | 0 1 1\n"
    "piece 12 : 7 0 0 | -32 0 0\n"
    "end 13\n"
    "formula lt 7 ltlow 2 3 and msb 3 not or\n"
    "formula lt 16 lt 0 xor\n"
    "channel bit 1 0 near\n"
    "channel signed 6 0 y\n"
    "channel unsigned 4 1 low\n"
    "channel bit 1 1 always\n";

TEST(Suf, EvaluatesEveryPoint) {
  Suf f = Example();
  Verify(f);
  for (int x = 0; x < 16; ++x) {
    int t = x < 3 ? x : x < 12 ? x - 3 : x - 12;
    int y = x < 3 ? 1 + 2 * t - t * t : x < 12 ? t - 4 : x < 13 ? 7 : 0;
    int low = x < 3 ? 5 : x < 12 ? t + t * t : x < 13 ? 32 : 0;
    bool near = (x < 7 && x % 4 < 3) || !((x + 3) % 16 >= 8);
    std::vector<int64_t> want{near, Signed(uint64_t(y), 6), low & 15, 1};
    EXPECT_EQ(Channels(f, uint64_t(x)), want) << x;
    // near, y and low and always share one word in channel order
    uint64_t word = uint64_t(near) | (uint64_t(y) & 63) << 1 | (uint64_t(low) & 15) << 7 | uint64_t{1} << 11;
    EXPECT_EQ(Pack(f, uint64_t(x)), std::vector<uint64_t>{word}) << x;
  }
}

TEST(Suf, WideDomains) {
  Suf f{"wide",
        64,
        64,
        1,
        1,
        {{0, {{5, 1}}}, {U128{1} << 63, {{7, 3}}}},
        U128{1} << 64,
        {{{Term::kLt, 0, U128{1} << 64}}, {{Term::kLtLow, 64, U128{1} << 63}}},
        {}};
  Verify(f);
  for (uint64_t x : {uint64_t{0}, uint64_t{1} << 63, ~uint64_t{0}}) {
    Value v = Evaluate(f, x);
    EXPECT_EQ(v.poly[0], x >> 63 ? 7 + 3 * (x - (uint64_t{1} << 63)) : 5 + x);
    EXPECT_TRUE(v.bits[0]);
    EXPECT_EQ(v.bits[1], !(x >> 63));
  }
}

TEST(Suf, FirstFitLayout) {
  std::vector<Channel> c{{Channel::kUnsigned, 40, 0, "a"},
                         {Channel::kUnsigned, 30, 0, "b"},
                         {Channel::kUnsigned, 24, 0, "c"},
                         {Channel::kUnsigned, 34, 0, "d"},
                         {Channel::kBit, 1, 0, "e"}};
  std::vector<Slot> s = Layout(c);
  int want[][2] = {{0, 0}, {1, 0}, {0, 40}, {1, 30}, {2, 0}};
  for (size_t i = 0; i < c.size(); ++i) EXPECT_TRUE(s[i].word == want[i][0] && s[i].offset == want[i][1]) << i;
}

TEST(Suf, TextRoundTrip) {
  EXPECT_EQ(Print(Example()), kExample);
  EXPECT_EQ(Print(Parse(kExample)), kExample);
  std::mt19937_64 rng(1);
  for (int i = 0; i < 50; ++i) {
    Suf f{"random", 64, int(1 + rng() % 64), int(1 + rng() % 3), int(rng() % 3), {}, U128{1} << 64, {}, {}};
    for (U128 at = 0; f.pieces.size() < 5; at += 1 + rng() / 8) {
      Piece p{at, {}};
      for (int j = 0; j < f.outputs; ++j) {
        p.poly.emplace_back();
        for (int d = 0; d <= f.degree; ++d) p.poly.back().push_back(rng() & Mask(f.ring));
      }
      f.pieces.push_back(p);
    }
    Suf g = Parse(Print(f));
    EXPECT_EQ(Print(g), Print(f));
    for (int k = 0; k < 20; ++k) {
      uint64_t x = rng();
      EXPECT_EQ(Evaluate(g, x).poly, Evaluate(f, x).poly);
    }
  }
}

// One sentence for every mistake.
TEST(Suf, RefusesWithASentence) {
  auto refused = [](auto change, const std::string& part) {
    Suf f = Example();
    change(f);
    try {
      Verify(f);
      ADD_FAILURE() << "accepted: " << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kInput);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused([](Suf& f) { f.name = "two words"; }, "a name without spaces");
  refused([](Suf& f) { f.n = 65; }, "the domain of example has 65 bits");
  refused([](Suf& f) { f.ring = 0; }, "the ring of example has 0 bits");
  refused([](Suf& f) { f.degree = -1; }, "neither may be negative");
  refused([](Suf& f) { f.pieces[0].begin = 1; }, "must begin at 0");
  refused([](Suf& f) { f.end = 17; }, "ends after 2^4");
  refused([](Suf& f) { f.pieces[1].begin = 12; }, "piece 1 of example is empty");
  refused([](Suf& f) { f.end = 12; }, "piece 2 of example is empty");
  refused([](Suf& f) { f.pieces[1].poly.pop_back(); }, "has 1 polynomials; give 2");
  refused([](Suf& f) { f.pieces[1].poly[0].pop_back(); }, "has 2 coefficients; give 3");
  refused([](Suf& f) { f.pieces[1].poly[0][0] = 64; }, "more than 6 bits");
  refused([](Suf& f) { f.formulas[0][0].value = 17; }, "a threshold over 2^4");
  refused([](Suf& f) { f.formulas[0][1].f = 5; }, "reads 5 low bits of 4");
  refused([](Suf& f) { f.formulas[0][1].value = 5; }, "compares 2 low bits with a threshold over 2^2");
  refused([](Suf& f) { f.formulas[0][3].value = 16; }, "adds a constant of more than 4 bits");
  refused([](Suf& f) { f.formulas[1].erase(f.formulas[1].begin()); }, "without 2 operand(s)");
  refused([](Suf& f) { f.formulas[1].pop_back(); }, "leaves 2 values");
  refused([](Suf& f) { f.channels[0].source = 2; }, "reads source 2 of 2");
  refused([](Suf& f) { f.channels[1].bits = 7; }, "has 7 bits; use 1 to 6");

  auto unparsed = [](const std::string& text, const std::string& part) {
    try {
      Parse(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  unparsed("", "must begin with");
  unparsed("piece 0 : 1", "line 1 of a function's text lacks the head");
  unparsed("suf f domain x", "line 1 of a function's text lacks a number of bits");
  unparsed("suf f domain 4 ring 65 outputs 1 degree 0\n", "lacks a ring of 1 to 64 bits");
  unparsed("suf f domain 4 ring 6 outputs 1 degree 0 more\n", "words are left over");
  unparsed("suf f domain 4 ring 6 outputs 1 degree 0\npiece 0 1\n", "line 2 of a function's text lacks the word ':'");
  unparsed("suf f domain 4 ring 6 outputs 1 degree 0\npiece 0 : 1-\n",
           "line 2 of a function's text lacks a coefficient");
  unparsed("suf f domain 4 ring 6 outputs 1 degree 0\nwhat\n", "lacks one of piece, end, formula, channel");
  unparsed("suf f domain 4 ring 6 outputs 1 degree 0\nformula less 3\n", "lacks one of lt");
  unparsed("suf f domain 4 ring 6 outputs 1 degree 0\nchannel byte 8 0 y\n", "lacks one of bit");
}

TEST(Suf, Uniform) {
  std::vector<int64_t> a{3, -4, 5, -6}, b{1, -1, 2, -2};
  Suf f = Uniform("lines", 3, a, b, 20);
  EXPECT_EQ(UniformBits(f), 3);
  for (uint64_t x = 0; x < 32; ++x) EXPECT_EQ(Channels(f, x)[0], a[x >> 3] + b[x >> 3] * int64_t(x & 7));
  f.pieces[1].begin = 7;
  EXPECT_EQ(UniformBits(f), std::nullopt);
}

TEST(Suf, Groups) {
  std::vector<Group> g{{1, 0, 4, {9, 8, 7, 6}}, {2, 2, 4, {5, 4}}};
  Suf f = FromGroups("f", g, 5, 8);
  int want[] = {9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4};
  for (uint64_t x = 0; x < 32; ++x) EXPECT_EQ(Evaluate(f, x).poly[0], x < 16 ? uint64_t(want[x]) : 0);
  g[1].lo = 1;
  EXPECT_THROW(FromGroups("f", g, 5, 8), Error);
}

double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

// The reported errors are the largest ones, found again through the evaluator.
TEST(Fit, LinesReportTheirError) {
  for (int a : {2, 4})
    for (int slope : {3, 7}) {
      auto fit = FitLines(Gelu, a, 6, 5, slope);
      Suf f = ToSuf(fit.f, "gelu", 32);
      double worst = 0;
      for (uint64_t u = 0; u < uint64_t{1} << (a + 6); ++u) {
        double x = std::ldexp(double(int64_t(u) - (int64_t{1} << (a + 5))), -5);
        worst = std::max(worst, std::abs(std::ldexp(double(Channels(f, u)[0]), -5 - slope) - Gelu(x)));
      }
      EXPECT_DOUBLE_EQ(worst, fit.error);
      EXPECT_LT(fit.error, a == 2 ? 0.03 : 0.06);
    }
}

TEST(Fit, OctavesReportTheirError) {
  Real recip = [](double v) { return std::ldexp(1, 20) / v; };
  auto fit = FitOctaves(recip, 4, 12, 4, 3);
  Suf f = FromGroups("recip", fit.f, 12, 32);
  double worst = 0, relative = 0;
  for (uint64_t x = 16; x < 4096; ++x) {
    double got = double(Evaluate(f, x).poly[0]);
    worst = std::max(worst, std::abs(got - recip(double(x)))),
    relative = std::max(relative, std::abs(got / recip(double(x)) - 1));
  }
  EXPECT_DOUBLE_EQ(worst, fit.error);
  EXPECT_DOUBLE_EQ(relative, fit.relative);
  EXPECT_LT(fit.relative, 0.04);
  for (uint64_t x = 0; x < 16; ++x) EXPECT_EQ(Evaluate(f, x).poly[0], Evaluate(f, 16).poly[0]);
  auto below = FitOctavesBelow(recip, 4, 12, 1, 8);
  Suf g = FromGroups("below", below.f, 12, 32);
  for (uint64_t x = 16; x < 4096; ++x) EXPECT_LE(double(Evaluate(g, x).poly[0]), recip(double(x)));
}

TEST(Fit, Tables) {
  auto fit = FitTable([](double i) { return std::exp(-i / 8); }, 5, 10);
  ASSERT_EQ(fit.f.size(), 32u);
  for (int i = 0; i < 32; ++i) EXPECT_LE(std::abs(double(fit.f[size_t(i)]) / 1024 - std::exp(-i / 8.0)), fit.error);
  EXPECT_LE(fit.error, 0.5 / 1024 + 1e-12);
}

}  // namespace
}  // namespace suf::func
