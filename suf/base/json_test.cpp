#include "suf/base/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "suf/base/scratch_test.hpp"

namespace suf {
namespace {

using nlohmann::json;

const JsonText kText{"the file", "write it again", Cause::kRefused};

TEST(Json, ReadsWhatTheLibraryReads) {
  const std::string texts[] = {R"({"b":[1,-2,3.5,1e5,{"c":null,"a":true}],"a":"x\u00e9\n","":{},"l":[]})",
                               "7",
                               R"("a")",
                               "[[],{}]",
                               "-0.0",
                               "18446744073709551615",
                               "-9223372036854775808",
                               "123456789012345678901234567890",
                               "\xef\xbb\xbf{}"};
  for (const std::string& text : texts) {
    EXPECT_EQ(ReadJson(text, kText), json::parse(text)) << text;
    EXPECT_EQ(ReadOrderedJson(text, kText).dump(), nlohmann::ordered_json::parse(text).dump()) << text;
  }
}

// Each refusal has exactly our text; none is the parser's.
TEST(Json, RefusesWithThePlace) {
  const std::string deep = std::string(size_t(kJsonDepth), '[');
  const std::pair<std::string, std::string> cases[] = {
      {"", "is not JSON text: it ends too early"},
      {"{\"a\": [1, 2", "is not JSON text: it ends too early"},
      {"{}x", "is not JSON text at column 3"},
      {"{\"a\":\n 1,\n \"b\" 2}", "is not JSON text at line 3, column 6"},
      {"{\"\xc3\xa9\": 01}", "is not JSON text at column 8"},
      {"[\"\xff\"]", "is not JSON text at column 3"},
      {"[NaN]", "is not JSON text at column 2"},
      {"[1,]", "is not JSON text at column 4"},
      {"[1e999]", "has a number above 1.8e308, at column 6"},
      {"[" + std::string(400, '9') + "]", "has a number above 1.8e308, at column 401"},
      {"{\"a\":1,\"b\":{\"a\":1},\"a\":2}", "has the name \"a\" twice in one object, at column 22"},
      {"[{\"\":1,\n\"\":2}]", "has the name \"\" twice in one object, at line 2, column 2"},
      {"{\"\\u0061\\u001b\":1,\"a\\u001b\":2}", "has the name \"a\\x1b\" twice in one object, at column 27"},
      {deep + "[", "nests deeper than 64 levels, at column 65"},
      {"{\"a\":\n" + deep, "nests deeper than 64 levels, at line 2, column 64"},
      {std::string(1 << 20, '['), "nests deeper than 64 levels, at column 65"},
  };
  for (const auto& [text, says] : cases) {
    const std::string sentence = "the file " + says + "; write it again";
    for (const bool ordered : {false, true}) {
      std::string said;
      try {
        ordered ? (void)ReadOrderedJson(text, kText) : (void)ReadJson(text, kText);
      } catch (const Error& e) {
        said = e.what();
        EXPECT_EQ(e.cause(), Cause::kRefused);
      }
      EXPECT_EQ(said, sentence) << text.substr(0, 60);
    }
  }
  // the limit itself is read
  EXPECT_EQ(ReadJson(deep + std::string(size_t(kJsonDepth), ']'), kText).size(), 1u);
}

TEST(Json, KeepsWholeNumbersOfTheOutermostObjectAsTheyAreWritten) {
  const std::string nines(400, '9');
  std::map<std::string, std::string> wholes;
  JsonText text = kText;
  text.wholes = &wholes;
  const auto read = [&](const std::string& given) {
    wholes.clear();
    return ReadJson(given, text);
  };
  const std::vector<std::string> numbers = {
      "0",   "-0",       "7", "-7", "18446744073709551616", "-9223372036854775809", "123456789012345678901234567890",
      nines, "-" + nines};
  for (const std::string& number : numbers) {
    const json j =
        read("{\"text\":\"" + nines + "\\\"9\",\"id\":" + number + " ,\"list\":[" + nines + "],\"x\":{\"id\":1}}");
    EXPECT_EQ(wholes, (std::map<std::string, std::string>{{"id", number}}));
    EXPECT_EQ(j["text"], nines + "\"9");
    (void)read("{\"id\":" + number + "}");
    EXPECT_EQ(wholes, (std::map<std::string, std::string>{{"id", number}}));
  }
  for (const char* other : {"1.0", "1e3", "\"7\"", "null", "true", "[7]", "{\"id\":7}"}) {
    (void)read(Str("{\"id\":", other, "}"));
    EXPECT_TRUE(wholes.empty()) << other;
  }
  (void)read("7");
  EXPECT_TRUE(wholes.empty());
  for (const std::string& bad : {"0" + nines, "--" + nines, nines + "-", nines + ".", "+" + nines})
    EXPECT_TRUE(Fails(Cause::kRefused, "at column ", [&] { read("{\"id\":" + bad + "}"); })) << bad;
}

// An object of many names takes no longer per name than one of few.
TEST(Json, ReadsManyNames) {
  std::string text = "{\"n0\":0";
  for (int i = 1; i < 50'000; ++i) text += ",\"n" + std::to_string(i) + "\":0";
  EXPECT_EQ(ReadOrderedJson(text + "}", kText).size(), 50'000u);
}

}  // namespace
}  // namespace suf
