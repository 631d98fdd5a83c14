#include <map>

#include "suf/model/tokens/parts_test.hpp"

namespace suf::model {
namespace {

std::string Base64(const std::string& bytes) {
  const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = i; j < i + 3; ++j) three = three << 8 | (j < bytes.size() ? uint8_t(bytes[j]) : 0);
    for (int shift = 18; shift >= 0; shift -= 6) out += digits[three >> shift & 63];
  }
  const size_t padding = (3 - bytes.size() % 3) % 3;
  return out.substr(0, out.size() - padding) + std::string(padding, '=');
}

// The trie and the texts of a map, which a test may damage.
struct CharMap {
  std::vector<uint32_t> units;
  std::string texts;

  json Part() const {
    Writer w;
    w.Put(uint32_t(units.size() * 4));
    for (uint32_t unit : units) w.Put(unit);
    const Bytes bytes = w.Take();
    return {{"type", "Precompiled"}, {"precompiled_charsmap", Base64(std::string(bytes.begin(), bytes.end()) + texts)}};
  }
};

// Builds a map. Each node has 256 units of its own.
CharMap MapOf(const std::map<std::string, std::string>& pairs) {
  CharMap map;
  map.units.assign(512, 0);
  map.units[0] = 256 << 10;
  for (const auto& [key, text] : pairs) {
    uint32_t node = 256;
    for (size_t i = 0; i < key.size(); ++i) {
      const uint32_t label = uint8_t(key[i]), at = node ^ label;
      if (map.units[at] == 0) {
        map.units[at] = label | (at ^ uint32_t(map.units.size())) << 10;
        map.units.resize(map.units.size() + 256);
      }
      node = at ^ map.units[at] >> 10;
      if (i + 1 == key.size()) map.units[at] |= 1 << 8;
    }
    map.units[node] = 1U << 31 | uint32_t(map.texts.size());
    map.texts += text + '\0';
  }
  return map;
}

// A map of every byte to "|", as in tools/unicode_tables.py.
CharMap EveryByte() {
  CharMap map;
  map.units.assign(768, 0);
  map.units[0] = 256 << 10;
  for (uint32_t c = 1; c < 256; ++c) map.units[256 + c] = c | 1 << 8 | (768 + c) << 10;
  map.units[512] = 1U << 31;
  map.texts = std::string("|\0", 2);
  return map;
}

TEST(Precompiled, EqualsHuggingFace) {
  const json part = MapOf({{"x", ""},
                           {"é", "e"},
                           {"e", "E"},
                           {"e\u0301", "Q"},
                           {"क", "K"},
                           {"\r\n", "N"},
                           {"\n", " "},
                           {"한", "HAN"},
                           {"©", "(c)"},
                           {"中", " "}})
                        .Part();
  // The shortest prefix of a grapheme counts, so the mark behind e is lost.
  EXPECT_EQ(NormalOf(part, "①\u0301e\u0301"), "①\u0301E");
  EXPECT_EQ(NormalOf(part, "©\u200d©\u0301"), "(c)\u200d(c)\u0301");
  EXPECT_EQ(NormalOf(part, "क\u094dक\u0301"), "K\u094dK\u0301");
  EXPECT_EQ(NormalOf(part, "क\u0301"), "K");
  EXPECT_EQ(NormalOf(part, "xa\r\nb\n"), "aNb ");
  EXPECT_EQ(NormalOf(part, "한\u0301 中"), "HAN  ");
  EXPECT_EQ(NormalOf(part, ""), "");
}

// A grapheme of up to 5 bytes becomes one "|". A longer one becomes one for each code point.
TEST(Precompiled, CutsGraphemesLikeHuggingFace) {
  const TextParts parts = ReadParts(EveryByte().Part());
  const std::pair<std::string, int> cases[] = {{"abc", 3},
                                               {"e\u0301", 1},
                                               {"\r\n", 1},
                                               {"\n\u0301", 2},
                                               {"\u0600a", 1},
                                               {"\u0600\n", 2},
                                               {"🇩🇪", 2},
                                               {"©\u200d©\u0301", 4},
                                               {"©\u200da\u0301", 2},
                                               {"©\u0301\u200d©", 4},
                                               {"क\u094dक\u0301", 4},
                                               {"क\u0301क\u0301", 2},
                                               {"\u1100\u1161\u0301", 3},
                                               {"가\u11a8\u0301", 3},
                                               {"각\u1161\u0301", 2},
                                               {"각\u11a8\u0301", 3},
                                               {"\u0903", 1},
                                               {"a\u0903", 1}};
  for (const auto& [text, n] : cases) EXPECT_EQ(WordsOf(parts, text), std::string(n, '|')) << text;
  EXPECT_EQ(WordsOf(parts, std::string("\0a", 2)), std::string("\0|", 2));
  EXPECT_EQ(DigestOf(parts), "85aaf84b5eec1ab667e6a449056a998f24220ad1a92b6f385b1b340a91ad91dd");
}

TEST(Precompiled, DamagedMapsAreRefused) {
  const auto refused = [](const CharMap& map, const char* fault) {
    ExpectSentence([&] { ReadParts(map.Part()); }, fault);
  };
  const char* outside = "t.json: the precompiled_charsmap has a trie that leads outside itself; fetch the file again";
  const CharMap good = MapOf({{"e\u0301", "x"}, {"é", "e"}});
  EXPECT_EQ(NormalOf(good.Part(), "e\u0301ée"), "xee");
  CharMap bad = good;
  bad.units.pop_back();  // the last node is not complete
  refused(bad, outside);
  bad = good;
  bad.units[0] = 0x3FFFFF << 10 | 1 << 9;
  refused(bad, outside);
  bad = good;
  bad.units[256 ^ 'e'] |= 0x7FFFFE00;
  refused(bad, "outside itself");
  bad = good;
  bad.units[256 ^ 'e'] |= 1 << 8;  // its text is the first one
  EXPECT_EQ(NormalOf(bad.Part(), "e"), "x");
  bad.units[512] = 1U << 31 | uint32_t(bad.texts.size() + 1);
  refused(bad, "has a replacement outside its texts");
  bad = good;
  bad.units.clear();
  refused(bad, "has no trie");
  bad = good;
  bad.texts[0] = char(0xFF);
  refused(bad, "is not UTF-8 at byte 0");
  refused(MapOf({{"a", std::string(65, 'b')}}), "has a replacement of more than 64 bytes");
  json part = good.Part();
  part["precompiled_charsmap"] = Base64(std::string("\x08\0\0\0\0\0\0\0", 8));
  ExpectSentence([&] { ReadParts(part); }, "ends inside its trie");
  for (const char* text : {"a", "a===", "AA=A", "AAA?", "AB==", "AA\n="}) {
    part["precompiled_charsmap"] = text;
    ExpectSentence([&] { ReadParts(part); }, "it must be base64");
  }
  for (const char* text : {"", "AAA="}) {
    part["precompiled_charsmap"] = text;
    ExpectSentence([&] { ReadParts(part); }, "ends inside its trie");
  }
}

// A walk in a trie whose nodes lead back to themselves ends with the bytes of a grapheme.
TEST(Precompiled, ATrieWithACycleIsHarmless) {
  CharMap map = MapOf({{"a", "x"}});
  for (uint32_t c : {0x65, 0xCC, 0x81}) map.units[256 ^ c] = c | c << 10;
  EXPECT_EQ(NormalOf(map.Part(), "e\u0301\u0301ea"), "e\u0301\u0301ex");
}

}  // namespace
}  // namespace suf::model
