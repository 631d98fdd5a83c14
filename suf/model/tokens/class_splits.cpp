// BertPreTokenizer, Whitespace, WhitespaceSplit, Digits and Punctuation: they split by classes of characters.
#include "suf/model/tokens/pre_tokenizers.hpp"
#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

// Splits each word at single characters of a class.
template <class Predicate>
std::vector<TextWord> SplitAtEach(const std::vector<TextWord>& words, Predicate in, Behavior behavior) {
  std::vector<TextWord> out;
  for (const TextWord& word : words) AppendWords(word, SpansOfEach(word.text, in), behavior, &out);
  return out;
}

class ClassSplit : public PreTokenizer {
 public:
  using Class = bool (*)(char32_t);
  ClassSplit(Class in, Behavior behavior) : in_(in), behavior_(behavior) {}
  std::vector<TextWord> Split(std::vector<TextWord> words) const override { return SplitAtEach(words, in_, behavior_); }

 private:
  Class in_;
  Behavior behavior_;
};

class BertPreTokenizer : public PreTokenizer {
 public:
  std::vector<TextWord> Split(std::vector<TextWord> words) const override {
    return SplitAtEach(SplitAtEach(words, IsSpace, Behavior::kDropped), IsPunctuation, Behavior::kIsolated);
  }
};

// Keeps the runs of \w and the runs of other characters that are no spaces.
class Whitespace : public PreTokenizer {
 public:
  std::vector<TextWord> Split(std::vector<TextWord> words) const override {
    std::vector<TextWord> out;
    for (const TextWord& word : words) AppendWords(word, Runs(word.text), Behavior::kDropped, &out);
    return out;
  }

 private:
  enum class Kind { kSpace, kWord, kSymbol };
  static Kind KindOf(char32_t c) { return IsWord(c) ? Kind::kWord : IsSpace(c) ? Kind::kSpace : Kind::kSymbol; }
  static std::vector<MatchSpan> Runs(PointsView text) {
    std::vector<MatchSpan> runs;
    Kind last = Kind::kSpace;
    for (size_t i = 0; i < text.size(); ++i) {
      const Kind kind = KindOf(text[i]);
      if (i == 0 || kind != last)
        runs.push_back({i, i + 1, kind == Kind::kSpace});
      else
        runs.back().end = i + 1;
      last = kind;
    }
    return runs;
  }
};

}  // namespace

PreTokenizerPtr ReadClassSplit(const Fields& part) {
  const std::string type = part.Text("type");
  const bool digits = type == "Digits", punctuation = type == "Punctuation";
  part.Only({"type", digits ? "individual_digits" : punctuation ? "behavior" : "type"});
  if (digits) {
    const bool each = ReadFlag(part, "individual_digits");
    return std::make_unique<ClassSplit>(IsNumeric, each ? Behavior::kIsolated : Behavior::kContiguous);
  }
  if (punctuation) return std::make_unique<ClassSplit>(IsPunctuation, ReadBehavior(part, "Isolated"));
  if (type == "WhitespaceSplit") return std::make_unique<ClassSplit>(IsSpace, Behavior::kDropped);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  SUF_CHECK(type == "BertPreTokenizer");
  return std::make_unique<BertPreTokenizer>();
}

}  // namespace suf::model
