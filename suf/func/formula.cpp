// Formulas by muParser, which only this file includes. The lists below replace its functions and constants, so that
// they are complete, and every rounding has a name.
#include "suf/func/internal/formula.hpp"

#include <muParser.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "suf/func/search.hpp"

namespace suf::func {

namespace {

using F1 = double (*)(double);
using F2 = double (*)(double, double);
using F3 = double (*)(double, double, double);
using FN = double (*)(const double*, int);

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Sign(double x) { return double((x > 0) - (x < 0)); }
double TiesUp(double x) { return std::floor(x) + double(x - std::floor(x) >= 0.5); }
double Floored(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
double Clamped(double x, double low, double high) { return std::min(std::max(x, low), high); }
double Least(const double* v, int n) { return *std::min_element(v, v + n); }
double Most(const double* v, int n) { return *std::max_element(v, v + n); }
double Sum(const double* v, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) s += v[i];
  return s;
}
double Mean(const double* v, int n) { return Sum(v, n) / n; }
double Not(double x) { return double(x == 0); }

// A function of one, two, three or any number of arguments.
struct ParserFunction {
  const char* name;
  std::variant<F1, F2, F3, FN> f;
  const char *form, *meaning;
};
const ParserFunction kFunctions[] = {
    {"abs", F1(std::fabs), "abs(x)", "the size of x"},
    {"sign", F1(Sign), "sign(x)", "-1, 0 or 1"},
    {"min", FN(Least), "min(a, b, ..)", "the least"},
    {"max", FN(Most), "max(a, b, ..)", "the largest"},
    {"clamp", F3(Clamped), "clamp(x, a, b)", "min(max(x, a), b)"},
    {"sum", FN(Sum), "sum(a, b, ..)", "the sum"},
    {"avg", FN(Mean), "avg(a, b, ..)", "the mean"},
    {"floor", F1(std::floor), "floor(x)", "the next whole number down"},
    {"ceil", F1(std::ceil), "ceil(x)", "the next whole number up"},
    {"trunc", F1(std::trunc), "trunc(x)", "the next whole number towards 0"},
    {"round", F1(std::round), "round(x)", "the nearest whole number; halves away from 0: 2.5 to 3, -2.5 to -3"},
    {"rint", F1(TiesUp), "rint(x)", "the nearest whole number; halves up: 2.5 to 3, -2.5 to -2"},
    {"mod", F2(Floored), "mod(a, b)", "the rest a - b floor(a / b), which has the sign of b; also a % b"},
    {"sqrt", F1(std::sqrt), "sqrt(x)", "the square root"},
    {"cbrt", F1(std::cbrt), "cbrt(x)", "the cube root"},
    {"pow", F2(std::pow), "pow(a, b)", "a^b"},
    {"exp", F1(std::exp), "exp(x)", "e^x"},
    {"exp2", F1(std::exp2), "exp2(x)", "2^x"},
    {"log", F1(std::log), "log(x)", "the natural logarithm"},
    {"ln", F1(std::log), "ln(x)", "the natural logarithm"},
    {"log2", F1(std::log2), "log2(x)", "the logarithm to base 2"},
    {"log10", F1(std::log10), "log10(x)", "the logarithm to base 10"},
    {"sigmoid", F1(Sigmoid), "sigmoid(x)", "1 / (1 + exp(-x))"},
    {"erf", F1(std::erf), "erf(x)", "the error function"},
    {"erfc", F1(std::erfc), "erfc(x)", "1 - erf(x)"},
    {"sin", F1(std::sin), "sin(x)", "the sine of x radians"},
    {"cos", F1(std::cos), "cos(x)", "the cosine"},
    {"tan", F1(std::tan), "tan(x)", "the tangent"},
    {"asin", F1(std::asin), "asin(x)", "the inverse sine, for -1 <= x <= 1"},
    {"acos", F1(std::acos), "acos(x)", "the inverse cosine, for -1 <= x <= 1"},
    {"atan", F1(std::atan), "atan(x)", "the inverse tangent"},
    {"atan2", F2(std::atan2), "atan2(y, x)", "the angle of the point (x, y)"},
    {"sinh", F1(std::sinh), "sinh(x)", "the hyperbolic sine"},
    {"cosh", F1(std::cosh), "cosh(x)", "the hyperbolic cosine"},
    {"tanh", F1(std::tanh), "tanh(x)", "the hyperbolic tangent"},
    {"asinh", F1(std::asinh), "asinh(x)", "the inverse hyperbolic sine"},
    {"acosh", F1(std::acosh), "acosh(x)", "the inverse hyperbolic cosine, for x >= 1"},
    {"atanh", F1(std::atanh), "atanh(x)", "the inverse hyperbolic tangent, for -1 < x < 1"},
};

struct Constant {
  const char* name;
  double value;
  const char* meaning;
};
constexpr Constant kConstants[] = {
    {"pi", M_PI, "3.14159.."}, {"e", M_E, "2.71828.."}, {"_pi", M_PI, "pi"}, {"_e", M_E, "e"}};

constexpr FormulaWord kOperators[] = {
    {FormulaWord::kOperator, "+", "a + b", "the sum; also a sign: +x"},
    {FormulaWord::kOperator, "-", "a - b", "the difference; also a sign: -x, and -x^2 is -(x^2)"},
    {FormulaWord::kOperator, "*", "a * b", "the product; it must be written: 2*x"},
    {FormulaWord::kOperator, "/", "a / b", "the quotient"},
    {FormulaWord::kOperator, "%", "a % b", "mod(a, b)"},
    {FormulaWord::kOperator, "^", "a ^ b", "the power; from the right: 2^3^2 is 2^9"},
    {FormulaWord::kOperator, "<", "a < b", "1 if true, else 0, as all comparisons"},
    {FormulaWord::kOperator, "<=", "a <= b", "at most"},
    {FormulaWord::kOperator, ">", "a > b", "above"},
    {FormulaWord::kOperator, ">=", "a >= b", "at least"},
    {FormulaWord::kOperator, "==", "a == b", "equal; a single = is refused"},
    {FormulaWord::kOperator, "!=", "a != b", "not equal"},
    {FormulaWord::kOperator, "&&", "a && b", "both are not 0"},
    {FormulaWord::kOperator, "||", "a || b", "one is not 0"},
    {FormulaWord::kOperator, "!", "!a", "1 if a is 0, else 0"},
    {FormulaWord::kOperator, "?", "c ? a : b", "a if c is not 0, else b"},
    {FormulaWord::kOperator, ":", "c ? a : b", "see ?"},
    {FormulaWord::kOperator, "(", "( a )", "first"},
    {FormulaWord::kOperator, ")", "( a )", "see ("},
};

// A parsed formula and its variable.
struct Compiled {
  Compiled() {
    parser.ClearFun();
    parser.ClearConst();
    for (const ParserFunction& w : kFunctions) std::visit([&](auto f) { parser.DefineFun(w.name, f); }, w.f);
    for (const Constant& w : kConstants) parser.DefineConst(w.name, w.value);
    parser.DefineOprt("%", Floored, mu::prMUL_DIV);
    parser.DefineInfixOprt("!", Not);
    parser.DefineVar("x", &x);
  }
  double x = 0;
  mu::Parser parser;
};

// Returns the mistake that stopped the parser, in our own words.
std::string Mistake(const mu::Parser::exception_type& e) {
  std::string name = e.GetToken();
  while (!name.empty() && name.back() == ' ') name.pop_back();
  const std::string token = Str("'", name, "'");
  switch (e.GetCode()) {
    case mu::ecUNASSIGNABLE_TOKEN:
      for (const ParserFunction& f : kFunctions)
        if (name == f.name) return Str(token, " lacks its argument in parentheses: ", f.form);
      return token + " is no name, number or operator of formulas";
    case mu::ecUNEXPECTED_EOF:
    case mu::ecEMPTY_EXPRESSION:
      return "it ends before a number, x or a function";
    case mu::ecMISSING_PARENS:
      return "a parenthesis is not closed";
    case mu::ecTOO_MANY_PARAMS:
      return token + " has too many arguments";
    case mu::ecTOO_FEW_PARAMS:
      return token + " has too few arguments";
    case mu::ecMISSING_ELSE_CLAUSE:
      return "a ? lacks its :";
    case mu::ecMISPLACED_COLON:
      return "a : has no ? before it";
    case mu::ecUNEXPECTED_OPERATOR:
    case mu::ecUNEXPECTED_ARG_SEP:
    case mu::ecUNEXPECTED_ARG:
    case mu::ecUNEXPECTED_VAL:
    case mu::ecUNEXPECTED_VAR:
    case mu::ecUNEXPECTED_FUN:
    case mu::ecUNEXPECTED_PARENS:
    case mu::ecUNEXPECTED_CONDITIONAL:
      return token + " does not belong there";
    default:
      return "it cannot be read";
  }
}

[[noreturn]] void Wrong(size_t at, const std::string& what) {
  Fail(Cause::kInput, "the formula has a mistake at column ", at + 1, ": ", what);
}

// Refuses a single =, by which the parser would set x.
void NoAssignment(const std::string& s) {
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '=') continue;
    if (i + 1 < s.size() && s[i + 1] == '=')
      ++i;
    else if (i == 0 || (s[i - 1] != '<' && s[i - 1] != '>' && s[i - 1] != '!'))
      Wrong(i, "'=' compares nothing; write ==");
  }
}

}  // namespace

std::span<const FormulaWord> Vocabulary() {
  static const std::vector<FormulaWord> all = [] {
    std::vector<FormulaWord> out(std::begin(kOperators), std::end(kOperators));
    for (const ParserFunction& w : kFunctions) out.push_back({FormulaWord::kFunction, w.name, w.form, w.meaning});
    for (const Constant& w : kConstants) out.push_back({FormulaWord::kConstant, w.name, w.name, w.meaning});
    return out;
  }();
  return all;
}

internal::ParserNames internal::NamesOfParser() {
  const Compiled c;
  internal::ParserNames out;
  for (const auto& [name, f] : c.parser.GetFunDef()) out.functions.insert(name);
  for (const auto& [name, value] : c.parser.GetConst()) out.constants.insert(name);
  for (const auto& [name, value] : c.parser.GetVar()) out.variables.insert(name);
  for (auto o = c.parser.GetOprtDef(); *o; ++o) out.operators.insert(*o);
  return out;
}

Real RealOf(const std::string& formula) {
  constexpr size_t kMost = 1024;
  if (formula.size() > kMost)
    Fail(Cause::kInput, "the formula has ", formula.size(), " bytes; ", kMost, " are the most that is read");
  NoAssignment(formula);
  auto f = std::make_shared<Compiled>();
  try {
    f->parser.SetExpr(formula);
    f->parser.Eval();
    if (f->parser.GetNumResults() != 1)
      Fail(Cause::kInput, "the formula has ", f->parser.GetNumResults(), " results; write one");
  } catch (const mu::Parser::exception_type& e) {
    Wrong(std::min(size_t(std::max(0, int(e.GetPos()))), formula.size()), Mistake(e));
  }
  return [f](double x) {
    f->x = x;
    return f->parser.Eval();
  };
}

}  // namespace suf::func
