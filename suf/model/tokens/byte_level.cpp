// ByteLevel: splits by the expression of GPT-2 and writes each byte of UTF-8 as a character (byte_alphabet.hpp).
#include "suf/model/tokens/byte_alphabet.hpp"
#include "suf/model/tokens/pre_tokenizers.hpp"
#include "suf/model/tokens/settings.hpp"
#include "suf/model/tokens/utf8.hpp"

namespace suf::model {
namespace {

TextWord AsBytes(const TextWord& word) {
  std::string utf8;
  return Expand(word, [&](char32_t c, CodePoints* out) {
    utf8.clear();
    AppendUtf8(c, &utf8);
    for (char byte : utf8) out->push_back(kByteChars[uint8_t(byte)]);
  });
}

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool prefix, bool split) : prefix_(prefix), split_(split) {}
  std::vector<TextWord> Split(std::vector<TextWord> words) const override {
    std::vector<TextWord> out;
    for (TextWord& word : words) {
      if (word.text.empty()) continue;
      if (prefix_) PutFirst(U' ', &word);
      if (split_)
        AppendWords(word, FindSpans(word.text, MatchGpt2), Behavior::kIsolated, &out);
      else
        out.push_back(std::move(word));
    }
    for (TextWord& word : out) word = AsBytes(word);
    return out;
  }

 private:
  bool prefix_, split_;
};

}  // namespace

// trim_offsets concerns the places of tokens in the text, which are not computed here.
PreTokenizerPtr ReadByteLevel(const Fields& part) {
  part.Only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  (void)ReadFlag(part, "trim_offsets");
  return std::make_unique<ByteLevel>(ReadFlag(part, "add_prefix_space"), ReadFlag(part, "use_regex", true));
}

}  // namespace suf::model
