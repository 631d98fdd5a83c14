// The plan's tables, made in double: constant pieces by octaves, the exponential's digits, GELU in lines.
#pragma once
#include <functional>
#include <vector>

#include "suf/nn/plan.hpp"

namespace suf::nn {

using Function = std::function<double(double)>;

// Octaves: a positive falling function on whole numbers [0, 2^hard). [2^floor, 2^top): at least 2^pieces constant
// pieces an octave with balanced relative error, `span` octaves to a group; below 2^floor the first value; from 2^top
// on at least two pieces an octave, each with the value at its far end, so never more than the function.
std::vector<Group> Octaves(const Function& f, int floor, int top, int hard, int pieces, int span);
// Excess: the largest of table / f - 1 over whole x (0 when the table is nowhere above).
double Excess(const std::vector<Group>& table, const Function& f);

// Exponentials: round(exp(step i) 2^scale) for i in [0, count).
std::vector<int64_t> Exponentials(double step, int64_t count, int scale);

// Lines: GELU at scale x on 2^p pieces of width 2^(a - x), piece i from (i - 2^(p-1)) 2^a: offset[i] + slope[i] (x mod
// 2^a) at scale x + b. excess: the largest of |line| - |x| 2^b, at least 0.
struct Lines {
  std::vector<int64_t> offset, slope;
  double excess = 0;
};
Lines Gelu(int x, int a, int p, int b);

}  // namespace suf::nn
