#include <muParser.h>

#include <cmath>
#include <memory>

#include "suf/func/search.hpp"

namespace suf::func {

namespace {

double Erf(double x) { return std::erf(x); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Compiled {
  double x = 0;
  mu::Parser parser;
};

}  // namespace

Real RealOf(const std::string& formula) {
  constexpr size_t kMost = 1024;
  if (formula.size() > kMost)
    Fail(Cause::kInput, "the formula has ", formula.size(), " bytes; ", kMost, " are the most that is read");
  auto f = std::make_shared<Compiled>();
  try {
    f->parser.DefineFun("erf", Erf);
    f->parser.DefineFun("sigmoid", Sigmoid);
    f->parser.DefineConst("pi", M_PI);
    f->parser.DefineVar("x", &f->x);
    f->parser.SetExpr(formula);
    f->parser.Eval();
    if (f->parser.GetNumResults() != 1)
      Fail(Cause::kInput, "the formula has ", f->parser.GetNumResults(), " results; write one");
  } catch (const mu::Parser::exception_type& e) {
    Fail(Cause::kInput, "the formula has a mistake at column ", std::max(0, int(e.GetPos())) + 1, ": ", e.GetMsg());
  }
  return [f](double x) {
    f->x = x;
    return f->parser.Eval();
  };
}

}  // namespace suf::func
