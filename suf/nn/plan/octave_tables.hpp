// The real functions that operators name, the two-part octave table, and the numbers of tables that bounds need. The
// fits themselves are in suf/func/fit.hpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "suf/func/fit.hpp"
#include "suf/nn/graph/tensor.hpp"

namespace suf::nn {

// Returns gelu, gelu_new, silu, tanh, relu, or a function that a program registered. Throws Cause::kRefused for another
// name.
const func::Real& RealFunction(const std::string& name);
void RegisterFunction(std::string_view name, func::Real f);

// Fits a positive falling function on [0, 2^hard). [2^floor, 2^top) has at least 2^pieces constant pieces an octave,
// with `span` octaves to a group. Below 2^floor the first value holds. From 2^top on there are at least two pieces an
// octave, never above the function.
std::vector<func::Octave> Octaves(const func::Real& f, int floor, int top, int hard, int pieces, int span);

// Fits the same function for a reader that pays by the piece. [2^floor, 2^top) has at most `most` pieces, but at least
// 2^3 an octave, which are narrow near the values in `seen`. There is one piece below, and two an octave from 2^top on.
std::vector<func::Octave> Steps(const func::Real& f, int floor, int top, int hard, int most, Reals seen);

// Returns the largest of table / f - 1 over whole x, for a falling f; 0 if the table is nowhere above.
double Excess(const std::vector<func::Octave>& table, const func::Real& f);
// Returns the largest of |line| - |x| 2^slope over the ring, at scale `scale + slope`; at least 0.
double Excess(const func::Lines& lines);

// Returns the largest magnitude in a table.
int64_t MostOf(const std::vector<int64_t>& t);

}  // namespace suf::nn
