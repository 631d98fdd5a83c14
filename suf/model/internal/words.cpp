#include "suf/model/internal/words.hpp"

#include <utf8proc.h>

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/internal/unicode_tables.hpp"

namespace suf::model {
namespace {

template <size_t N>
bool In(const CodeRange (&ranges)[N], char32_t c) {
  const CodeRange* r =
      std::upper_bound(ranges, ranges + N, c, [](char32_t v, const CodeRange& range) { return v < range.first; });
  return r != ranges && c <= r[-1].last;
}

// The canonical combining class of an assigned character never changes. The version decides which ones are assigned.
int CombiningClass(char32_t c) { return In(kCombining, c) ? utf8proc_get_property(int32_t(c))->combining_class : 0; }

void AppendDecomposed(char32_t c, std::u32string* out) {
  constexpr int kLongest = 8;  // canonical decompositions have at most 4 code points
  int32_t points[kLongest];
  int unused = 0;
  auto n =
      In(kUndecomposed, c) ? 0 : utf8proc_decompose_char(int32_t(c), points, kLongest, UTF8PROC_DECOMPOSE, &unused);
  SUF_CHECK(n >= 0 && n <= kLongest);
  if (n == 0) points[n++] = int32_t(c);
  for (int i = 0; i < int(n); ++i) out->push_back(char32_t(points[i]));
}

char32_t Lower(char32_t c) {
  const auto* end = std::end(kLower);
  const auto* r = std::find_if(kLower, end, [&](const LowerRange& l) { return l.first <= c && c <= l.last; });
  return r != end ? char32_t(int64_t(c) + r->add) : char32_t(utf8proc_tolower(int32_t(c)));
}

// Returns the text cleaned, with Chinese characters spaced, and decomposed. It is not yet in canonical order: marks of
// other classes may commute.
std::u32string Decomposed(std::u32string_view text) {
  std::u32string out;
  for (char32_t c : text) {
    if (In(kRemoved, c)) continue;
    if (In(kSpace, c)) c = U' ';
    const bool chinese = In(kChinese, c);
    if (chinese) out += U' ';
    AppendDecomposed(c, &out);
    if (chinese) out += U' ';
  }
  return out;
}

}  // namespace

std::u32string Decode(std::string_view utf8, std::string_view what) {
  std::u32string out;
  out.reserve(utf8.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(utf8.data());
  for (size_t at = 0; at < utf8.size();) {
    int32_t point = 0;
    const auto n = utf8proc_iterate(bytes + at, utf8proc_ssize_t(utf8.size() - at), &point);
    if (n <= 0) Fail(Cause::kInput, what, " is not UTF-8 at byte ", at, "; save it as UTF-8");
    out.push_back(char32_t(point));
    at += size_t(n);
  }
  return out;
}

std::u32string Normalised(std::u32string_view text) {
  std::u32string points = Decomposed(text);
  for (auto at = points.begin();
       at != points.end();) {  // canonical order, UAX 15 D108: sort each run of marks by class
    const auto end = std::find_if(at, points.end(), [](char32_t c) { return CombiningClass(c) == 0; });
    std::stable_sort(at, end, [](char32_t a, char32_t b) { return CombiningClass(a) < CombiningClass(b); });
    at = end == points.end() ? end : end + 1;
  }
  std::erase_if(points, [](char32_t c) { return In(kNonspacing, c); });
  std::transform(points.begin(), points.end(), points.begin(), Lower);
  return points;
}

bool IsWord(char32_t c) { return In(kWord, c); }
bool IsSpace(char32_t c) { return In(kBlank, c); }

std::vector<std::u32string> Words(std::u32string_view normalised) {
  std::vector<std::u32string> words;
  bool open = false;  // the last word may grow
  for (char32_t c : normalised) {
    const bool mark = In(kPunctuation, c);
    if (c != U' ' && (mark || !open)) words.emplace_back();
    if (c != U' ') words.back() += c;
    open = c != U' ' && !mark;
  }
  return words;
}

}  // namespace suf::model
