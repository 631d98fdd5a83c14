// The text of compositions: the scores of docs/gates.md, round trips, every mistake that the parser finds, limits, and
// random texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "suf/base/scratch_test.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/compose/composition.hpp"
#include "suf/gates/plan_text.hpp"

namespace suf::gates {
namespace {

constexpr const char* kScoresText =
    "# score.gates: P1 brings features, P0 weights; P1 learns two scores a row\n"
    "x    = input p1 32:12 [n, 16]\n"
    "v    = input p0 16:10 [16]\n"
    "y, b = reluars(x, shift=8) outputs y, w     # left: new names; right: outputs of the gate\n"
    "s    = dot(y, v)                            # over the last axis: [n]\n"
    "z    = select(b, v)                         # v where b = 1, else 0: [n, 16]\n"
    "t    = sum(z)\n"
    "output s -> p1                              # p0, p1, both or shared\n"
    "output t -> p1\n";

constexpr const char* kScoresPrinted =
    "x = input p1 32:12 [n, 16]\n"
    "v = input p0 16:10 [16]\n"
    "y, b = reluars(x, shift=8) outputs y, w\n"
    "s = dot(y, v)\n"
    "z = select(b, v)\n"
    "t = sum(z)\n"
    "output s -> p1\n"
    "output t -> p1\n";

constexpr const char* kStepFunction =
    "suf step domain 8 ring 8 outputs 1 degree 0\n"
    "piece 0 : 1\n"
    "piece 100 : -4\n"
    "end 256\n"
    "channel signed 8 0 y\n";

std::vector<std::string> NamesIn(const std::vector<PlacedName>& names) {
  std::vector<std::string> out;
  for (const PlacedName& n : names) out.push_back(n.name);
  return out;
}

// Expects equal texts, except for places and names of functions that both have.
void ExpectSameText(const CompositionText& a, const CompositionText& b) {
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  ASSERT_EQ(a.gates.size(), b.gates.size());
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    EXPECT_EQ(a.inputs[i].name.name, b.inputs[i].name.name);
    EXPECT_EQ(a.inputs[i].from, b.inputs[i].from);
    EXPECT_TRUE(a.inputs[i].type == b.inputs[i].type) << Name(a.inputs[i].type) << " " << Name(b.inputs[i].type);
  }
  for (size_t i = 0; i < a.gates.size(); ++i) {
    const GateStatement &s = a.gates[i], &t = b.gates[i];
    EXPECT_EQ(NamesIn(s.names), NamesIn(t.names));
    EXPECT_EQ(NamesIn(s.arguments), NamesIn(t.arguments));
    EXPECT_EQ(NamesIn(s.outputs), NamesIn(t.outputs));
    EXPECT_EQ(s.gate.name, t.gate.name);
    ASSERT_EQ(s.set.size(), t.set.size());
    for (size_t j = 0; j < s.set.size(); ++j) {
      EXPECT_EQ(s.set[j].first.name, t.set[j].first.name);
      EXPECT_EQ(s.set[j].second, t.set[j].second);
    }
    EXPECT_EQ(s.constants, t.constants);
    EXPECT_TRUE(s.function == t.function);
    if (s.function) continue;
    EXPECT_EQ(s.function_name, t.function_name);
    EXPECT_EQ(s.quoted, t.quoted);
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_EQ(a.outputs[i].name.name, b.outputs[i].name.name);
    EXPECT_EQ(a.outputs[i].to, b.outputs[i].to);
  }
}

// Expects that a text's print gives the same text and prints the same again. Returns it.
std::string ExpectRoundTrip(const CompositionText& text) {
  const std::string printed = Print(text);
  const CompositionText again = ParseComposition(printed);
  ExpectSameText(text, again);
  EXPECT_EQ(Print(again), printed);
  return printed;
}

TEST(CompositionText, TheScores) {
  const CompositionText text = ParseComposition(kScoresText);
  ASSERT_EQ(text.inputs.size(), 2u);
  EXPECT_EQ(text.inputs[0].from, Origin::kP1);
  EXPECT_TRUE(text.inputs[0].type == WholeNumber(32, 12, true, {kRows, 16}));
  EXPECT_EQ(text.inputs[1].from, Origin::kP0);
  EXPECT_TRUE(text.inputs[1].type == WholeNumber(16, 10, true, {16}));
  ASSERT_EQ(text.gates.size(), 4u);
  const GateStatement& relu = text.gates[0];
  EXPECT_EQ(relu.gate.name, "reluars");
  EXPECT_EQ(relu.gate.place.line, 4);
  EXPECT_EQ(relu.gate.place.column, 8);
  EXPECT_EQ(NamesIn(relu.names), (std::vector<std::string>{"y", "b"}));
  EXPECT_EQ(NamesIn(relu.outputs), (std::vector<std::string>{"y", "w"}));
  EXPECT_EQ(relu.outputs[1].place.column, 39);
  ASSERT_EQ(relu.set.size(), 1u);
  EXPECT_EQ(relu.set[0].first.name, "shift");
  EXPECT_EQ(relu.set[0].second, "8");
  ASSERT_EQ(text.outputs.size(), 2u);
  EXPECT_EQ(text.outputs[1].name.name, "t");
  EXPECT_EQ(text.outputs[1].to, To::kP1);
  EXPECT_EQ(ExpectRoundTrip(text), kScoresPrinted);
}

TEST(CompositionText, EveryFormOfAnInput) {
  const std::pair<const char*, ValueType> cases[] = {
      {"p1 32:12", WholeNumber(32, 12, true, {})},
      {"p0 1 : -64 : u [ n ]", WholeNumber(1, -64, false, {kRows})},
      {"shared 64:64 [n,2,3,4]", WholeNumber(64, 64, true, {kRows, 2, 3, 4})},
      {"shared bit", BitOf({})},
      {"p0 mask 64 [67108864]", MaskOf(64, {int64_t{1} << 26})},
      {"p1 mask 5 [n]", MaskOf(5, {kRows})},
  };
  for (const auto& [form, type] : cases) {
    const CompositionText text = ParseComposition(Str("a_1 = input ", form, "\r\n\t# a comment\n"));
    ASSERT_EQ(text.inputs.size(), 1u) << form;
    EXPECT_TRUE(text.inputs[0].type == type) << form;
    ExpectRoundTrip(text);
  }
  CompositionText text = ParseComposition("x = input p1 64:0:u range 007..18446744073709551615");
  EXPECT_EQ(Decimal(text.inputs[0].type.high), "18446744073709551615");
  EXPECT_EQ(ExpectRoundTrip(text), "x = input p1 64:0:u range 7..18446744073709551615\n");
  text = ParseComposition("x = input p0 8:3 [n] range -128..-0");
  EXPECT_EQ(ExpectRoundTrip(text), "x = input p0 8:3 [n] range -128..0\n");
  text = ParseComposition("x = input p0 8:3 [n] range -128..127");
  EXPECT_EQ(ExpectRoundTrip(text), "x = input p0 8:3 [n]\n");
}

TEST(CompositionText, FunctionsAndConstants) {
  const std::string head = "x = input p1 8:0 [n]\n";
  CompositionText text = ParseComposition(head +
                                          "a = Function(x, \"two words.suf\")\n"
                                          "b = function(x, silu)\n"
                                          "c = function( x , clamp( -1, 0.5 ) )\n");
  EXPECT_EQ(text.gates[0].function_name, "two words.suf");
  EXPECT_TRUE(text.gates[0].quoted);
  EXPECT_EQ(text.gates[1].function_name, "silu");
  EXPECT_FALSE(text.gates[1].quoted);
  EXPECT_EQ(text.gates[2].function_name, "clamp(-1,0.5)");
  EXPECT_FALSE(text.gates[2].function);
  EXPECT_EQ(ExpectRoundTrip(text), head +
                                       "a = function(x, \"two words.suf\")\n"
                                       "b = function(x, silu)\n"
                                       "c = function(x, clamp(-1,0.5))\n");
  text = ParseComposition(
      "i = input p1 2:0:u [n]\n"
      "a = table(i, {1, -2,3 , 9223372036854775807})\n"
      "b = table(i, {-9223372036854775808})\n"
      "c = table(i, 4)\n");
  EXPECT_EQ(text.gates[0].constants, (std::vector<int64_t>{1, -2, 3, INT64_MAX}));
  EXPECT_EQ(text.gates[1].constants, (std::vector<int64_t>{INT64_MIN}));
  EXPECT_EQ(text.gates[2].constants, (std::vector<int64_t>{4}));
  EXPECT_EQ(ExpectRoundTrip(text),
            "i = input p1 2:0:u [n]\n"
            "a = table(i, {1, -2, 3, 9223372036854775807})\n"
            "b = table(i, -9223372036854775808)\n"
            "c = table(i, 4)\n");
}

// A block may stand anywhere. A function that several statements read is printed once.
TEST(CompositionText, BlocksOfFunctions) {
  const std::string text = Str("x = input p1 8:0 [n]\nfunction near\n", kStepFunction,
                               "  end function # near\na = function(x, \"near\")\nb = function(x, near)\n");
  const CompositionText read = ParseComposition(text);
  for (const GateStatement& s : read.gates) EXPECT_TRUE(s.function == func::ParseFunction(kStepFunction));
  const std::string printed = ExpectRoundTrip(read);
  EXPECT_EQ(printed, Str("x = input p1 8:0 [n]\na = function(x, \"step\")\nb = function(x, \"step\")\nfunction step\n",
                         kStepFunction, "end function\n"));
}

// Functions of one name get blocks of several names, which differ from names read elsewhere.
TEST(CompositionText, NamesOfBlocks) {
  CompositionText text = ParseComposition(
      "x = input p1 8:0 [n]\na = function(x, \"near_2\")\nb = function(x, silu)\n"
      "c = function(x, silu)\nd = function(x, silu)\ne = function(x, silu)\n");
  const char* const names[] = {"near", "near", "range", "1/x"};
  for (size_t i = 0; i < std::size(names); ++i)
    text.gates[i + 1].function = func::ParseFunction(Str("suf ", names[i], " domain 8 ring 8 outputs 1 degree 0\n",
                                                         "piece 0 : ", i, "\nend 256\nchannel signed 8 0 y\n"));
  const std::string printed = ExpectRoundTrip(text);
  for (const char* line :
       {"a = function(x, \"near_2\")\n", "b = function(x, \"near\")\n", "c = function(x, \"near_3\")\n",
        "d = function(x, \"range_2\")\n", "e = function(x, \"f1_x\")\n", "function near_3\n"})
    EXPECT_NE(printed.find(line), std::string::npos) << line << printed;
  EXPECT_FALSE(ParseComposition(printed).gates[0].function);
}

// `function`, `end`, `n` and `p0` may be names of values.
TEST(CompositionText, WordsThatAreNoKeywords) {
  const CompositionText text = ParseComposition(
      "function = input p1 8:0 [n]\nn = input p0 8:0\nend=add(function,n)\np0 = ADD(end, n, ring=08)\noutput "
      "p0->both\n");
  EXPECT_EQ(ExpectRoundTrip(text),
            "function = input p1 8:0 [n]\nn = input p0 8:0\nend = add(function, n)\np0 = add(end, n, ring=8)\n"
            "output p0 -> both\n");
}

TEST(CompositionText, MistakesNameLineAndColumn) {
  const std::string name64(64, 'a'), name65(65, 'a'), head = "x = input p1 32:12 [n, 4]\nw = input p0 mask 5\n";
  const std::string block = Str("function f\n", kStepFunction, "end function\n");
  const std::pair<std::string, const char*> cases[] = {
      // lines and names
      {"y", "line 3, column 2: found the end of the line; allowed: ',' or '='"},
      {"y z = add(x, x)", "line 3, column 3: found \"z\"; allowed: ',' or '='"},
      {"= add(x, x)", "line 3, column 1: found \"=\"; allowed: NAME = input"},
      {"3y = add(x, x)", "line 3, column 1: found \"3y\"; allowed: NAME = input"},
      {"range = add(x, x)", "line 3, column 1: found the keyword \"range\"; allowed: NAME = input"},
      {"input p1 8:0", "line 3, column 1: found the keyword \"input\"; allowed: NAME = input"},
      {"y = add(x, mod)", "line 3, column 12: found the keyword \"mod\"; allowed: a value's name"},
      {name65 + " = add(x, x)", "of 65 characters; allowed: at most 64"},
      {"y =", "line 3, column 4: found the end of the line; allowed: input or the name of a gate"},
      {"y = add(x, x) z", "line 3, column 15: found \"z\"; allowed: outputs NAMES or the end of the line"},
      {"y = add(x, \x07x)", "line 3, column 12: found the character \"\\x07\"; allowed: visible characters"},
      {"# \xe2\x80\xae", "line 3, column 3: found the character \"\\u{202e}\""},
      {"# \xff", "line 3, column 3: found the character \"\\xff\""},
      {"y\r = add(x, x)", "line 3, column 2: found the character \"\\r\""},
      {std::string("y = add(x, x)\0", 14), "line 3, column 14: found the character"},
      {"y = add(x, \xc3\xa9)", "line 3, column 12: found \"\xc3\xa9\"; allowed: a value's name"},
      // values
      {"x = add(x, x)", "line 3, column 1: found \"x\", which line 1 assigns already; allowed: a new name"},
      {"y, y = add(x, x)", "line 3, column 4: found \"y\", which line 3 assigns already"},
      {"y = add(x, q)",
       "line 3, column 12: found \"q\", which no line assigns; allowed: values that a line above "
       "assigns, such as w or x"},
      {"y = add(x, z)\na, z = add(x, x)",
       "line 3, column 12: found \"z\", which is assigned later, in line 4; allowed: values that a line above assigns"},
      {"y = add(x, y)", "line 3, column 12: found \"y\", which is assigned later, in line 3"},
      // inputs
      {"y = input", "line 3, column 10: found the end of the line; allowed: p0, p1 or shared"},
      {"y = input p2 8:0", "line 3, column 11: found \"p2\"; allowed: p0, p1 or shared"},
      {"y, z = input p1 8:0", "line 3, column 4: found \"z\"; allowed: one name of an input"},
      {"y = input p1 [n]", "line 3, column 14: found \"[\"; allowed: BITS:SCALE, BITS:SCALE:u, bit or mask BITS"},
      {"y = input p1 0:0", "line 3, column 14: found \"0\"; allowed: a whole number from 1 to 64"},
      {"y = input p1 65:0", "line 3, column 14: found \"65\"; allowed: a whole number from 1 to 64"},
      {"y = input p1 8", "line 3, column 15: found the end of the line; allowed: ':'"},
      {"y = input p1 8:65", "line 3, column 16: found \"65\"; allowed: a whole number from -64 to 64"},
      {"y = input p1 8:0:s", "line 3, column 18: found \"s\"; allowed: 'u'"},
      {"y = input p1 8:0.5", "line 3, column 17: found \".\"; allowed: a shape, as in [n, 16], range LOW..HIGH or the"},
      {"y = input p1 mask 1", "line 3, column 19: found \"1\"; allowed: a whole number from 2 to 64"},
      {"y = input p1 mask", "line 3, column 18: found the end of the line; allowed: a whole number from 2 to 64"},
      {"y = input p1 bit range 0..1",
       "line 3, column 18: found \"range\"; allowed: a shape, as in [n, 16], or the end"},
      {"y = input p1 8:0 []", "line 3, column 19: found \"]\"; allowed: n or a whole number from 1 to 67108864"},
      {"y = input p1 8:0 [0]", "line 3, column 19: found \"0\"; allowed: n or a whole number from 1 to 67108864"},
      {"y = input p1 8:0 [2, n]", "line 3, column 22: found \"n\"; allowed: a whole number from 1 to 33554432"},
      {"y = input p1 8:0 [n, n]", "column 22: found \"n\"; allowed: a whole number from 1 to 67108864; n is the first"},
      {"y = input p1 8:0 [67108865]", "line 3, column 19: found \"67108865\""},
      {"y = input p1 8:0 [n, 65536, 1025]",
       "line 3, column 29: found \"1025\"; allowed: a whole number from 1 to 1024, because a row has at most 67108864"},
      {"y = input p1 8:0 [n, 1, 1, 1, 1]", "line 3, column 31: found \"1\"; allowed: at most 4 dimensions"},
      {"y = input p1 8:0 [n 4]", "line 3, column 21: found \"4\"; allowed: ',' or ']'"},
      {"y = input p1 8:0 range 0..128", "line 3, column 27: found \"128\"; allowed: a whole number from 0 to 127"},
      {"y = input p1 8:0 range -129..0", "line 3, column 24: found \"-129\"; allowed: a whole number from -128 to 127"},
      {"y = input p1 8:0:u range -1..0", "line 3, column 26: found \"-1\"; allowed: a whole number from 0 to 255"},
      {"y = input p1 8:0 range 5..4", "line 3, column 27: found \"4\"; allowed: a whole number from 5 to 127"},
      {"y = input p1 8:0 range 5,6", "line 3, column 25: found \",\"; allowed: '..'"},
      {"y = input p1 8:0 range 1..2 3", "line 3, column 29: found \"3\"; allowed: the end of the line"},
      {"y = input shared 8:0 range 0..1",
       "line 3, column 22: found \"range\"; allowed: a shared input without a range"},
      // gates
      {"y = ad(x, x)", "line 3, column 5: \"ad\" is no gate"},
      {"y = add", "line 3, column 8: found the end of the line; allowed: '('"},
      {"y = add(x)", "line 3, column 10: found \")\" after 1 argument; allowed: add(x, y)"},
      {"y = add()", "line 3, column 9: found \")\" after 0 arguments; allowed: add(x, y)"},
      {"y = add(x, x, x)", "line 3, column 15: found \"x\"; allowed: add(x, y), then parameter=value"},
      {"y = add(x,)", "line 3, column 11: found \")\"; allowed: a value's name for each argument of add(x, y)"},
      {"y = add(x, x", "line 3, column 13: found the end of the line; allowed: ',' or ')'"},
      {"y = add(x x)", "line 3, column 11: found \"x\"; allowed: ',' or ')'"},
      {"y = add(x, 3)", "line 3, column 12: found \"3\"; allowed: a value's name for each argument of add(x, y)"},
      {"y = add(x, sum(x))",
       "line 3, column 12: found \"sum(\"; allowed: a value's name for each argument of add(x, y); "
       "a gate inside needs a line of its own"},
      {"y = add(ring=8, x, x)", "line 3, column 17: found \"x\"; allowed: parameter=value after the first parameter"},
      {"y = reluars(x, shft=8)", "line 3, column 16: \"shft\" is no parameter of reluars"},
      {"y = reluars(x, shift=900)", "line 3, column 16: shift=\"900\" is no whole number from"},
      {"y = reluars(x, shift=up)", "line 3, column 16: shift=\"up\" is no whole number from"},
      {"y = reluars(x, shift=)", "line 3, column 16: shift=\")\" is no whole number from"},
      {"y = reluars(x, shift=8, shift=8)",
       "line 3, column 25: found \"shift\" twice; allowed: one value of a parameter"},
      {"y = add(x, x, ring=65)", "line 3, column 15: ring=\"65\" is no whole number from 1 to 64"},
      {"y = not(w, ring=4)", "line 3, column 12: \"ring\" is no parameter of not"},
      {"y, z = reluars(x, shift=8)",
       "line 3, column 4: found 2 names without outputs; allowed: one name, or as many "
       "outputs of reluars"},
      {"y = reluars(x, shift=8) outputs", "line 3, column 32: found the end of the line; allowed: outputs of reluars"},
      {"y = reluars(x, shift=8) outputs q9", "line 3, column 33: found \"q9\"; allowed: outputs of reluars, such as"},
      {"y = reluars(x, shift=8) outputs y, w", "line 3, column 33: found 2 outputs; allowed: 1, one for each name"},
      {"y, z = reluars(x, shift=8) outputs y", "line 3, column 36: found 1 output; allowed: 2, one for each name"},
      {"y, z = reluars(x, shift=8) outputs y, y", "line 3, column 39: found \"y\" twice; allowed: each output once"},
      {"y = reluars(x, shift=8) outputs y w", "line 3, column 35: found \"w\"; allowed: ',' or the end of the line"},
      {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q = add(x, x)",
       "line 3, column 33: found \"q\"; allowed: at most 16 names of one statement"},
      // functions and constants
      {"y = function(x)", "line 3, column 15: found \")\" after 1 argument; allowed: function("},
      {"y = function(x, \"\")",
       "line 3, column 17: found \"\\\"\\\"\"; allowed: a path in quotation marks or a function"},
      {"y = function(x, \"gelu)", "line 3, column 17: found \"\\\"gelu)\"; allowed: a path in quotation marks"},
      {"y = function(x, 3)", "line 3, column 17: found \"3\"; allowed: a path in quotation marks"},
      {"y = function(x, clamp(x))", "line 3, column 22: found \"(\"; allowed: numbers in parentheses"},
      {"y = function(x, clamp(1", "line 3, column 22: found \"(\"; allowed: numbers in parentheses"},
      {"y = add(x, \"gelu.suf\")", "line 3, column 12: found \"\\\"gelu.suf\\\"\"; allowed: a value's name"},
      {"y = table(x)", "line 3, column 12: found \")\" after 1 argument; allowed: table("},
      {"y = table(x, x)", "line 3, column 14: found \"x\"; allowed: a whole number, or several as in {1, -2, 3}"},
      {"y = table(x, {})", "line 3, column 15: found \"}\"; allowed: a whole number from -9223372036854775808"},
      {"y = table(x, {1 2})", "line 3, column 17: found \"2\"; allowed: ',' or '}'"},
      {"y = table(x, {9223372036854775808})", "line 3, column 15: found \"9223372036854775808\"; allowed: a whole"},
      {"function f", "line 3, column 1: found a function without an end; allowed: the line 'end function'"},
      {"function f g\nend function", "line 3, column 12: found \"g\"; allowed: the end of the line"},
      {"function f\nend function 1", "line 4, column 14: found \"1\"; allowed: the end of the line"},
      {block, "line 3, column 1: found the function \"f\", which no statement reads; allowed: functions of statements"},
      {block + block, "line 10, column 10: found \"f\", which line 3 begins; allowed: another name for a function"},
      {"y = function(x, f)\nfunction f\nsuf f domain 8\nend function",
       "line 4, column 1: found the function \"f\" with this fault: line 1 of a function's text lacks"},
      // outputs
      {"output", "line 3, column 7: found the end of the line; allowed: the name of a value"},
      {"output y -> p1", "line 3, column 8: found \"y\", which no line assigns"},
      {"output x p1", "line 3, column 10: found \"p1\"; allowed: '->'"},
      {"output x -> p3", "line 3, column 13: found \"p3\"; allowed: p0, p1, both or shared"},
      {"output x -> both p1", "line 3, column 18: found \"p1\"; allowed: the end of the line"},
  };
  for (const auto& [line, says] : cases)
    EXPECT_TRUE(Fails(Cause::kInput, says, [&] { (void)ParseComposition(head + line + "\n"); })) << line;
  EXPECT_NO_THROW((void)ParseComposition(head + name64 + " = add(x, x)"));
}

TEST(CompositionText, Limits) {
  std::string text = "x = input p1 32:12 [n]\n";
  for (size_t i = 1; i < kMostStatements; ++i) text += Str("v", i, " = add(x, x)\n");
  EXPECT_EQ(ParseComposition(text).gates.size(), kMostStatements - 1);
  for (size_t i = kMostStatements; i < 10'000; ++i) text += Str("v", i, " = add(x, x)\n");
  EXPECT_TRUE(Fails(Cause::kInput, "line 4097, column 1: found more than 4096 statements; allowed: at most 4096",
                    [&] { (void)ParseComposition(text); }));
  std::string comments = "x = input p1 32:12 [n]\n";
  for (int i = 0; i < 10'000; ++i) comments += "  # " + std::string(200, '-') + "\n";
  EXPECT_EQ(ParseComposition(comments + "output x -> p0").outputs.size(), 1u);

  // Blanks and constants in braces do not count.
  const std::string long_list = "x = input p1 32:12 [n]\ny = table(x, {" + std::string(2000, ' ') + "1";
  std::string constants;
  for (int i = 1; i < 1024; ++i) constants += Str(", ", INT64_MIN);
  EXPECT_EQ(ParseComposition(long_list + constants + "})").gates[0].constants.size(), 1024u);
  ExpectRoundTrip(ParseComposition(long_list + constants + "})"));
  EXPECT_TRUE(Fails(Cause::kInput, "; allowed: at most 1024 constants",
                    [&] { (void)ParseComposition(long_list + constants + ", 1})"); }));
  const std::string zeros = "x = input p1 " + std::string(1018, '0') + "8:0";  // 3 words, 2 signs and 1 digit more
  EXPECT_NO_THROW((void)ParseComposition("x = input p1 " + std::string(1000, '0') + "8:0"));
  EXPECT_TRUE(Fails(Cause::kInput,
                    "line 1, column 14: found a statement of more than 1024 characters; allowed: at most",
                    [&] { (void)ParseComposition(zeros); }));
  EXPECT_TRUE(Fails(Cause::kInput, "line 1, column 1: found a text of 16777217 bytes; allowed: at most 16777216",
                    [] { (void)ParseComposition(std::string(kMostCompositionText + 1, ' ')); }));
  EXPECT_NO_THROW((void)ParseComposition(std::string(kMostCompositionText, ' ')));
}

// Many statements that read a large function are refused before they fill the memory.
TEST(CompositionText, FunctionsInAllStatementsAreLimited) {
  std::string table = "suf t domain 12 ring 8 outputs 1 degree 0\ntable";
  for (int i = 0; i < 1 << 12; ++i) table += " 1";
  std::string text = "x = input p1 12:0 [n]\n";
  for (int i = 0; i < 300; ++i) text += Str("v", i, " = function(x, t)\n");
  text += "function t\n" + table + "\nend 4096\nchannel signed 8 0 y\nend function\n";
  // 4096 points and a channel, 256 times
  EXPECT_TRUE(Fails(Cause::kInput,
                    "line 257, column 20: found functions of 1048832 numbers up to this one; allowed: at",
                    [&] { (void)ParseComposition(text); }));
}

// Returns a random text of several inputs and gates.
std::string RandomText(std::mt19937_64& rng) {
  const auto below = [&](uint64_t n) { return rng() % n; };
  const char* const ends[] = {"\n", "  # note\n", "\r\n", "\n\n\t\n"};
  std::string text;
  std::vector<std::string> values;
  for (uint64_t i = 0, inputs = 1 + below(4); i < inputs; ++i) {
    const char* const types[] = {"bit",         "mask 7", "12:3", "64:-5:u", "20:0 [n]", "9:1 [n, 3] range -7..7",
                                 "8:0:u [2, 5]"};
    const uint64_t type = below(std::size(types));
    values.push_back(Str("in", i));
    text +=
        Str(values.back(), " = input ", type == 5 ? "p1" : Name(Origin(below(3))), " ", types[type], ends[below(4)]);
  }
  for (uint64_t i = 0, gates = below(8); i < gates; ++i) {
    const auto any = [&] { return values[below(values.size())]; };
    const std::string x = any(), y = any(), name = Str("v", i);
    const std::string forms[] = {Str(name, " = add(", x, ",", y, ")"),
                                 Str(name, "= SUB( ", x, " , ", y, ", ring=", 1 + below(64), ")"),
                                 Str(name, " =xor(", x, ", ", y, ") outputs z"),
                                 Str(name, ", ", name, "_w = reluars(", x, ", shift=8)outputs y,w"),
                                 Str(name, " = function(", x, ", \"step\")"),
                                 Str(name, " = function(", x, ", silu)"),
                                 Str(name, " = table(", x, ", {", int64_t(rng()), ", ", int64_t(rng()), "})")};
    text += forms[below(std::size(forms))] + ends[below(4)];
    values.push_back(name);
  }
  for (const std::string& v : values) text += Str("output ", v, "->", Name(To(below(4))), ends[below(4)]);
  if (text.find("\"step\"") != std::string::npos) text += Str("function step\n", kStepFunction, "end function\n");
  return text;
}

TEST(CompositionText, RandomTextsComeBack) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    const std::string text = RandomText(rng);
    SCOPED_TRACE(text);
    ExpectRoundTrip(ParseComposition(text));
  }
}

// A changed text comes back as well, or is refused with a place in it.
TEST(CompositionText, ChangedTextsComeBackOrAreRefused) {
  const std::string_view pieces[] = {" ",     "\n",     ",",       "(",     ")",        "{",   "}",    "[", "]", "=",
                                     "->",    "..",     "\"",      "#",     ":",        "-",   "n",    "x", "0", "99",
                                     "input", "output", "outputs", "range", "function", "end", "\xc3", "\t"};
  std::mt19937_64 rng(2);
  int read = 0, refused = 0;
  for (int i = 0; i < 5000 && !HasFailure(); ++i) {
    std::string text = i % 4 ? RandomText(rng) : kScoresText;
    for (uint64_t k = 0, changes = 1 + rng() % 3; k < changes; ++k) {
      const size_t at = rng() % text.size();
      const std::string_view piece = pieces[rng() % std::size(pieces)];
      text.replace(at, rng() % 2 ? 0 : 1 + rng() % 3, piece);
    }
    SCOPED_TRACE(text);
    CompositionText got;
    try {
      got = ParseComposition(text);
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(e.cause(), Cause::kInput);
      int line = 0, column = 0;
      ASSERT_EQ(std::sscanf(e.what(), "line %d, column %d: ", &line, &column), 2) << e.what();
      EXPECT_GE(line, 1);
      EXPECT_LE(line, 1 + std::count(text.begin(), text.end(), '\n'));
      EXPECT_GE(column, 1);
      continue;
    }
    ++read;
    ExpectRoundTrip(got);
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace suf::gates
