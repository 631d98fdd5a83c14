// The library: functions by name, each with the range and the error it keeps. They are data like any user's text: Make
// writes a Suf or a Split, and nothing above this room knows one by its name.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "suf/func/search.hpp"

namespace suf::func {

// A row of the list. `range` and `error` are in real units; an argument is written as in clamp(-1,1).
struct Entry {
  std::string_view name, sentence, range, error;
};
std::span<const Entry> Library();

// A function of x = word / 2^in.scale. Its result has `scale`, which is `shift` bits finer than asked for: a
// rounding shift by `shift` gives it (a SUF has one scale for all coefficients, so slopes need the bits).
struct Made {
  Function f;
  Numbers in;
  int scale = 0, shift = 0;
  // For low <= x < high, channel "y" (or the sum of all numbers, of gelu_spline) differs from exact(x) by `error` at
  // most, or by `relative` |exact(x)|. `exact` has the constants as they were rounded.
  Real exact;
  double low = 0, high = 0, error = 0, relative = 0;
  // The numbers that it takes, x = number / 2^in.scale: all of its ring, or fewer.
  int64_t first = 0, last = 0;
};

// The function `name` at ring n (8 to 48 bits) and scale (2 to n - 6, at most 20). Throws Cause::kInput for
// another name, another number of arguments, constants outside the ring.
Made Make(std::string_view name, int n, int scale);

// The numbers that a library function takes, x = number / 2^scale, if they are fewer than its words in two's
// complement: of an unsigned one, or one without a value somewhere.
struct Taken {
  bool is_signed = false;
  int64_t first = 0, last = 0;
  std::optional<int> scale;  // none: the same text at several scales
};
std::optional<Taken> TakenBy(const Made& m);
// Of a function from a file or a plan, if it is the library's of that name.
std::optional<Taken> TakenBy(const Function& f);

}  // namespace suf::func
