// BertNormalizer: cleans text, puts spaces around Chinese characters, decomposes canonically without nonspacing marks,
// and lowers case.
#include "suf/model/tokens/normalizers.hpp"
#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

class BertNormalizer : public Normalizer {
 public:
  BertNormalizer(bool clean, bool chinese, bool accents, bool lower)
      : clean_(clean), chinese_(chinese), accents_(accents), lower_(lower) {}

  TextWord Apply(TextWord word) const override {
    if (clean_) {
      RemoveIf([](char32_t c) { return In(kRemoved, c); }, &word);
      for (char32_t& c : word.text)
        if (In(kSpace, c)) c = U' ';
    }
    if (chinese_) word = Expand(word, AppendSpaced);
    if (accents_) {
      word = Changed(word, Decomposed(word.text, false));
      RemoveIf([](char32_t c) { return In(kNonspacing, c); }, &word);
    }
    return lower_ ? Expand(word, AppendLower) : word;
  }

 private:
  static void AppendSpaced(char32_t c, CodePoints* out) {
    const bool chinese = In(kChinese, c);
    if (chinese) out->push_back(U' ');
    out->push_back(c);
    if (chinese) out->push_back(U' ');
  }

  bool clean_, chinese_, accents_, lower_;
};

}  // namespace

NormalizerPtr ReadBert(const Fields& part) {
  part.Only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  const bool lower = ReadFlag(part, "lowercase");
  return std::make_unique<BertNormalizer>(ReadFlag(part, "clean_text"), ReadFlag(part, "handle_chinese_chars"),
                                          ReadFlag(part, "strip_accents", lower), lower);
}

}  // namespace suf::model
