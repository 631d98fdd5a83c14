// Metaspace: writes each space as a visible character, puts one before a word, and splits before each.
#include "suf/model/tokens/pre_tokenizers.hpp"
#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

enum class Scheme : uint8_t { kAlways, kNever, kFirst };

class Metaspace : public PreTokenizer {
 public:
  Metaspace(char32_t mark, Scheme scheme, bool split) : mark_(mark), scheme_(scheme), split_(split) {}
  std::vector<TextWord> Split(std::vector<TextWord> words) const override {
    std::vector<TextWord> out;
    for (TextWord& word : words) {
      if (word.text.empty()) continue;
      std::replace(word.text.begin(), word.text.end(), U' ', mark_);
      const bool wanted = scheme_ == Scheme::kAlways || (scheme_ == Scheme::kFirst && word.first > 0);
      if (wanted) PutFirst(mark_, &word);
      if (split_)
        AppendWords(word, SpansOfEach(word.text, [&](char32_t c) { return c == mark_; }), Behavior::kWithNext, &out);
      else
        out.push_back(std::move(word));
    }
    return out;
  }

 private:
  char32_t mark_;
  Scheme scheme_;
  bool split_;
};

}  // namespace

PreTokenizerPtr ReadMetaspace(const Fields& part) {
  part.Only({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  const std::string name = part.OneOf("prepend_scheme", "always", {"always", "never", "first"});
  const Scheme scheme = name == "always" ? Scheme::kAlways : name == "never" ? Scheme::kNever : Scheme::kFirst;
  if (!ReadFlag(part, "add_prefix_space", true) && scheme != Scheme::kNever)
    part.Refuse("add_prefix_space", "and prepend_scheme is ", Quoted(name),
                ", which contradicts it; fetch the file again");
  return std::make_unique<Metaspace>(ReadPoints(part, "replacement", 1, 1)[0], scheme, ReadFlag(part, "split", true));
}

}  // namespace suf::model
