// The input of the commands of `suf fn`: a function, its ends, numbers.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "apps/fn/cmd_fn.hpp"
#include "suf/backends/all.hpp"
#include "suf/func/library.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::apps {

// A function, with the library's facts about it if it is a library function.
struct NamedFunction {
  func::Function f;
  std::optional<func::LibraryFunction> made;
};
// Reads a function from standard input (`-`) or from a path (with a slash, or ending in .suf). Makes the library
// function of any other name. Throws Cause::kInput.
NamedFunction FunctionOf(const FunctionArgs& a);
// Returns the plan of a function with these ends, still without a choice of lowering.
gates::FunctionPlan PlanOf(const func::Function& f, const EndsArgs& ends);

// Picks the lowering of that name. With `auto` it picks the best one by the profile for `count` values, on a backend
// that can do this. If P0 learns a result of P1's values, `auto` prefers a lowering that keeps P0 from learning more.
compiler::Choice ChoiceFor(const gates::FunctionPlan& plan, const std::string& lowering,
                           const compiler::Profile& profile, int64_t count, const pfss::Capabilities& can = {});

// Returns each lowering of numbers and each of bits at least once. Those that do not apply come last, with the reason.
// Bills are of one value. Defined in cmd_fn_check.cpp.
std::vector<compiler::Candidate> ChoicesOf(const gates::FunctionPlan& plan, const pfss::Capabilities& can = {});

// How a function's words stand for numbers. The library defines it for its functions. Other functions have no scale,
// and are signed if a piece begins at 2^(n-1).
struct Numeric {
  bool is_signed = false;
  int scale = 0, result_scale = 0;
};
Numeric NumericOf(const NamedFunction& g);

// The numbers that a function takes, if they are fewer than its words.
struct ArgumentLimits : func::ArgumentRange {
  std::string name;
  // Throws Cause::kInput if the number is outside. `where` and `text` are its place and its digits in the input.
  void Want(const std::string& where, const std::string& text, int64_t number) const;
};
// Returns the limits of a library function, also if it comes from a file or a plan.
std::optional<ArgumentLimits> LimitsOf(const NamedFunction& g);

// Parses a whole number as a word of Z_{2^n}; a negative one in two's complement. Throws Cause::kInput.
uint64_t WordOf(const std::string& text, int n, const std::string& where,
                const std::optional<ArgumentLimits>& limits = {});
// The name of the taker of a file's numbers, for error messages, and the remedy for another ring.
struct NumberTaker {
  std::string name, remedy;
  bool narrower = false;  // takes numbers of fewer bits as well
};
// Calls f with each number of a file and its place, "FILE, line 3,". One stands on a line, and # begins a comment. A
// first line `mod 2^K` names the ring; K must be n, or less if the taker allows it. Throws Cause::kInput.
void EachNumber(const std::string& path, int n, const NumberTaker& taker,
                const std::function<void(const std::string& text, const std::string& where)>& f);
// Reads a file of one number a line. # begins a comment. A first line `mod 2^K` names the ring; K must be n. Throws
// Cause::kInput.
std::vector<uint64_t> ReadWords(const std::string& path, int n, const std::optional<ArgumentLimits>& limits = {});
// Writes a file for ReadWords that begins with the ring. Only its owner can read it.
void WriteWords(const std::string& path, const std::vector<uint64_t>& words, int n, bool is_signed = false);
// Writes a whole file. Throws Cause::kResource.
void WriteText(const std::string& path, const std::string& text);
// Splits a text at its commas.
std::vector<std::string> AtCommas(const std::string& text);

}  // namespace suf::apps
