// The library of functions, by name, each with its range and error. They are data like any user's text. Make returns a
// Suf or a Split, and no other module knows a function by name.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "suf/func/search.hpp"

namespace suf::func {

// A function of the list, in words. `range` and `error` are in real units.
struct LibraryEntry {
  std::string_view name, sentence, range, error;
};
// Returns all functions of the library.
std::span<const LibraryEntry> Library();

// A library function of x = word / 2^in.scale. The scale of its result is `shift` bits finer than requested. A SUF has
// one scale for all coefficients, and slopes need these bits. A rounding shift by `shift` removes them.
struct LibraryFunction {
  Function f;
  FixedPoint in;
  int scale = 0, shift = 0;
  // The function with its constants as rounded. For low <= x < high, channel "y" differs from it by at most `error` or
  // `relative` |exact(x)|. In gelu_spline the sum of all numbers does.
  Real exact;
  double low = 0, high = 0, error = 0, relative = 0;
  // The accepted numbers, x = number / 2^in.scale: all of its ring, or fewer.
  int64_t first = 0, last = 0;
};

// Makes a function from its name, with arguments as in clamp(-1,1). The ring n has 8 to 48 bits, and the scale is 2 to
// n - 6, at most 20. Throws Cause::kInput if the name, the number of arguments or a constant is wrong.
LibraryFunction Make(std::string_view name, int n, int scale);

// The numbers that a library function accepts, x = number / 2^scale, if not all words in two's complement. It is
// unsigned then, or undefined at some numbers.
struct ArgumentRange {
  bool is_signed = false;
  int64_t first = 0, last = 0;
  std::optional<int> scale;  // none: the text is the same at several scales
};
// Returns the accepted numbers, or nothing if the function accepts all words.
std::optional<ArgumentRange> ArgumentRangeOf(const LibraryFunction& m);
// Returns the accepted numbers of a function from a text, if it equals the library's function of its name.
std::optional<ArgumentRange> ArgumentRangeOf(const Function& f);

}  // namespace suf::func
