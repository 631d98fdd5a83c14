// Added tokens: each is one token wherever it stands in a text. They are matched before words are cut into pieces, as
// in `tokenizers` 0.23. The leftmost match counts, and the longest of several. The search continues behind it. Private
// to the module.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace suf::model {

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
  // Adds a token under the content to match. Returns false if another token has that content.
  bool Add(std::u32string content, const AddedToken& token);

  // The id of a matched token, or the text between two of them.
  struct TextPart {
    std::u32string_view text;
    std::optional<int32_t> id;
  };
  // Splits a text at the tokens, in order.
  std::vector<TextPart> Split(std::u32string_view text) const;

 private:
  const AddedToken* LongestAt(std::u32string_view text, size_t* length) const;

  std::unordered_map<std::u32string, AddedToken> tokens_;
  std::unordered_map<char32_t, std::set<size_t, std::greater<>>> lengths_;  // by first character
};

}  // namespace suf::model
