// Fit: the cheapest function within an error bound, or the best of so many pieces, from a callable, a formula's text or
// a table. Knots, widths, degree and scales are searched where the request leaves them open. The polynomials are near
// minimax: interpolation at Chebyshev's points, rounded from the highest coefficient down, each time fitting what is
// left, the constant centred between the extremes of the rest.
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

// A function, constant or operator that a formula may hold: its name, how it is written, what it means.
struct FormulaWord {
  enum Kind { kOperator, kFunction, kConstant } kind = kOperator;
  std::string_view name, form, meaning;
};
// All of them. Beside them a formula holds numbers, x and commas between arguments.
std::span<const FormulaWord> Vocabulary();

// The function of x that a formula says, in the words of Vocabulary. Throws Cause::kInput with the column for a
// text that does not parse. One copy must not be called by two threads at a time.
Real RealOf(const std::string& formula);

// Fixed point: the integer round(v 2^scale), of `bits` bits.
struct Numbers {
  int bits = 32, scale = 0;
  bool is_signed = true;  // of the domain: two's complement in Z_{2^bits}; results are signed
};

// What the function is from a real number on; for where a formula has no value, or is not needed. kIdentity is
// exact; a constant and a line are rounded to the result's scale, which counts as error.
struct Tail {
  enum Kind { kConstant, kIdentity, kLine } kind = kConstant;
  double from = 0;
  double value = 0;  // of kConstant; of kLine at `from`
  double slope = 0;  // of kLine: value + slope (x - from)
  double At(double x) const { return kind == kIdentity ? x : kind == kLine ? value + slope * (x - from) : value; }
};

// Where pieces may begin. kGiven: at FitRequest::cuts, and at 0 of a signed domain.
enum class Knots { kUniform, kOctaves, kFree, kGiven };
enum class Form { kPieces, kBipartite };

struct FitRequest {
  std::string name = "f";
  std::variant<Real, std::string, std::vector<double>> what;  // callable, formula, values of the words 0 .. 2^bits - 1
  Numbers in;                                                 // 1 to 62 bits
  Numbers result;                                             // the polynomials' ring
  Form form = Form::kPieces;
  std::optional<double> error;  // absolute, in real units
  std::optional<int> pieces;    // at most so many
  std::optional<int> degree;    // 0 .. 3
  std::optional<Knots> knots;   // default: each but kGiven
  std::vector<double> cuts;     // of kGiven: real numbers, increasing, inside the domain
  // Slopes finer than the result: a SUF has one scale, so its result then carries result.scale + slope, as FitLines has
  // it. Given: searched from 0 to `slope` in the result's ring. Left open: 0 unless finer slopes save three quarters of
  // the cost or of the error, or no other fit exists; the ring then grows as its values need.
  std::optional<int> slope;
  // Coefficient i is a multiple of 2^(largest - finer[i]), and the result carries result.scale + the largest: nothing
  // is searched.
  std::vector<int> finer;
  std::optional<Tail> below, above;             // x < below.from; x >= above.from
  std::function<double(const Suf&)> cost = {};  // default: pieces (degree + 2); of a Split: its values
  // Why a fit is of no use to the caller, as one clause; empty: it is. Another fit is then looked for.
  std::function<std::string(const Function&)> why_not = {};
  // Receives the part of the search that is done, 0 to 1, and what is being tried.
  std::function<void(double, const std::string&)> progress = {};
};

// A Suf of one signed channel y, or a Split. Throws Cause::kRefused if the function leaves the result's ring (with
// the bits that hold it), if the bound is out of reach with kMostPieces pieces (with the best error reached), and if
// why_not refuses every fit; Cause::kInput for a request without a sense and for a function that is not finite on its
// range (says where).
Fitted<Function> Fit(const FitRequest& request);

}  // namespace suf::func
