// Split: cuts words at the matches of a pattern, or at what lies between them.
#include "suf/model/tokens/pre_tokenizers.hpp"
#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(Matcher match, Behavior behavior, bool invert)
      : match_(std::move(match)), behavior_(behavior), invert_(invert) {}
  std::vector<TextWord> Split(std::vector<TextWord> words) const override {
    std::vector<TextWord> out;
    for (const TextWord& word : words) {
      std::vector<MatchSpan> spans = FindSpans(word.text, match_);
      for (MatchSpan& span : spans) span.match ^= invert_;
      AppendWords(word, spans, behavior_, &out);
    }
    return out;
  }

 private:
  Matcher match_;
  Behavior behavior_;
  bool invert_;
};

}  // namespace

PreTokenizerPtr ReadSplit(const Fields& part) {
  part.Only({"type", "pattern", "behavior", "invert"});
  Pattern pattern = ReadPattern(part, SplitExpressions());
  return std::make_unique<PatternSplit>(std::move(pattern.match), ReadBehavior(part, nullptr),
                                        ReadFlag(part, "invert"));
}

}  // namespace suf::model
