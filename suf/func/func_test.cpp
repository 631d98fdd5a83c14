#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "suf/func/fit.hpp"
#include "suf/func/suf.hpp"
#include "suf/func/text.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {
namespace {

// Returns a function with every feature, on 4 bits.
Suf Example() {
  Suf f{"example", 4, 6, 2, 2, {}, 13, {}, {}};
  f.pieces = {{0, {{1, 2, 63}, {5, 0, 0}}}, {3, {{60, 1, 0}, {0, 1, 1}}}, {12, {{7, 0, 0}, {32, 0, 0}}}};
  f.formulas = {{{Term::kLt, 0, 7}, {Term::kLtLow, 2, 3}, {Term::kAnd}, {Term::kMsb, 0, 3}, {Term::kNot}, {Term::kOr}},
                {{Term::kLt, 0, 16}, {Term::kLt, 0, 0}, {Term::kXor}}};
  f.channels = {{OutputChannel::kBit, 1, 0, "near"},
                {OutputChannel::kSigned, 6, 0, "y"},
                {OutputChannel::kUnsigned, 4, 1, "low"},
                {OutputChannel::kBit, 1, 1, "always"}};
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
    std::vector<int64_t> want{near, ring::Signed(uint64_t(y), 6), low & 15, 1};
    EXPECT_EQ(Channels(f, uint64_t(x)), want) << x;
    // near, y, low and always share one word in channel order
    uint64_t word = uint64_t(near) | (uint64_t(y) & 63) << 1 | (uint64_t(low) & 15) << 7 | uint64_t{1} << 11;
    EXPECT_EQ(Pack(f, uint64_t(x)), std::vector<uint64_t>{word}) << x;
  }
}

// Values of every kind side by side: words fill up to 64 bits, and no value crosses one. Bits above a channel are cut.
TEST(Suf, PackedWordsOfValues) {
  const std::vector<OutputChannel> channels{{OutputChannel::kSigned, 40, 0, "a"},
                                            {OutputChannel::kUnsigned, 30, 0, "b"},
                                            {OutputChannel::kBit, 1, 0, "c"},
                                            {OutputChannel::kUnsigned, 64, 0, "d"},
                                            {OutputChannel::kSigned, 23, 0, "e"}};
  const std::vector<int64_t> values{-3, (1 << 30) - 2, 1, int64_t(~uint64_t{4}), -(1 << 22)};
  const std::vector<uint64_t> words{((uint64_t{1} << 40) - 3) | uint64_t{1} << 40 | uint64_t{1} << 63, (1 << 30) - 2,
                                    ~uint64_t{4}};
  EXPECT_EQ(PackWords(channels, values), words);
  EXPECT_EQ(Unpack(channels, words), values);
  std::vector<int64_t> high = values;
  high[1] += int64_t{1} << 30;
  EXPECT_EQ(PackWords(channels, high), words);
  EXPECT_TRUE(PackWords({}, {}).empty());
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
  std::vector<OutputChannel> c{{OutputChannel::kUnsigned, 40, 0, "a"},
                               {OutputChannel::kUnsigned, 30, 0, "b"},
                               {OutputChannel::kUnsigned, 24, 0, "c"},
                               {OutputChannel::kUnsigned, 34, 0, "d"},
                               {OutputChannel::kBit, 1, 0, "e"}};
  std::vector<ChannelSlot> s = Layout(c);
  int want[][2] = {{0, 0}, {1, 0}, {0, 40}, {1, 30}, {2, 0}};
  for (size_t i = 0; i < c.size(); ++i) EXPECT_TRUE(s[i].word == want[i][0] && s[i].offset == want[i][1]) << i;
}

// A field of an additive share is no share of the field: it lacks the carry of the fields below. The packed
// layouts of ponyyuhan/programmableDPF cut such fields (suf_unpack_channel_share). Layout packs known values alone. A
// field of an XOR share is a share.
TEST(Suf, AFieldOfAnAdditiveShareIsNoShare) {
  const std::vector<OutputChannel> c{{OutputChannel::kUnsigned, 8, 0, "low"}, {OutputChannel::kUnsigned, 8, 0, "high"}};
  const uint64_t word = 0x0201;
  auto fields = [&](uint64_t w) { return Unpack(c, std::vector<uint64_t>{w}); };
  EXPECT_EQ(fields(word), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ((fields(0xff)[1] + fields(word - 0xff)[1]) % 256, 1);  // not 2
  int wrong = 0;
  for (uint64_t share = 0; share < 256; ++share) {
    wrong += (fields(share)[1] + fields(word - share)[1]) % 256 != 2;
    EXPECT_EQ(fields(share + (word - share)), fields(word));
    EXPECT_EQ(fields(share)[1] ^ fields(word ^ share)[1], 2);
  }
  EXPECT_EQ(wrong, 254);  // all shares of `low` but 0 and 1
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
        for (int d = 0; d <= f.degree; ++d) p.poly.back().push_back(rng() & ring::Mask(f.ring));
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

// Four consecutive pieces or more of one power-of-two width are a run. The last piece ends at `end`.
TEST(Suf, TextRuns) {
  Suf f{"runs", 8, 16, 2, 1, {}, 200, {}, {}};
  auto add = [&](U128 at) {
    uint64_t v = f.pieces.size();
    f.pieces.push_back({at, {{v, 1}, {0x10000 - v, 0}}});
    if (v == 0) f.pieces.back().poly[1][0] = 0;
  };
  for (int at : {0, 4, 8, 12, 16, 32, 48, 64, 67, 70, 73, 76, 80, 96, 112, 128, 144, 160, 176, 192}) add(U128(at));
  const char* const text =
      "suf runs domain 8 ring 16 outputs 2 degree 1\n"
      "run 0 2 : 0 1 | 0 0 , 1 1 | -1 0 , 2 1 | -2 0 , 3 1 | -3 0\n"
      "piece 16 : 4 1 | -4 0\n"
      "piece 32 : 5 1 | -5 0\n"
      "piece 48 : 6 1 | -6 0\n"
      "piece 64 : 7 1 | -7 0\n"
      "piece 67 : 8 1 | -8 0\n"
      "piece 70 : 9 1 | -9 0\n"
      "piece 73 : 10 1 | -10 0\n"
      "piece 76 : 11 1 | -11 0\n"
      "run 80 4 : 12 1 | -12 0 , 13 1 | -13 0 , 14 1 | -14 0 , 15 1 | -15 0 , 16 1 | -16 0 , 17 1 | -17 0 , 18 1 | -18 "
      "0\n"
      "piece 192 : 19 1 | -19 0\n"
      "end 200\n";
  EXPECT_EQ(Print(f), text);
  Suf g = Parse(text);
  ASSERT_EQ(g.pieces.size(), f.pieces.size());
  for (size_t i = 0; i < f.pieces.size(); ++i) {
    EXPECT_TRUE(g.pieces[i].begin == f.pieces[i].begin);
    EXPECT_EQ(g.pieces[i].poly, f.pieces[i].poly);
  }
  EXPECT_TRUE(g.end == 200);
  // the widest runs: a whole domain on one line, and a width of 2^64
  std::vector<int64_t> table(4096);
  for (size_t i = 0; i < table.size(); ++i) table[i] = int64_t(i * i) - 1000;
  Suf big = Uniform("table", 52, table, {}, 64);
  std::string line = Print(big);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 4);  // head, run, end, channel
  EXPECT_EQ(Print(Parse(line)), line);
  const std::string one = "suf f domain 64 ring 8 outputs 1 degree 0\nrun 0 64 : 7\nend 18446744073709551616\n";
  EXPECT_EQ(Evaluate(Parse(one), ~uint64_t{0}).poly[0], 7u);
  EXPECT_EQ(Print(Parse(one)), "suf f domain 64 ring 8 outputs 1 degree 0\npiece 0 : 7\nend 18446744073709551616\n");
}

// Every partition of 4 bits survives Print and Parse, with runs or without.
TEST(Suf, TextRoundTripOfEveryPartition) {
  for (uint32_t cuts = 0; cuts < 1 << 15; ++cuts)
    for (int end : {16, 15}) {
      Suf f{"f", 4, 8, 1, 0, {{0, {{0}}}}, U128(end), {}, {}};
      for (int at = 1; at < end; ++at)
        if (cuts >> (at - 1) & 1) f.pieces.push_back({U128(at), {{uint64_t(at)}}});
      Suf g = Parse(Print(f));
      ASSERT_EQ(g.pieces.size(), f.pieces.size()) << Print(f);
      for (size_t i = 0; i < f.pieces.size(); ++i)
        ASSERT_TRUE(g.pieces[i].begin == f.pieces[i].begin && g.pieces[i].poly == f.pieces[i].poly) << Print(f);
      const Evaluator e(f);
      for (uint64_t x = 0; x < 16; ++x) ASSERT_EQ(e.At(x), Evaluate(g, x).poly[0]) << Print(f) << x;
    }
}

// At the limits Verify and Parse accept a function. Beyond them both refuse it.
TEST(Suf, Limits) {
  auto refused = [](const Suf& f, const std::string& part) {
    try {
      Verify(f);
      ADD_FAILURE() << "accepted: " << part;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
    try {
      Parse(Print(f));
      ADD_FAILURE() << "read: " << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kInput);
    }
  };
  Suf f{"f", 32, 64, kMostOutputs, kMostDegree, {}, 1, {}, {}};
  f.pieces = {{0, std::vector(size_t(kMostOutputs), std::vector<uint64_t>(size_t(kMostDegree) + 1, ~uint64_t{0} / 3))}};
  f.formulas.assign(size_t(kMostFormulas), Formula{{Term::kLt, 0, 1}});
  f.formulas[0].insert(f.formulas[0].end(), size_t(kMostTerms) - 1, {Term::kNot});
  for (int i = 0; i < kMostChannels; ++i)
    f.channels.push_back(
        {OutputChannel::kBit, 1, kMostFormulas - 1, Str(i, std::string(size_t(kMostName), 'n')).substr(0, 256)});
  f.name = std::string(size_t(kMostName), 'f');
  Verify(f);
  EXPECT_EQ(Print(Parse(Print(f))), Print(f));
  auto with = [&](auto change) {
    Suf g = f;
    change(g);
    return g;
  };
  refused(with([](Suf& g) { g.name += 'f'; }), "of 1 to 256 bytes; this one's has 257");
  refused(with([](Suf& g) { ++g.outputs; }), "has 65 outputs; at most 64");
  refused(with([](Suf& g) { ++g.degree; }), "has 8 as degree; at most 7");
  refused(with([](Suf& g) { g.formulas.push_back(g.formulas[1]); }), "has 65 formulas; at most 64");
  refused(with([](Suf& g) { g.formulas[0].push_back({Term::kNot}); }), "has 257 terms in one formula; at most 256");
  refused(with([](Suf& g) { g.channels.push_back(g.channels[0]); }), "has 257 channels; at most 256");
  refused(with([](Suf& g) { g.channels[0].name += 'n'; }), "channel 0 of");
  // pieces and coefficients
  Suf many{"many", 32, 1, 0, 0, {}, U128{1} << 32, {}, {}};
  for (size_t i = 0; i < kMostPieces; ++i) many.pieces.push_back({U128(i), {}});
  EXPECT_EQ(Parse(Print(many)).pieces.size(), kMostPieces);
  many.pieces.push_back({U128(kMostPieces), {}});
  refused(many, "pieces; at most 65536");
  Suf wide{"wide", 32, 1, 63, 1, {}, U128{1} << 32, {}, {}};
  for (size_t i = 0; i <= kMostCoefficients / 126; ++i)
    wide.pieces.push_back({U128(i), std::vector(63, std::vector<uint64_t>{1, 0})});
  refused(wide, "coefficients; at most 4194304");
  EXPECT_THROW(Parse(std::string(kMostText + 1, ' ')), Error);
}

// A name that Verify accepts is one word of the text, so Parse reads it back.
TEST(Suf, NamesAreWords) {
  for (int c = 0; c < 256; ++c)
    for (bool channel : {false, true}) {
      Suf f = Example();
      (channel ? f.channels[2].name : f.name) = std::string("a") + char(c);
      bool word = c > ' ' && c < 0x7f;
      if (word) {
        Verify(f);
        Suf g = Parse(Print(f));
        EXPECT_EQ(g.name, f.name);
        EXPECT_EQ(g.channels, f.channels);
      } else {
        EXPECT_THROW(Verify(f), Error) << c;
      }
    }
  Suf f = Example();
  f.name = "größe";
  EXPECT_EQ(Parse(Print(f)).name, f.name);
  f.channels[0].name.clear();
  EXPECT_THROW(Verify(f), Error);
}

// Every mistake in a Suf has an error message.
TEST(Suf, MistakesAreNamed) {
  const std::pair<std::function<void(Suf&)>, const char*> mistakes[] = {
      {[](Suf& f) { f.name = "two words"; }, "a name without spaces"},
      {[](Suf& f) { f.n = 65; }, "the domain of example has 65 bits"},
      {[](Suf& f) { f.ring = 0; }, "the ring of example has 0 bits"},
      {[](Suf& f) { f.degree = -1; }, "neither may be negative"},
      {[](Suf& f) { f.pieces[0].begin = 1; }, "must begin at 0"},
      {[](Suf& f) { f.end = 17; }, "ends after 2^4"},
      {[](Suf& f) { f.pieces[1].begin = 12; }, "piece 1 of example is empty"},
      {[](Suf& f) { f.end = 12; }, "piece 2 of example is empty"},
      {[](Suf& f) { f.pieces[1].poly.pop_back(); }, "has 1 polynomials; give 2"},
      {[](Suf& f) { f.pieces[1].poly[0].pop_back(); }, "has 2 coefficients; give 3"},
      {[](Suf& f) { f.pieces[1].poly[0][0] = 64; }, "more than 6 bits"},
      {[](Suf& f) { f.formulas[0][0].value = 17; }, "a threshold over 2^4"},
      {[](Suf& f) { f.formulas[0][1].f = 5; }, "reads 5 low bits of 4"},
      {[](Suf& f) { f.formulas[0][1].value = 5; }, "compares 2 low bits with a threshold over 2^2"},
      {[](Suf& f) { f.formulas[0][3].value = 16; }, "adds a constant of more than 4 bits"},
      {[](Suf& f) { f.formulas[1].erase(f.formulas[1].begin()); }, "without 2 operand(s)"},
      {[](Suf& f) { f.formulas[1].pop_back(); }, "leaves 2 values"},
      {[](Suf& f) {
         f.formulas[0][0] = {Term::kIn, 0, 3, 2};
       },
       "has an interval that falls or ends after 2^4"},
      {[](Suf& f) {
         f.formulas[0][0] = {Term::kIn, 0, 3, 17};
       },
       "has an interval that falls or ends after 2^4"},
      {[](Suf& f) { f.channels[2].name = "y"; }, "two channels of example have the name y; give each its own"},
      {[](Suf& f) { f.channels[2].name = ""; }, "channel 2 of example needs a name"},
      {[](Suf& f) { f.channels[2].name = "#y"; }, "a # in front"},
      {[](Suf& f) { f.channels[0].source = 2; }, "reads source 2 of 2"},
      {[](Suf& f) { f.channels[1].bits = 7; }, "has 7 bits; use 1 to 6"},
  };
  for (const auto& [change, part] : mistakes) {
    Suf f = Example();
    change(f);
    try {
      Verify(f);
      ADD_FAILURE() << "accepted: " << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kInput);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }
}

// Expects that a text is refused with an error message that has `part`.
void ExpectUnparsed(const std::string& text, const std::string& part) {
  try {
    Parse(text);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Text, MistakesInTheHeadAreNamed) {
  ExpectUnparsed("", "must begin with");
  ExpectUnparsed("piece 0 : 1", "line 1 of a function's text lacks the head");
  ExpectUnparsed("suf f domain x", "line 1 of a function's text lacks a number of bits");
  ExpectUnparsed("suf f domain 4 ring 65 outputs 1 degree 0\n", "lacks a number of bits, at most 64");
  ExpectUnparsed("suf f domain 4 ring 0 outputs 1 degree 0\n", "lacks a ring of 1 bit or more");
  ExpectUnparsed("suf f domain 4 ring 6 outputs 1 degree 0 more\n", "words are left over");
}

// The head of a function on 4 bits with one number of 6 bits.
const std::string kHead = "suf f domain 4 ring 6 outputs 1 degree 0\n";

TEST(Text, MistakesInAPieceAreNamed) {
  ExpectUnparsed(kHead + "piece 0 1\n", "line 2 of a function's text lacks the word ':'");
  ExpectUnparsed(kHead + "piece 0 : 1-\n", "line 2 of a function's text lacks a coefficient");
  ExpectUnparsed(kHead + "piece 0 : 1\nend 5\nend 5\n", "and end once");
  ExpectUnparsed(kHead + "piece 0 : -\nend 1\n", "line 2 of a function's text lacks a coefficient");
  ExpectUnparsed(kHead + "piece 0 : --1\nend 1\n", "lacks a coefficient");
  ExpectUnparsed(kHead + "piece 0 : +1\nend 1\n", "lacks a coefficient");
  ExpectUnparsed(kHead + "piece 0 : 1x\nend 1\n", "lacks a coefficient");
  ExpectUnparsed(kHead + "piece 0 : 18446744073709551616\nend 1\n", "lacks a coefficient of at most 64 bits");
  ExpectUnparsed(kHead + "piece 0 : 1 | 2\nend 1\n", "words are left over");
  ExpectUnparsed(kHead + "piece 0 : 1 2\nend 1\n", "words are left over");
  ExpectUnparsed(kHead + "piece 0 :\nend 1\n", "lacks a coefficient");
  ExpectUnparsed(kHead + "piece 111111111111111111111 : 1\n", "lacks a cutpoint");
  ExpectUnparsed(kHead + "piece 0 : 1\n\n# no more\n",
                 "lacks its end: write 'end <where the last piece ends>' after line 4");
  ExpectUnparsed(kHead + "poly 0 : # 1\n", "line 2 of a function's text lacks a coefficient");
  ExpectUnparsed(kHead + "piece 0 : 1\ntable 1\n", "line 3 of a function's text lacks a place for a table");
  ExpectUnparsed("suf f domain 4 ring 6 outputs 2 degree 0\npiece 0 : 1\n", "lacks the sign '|' before another output");
}

TEST(Text, MistakesInARunAreNamed) {
  ExpectUnparsed(kHead + "run 0 65 : 1\n", "lacks the logarithm of a width, at most 64");
  ExpectUnparsed(kHead + "run 0 1 :\n", "lacks a coefficient");
  ExpectUnparsed(kHead + "run 0 1 : 1 , 2 ,\n", "lacks a coefficient");
  ExpectUnparsed(kHead + "run 0 1 : 1 ,2\n", "words are left over");
  ExpectUnparsed(kHead + "run 0 1 : 1 2\n", "words are left over");
  ExpectUnparsed(kHead + "run 0 1 : 1 , 2\npiece 5 : 1\nend 6\n",
                 "line 3 of a function's text lacks the place where the run");
  ExpectUnparsed(kHead + "run 0 1 : 1 , 2\nend 5\n", "line 3 of a function's text lacks the place where the run");
  ExpectUnparsed(kHead + "end 5\nrun 0 1 : 1 , 2\n", "does not end where the function does");
  ExpectUnparsed(kHead + "run 0 3 : 1 , 2 , 3\nend 24\n", "ends after 2^4");
}

TEST(Text, MistakesInOtherLinesAreNamed) {
  ExpectUnparsed(kHead + "what\n", "lacks one of piece, poly, run, table, formula, channel, and end once");
  ExpectUnparsed(kHead + "formula less 3\n", "lacks one of lt");
  ExpectUnparsed(kHead + "formula in 3\n", "line 2 of a function's text lacks the upper end of an interval");
  ExpectUnparsed(kHead + "formula in\n", "lacks a threshold");
  ExpectUnparsed(kHead + "table 1 2 3\nend 16\n",
                 "line 2 of a function's text lacks a constant for each of the domain's");
  ExpectUnparsed(kHead + "table 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\nend 16\n", "words are left over");
  ExpectUnparsed(kHead + "channel byte 8 0 y\n", "lacks one of bit");
  ExpectUnparsed("suf f domain 17 ring 6 outputs 1 degree 0\ntable 1\n", "of a function of at most 16 bits");
  ExpectUnparsed("suf f domain 2 ring 6 outputs 1 degree 1\ntable 1\n", "with 1 output of degree 0");
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
  std::vector<Octave> g{{1, 0, 4, {9, 8, 7, 6}}, {2, 2, 4, {5, 4}}};
  Suf f = FromGroups("f", g, 5, 8);
  int want[] = {9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4};
  for (uint64_t x = 0; x < 32; ++x) EXPECT_EQ(Evaluate(f, x).poly[0], x < 16 ? uint64_t(want[x]) : 0);
  g[1].lo = 1;
  EXPECT_THROW(FromGroups("f", g, 5, 8), Error);
}

// ToGroups reverses FromGroups for all widths, signs and rings.
TEST(Suf, GroupsRoundTrip) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 200; ++i) {
    const int ring = int(1 + rng() % 64), n = 40;
    std::vector<Octave> g;
    int64_t at = 0;
    for (int w = int(rng() % 3), next = 0; g.size() < 5; w = next) {
      next = w + 1 + int(rng() % 4);
      const int64_t whole = int64_t{1} << (next - w), lo = at >> w;  // the next group begins at a multiple of its width
      Octave x{w, lo, (lo + whole * (1 + int64_t(rng() % 5))) / whole * whole, {}};
      for (int64_t v = x.lo; v < x.hi; ++v) x.values.push_back(int64_t(rng() & ring::Mask(ring)));
      at = x.hi << w;
      g.push_back(x);
    }
    Suf f = FromGroups("f", g, n, ring);
    for (const Suf& h : {f, Parse(Print(f))}) {
      auto back = ToGroups(h);
      ASSERT_EQ(back.size(), g.size());
      for (size_t k = 0; k < g.size(); ++k) {
        EXPECT_EQ(back[k].w, g[k].w);
        EXPECT_EQ(back[k].lo, g[k].lo);
        EXPECT_EQ(back[k].hi, g[k].hi);
        EXPECT_EQ(back[k].values, g[k].values);
      }
    }
    const Evaluator flat(f), direct(g, n, ring);
    for (int k = 0; k < 50; ++k) {
      uint64_t x = k < 25 ? rng() % uint64_t(at + 2) : rng() & ring::Mask(n);
      EXPECT_EQ(flat.At(x), Evaluate(f, x).poly[0]);
      EXPECT_EQ(direct.At(x), Evaluate(f, x).poly[0]);
    }
  }
  // negative values are in two's complement if the channel is signed
  std::vector<Octave> g{{0, 0, 2, {-3, 4}}};
  Suf f = FromGroups("f", g, 4, 8);
  EXPECT_EQ(ToGroups(f)[0].values, (std::vector<int64_t>{253, 4}));
  f.channels[0].kind = OutputChannel::kSigned;
  EXPECT_EQ(ToGroups(f)[0].values, g[0].values);
  // consecutive groups of one width are joined
  std::vector<Octave> two{{1, 0, 4, {9, 8, 7, 6}}, {1, 4, 6, {5, 4}}};
  EXPECT_EQ(ToGroups(FromGroups("f", two, 5, 8)).size(), 1u);
  // widths may decrease
  std::vector<Octave> falls{{2, 0, 2, {9, 8}}, {1, 4, 6, {7, 6}}, {2, 3, 4, {5}}};
  auto back = ToGroups(Parse(Print(FromGroups("f", falls, 4, 8))));
  ASSERT_EQ(back.size(), 3u);
  for (size_t k = 0; k < back.size(); ++k) {
    EXPECT_EQ(std::tuple(back[k].w, back[k].lo, back[k].hi), std::tuple(falls[k].w, falls[k].lo, falls[k].hi));
    EXPECT_EQ(back[k].values, falls[k].values);
  }
}

TEST(Suf, RefusesWhatIsNoFunctionOnOctaves) {
  auto refused = [](auto change, const std::string& part) {
    std::vector<Octave> g{{1, 0, 4, {9, 8, 7, 6}}, {2, 2, 4, {5, 4}}};
    Suf f = FromGroups("f", g, 5, 8);
    change(f);
    Verify(f);
    try {
      ToGroups(f);
      ADD_FAILURE() << "accepted: " << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kInput);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  auto raise = [](Suf& f, int outputs, int degree) {
    f.outputs = outputs;
    f.degree = degree;
    for (Piece& p : f.pieces) p.poly.assign(size_t(outputs), std::vector<uint64_t>(size_t(degree) + 1, 1));
  };
  refused([&](Suf& f) { raise(f, 2, 0); }, "one output of constants");
  refused([&](Suf& f) { raise(f, 1, 1); }, "one output of constants");
  refused([](Suf& f) { f.formulas = {{{Term::kLt, 0, 3}}}; }, "no formula");
  refused([](Suf& f) { f.end = 15; }, "the width of piece 5 is no power of two");
  refused([](Suf& f) { f.pieces[5].begin = 13; }, "the width of piece 4 is no power of two");
  refused(
      [](Suf& f) {
        f.pieces.resize(2);
        f.pieces[1].begin = 2;
        f.end = 6;
      },
      "piece 1 does not begin at a multiple");
  refused(
      [](Suf& f) {
        f.pieces.clear();
        f.outputs = 0;
        f.end = 0;
        f.channels.clear();
      },
      "one output");
  refused(
      [](Suf& f) {
        f.n = 64;
        f.pieces.resize(1);
        f.end = U128{1} << 64;
      },
      "no power of two up to 2^62");
}

// The prepared evaluator equals Evaluate before, at and after cuts, for several outputs, degrees and ends.
TEST(Suf, EvaluatorIsEvaluate) {
  std::mt19937_64 rng(7);
  int uniform = 0;
  for (int i = 0; i < 100; ++i) {
    const int n = i % 4 ? 64 : 12;
    Suf f{"f", n, int(1 + rng() % 64), int(1 + rng() % 3), int(rng() % 4), {}, U128{1} << n, {}, {}};
    const int pieces = 1 << rng() % 6;
    std::vector<uint64_t> points{0, ring::Mask(n)};
    for (int p = 0; p < pieces; ++p) {
      U128 begin = i % 2              ? U128(p) << (n - std::countr_zero(unsigned(pieces)))
                   : f.pieces.empty() ? 0
                                      : f.pieces.back().begin + 1 + rng() % (ring::Mask(n) / 64);
      Piece x{begin, {}};
      for (int j = 0; j < f.outputs; ++j) {
        x.poly.emplace_back();
        for (int d = 0; d <= f.degree; ++d) x.poly.back().push_back(rng() & ring::Mask(f.ring));
      }
      f.pieces.push_back(x);
      points.insert(points.end(), {uint64_t(begin), uint64_t(begin - (p > 0)), uint64_t(begin) + 1});
    }
    if (i % 3 == 0) {
      f.end = f.pieces.back().begin + 1;
      points.push_back(uint64_t(f.end) & ring::Mask(n));
    }
    Verify(f);
    uniform += UniformBits(f).has_value();
    for (int k = 0; k < 20; ++k) points.push_back(rng() & ring::Mask(n));
    const Evaluator e(f);
    for (uint64_t x : points)
      for (int j = 0; j < f.outputs; ++j) EXPECT_EQ(e.At(x, j), Evaluate(f, x).poly[size_t(j)]) << i << " " << x;
  }
  EXPECT_GT(uniform, 20);
  EXPECT_LT(uniform, 80);
  Suf f = Example();
  EXPECT_THROW((void)Evaluator(f).At(16), Bug);
  EXPECT_THROW((void)Evaluator(f).At(0, 2), Bug);
}

}  // namespace
}  // namespace suf::func
