#include "suf/model/tokens/graphemes.hpp"

#include "suf/model/tokens/text.hpp"

namespace suf::model {
namespace {

constexpr char32_t kJoiner = 0x200D;
constexpr char32_t kFirstSyllable = 0xAC00, kLastSyllable = 0xD7A3, kSyllablesOfVowel = 28;

GraphemeClass ClassOf(char32_t c) {
  if (c < 0x7F) return c < 0x20 ? GraphemeClass::kControl : GraphemeClass::kOther;
  const GraphemeRange* r = std::upper_bound(std::begin(kGraphemes), std::end(kGraphemes), c,
                                            [](char32_t v, const GraphemeRange& range) { return v < range.first; });
  return r != std::begin(kGraphemes) && c <= r[-1].last ? r[-1].value : GraphemeClass::kOther;
}

bool IsHangulSyllable(char32_t c) { return c >= kFirstSyllable && c <= kLastSyllable; }
// Whether c is a syllable without a final consonant.
bool IsOpenSyllable(char32_t c) { return IsHangulSyllable(c) && (c - kFirstSyllable) % kSyllablesOfVowel == 0; }

// Rules GB6 to GB8: Hangul.
bool JoinsHangul(char32_t a, GraphemeClass a_class, char32_t b, GraphemeClass b_class) {
  using enum GraphemeClass;
  if (a_class == kLeading) return b_class == kLeading || b_class == kVowel || IsHangulSyllable(b);
  if (a_class == kVowel || IsOpenSyllable(a)) return b_class == kVowel || b_class == kTrailing;
  return (a_class == kTrailing || IsHangulSyllable(a)) && b_class == kTrailing;
}

// The history of a grapheme that decides whether another base joins it.
class GraphemeState {
 public:
  void Add(char32_t c, GraphemeClass value) {
    const bool extends = value == GraphemeClass::kExtend;
    emoji_ = value == GraphemeClass::kPictographic ? kPicture
             : emoji_ == kPicture && c == kJoiner  ? kJoined
             : emoji_ == kPicture && extends       ? kPicture
                                                   : kNoEmoji;
    if (c < 0x300) {
      consonant_ = linked_ = false;
    } else if (In(kLinkers, c)) {
      linked_ = consonant_;
    } else if (!In(kBetween, c)) {
      consonant_ = In(kConsonants, c);
      linked_ = false;
    }
  }
  // Rule GB11: a picture, marks, a joiner and a picture.
  bool joins_picture() const { return emoji_ == kJoined; }
  // Rule GB9c: a consonant, a linker among marks, and a consonant.
  bool joins_consonant() const { return linked_; }

 private:
  enum { kNoEmoji, kPicture, kJoined } emoji_ = kNoEmoji;
  bool consonant_ = false, linked_ = false;
};

}  // namespace

size_t GraphemeEnd(PointsView text, size_t at) {
  using enum GraphemeClass;
  if (text[at] == U'\r' && at + 1 < text.size() && text[at + 1] == U'\n') return at + 2;
  GraphemeState state;
  GraphemeClass left = ClassOf(text[at]);
  for (size_t end = at + 1;; ++end) {
    if (end == text.size() || left == kControl) return end;
    const char32_t c = text[end];
    if (c < 0x300 && left != kPrepend && ClassOf(c) != kPictographic) return end;
    const GraphemeClass right = ClassOf(c);
    if (right == kControl) return end;
    state.Add(text[end - 1], left);
    const bool joined = right == kExtend || right == kSpacingMark || c == kJoiner || left == kPrepend ||
                        JoinsHangul(text[end - 1], left, c, right) ||
                        (right == kPictographic && state.joins_picture()) ||
                        (state.joins_consonant() && In(kConsonants, c));
    if (!joined) return end;
    left = right;
  }
}

}  // namespace suf::model
