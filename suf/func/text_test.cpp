// Items of the text form that Print does not write, and the form of a Split, against expected values.
#include "suf/func/text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "suf/ring/modular.hpp"

namespace suf::func {
namespace {

TEST(Text, CommentsPolyAndTerms) {
  const Function f = ParseFunction(
      "# three brackets\n"
      "\n"
      "suf f domain 4 ring 10 outputs 2 degree 2  # a head\n"
      "poly 0 : 1 -2 3 | 4 0 0 #5\n"
      "poly 9 : 0 0 1 | -1 1 0 # in x itself\n"
      "   # and the rest\n"
      "end 14\n"
      "formula in 3 9\n"
      "formula true false xor in 9 16 and\n"
      "channel bit 1 0 middle\n"
      "channel signed 10 0 y#1\n");
  EXPECT_EQ(Print(f),
            "suf f domain 4 ring 10 outputs 2 degree 2\n"
            "piece 0 : 1 -2 3 | 4 0 0\n"
            "piece 9 : 81 18 1 | 8 1 0\n"
            "end 14\n"
            "formula in 3 9\n"
            "formula true false xor in 9 16 and\n"
            "channel bit 1 0 middle\n"
            "channel signed 10 0 y#1\n");
  for (int x = 0; x < 16; ++x)
    EXPECT_EQ(Channels(f, uint64_t(x)), (std::vector<int64_t>{x >= 3 && x < 9, x < 9    ? 1 - 2 * x + 3 * x * x
                                                                               : x < 14 ? x * x
                                                                                        : 0}))
        << x;
}

TEST(Text, TableIsARun) {
  const Function f = ParseFunction("suf t domain 2 ring 8 outputs 1 degree 0\ntable 1 -2 3 255\nend 4\n");
  EXPECT_EQ(Print(f), "suf t domain 2 ring 8 outputs 1 degree 0\nrun 0 0 : 1 , -2 , 3 , -1\nend 4\n");
}

// Coefficients in x itself become equal polynomials modulo 2^ring, at every degree and also far from 0.
TEST(Text, PolyIsExactModuloTheRing) {
  std::mt19937_64 rng(5);
  for (int i = 0; i < 200; ++i) {
    const int ring = int(1 + rng() % 64), degree = int(rng() % (kMostDegree + 1)), n = i % 2 ? 64 : 40;
    const uint64_t begin = rng() & ring::Mask(n);
    std::vector<uint64_t> c;
    std::string text = Str("suf p domain ", n, " ring ", ring, " outputs 1 degree ", degree, "\npoly 0 :");
    for (int d = 0; d <= degree; ++d) text += " 0";
    text += Str("\npoly ", begin, " :");
    for (int d = 0; d <= degree; ++d) {
      c.push_back(rng());
      text += Str(" ", c.back());
    }
    text += n == 64 ? "\nend 18446744073709551616\n" : "\nend 1099511627776\n";
    const Suf f = Parse(text);
    for (int k = 0; k < 20; ++k) {
      const uint64_t x = k == 0 ? begin : begin + rng() % (ring::Mask(n) - begin + (begin > 0));
      uint64_t y = 0;
      for (size_t d = c.size(); d-- > 0;) y = y * x + c[d];
      EXPECT_EQ(Evaluate(f, x).poly[0], y & ring::Mask(ring));
    }
  }
}

constexpr const char* kSum = "split b domain 4 ring 9 sum 1 3\nhigh 1 2 3 4 5 6 7 -8\nlow 10 20 30 40\nend\n";
constexpr const char* kProduct = "split e domain 3 ring 64 product 1\nhigh 9 5 -2 1\nlow 4 3\nend\n";

TEST(Text, Splits) {
  const Function sum = ParseFunction(kSum), product = ParseFunction(kProduct);
  EXPECT_EQ(Print(sum), kSum);
  EXPECT_EQ(Print(product), kProduct);
  const int high[] = {1, 2, 3, 4, 5, 6, 7, -8}, low[] = {10, 20, 30, 40};
  for (int x = 0; x < 16; ++x)
    EXPECT_EQ(Channels(sum, uint64_t(x)), std::vector<int64_t>{high[x >> 1] + low[(x >> 3) * 2 + x % 2]}) << x;
  const int left[] = {9, 5, -2, 1}, right[] = {4, 3};
  for (int x = 0; x < 8; ++x)
    EXPECT_EQ(Channels(product, uint64_t(x)), std::vector<int64_t>{left[x >> 1] * right[x % 2]}) << x;
  EXPECT_EQ(Name(sum), "b");
  EXPECT_EQ(DomainBits(product), 3);
  EXPECT_EQ(RingBits(sum), 9);
  EXPECT_EQ(ChannelsOf(sum), (std::vector<OutputChannel>{{OutputChannel::kSigned, 9, 0, "y"}}));
}

TEST(Text, SplitsRoundTrip) {
  std::mt19937_64 rng(6);
  for (int i = 0; i < 200; ++i) {
    Split f{Split::Kind(i % 2), "f", int(1 + rng() % 20), int(1 + rng() % 64), 0, 0, {}, {}};
    f.a = std::max(0, f.n - int(rng() % 9));
    if (f.kind == Split::kSum) f.c = f.a + int(rng() % uint64_t(f.n - f.a + 1));
    if (f.n - f.a > 16 || f.a > 12 || f.n - f.c + f.a > 16) continue;
    f.high.resize(size_t{1} << (f.n - f.a));
    f.low.resize(size_t{1} << (f.kind ? f.a : f.n - f.c + f.a));
    for (auto* table : {&f.high, &f.low})
      for (uint64_t& v : *table) v = rng() & ring::Mask(f.ring);
    Verify(f);
    EXPECT_EQ(ParseFunction(Print(f)), Function(f));
    for (int k = 0; k < 50; ++k) {
      const uint64_t x = rng() & ring::Mask(f.n), block = f.kind ? 0 : x / (uint64_t{1} << f.c);
      const uint64_t low = f.low[block * (uint64_t{1} << f.a) + x % (uint64_t{1} << f.a)];
      const uint64_t high = f.high[x / (uint64_t{1} << f.a)];
      EXPECT_EQ(Evaluate(f, x), (f.kind ? high * low : high + low) & ring::Mask(f.ring));
    }
  }
}

TEST(Text, RefusesSplitsWithASentence) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "must begin with 'suf <name> domain ..'"},
      {"split b domain 4 ring 9 sum 1\n", "line 1 of a function's text lacks where the slope's bits begin"},
      {"split b domain 4 ring 9 quotient 1\n", "line 1 of a function's text lacks one of sum, product"},
      {"split b domain 4 ring 0 product 1\n", "lacks a ring of 1 bit or more"},
      {"split b domain 4 ring 9 product 1\nhigh 1 x\n", "line 2 of a function's text lacks a value of a table"},
      {"split b domain 4 ring 9 product 1\nlow 1\nlow 1\n",
       "line 3 of a function's text lacks one of high, low and end"},
      {"split b domain 4 ring 9 product 1\nlow 1\n# end\n", "the text of b lacks its end: write 'end' after line 3"},
      {"split b domain 4 ring 9 product 1\nend\n", "the table high of b has 0 values; give 2^3"},
      {"split b domain 1 ring 9 product 1\nhigh 1\nlow 1\nend\n", "the table low of b has 1 values; give 2^1"},
      {"split b domain 40 ring 9 product 1\nhigh 1\nlow 1\nend\n",
       "the table high of b is read at 39 bits; at most 16"},
      {"split b domain 4 ring 9 product 5\nend\n", "b is cut at bit 5 of 4; use 0 to 4"},
      {"split b domain 4 ring 9 sum 3 2\nend\n", "the slope's bits of b begin at bit 2; use 3 to 4"},
      {"split b domain 65 ring 9 product 1\nend\n", "lacks a number of bits, at most 64"},
      {"split b domain 0 ring 9 product 0\nend\n", "the domain of b has 0 bits; use 1 to 64"},
      {"split b domain 4 ring 9 product 1 2\n", "words are left over"},
  };
  for (auto [text, part] : cases) try {
      ParseFunction(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kInput);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  Split f = std::get<Split>(ParseFunction(kSum));
  f.high[0] = 512;
  EXPECT_THROW(Verify(f), Error);
  f.high[0] = 0;
  f.name = "two words";
  EXPECT_THROW(Verify(f), Error);
}

}  // namespace
}  // namespace suf::func
