// The real functions that operators name, the two-part octave table, and what bounds need to know of tables; the fits
// themselves are suf/fit.hpp's.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "suf/func/fit.hpp"
#include "suf/nn/tensor.hpp"

namespace suf::nn {

// Gelu, gelu_new, silu, tanh, relu, or one that a program registered; throws Cause::kRefused for another.
const func::Real& RealFunction(const std::string& name);
void RegisterFunction(std::string_view name, func::Real f);

// A positive falling function on [0, 2^hard). [2^floor, 2^top): at least 2^pieces constant pieces an octave,
// `span` octaves to a group, the first value below 2^floor; from 2^top on at least two pieces an octave, never above
// the function.
std::vector<func::Group> Octaves(const func::Real& f, int floor, int top, int hard, int pieces, int span);

// The same function for a reader that pays by the piece: at most `most` pieces (and at least 2^3 an octave) on
// [2^floor, 2^top), narrow where `seen` lies; one below, and two an octave from 2^top on.
std::vector<func::Group> Steps(const func::Real& f, int floor, int top, int hard, int most, Reals seen);

// The largest of table / f - 1 over whole x, f falling; 0 when the table is nowhere above.
double Excess(const std::vector<func::Group>& table, const func::Real& f);
// The largest of |line| - |x| 2^slope over the ring, at scale `scale + slope`; at least 0.
double Excess(const func::Lines& lines);

// The largest magnitude in a table.
int64_t MostOf(const std::vector<int64_t>& t);

}  // namespace suf::nn
