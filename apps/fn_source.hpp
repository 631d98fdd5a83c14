// What the commands of suf fn are given: a function, its ends, numbers.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "apps/cmd_fn.hpp"
#include "suf/backends/all.hpp"
#include "suf/func/library.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::apps {

// A function, and what the library says of it.
struct Given {
  func::Function f;
  std::optional<func::Made> made;
};
// A path (one that ends in .suf, or holds a slash) is read, a name is the library's. Throws Cause::kInput.
Given FunctionOf(const FunctionArgs& a);
// With its ends; the choice is left open.
gates::FunctionPlan PlanOf(const func::Function& f, const EndsArgs& ends);

// Picks the lowering of that name, or with `auto` the best by the profile for so many values, on a backend that can do
// this. If P0 learns a result of P1's values, `auto` takes one that keeps P0 from learning more, if there is one.
compiler::Choice ChoiceFor(const gates::FunctionPlan& plan, const std::string& lowering,
                           const compiler::Profile& profile, int64_t count, const pfss::Capabilities& can = {});

// Each lowering of numbers and each of bits at least once, and why the others do not apply; bills are of one
// value. (cmd_fn_check.cpp)
std::vector<compiler::Candidate> ChoicesOf(const gates::FunctionPlan& plan, const pfss::Capabilities& can = {});

// A function's words as numbers: of a library function as it says; else two's complement where a piece begins
// at 2^(n-1), and without a scale.
struct Numeric {
  bool is_signed = false;
  int scale = 0, result_scale = 0;
};
Numeric NumericOf(const Given& g);

// The numbers that a function takes, where they are fewer than its words.
struct Limits : func::Taken {
  std::string name;
  // Throws Cause::kInput for a number outside; `text` is what was written.
  void Want(const std::string& where, const std::string& text, int64_t number) const;
};
// Of a library function, also if it comes from a file or a plan.
std::optional<Limits> LimitsOf(const Given& g);

// A whole number, also a negative one in two's complement, as a word of Z_{2^n}. Throws Cause::kInput.
uint64_t WordOf(const std::string& text, int n, const std::string& where, const std::optional<Limits>& limits = {});
// A file of one number a line; # begins a comment; a first line `mod 2^K` says of which ring, which must be
// n's.
std::vector<uint64_t> ReadWords(const std::string& path, int n, const std::optional<Limits>& limits = {});
// What ReadWords reads, with the ring; for its owner's eyes.
void WriteWords(const std::string& path, const std::vector<uint64_t>& words, int n, bool is_signed = false);
// A whole file. Throws Cause::kResource.
void WriteText(const std::string& path, const std::string& text);
// The parts of a text between commas.
std::vector<std::string> AtCommas(const std::string& text);

}  // namespace suf::apps
