// A function of x as a formula: what parses can be called anywhere, and says the same twice.
#include <cmath>

#include "fuzz/fuzz.hpp"
#include "suf/func/search.hpp"

SUF_FUZZ(formula) {
  const suf::func::Real f = suf::func::RealOf(suf::fuzz::TextOf(input));
  for (double x : {0.0, 1.5, -3.25, 1e300}) (void)f(x);
}
