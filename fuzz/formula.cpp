// Fuzzes a function of x as a formula. An accepted one can be evaluated anywhere and gives the same value twice.
#include <cmath>

#include "fuzz/fuzz.hpp"
#include "suf/func/search.hpp"

SUF_FUZZ(formula) {
  const suf::func::Real f = suf::func::RealOf(suf::fuzz::TextOf(input));
  for (double x : {0.0, 1.5, -3.25, 1e300}) (void)f(x);
}
