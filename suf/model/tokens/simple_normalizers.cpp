// Lowercase, StripAccents, Strip, Prepend and Nmt.
#include <algorithm>

#include "suf/model/tokens/normalizers.hpp"
#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

constexpr size_t kPrependLimit = 64;

TextWord WithoutAccents(TextWord word) {
  RemoveIf([](char32_t c) { return In(kAccents, c); }, &word);
  return word;
}

TextWord Lowered(TextWord word) { return Expand(word, AppendLower); }

// The character rules of "nmt" in SentencePiece: control characters go, and some others become spaces.
bool NmtRemoves(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}
bool NmtSpaces(char32_t c) {
  return c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}
TextWord NmtApplied(TextWord word) {
  RemoveIf(NmtRemoves, &word);
  std::replace_if(word.text.begin(), word.text.end(), NmtSpaces, U' ');
  return word;
}

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  TextWord Apply(TextWord word) const override {
    CodePoints& text = word.text;
    size_t begin = 0, end = text.size();
    while (right_ && end > 0 && IsSpace(text[end - 1])) --end;
    while (left_ && begin < end && IsSpace(text[begin])) ++begin;
    word.first = std::min(end, std::max(begin, word.first)) - begin;
    text = text.substr(begin, end - begin);
    return word;
  }

 private:
  bool left_, right_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(CodePoints text) : text_(std::move(text)) {}
  TextWord Apply(TextWord word) const override {
    if (word.text.empty()) return word;
    if (word.first > 0) word.first += text_.size();
    word.text.insert(0, text_);
    return word;
  }

 private:
  CodePoints text_;
};

}  // namespace

void AppendLower(char32_t c, CodePoints* out) {
  if (c == 0x130) {
    *out += U"i\u0307";
    return;
  }
  const LowerRange* r = std::upper_bound(std::begin(kLower), std::end(kLower), c,
                                         [](char32_t v, const LowerRange& range) { return v < range.first; });
  const bool capital = r != std::begin(kLower) && c <= r[-1].last && (c - r[-1].first) % r[-1].step == 0;
  out->push_back(capital ? char32_t(int64_t(c) + r[-1].add) : c);
}

NormalizerPtr ReadLowercase(const Fields& part) {
  part.Only({"type"});
  return std::make_unique<FixedNormalizer>(Lowered);
}

NormalizerPtr ReadStripAccents(const Fields& part) {
  part.Only({"type"});
  return std::make_unique<FixedNormalizer>(WithoutAccents);
}

NormalizerPtr ReadNmt(const Fields& part) {
  part.Only({"type"});
  return std::make_unique<FixedNormalizer>(NmtApplied);
}

NormalizerPtr ReadStrip(const Fields& part) {
  part.Only({"type", "strip_left", "strip_right"});
  return std::make_unique<Strip>(ReadFlag(part, "strip_left"), ReadFlag(part, "strip_right"));
}

// `tokenizers` repeats a character if the text to prepend is empty, so an empty one is refused.
NormalizerPtr ReadPrepend(const Fields& part) {
  part.Only({"type", "prepend"});
  return std::make_unique<Prepend>(ReadPoints(part, "prepend", 1, kPrependLimit));
}

}  // namespace suf::model
