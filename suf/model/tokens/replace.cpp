// Replace: puts a text in the place of each match of a pattern.
#include "suf/model/tokens/normalizers.hpp"
#include "suf/model/tokens/patterns.hpp"
#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

constexpr size_t kContentLimit = 256;  // code points

class Replace : public Normalizer {
 public:
  Replace(Matcher match, CodePoints content) : match_(std::move(match)), content_(std::move(content)) {}
  TextWord Apply(TextWord word) const override {
    TextWord out;
    out.text.reserve(word.text.size());
    for (const MatchSpan& span : FindSpans(word.text, match_)) {
      // The content stems from the last character of a match.
      const size_t from_first = span.match ? (span.end <= word.first ? content_.size() : 0)
                                           : std::min(word.first, span.end) - std::min(word.first, span.begin);
      out.first += from_first;
      out.text += span.match ? PointsView(content_) : PointsView(word.text).substr(span.begin, span.end - span.begin);
    }
    return out;
  }

 private:
  Matcher match_;
  CodePoints content_;
};

}  // namespace

NormalizerPtr ReadReplace(const Fields& part, size_t* growth) {
  part.Only({"type", "pattern", "content"});
  Pattern pattern = ReadPattern(part, ReplaceExpressions());
  CodePoints content = ReadPoints(part, "content", 0, kContentLimit);
  *growth = std::max<size_t>(1, (content.size() + pattern.shortest - 1) / pattern.shortest);
  return std::make_unique<Replace>(std::move(pattern.match), std::move(content));
}

}  // namespace suf::model
