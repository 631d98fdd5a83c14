// The normalizers of `tokenizers` 0.23, with one reader each, and their common functions. Private to the module.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "suf/model/tokens/parts.hpp"

namespace suf::model {

using NormalizerPtr = std::unique_ptr<const Normalizer>;

// Readers of a part. They throw Cause::kInput for a setting that is missing, unknown or not supported. `growth`
// receives the largest ratio of a result's length to its text's, as far as the file determines it.
NormalizerPtr ReadBert(const Fields& part);
NormalizerPtr ReadUnicodeForm(const Fields& part);  // NFC, NFD, NFKC, NFKD
NormalizerPtr ReadLowercase(const Fields& part);
NormalizerPtr ReadStripAccents(const Fields& part);
NormalizerPtr ReadStrip(const Fields& part);
NormalizerPtr ReadPrepend(const Fields& part);
NormalizerPtr ReadNmt(const Fields& part);
NormalizerPtr ReadReplace(const Fields& part, size_t* growth);
NormalizerPtr ReadPrecompiled(const Fields& part, size_t* growth);

// A normalizer that is a function without settings.
class FixedNormalizer : public Normalizer {
 public:
  explicit FixedNormalizer(TextWord (*function)(TextWord)) : function_(function) {}
  TextWord Apply(TextWord word) const override { return function_(std::move(word)); }

 private:
  TextWord (*function_)(TextWord);
};

// Removes the code points for which remove(c) is true.
template <class Predicate>
void RemoveIf(Predicate remove, TextWord* word) {
  size_t out = 0, first = 0;
  for (size_t i = 0; i < word->text.size(); ++i) {
    const char32_t c = word->text[i];
    if (remove(c)) continue;
    if (i < word->first) ++first;
    word->text[out++] = c;
  }
  word->text.resize(out);
  word->first = first;
}

// A code point of a changed text, with its effect on the old text. Above 0, it was added. Otherwise it replaces one
// code point, and -effect more are removed.
struct Change {
  char32_t c;
  int32_t effect;
};
// Replaces a word's text. As in `tokenizers`, the effects alone decide which code points stem from which, so `first`
// may be unexpected.
TextWord Changed(const TextWord& word, const std::vector<Change>& changes);

// Decomposes canonically (NFD) or compatibly (NFKD).
std::vector<Change> Decomposed(PointsView text, bool compatible);
// Composes a decomposed text (NFC, NFKC).
std::vector<Change> Composed(const std::vector<Change>& decomposed);

// Appends the lower case of a code point, as Rust's to_lowercase: sigma does not depend on its neighbours.
void AppendLower(char32_t c, CodePoints* out);

}  // namespace suf::model
