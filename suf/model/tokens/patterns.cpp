#include "suf/model/tokens/patterns.hpp"

#include <algorithm>

#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

constexpr size_t kPatternLimit = 256;  // code points

bool IsLineEnd(char32_t c) { return c == U'\r' || c == U'\n'; }
bool IsSymbol(char32_t c) { return !IsSpace(c) && !IsLetter(c) && !IsNumber(c); }

// Returns the end of the run of a class that begins at `at`.
template <class Predicate>
size_t RunEnd(PointsView text, size_t at, Predicate in) {
  while (at < text.size() && in(text[at])) ++at;
  return at;
}

// Matches 's 't 're 've 'm 'll 'd. `any_case` also accepts capitals, and U+017F for s.
size_t MatchContraction(PointsView text, size_t at, bool any_case) {
  const auto letter = [&](size_t i) {
    const char32_t c = at + i < text.size() ? text[at + i] : U'\0';
    if (any_case && c >= U'A' && c <= U'Z') return char32_t(c + 32);
    return any_case && c == 0x17F ? U's' : c;
  };
  if (text[at] != U'\'') return at;
  const char32_t a = letter(1), b = letter(2);
  if (a == U's' || a == U't' || a == U'm' || a == U'd') return at + 2;
  return (a == U'r' && b == U'e') || (a == U'v' && b == U'e') || (a == U'l' && b == U'l') ? at + 3 : at;
}

// Matches \s+(?!\S)|\s+ at a space: a run leaves its last space to a word behind it.
size_t MatchSpaces(PointsView text, size_t at) {
  const size_t end = RunEnd(text, at, IsSpace);
  return end < text.size() && end - at > 1 ? end - 1 : end;
}

// Matches the expression that Llama 3 and Qwen 2 share, with at most `digits` numbers in a row.
size_t MatchCased(PointsView text, size_t at, size_t digits) {
  if (const size_t end = MatchContraction(text, at, true); end > at) return end;
  const char32_t c = text[at];
  const bool more = at + 1 < text.size();
  if (IsLetter(c) || (!IsLineEnd(c) && !IsNumber(c) && more && IsLetter(text[at + 1])))
    return RunEnd(text, at + 1, IsLetter);
  if (IsNumber(c))
    return std::min(at + digits, RunEnd(text.substr(0, std::min(text.size(), at + digits)), at, IsNumber));
  if (IsSymbol(c) || (c == U' ' && more && IsSymbol(text[at + 1])))
    return RunEnd(text, RunEnd(text, at + 1, IsSymbol), IsLineEnd);
  for (size_t end = RunEnd(text, at, IsSpace); end > at; --end)
    if (IsLineEnd(text[end - 1])) return end;
  return MatchSpaces(text, at);
}

Pattern PatternOf(CodePoints text) {
  const size_t length = text.size();
  return {[text = std::move(text)](PointsView in, size_t at) {
            return in.substr(at).starts_with(text) ? at + text.size() : at;
          },
          length};
}

// Matches a run of at least `least` code points of a class.
template <class Predicate>
Pattern RunOf(Predicate in, size_t least) {
  return {[=](PointsView text, size_t at) {
            const size_t end = RunEnd(text, at, in);
            return end - at >= least ? end : at;
          },
          least};
}

}  // namespace

std::vector<MatchSpan> FindSpans(PointsView text, const Matcher& match) {
  std::vector<MatchSpan> spans;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = match(text, at);
    if (end == at) {
      ++at;
      continue;
    }
    if (begin < at) spans.push_back({begin, at, false});
    spans.push_back({at, end, true});
    begin = at = end;
  }
  if (begin < text.size()) spans.push_back({begin, text.size(), false});
  return spans;
}

size_t MatchGpt2(PointsView text, size_t at) {
  if (const size_t end = MatchContraction(text, at, false); end > at) return end;
  const size_t word = at + (text[at] == U' ' && at + 1 < text.size());
  const char32_t c = text[word];
  if (IsLetter(c)) return RunEnd(text, word, IsLetter);
  if (IsNumber(c)) return RunEnd(text, word, IsNumber);
  return IsSymbol(c) ? RunEnd(text, word, IsSymbol) : MatchSpaces(text, at);
}

size_t MatchLlama3(PointsView text, size_t at) { return MatchCased(text, at, 3); }
size_t MatchQwen2(PointsView text, size_t at) { return MatchCased(text, at, 1); }

const std::vector<Expression>& SplitExpressions() {
  static const std::vector<Expression> known = {
      {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", {MatchGpt2}},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
       R"(\s+(?!\S)|\s+)",
       {MatchLlama3}},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
       R"(\s+(?!\S)|\s+)",
       {MatchQwen2}}};
  return known;
}

const std::vector<Expression>& ReplaceExpressions() {
  static const std::vector<Expression> known = {{" {2,}", RunOf([](char32_t c) { return c == U' '; }, 2)},
                                                {"\\s+", RunOf(IsSpace, 1)}};
  return known;
}

Pattern ReadPattern(const Fields& part, const std::vector<Expression>& known) {
  const Fields pattern = part.Object("pattern", "a String or a Regex");
  pattern.Only({"String", "Regex"});
  if (pattern.Named("String") && !pattern.Named("Regex"))
    return PatternOf(ReadPoints(pattern, "String", 1, kPatternLimit));
  if (!pattern.Named("String"))
    for (const Expression& e : known)
      if (pattern.Value("Regex") == e.text) return e.pattern;
  part.Refuse("pattern", "and this expression is not among the ", known.size(), " that are known here; ", kAnother);
}

}  // namespace suf::model
