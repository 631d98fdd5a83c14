// Fuzzes a tokenizer file, a vocab.txt or a tokenizer.json, and tokenizes one text and one pair under it.
#include "fuzz/fuzz.hpp"
#include "suf/model/tokenizer.hpp"

SUF_FUZZ(vocabulary) {
  using namespace suf::fuzz;
  constexpr std::string_view kText = "A b, [MASK] \xc3\xa9 word  12 's\n<mask> \xf0\x9f\x98\x80";
  const auto tokenizer = suf::model::Tokenizer::Of(TextOf(input), "vocab.txt");
  const auto check = [&](const suf::model::Ids& ids) {
    for (int32_t id : ids) SUF_CHECK(id >= 0 && size_t(id) < tokenizer.size());
  };
  check(tokenizer.Encode(kText));
  const suf::model::TextPair pair = tokenizer.EncodePair(kText, "b");
  check(pair.ids);
  SUF_CHECK(pair.types.size() == pair.ids.size());
}
