// Fit finds the cheapest function within an error bound, or the best one with a number of pieces. It takes a callable,
// the text of a formula or a table. It searches knots, widths, degree and scales that the request leaves free. The
// polynomials are near minimax. They interpolate at Chebyshev's points. Coefficients are rounded from the highest one
// down, each time fitting the rest. The constant is centred between the extremes of the rest.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "suf/func/fit.hpp"
#include "suf/func/split.hpp"

namespace suf::func {

// A function, constant or operator of formulas, with its name, an example of its syntax and its meaning.
struct FormulaWord {
  enum Kind { kOperator, kFunction, kConstant } kind = kOperator;
  std::string_view name, form, meaning;
};
// Returns all words of formulas. A formula also has numbers, x and commas between arguments.
std::span<const FormulaWord> Vocabulary();

// Parses a formula in x, in the words of Vocabulary. Throws Cause::kInput, with the column, if it does not parse. A
// copy of the result is not thread-safe.
Real RealOf(const std::string& formula);

// A format of fixed-point numbers: v is the integer round(v 2^scale) of `bits` bits.
struct FixedPoint {
  int bits = 32, scale = 0;
  bool is_signed = true;  // whether the domain is in two's complement in Z_{2^bits}; results are always signed
};

// The function beyond a real number, if the formula has no value there or is not needed. kIdentity is exact. A constant
// and a line are rounded to the scale of the result, which counts as error.
struct Tail {
  enum Kind { kConstant, kIdentity, kLine } kind = kConstant;
  double from = 0;
  double value = 0;  // value of kConstant, or of kLine at `from`
  double slope = 0;  // kLine is value + slope (x - from)
  // Returns the value at x.
  double At(double x) const { return kind == kIdentity ? x : kind == kLine ? value + slope * (x - from) : value; }
};

// The begins of pieces. kGiven: FitRequest::cuts, and 0 in a signed domain.
enum class Knots { kUniform, kOctaves, kFree, kGiven };
// The form of a fit: a Suf, or a Split of two tables.
enum class FitForm { kPieces, kBipartite };

// A request to Fit.
struct FitRequest {
  std::string name = "f";
  // A callable, a formula, or the values of the words 0 .. 2^bits - 1.
  std::variant<Real, std::string, std::vector<double>> what;
  FixedPoint in;      // 1 to 62 bits
  FixedPoint result;  // the polynomials' ring
  FitForm form = FitForm::kPieces;
  std::optional<double> error;  // absolute, in real units
  std::optional<int> pieces;    // the most pieces
  std::optional<int> degree;    // 0 .. 3
  std::optional<Knots> knots;   // default: all except kGiven
  std::vector<double> cuts;     // for kGiven: real numbers, increasing, inside the domain
  // Bits by which slopes are finer than the result. A SUF has one scale, so the scale of its result is then
  // result.scale + slope, as in FitLines. A number limits the search, from 0 on, in the result's ring. Without one it
  // is 0, unless finer slopes divide the cost or the error by 2.25, or no other fit exists. Then the ring grows as
  // needed.
  std::optional<int> slope;
  // The scale of each coefficient: coefficient i is a multiple of 2^(largest - finer[i]), and the result has scale
  // result.scale + largest. Then slopes are not searched.
  std::vector<int> finer;
  std::optional<Tail> below, above;             // x < below.from; x >= above.from
  std::function<double(const Suf&)> cost = {};  // default: pieces (degree + 2); of a Split: its values.
  // Returns why the caller cannot use a fit, as one clause, or an empty string. The search then continues.
  std::function<std::string(const Function&)> why_not = {};
  // Receives the completed part of the search, 0 to 1, and the current attempt.
  std::function<void(double, const std::string&)> progress = {};
};

// Returns a Suf with one signed channel y, or a Split. Throws Cause::kInput if the request is inconsistent, or if the
// function is not finite somewhere on its range. Throws Cause::kRefused in these cases:
// * the function leaves the ring of the result; the error message has the bits that hold it
// * the bound is out of reach with kMostPieces pieces; the error message has the best error
// * why_not refuses every fit
FitResult<Function> Fit(const FitRequest& request);

}  // namespace suf::func
