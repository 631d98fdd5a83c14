// Added tokens: each is one token wherever it stands in a text. They are matched before words are cut into pieces, as
// in `tokenizers` 0.23. The leftmost match counts, and the longest of several. The search continues behind it. Private
// to the module.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace suf::model {

// The most code points of an added token. It bounds the time of a search.
inline constexpr size_t kAddedLimit = 256;

struct AddedToken {
  std::string content;  // as in the file
  int32_t id = 0;
  bool single_word = false;             // matches only if no letter, digit or mark is beside it
  bool lstrip = false, rstrip = false;  // takes the spaces before it, after it
  bool normalized = false;              // is matched in the normalised text, not in the raw one
  bool operator==(const AddedToken&) const = default;
};

// The tokens that are matched in one form of a text.
class AddedTokens {
 public:
  // Adds a token under the content to match, which is not empty.
  void Add(std::u32string content, const AddedToken& token);
  // Must follow the last Add. Returns a token whose content to match another one has, or null.
  const AddedToken* Sort();

  // The id of a matched token, or the text between two of them.
  struct TextPart {
    std::u32string_view text;
    std::optional<int32_t> id;
  };
  // Splits a text at the tokens, in order.
  std::vector<TextPart> Split(std::u32string_view text) const;

 private:
  using ContentEntry = std::pair<std::u32string, AddedToken>;
  const AddedToken* LongestAt(std::u32string_view text, size_t* length) const;

  std::vector<ContentEntry> tokens_;                                  // sorted by content
  std::unordered_map<char32_t, std::pair<size_t, size_t>> by_first_;  // the range in tokens_ of a first character
};

}  // namespace suf::model
