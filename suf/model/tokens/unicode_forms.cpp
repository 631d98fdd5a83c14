// NFC, NFD, NFKC and NFKD (Unicode Standard Annex 15) of the version of `tokenizers`. Decompositions of assigned
// characters never change, so they are utf8proc's; the tables decide which characters are decomposed.
#include <utf8proc.h>

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/tokens/normalizers.hpp"
#include "suf/model/tokens/text.hpp"

namespace suf::model {
namespace {

constexpr char32_t kSyllable = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11A7;
constexpr char32_t kLeads = 19, kVowels = 21, kTails = 28;

bool IsSyllable(char32_t c) { return c >= kSyllable && c < kSyllable + kLeads * kVowels * kTails; }

// The canonical combining class of an assigned character never changes. The version decides which ones are assigned.
int CombiningClass(char32_t c) {
  return c >= 0x300 && In(kCombining, c) ? utf8proc_get_property(int32_t(c))->combining_class : 0;
}

// Appends the full decomposition of a code point. The first part replaces it, and the others are added.
void AppendDecomposed(char32_t c, bool compatible, std::vector<Change>* out) {
  constexpr int kLongest = 32;  // the longest decomposition has 18 code points
  int32_t points[kLongest];
  int unused = 0;
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  const bool changes = c >= 0xA0 && (IsSyllable(c) || In(kCanonical, c) || (compatible && In(kCompatible, c)));
  const auto n =
      changes ? utf8proc_decompose_char(int32_t(c), points, kLongest, utf8proc_option_t(options), &unused) : 1;
  SUF_CHECK(n >= 1 && n <= kLongest);
  if (!changes) points[0] = int32_t(c);
  for (int i = 0; i < int(n); ++i) out->push_back({char32_t(points[i]), i > 0});
}

// Returns the composite of two code points, or 0.
char32_t CompositeOf(char32_t a, char32_t b) {
  if (a - kLead < kLeads && b - kVowel < kVowels) return kSyllable + ((a - kLead) * kVowels + b - kVowel) * kTails;
  if (IsSyllable(a) && (a - kSyllable) % kTails == 0 && b > kTail && b < kTail + kTails) return a + (b - kTail);
  const auto* end = std::end(kComposed);
  const auto* pair = std::lower_bound(
      std::begin(kComposed), end, ComposedPair{a, b, 0},
      [](const auto& x, const auto& y) { return x.left != y.left ? x.left < y.left : x.right < y.right; });
  return pair != end && pair->left == a && pair->right == b ? pair->whole : 0;
}

class UnicodeForm : public Normalizer {
 public:
  UnicodeForm(bool compatible, bool composed) : compatible_(compatible), composed_(composed) {}
  TextWord Apply(TextWord word) const override {
    std::vector<Change> changes = Decomposed(word.text, compatible_);
    if (composed_) changes = Composed(changes);
    return Changed(word, changes);
  }

 private:
  bool compatible_, composed_;
};

}  // namespace

TextWord Changed(const TextWord& word, const std::vector<Change>& changes) {
  TextWord out;
  out.text.reserve(changes.size());
  for (const Change& change : changes) out.text.push_back(change.c);
  size_t at = 0;  // the next code point of the old text
  for (const Change& change : changes) {
    const size_t from = change.effect > 0 && at > 0 ? at - 1 : at;
    if (from >= word.first) break;
    ++out.first;
    if (change.effect <= 0) at += 1 + size_t(-int64_t(change.effect));
  }
  return out;
}

std::vector<Change> Decomposed(PointsView text, bool compatible) {
  std::vector<Change> out;
  out.reserve(text.size());
  for (char32_t c : text) AppendDecomposed(c, compatible, &out);
  const auto starts = [](const Change& p) { return CombiningClass(p.c) == 0; };
  const auto before = [](const Change& a, const Change& b) { return CombiningClass(a.c) < CombiningClass(b.c); };
  for (auto at = out.begin(); at != out.end();) {  // canonical order, D108: sort each run of marks by class
    const auto end = std::find_if(at, out.end(), starts);
    if (end - at > 1) std::stable_sort(at, end, before);
    at = end == out.end() ? end : end + 1;
  }
  return out;
}

std::vector<Change> Composed(const std::vector<Change>& decomposed) {
  std::vector<Change> out;
  out.reserve(decomposed.size());
  constexpr size_t kNone = size_t(-1);
  size_t starter = kNone;  // the place of the last character that others may join
  int last = 0;            // the class of the last mark behind it, or 0
  for (const Change& part : decomposed) {
    const int mark = CombiningClass(part.c);
    if (starter != kNone && (last == 0 || last < mark)) {
      if (const char32_t whole = CompositeOf(out[starter].c, part.c)) {
        out[starter] = {whole, out[starter].effect + part.effect - 1};
        continue;
      }
    }
    out.push_back(part);
    if (mark == 0) starter = out.size() - 1;
    last = mark;
  }
  return out;
}

NormalizerPtr ReadUnicodeForm(const Fields& part) {
  part.Only({"type"});
  const std::string form = part.Text("type");
  SUF_CHECK(form == "NFC" || form == "NFD" || form == "NFKC" || form == "NFKD");
  return std::make_unique<UnicodeForm>(form[2] == 'K', form.back() == 'C');
}

}  // namespace suf::model
