// Precompiled: the character map of SentencePiece (Kudo and Richardson, "SentencePiece", 2018), as `tokenizers` applies
// it. A grapheme of up to 5 bytes is replaced as a whole if the map has a prefix of it. Otherwise each of its code
// points is replaced by itself. The shortest prefix counts.
//
// The map begins with the size in bytes of a double-array trie. The trie follows, and texts that each end with a zero
// byte. A leaf of the trie holds the place of a text. Exclusive or leads from a unit to a node, so a damaged trie may
// point anywhere. The reader therefore checks every node that a text can reach.
#include <array>
#include <cstring>

#include "suf/model/tokens/graphemes.hpp"
#include "suf/model/tokens/normalizers.hpp"
#include "suf/model/tokens/settings.hpp"
#include "suf/model/tokens/utf8.hpp"

namespace suf::model {
namespace {

constexpr size_t kKeyLimit = 5;           // bytes of a grapheme that is replaced as a whole
constexpr size_t kReplacementLimit = 64;  // bytes; published maps have 33
constexpr size_t kTrieBlock = 256;        // units under one node

// A unit of the double array.
struct TrieUnit {
  uint32_t bits = 0;
  bool has_leaf() const { return bits >> 8 & 1; }
  uint32_t value() const { return bits & 0x7FFFFFFF; }
  // The byte that leads here; above 255 if this is a leaf.
  uint32_t label() const { return bits & 0x800000FF; }
  size_t offset() const { return size_t(bits >> 10) << ((bits & 1 << 9) >> 6); }
};

// Decodes base64 with padding. Returns false for any other text.
bool DecodeBase64(std::string_view text, std::string* bytes) {
  static const auto values = [] {
    std::array<int8_t, 256> v;
    v.fill(-1);
    const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < digits.size(); ++i) v[uint8_t(digits[i])] = int8_t(i);
    return v;
  }();
  if (text.size() % 4 != 0) return false;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  text.remove_suffix(padding);
  bytes->reserve(text.size() / 4 * 3 + 3);
  uint32_t buffer = 0;
  int bits = 0;
  for (char c : text) {
    const int value = values[uint8_t(c)];
    if (value < 0) return false;
    buffer = (buffer << 6 | uint32_t(value)) & 0xFFFFFF;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes->push_back(char(buffer >> bits));
  }
  return (buffer & ((1U << bits) - 1)) == 0;  // the last digit has no other bits
}

class Precompiled : public Normalizer {
 public:
  Precompiled(const Fields& part, std::string_view map) {
    uint32_t bytes = 0;
    if (map.size() >= sizeof bytes) std::memcpy(&bytes, map.data(), sizeof bytes);
    if (map.size() < sizeof bytes || bytes / 4 * 4 > map.size() - sizeof bytes) Damaged(part, "ends inside its trie");
    units_.resize(bytes / 4);
    if (!units_.empty()) std::memcpy(units_.data(), map.data() + sizeof bytes, units_.size() * sizeof(TrieUnit));
    ReadTexts(part, map.substr(sizeof bytes + units_.size() * sizeof(TrieUnit)));
    CheckTrie(part);
  }

  TextWord Apply(TextWord word) const override {
    std::vector<Change> changes;
    changes.reserve(word.text.size());
    for (size_t at = 0; at < word.text.size();) {
      const size_t end = GraphemeEnd(word.text, at);
      if (!Replaced(PointsView(word.text).substr(at, end - at), &changes)) {
        for (; at < end; ++at)
          if (!Replaced(PointsView(word.text).substr(at, 1), &changes)) changes.push_back({word.text[at], 0});
      }
      at = end;
    }
    return Changed(word, changes);
  }

  size_t growth() const { return growth_; }

 private:
  [[noreturn]] static void Damaged(const Fields& part, const char* fault) {
    Fail(Cause::kInput, part.file(), ": the precompiled_charsmap ", fault, "; fetch the file again");
  }

  // Checks that the texts are UTF-8, and computes their ends.
  void ReadTexts(const Fields& part, std::string_view texts) {
    texts_ = texts;
    (void)Decode(texts_, Str("the precompiled_charsmap of ", part.file()));
  }

  // Checks every leaf that texts can reach, and that no text leads outside the array. A key has up to kKeyLimit bytes.
  // Each pass finds the nodes that are one byte deeper.
  void CheckTrie(const Fields& part) {
    std::vector<bool> reached(units_.size()), next, read(texts_.size() + 1);
    const auto check = [&](size_t node) {
      if ((node | (kTrieBlock - 1)) >= units_.size()) Damaged(part, "has a trie that leads outside itself");
      return node;
    };
    if (units_.empty()) Damaged(part, "has no trie");
    reached[check(units_[0].offset())] = true;
    for (size_t depth = 0; depth < kKeyLimit; ++depth) {
      next.assign(units_.size(), false);
      for (size_t i = 0; i < units_.size(); ++i) {
        const TrieUnit unit = units_[i];
        const size_t parent = i ^ unit.label();  // above the array if this is a leaf
        if (unit.label() == 0 || parent >= units_.size() || !reached[parent]) continue;
        const size_t node = check(i ^ unit.offset());
        next[node] = true;
        if (unit.has_leaf()) CheckText(part, units_[node].value(), &read);
      }
      reached.swap(next);
    }
  }

  // Checks the replacement at `at`.
  void CheckText(const Fields& part, size_t at, std::vector<bool>* read) {
    if (at > texts_.size() || (at < texts_.size() && (uint8_t(texts_[at]) & 0xC0) == 0x80))
      Damaged(part, "has a replacement outside its texts");
    if ((*read)[at]) return;
    (*read)[at] = true;
    const std::string_view text = TextAt(at);
    if (text.size() > kReplacementLimit)
      Fail(Cause::kInput, part.file(), ": the precompiled_charsmap has a replacement of more than ", kReplacementLimit,
           " bytes; ", kAnother);
    growth_ = std::max(growth_, Decode(text, "a replacement").size());
  }

  std::string_view TextAt(size_t at) const {
    const std::string_view most = std::string_view(texts_).substr(at, kReplacementLimit + 1);
    return most.substr(0, most.find('\0'));
  }

  // Appends the replacement of a grapheme or code point. Returns false if there is none.
  bool Replaced(PointsView key, std::vector<Change>* changes) const {
    if (key.size() > kKeyLimit) return false;
    const std::string bytes = ToUtf8(key);
    if (bytes.size() > kKeyLimit) return false;
    size_t node = units_[0].offset();
    for (char byte : bytes) {
      const auto label = uint8_t(byte);
      if (label == 0) return false;
      const size_t at = node ^ label;
      const TrieUnit unit = units_[at];
      if (unit.label() != label) return false;
      node = at ^ unit.offset();
      if (!unit.has_leaf()) continue;
      AppendChanges(key.size(), Decode(TextAt(units_[node].value()), "a replacement"), changes);
      return true;
    }
    return false;
  }

  // As `tokenizers`, an empty replacement counts as removed behind the code point before, if there is one.
  static void AppendChanges(size_t old, const CodePoints& text, std::vector<Change>* changes) {
    for (size_t i = 0; i < text.size(); ++i) changes->push_back({text[i], i >= old});
    if (text.size() < old && !changes->empty()) changes->back().effect -= int32_t(old - text.size());
  }

  std::vector<TrieUnit> units_;
  std::string texts_;
  size_t growth_ = 1;
};

}  // namespace

NormalizerPtr ReadPrecompiled(const Fields& part, size_t* growth) {
  part.Only({"type", "precompiled_charsmap"});
  const json encoded = part.Value("precompiled_charsmap");
  std::string map;
  if (!encoded.is_string() || !DecodeBase64(encoded.get_ref<const std::string&>(), &map))
    part.Refuse("precompiled_charsmap", "it must be base64; fetch the file again");
  auto read = std::make_unique<Precompiled>(part, map);
  *growth = read->growth();
  return read;
}

}  // namespace suf::model
