#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

json StripPart(bool left, bool right) { return {{"type", "Strip"}, {"strip_left", left}, {"strip_right", right}}; }

TEST(SimpleNormalizers, EqualHuggingFace) {
  EXPECT_EQ(NormalOf({{"type", "Lowercase"}}, "ΑΣ İ ǅ ẞ Ꮳ"), "ασ i\u0307 ǆ ß ꮳ");
  EXPECT_EQ(NormalOf({{"type", "Lowercase"}}, "\u1c89\ua7dc"), "\u1c8a\u019b");
  EXPECT_EQ(NormalOf({{"type", "StripAccents"}}, "e\u0301 \u0903\u20dd é"), "e  é");
  EXPECT_EQ(NormalOf({{"type", "StripAccents"}}, "\u0301"), "");
  EXPECT_EQ(NormalOf(StripPart(true, false), "\u3000\u0085 a "), "a ");
  EXPECT_EQ(NormalOf(StripPart(false, true), " a \x0b "), " a");
  EXPECT_EQ(NormalOf(StripPart(true, true), "  "), "");
  EXPECT_EQ(NormalOf(StripPart(false, false), " a "), " a ");
  EXPECT_EQ(NormalOf({{"type", "Nmt"}},
                     "a\x01\x0b\u0085\t\u200b\u2581\ufffd"
                     "b"),
            "a\u0085    b");
  EXPECT_EQ(NormalOf({{"type", "Prepend"}, {"prepend", "_"}}, "ab"), "_ab");
  EXPECT_EQ(NormalOf({{"type", "Prepend"}, {"prepend", "_"}}, ""), "");
}

TEST(SimpleNormalizers, EqualHuggingFaceOnEachCodePoint) {
  EXPECT_EQ(DigestOf(ReadParts({{"type", "Lowercase"}})),
            "705b94d6b28a0dae3766ada70813ea725f650ba764f71aebe983518779824ffc");
  EXPECT_EQ(DigestOf(ReadParts({{"type", "StripAccents"}})),
            "00bc2e4fed35d66be40d69854278bc8ad0ec94e0c3b2c8a5e8ce41ca9ec842e9");
  EXPECT_EQ(DigestOf(ReadParts({{"type", "Nmt"}})), "55a934f029819d3dcc31aff5d07cfcb5942e041f21bee17fe7cec341cd5ee60f");
  EXPECT_EQ(DigestOf(ReadParts(StripPart(true, true))),
            "f82f123e3af75618ec465892cf4f5aed7b99e0473d25d7dd23969f721d97359c");
}

TEST(SimpleNormalizers, OtherSettingsAreRefused) {
  ExpectSentence([] { NormalOf({{"type", "Strip"}, {"strip_left", true}}, ""); }, "normalizer.strip_right is missing");
  for (const json& bad : {json(""), json(std::string(65, 'a')), json(7), json()})
    ExpectSentence(
        [&] {
          NormalOf({{"type", "Prepend"}, {"prepend", bad}}, "");
        },
        "it must be a text of 1 to 64 characters");
}

}  // namespace
}  // namespace suf::model
