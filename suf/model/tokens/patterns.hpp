// Patterns of Replace and Split: a fixed text, or one of a few regular expressions. Each expression has a matcher of
// our own. The classes are those of Oniguruma in `tokenizers` 0.23. Private to the module.
#pragma once
#include <functional>
#include <initializer_list>
#include <vector>

#include "suf/model/tokens/parts.hpp"

namespace suf::model {

// Returns the end of the match that begins at `at`, or `at` if none does. Takes time linear in the match and in the
// text that the next call skips.
using Matcher = std::function<size_t(PointsView text, size_t at)>;

struct Pattern {
  Matcher match;
  size_t shortest = 1;  // the least number of code points of a match
};

// A part of a text: a match, or the text between two.
struct MatchSpan {
  size_t begin, end;
  bool match;
};
// Returns the spans of a text, in order, without empty ones.
std::vector<MatchSpan> FindSpans(PointsView text, const Matcher& match);

// Matchers of the expressions that cut texts into words.
size_t MatchGpt2(PointsView text, size_t at);
size_t MatchLlama3(PointsView text, size_t at);
size_t MatchQwen2(PointsView text, size_t at);

struct Expression {
  const char* text;
  Pattern pattern;
};
// The expressions that Split and Replace know.
const std::vector<Expression>& SplitExpressions();
const std::vector<Expression>& ReplaceExpressions();

// Reads the field "pattern" of a part: {"String": ..} or {"Regex": ..}. Refuses an expression that is not in `known`,
// quoting it.
Pattern ReadPattern(const Fields& part, const std::vector<Expression>& known);

}  // namespace suf::model
