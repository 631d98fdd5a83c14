#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

json ByteLevelPart(bool prefix, bool split) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", split}};
}

TEST(ByteLevel, EqualsHuggingFace) {
  const std::string text = "it's é 中\n";
  EXPECT_EQ(SplitOf(ByteLevelPart(true, true), text), "Ġit|'s|ĠÃ©|Ġä¸Ń|Ċ");
  EXPECT_EQ(SplitOf(ByteLevelPart(true, false), text), "Ġit'sĠÃ©Ġä¸ŃĊ");
  EXPECT_EQ(SplitOf(ByteLevelPart(false, true), text), "it|'s|ĠÃ©|Ġä¸Ń|Ċ");
  EXPECT_EQ(SplitOf(ByteLevelPart(false, false), text), "it'sĠÃ©Ġä¸ŃĊ");
  for (bool prefix : {false, true}) EXPECT_EQ(SplitOf(ByteLevelPart(prefix, true), " a"), "Ġa");
  json part = ByteLevelPart(false, true);
  part.erase("use_regex");
  EXPECT_EQ(SplitOf(part, "a b"), "a|Ġb");
  EXPECT_EQ(DigestOf(ReadParts({}, ByteLevelPart(true, true))),
            "a12ee3266abbaf7a88e6eee969b174b9945557196818d8f9524b8f7190664943");
}

TEST(ByteLevel, OtherSettingsAreRefused) {
  json part = ByteLevelPart(true, true);
  part.erase("add_prefix_space");
  ExpectSentence([&] { SplitOf(part, ""); }, "pre_tokenizer.add_prefix_space is missing, it must be true or false");
}

}  // namespace
}  // namespace suf::model
