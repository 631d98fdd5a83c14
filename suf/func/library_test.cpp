// Every library function keeps its stated error, at rings 28, 32 and 40 and scales 9 to 12. Points are random, around
// every cut, and dense near 0. This file has its own references.
#include "suf/func/library.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "suf/func/text.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {
namespace {

// Returns an independent definition of each function, with its default arguments.
const std::map<std::string, Real, std::less<>>& Truth() {
  auto gelu = [](double x) { return x * std::erfc(-x / M_SQRT2) / 2; };
  auto sigmoid = [](double x) { return (1 + std::tanh(x / 2)) / 2; };
  static const std::map<std::string, Real, std::less<>> all{
      {"relu", [](double x) { return x > 0 ? x : 0; }},
      {"relubits", [](double x) { return x > 0 ? x : 0; }},
      {"abs", [](double x) { return x > 0 ? x : -x; }},
      {"sign", [](double x) { return x > 0   ? 1
                                     : x < 0 ? -1
                                             : 0; }},
      {"clamp", [](double x) { return x > 1    ? 1
                                      : x < -1 ? -1
                                               : x; }},
      {"min", [](double x) { return x > 1 ? 1 : x; }},
      {"max", [](double x) { return x < 1 ? 1 : x; }},
      {"gelu", gelu},
      {"gelu_spline", gelu},
      {"gelu_new", [=](double x) { return x * sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)); }},
      {"silu", [=](double x) { return x * sigmoid(x); }},
      {"sigmoid", sigmoid},
      {"tanh", [](double x) { return 1 - 2 / (std::exp(2 * x) + 1); }},
      {"erf", [](double x) { return 1 - std::erfc(x); }},
      {"softplus", [](double x) { return x > 30 ? x : std::log(1 + std::exp(x)); }},
      {"exp", [](double x) { return std::pow(M_E, -x); }},
      {"recip", [](double x) { return 1 / std::max(x, 0.0625); }},
      {"rsqrt", [](double x) { return std::pow(std::max(x, 0.0625), -0.5); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"log2", [](double x) { return std::log(x) / M_LN2; }},
      {"step", [](double x) { return x >= 1 ? 1 : 0; }},
      {"tariff", [](double x) { return x < 1   ? 0
                                       : x < 2 ? (x - 1) / 8
                                               : 0.125 + (x - 2) / 4; }}};
  return all;
}

// Returns words of the domain: random, around cuts, and dense near 0.
std::vector<uint64_t> Points(const LibraryFunction& m, std::mt19937_64& rng) {
  std::vector<uint64_t> out;
  const uint64_t mask = ring::Mask(m.in.bits);
  for (int i = 0; i < 2000; ++i) {
    out.push_back(rng() & mask);
    out.push_back(rng() >> rng() % 64 & mask);
  }
  for (int64_t i = -(int64_t{1} << 16); i < int64_t{1} << 16; i += 3) out.push_back(uint64_t(i) & mask);
  if (const Suf* f = std::get_if<Suf>(&m.f))
    for (const Piece& p : f->pieces)
      for (int64_t d : {-1, 0, 1}) out.push_back((uint64_t(p.begin) + uint64_t(d)) & mask);
  return out;
}

void KeepsItsError(std::string_view name, int n, int scale) {
  const LibraryFunction m = Make(name, n, scale);
  const Real& truth = Truth().at(std::string(name));
  std::mt19937_64 rng(uint64_t(n * 100 + scale));
  const Evaluator e = std::holds_alternative<Suf>(m.f) ? Evaluator(std::get<Suf>(m.f)) : Evaluator(Suf{"f", 1});
  EXPECT_EQ(m.scale, m.shift + (name == "relubits" ? m.scale - m.shift : scale));
  const std::vector<OutputChannel> channels = ChannelsOf(m.f);
  for (uint64_t u : Points(m, rng)) {
    const double x = std::ldexp(m.in.is_signed ? double(ring::Signed(u, m.in.bits)) : double(u), -m.in.scale);
    if (x < m.low || x >= m.high || (name == "log2" && u == 0)) continue;
    const std::vector<int64_t> y = std::holds_alternative<Suf>(m.f) ? e.Channels(u) : Channels(m.f, u);
    int64_t sum = 0;
    for (size_t i = 0; i < y.size(); ++i)
      if (channels[i].kind != OutputChannel::kBit) sum += y[i];
    const double got = std::ldexp(double(sum), -m.scale), want = truth(x);
    ASSERT_LE(std::abs(got - want), m.error + m.relative * std::abs(want) + 1e-12 * std::abs(want))
        << name << " " << n << " " << scale << " at " << x;
    ASSERT_NEAR(m.exact(x), want, 1e-9 * std::max(1.0, std::abs(want))) << name << " at " << x;
  }
}

TEST(Library, KeepsItsErrors) {
  for (const LibraryEntry& f : Library())
    for (int n : {28, 32, 40})
      for (int scale : {9, 10, 11, 12}) ASSERT_NO_FATAL_FAILURE(KeepsItsError(f.name, n, scale));
}

TEST(Library, ListsWhatItMakes) {
  EXPECT_EQ(Library().size(), Truth().size());
  for (const LibraryEntry& f : Library()) {
    EXPECT_TRUE(Truth().contains(f.name));
    EXPECT_FALSE(f.sentence.empty() || f.range.empty() || f.error.empty());
    const LibraryFunction m = Make(f.name, 32, 12);
    EXPECT_EQ(Name(m.f), f.name);
    EXPECT_EQ(ParseFunction(Print(m.f)), m.f);
    EXPECT_EQ(f.error == "0", m.error == 0 && m.relative == 0);
  }
}

TEST(Library, GeluSplineHasItsBits) {
  const LibraryFunction m = Make("gelu_spline", 32, 12);
  const Suf& f = std::get<Suf>(m.f);
  EXPECT_EQ(f.degree, 3);
  const Evaluator e(f);
  EXPECT_EQ(f.channels[0].name + f.channels[1].name + f.channels[2].name + f.channels[3].name, "x+deltawc");
  EXPECT_LE(f.channels.size(), 24u);
  for (int64_t x = -30000; x < 30000; x += 7) {
    const std::vector<int64_t> y = e.Channels(uint64_t(x) & ring::Mask(32));
    EXPECT_EQ(y[0], std::max<int64_t>(x, 0) << m.shift);
    EXPECT_EQ(y[2], x >= 0);
    int64_t pieces = 0;
    for (size_t i = 4; i < y.size(); ++i) pieces += y[i];
    EXPECT_EQ(y[3], pieces);  // x is in one piece, or in none
    EXPECT_TRUE(y[3] || y[1] == 0);
    EXPECT_TRUE(y[3] || std::abs(x) >= 4 << 12);
  }
}

TEST(Library, RelubitsRounds) {
  const LibraryFunction m = Make("relubits", 16, 5);
  for (uint64_t u = 0; u < 1 << 16; ++u) {
    const std::vector<int64_t> y = Channels(m.f, u);
    const int64_t x = std::max<int64_t>(ring::Signed(u, 16), 0);
    EXPECT_EQ(y[0], x);
    EXPECT_EQ(y[1], u < 1 << 15);
    EXPECT_EQ(ring::RoundShift(x, m.shift), (x >> m.shift) + (y[1] & y[2]));
  }
}

TEST(Library, Arguments) {
  auto at = [](const char* name, double x) {
    const LibraryFunction m = Make(name, 32, 8);
    const double y = std::ldexp(double(Channels(m.f, uint64_t(int64_t(x * 256)) & ring::Mask(32))[0]), -m.scale);
    EXPECT_EQ(y, m.exact(x));
    return y;
  };
  EXPECT_EQ(at("clamp(-2.5,1e1)", 11), 10);
  EXPECT_EQ(at("clamp(-2.5,1e1)", -11), -2.5);
  EXPECT_EQ(at("min(-3)", 2), -3);
  EXPECT_EQ(at("max(-3)", -7), -3);
  EXPECT_EQ(at("step(5)", 1), 5);
  EXPECT_EQ(at("step(0,-1,2,3.5,-4)", -1), 2);
  EXPECT_EQ(at("step(0,-1,2,3.5,-4)", 3.5), -4);
  const char* seven = "tariff(0,1000,0.125,2000,0.25,4000,0.375,10000,0.5,20000,0.625,40000,0.75)";
  EXPECT_EQ(at(seven, 999), 0);
  EXPECT_EQ(at(seven, 5000), 125 + 500 + 375);
  EXPECT_EQ(at(seven, 50000), 125 + 500 + 2250 + 5000 + 12500 + 7500);
}

// The accepted numbers of a library function also follow from its text alone.
TEST(Library, SaysWhatItTakes) {
  for (const LibraryEntry& f : Library()) {
    const LibraryFunction m = Make(f.name, 24, 9);
    const int64_t all = int64_t{1} << m.in.bits;
    const bool no_zero = f.name == "recip" || f.name == "rsqrt" || f.name == "log2", abs = f.name == "abs";
    EXPECT_EQ(m.first, m.in.is_signed ? -all / 2 + abs : int64_t(no_zero)) << f.name;
    EXPECT_EQ(m.last, (m.in.is_signed ? all / 2 : all) - 1) << f.name;
    const std::optional<ArgumentRange> made = ArgumentRangeOf(m), known = ArgumentRangeOf(ParseFunction(Print(m.f)));
    EXPECT_EQ(made.has_value(), abs || !m.in.is_signed) << f.name;
    ASSERT_EQ(known.has_value(), made.has_value()) << f.name;
    if (!known) continue;
    EXPECT_EQ(std::tuple(known->is_signed, known->first, known->last), std::tuple(m.in.is_signed, m.first, m.last));
    EXPECT_EQ(known->scale, abs || f.name == "sqrt" ? std::nullopt : std::optional(m.in.scale)) << f.name;
  }
  Suf other = std::get<Suf>(Make("recip", 24, 9).f);
  other.pieces[0].poly[0][0] ^= 1;
  EXPECT_FALSE(ArgumentRangeOf(other));
}

TEST(Library, RefusesWithASentence) {
  auto refused = [](const char* name, int n, int scale, const std::string& part) {
    try {
      Make(name, n, scale);
      ADD_FAILURE() << "accepted: " << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kInput);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused("cube", 32, 12, "there is no library function cube; there are relu, relubits, abs");
  refused("relu", 7, 1, "the ring of relu has 7 bits; use 8 to 48");
  refused("relu", 49, 1, "the ring of relu has 49 bits; use 8 to 48");
  refused("relu", 16, 11, "the scale of relu is 11 in a ring of 16 bits; use 2 to 10");
  refused("relu(1)", 32, 12, "relu has 1 constants; give it 0");
  refused("clamp(1)", 32, 12, "clamp has 1 constants; give it 2");
  refused("step(1,2)", 32, 12, "step has 2 constants; give it an odd number");
  refused("clamp(2,1)", 32, 12, "clamp has the bounds 2 and 1; order them");
  refused("step(1,3,2,3,4)", 32, 12, "the thresholds of step do not increase at 3; order them");
  refused("min(1e9)", 32, 12, "the constant 1e+09 of min does not fit 32 bits at scale 12");
  refused("min(nan)", 32, 12, "does not fit 32 bits");
  refused("min(", 32, 12, "the arguments of min( have a mistake at column 5");
  refused("min()", 32, 12, "the arguments of min() have a mistake at column 5");
  refused("clamp(1;2)", 32, 12, "have a mistake at column 7");
  refused("min(1)2", 32, 12, "have a mistake at column");
}

}  // namespace
}  // namespace suf::func
