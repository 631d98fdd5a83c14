// Expectations come from PyPI `tokenizers` 0.23.3.
#include "suf/model/tokens/byte_decoder.hpp"

#include <gtest/gtest.h>

#include "suf/model/tokens/byte_alphabet.hpp"
#include "suf/model/tokens/utf8.hpp"

namespace suf::model {
namespace {

const std::string kReplaced = "\xef\xbf\xbd";

// Returns a vocabulary of the 256 bytes, with their values as ids, and more entries.
EntryIds ByteVocab(const std::vector<std::string>& more = {}) {
  EntryIds entries;
  for (int b = 0; b < 256; ++b) entries[ToUtf8({&kByteChars[size_t(b)], 1})] = b;
  for (size_t i = 0; i < more.size(); ++i) entries[more[i]] = int32_t(256 + i);
  return entries;
}

// Returns the texts of ids one by one, and then of the end, with "|" between them.
std::string Decoded(const EntryBytes& entries, const std::vector<int32_t>& ids) {
  ByteDecoder decoder(entries);
  std::string all;
  for (int32_t id : ids) all += decoder.Append(id) + "|";
  return all + decoder.End();
}

TEST(ByteAlphabet, EqualsHuggingFace) {
  EXPECT_EQ(kByteChars[0], U'Ā');
  EXPECT_EQ(kByteChars['\n'], U'Ċ');
  EXPECT_EQ(kByteChars[' '], U'Ġ');
  EXPECT_EQ(kByteChars['!'], U'!');
  EXPECT_EQ(kByteChars[0x7f], U'ġ');
  EXPECT_EQ(kByteChars[0xad], U'Ń');
  for (int b = 0; b < 256; ++b) EXPECT_EQ(ByteOf(kByteChars[size_t(b)]), b);
  for (char32_t c : {U' ', U'\u007f', U'\u00ad', U'\u0144', U'語'}) EXPECT_EQ(ByteOf(c), -1);
}

TEST(ByteDecoder, HoldsBackIncompleteCharacters) {
  const EntryBytes entries(ByteVocab({"Ġaé", "ðŁĺ"}));
  EXPECT_EQ(Decoded(entries, {0x61, 0xc3, 0xa9}), "a||é|");
  EXPECT_EQ(Decoded(entries, {257, 0x80, 0x62}), "|😀|b|");
  EXPECT_EQ(Decoded(entries, {}), "");
}

TEST(ByteDecoder, InvalidBytesEqualHuggingFace) {
  const EntryBytes entries(ByteVocab());
  EXPECT_EQ(Decoded(entries, {0xc3}), "|" + kReplaced);
  EXPECT_EQ(Decoded(entries, {0xf0, 0x9f, 0x98}), "|||" + kReplaced);
  EXPECT_EQ(Decoded(entries, {0xf0, 0x9f, 0x41}), "||" + kReplaced + "A|");
  EXPECT_EQ(Decoded(entries, {0xed, 0xa0, 0x80}), "|" + kReplaced + kReplaced + "|" + kReplaced + "|");
  EXPECT_EQ(Decoded(entries, {0xff, 0xc0, 0x80}), kReplaced + "|" + kReplaced + "|" + kReplaced + "|");
  EXPECT_EQ(Decoded(entries, {0xe0, 0xa0, 0xe0, 0xa0, 0x80}), "||" + kReplaced + "||ࠀ|");
}

// An entry with a character outside the alphabet stands for itself. An id without an entry is left out.
TEST(ByteDecoder, OtherEntriesEqualHuggingFace) {
  const EntryBytes entries(ByteVocab({"a b", "語Ġ", "<|end|>"}));
  EXPECT_EQ(Decoded(entries, {256, 257, 258, 259, -1}), "a b|語Ġ|<|end|>|||");
}

TEST(ByteDecoder, EveryCharacterGoesRound) {
  const EntryBytes entries(ByteVocab());
  ByteDecoder decoder(entries);
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string out;
    const std::string text = ToUtf8({&c, 1});
    for (char b : text) {
      EXPECT_EQ(out, "");
      out += decoder.Append(uint8_t(b));
    }
    ASSERT_EQ(out, text) << uint32_t(c);
  }
  EXPECT_EQ(decoder.End(), "");
}

}  // namespace
}  // namespace suf::model
