#include "suf/model/tokens/byte_decoder.hpp"

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/tokens/byte_alphabet.hpp"
#include "suf/model/tokens/text.hpp"

namespace suf::model {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Returns the bytes that an entry stands for.
std::string BytesOf(const std::string& entry) {
  std::string bytes;
  for (char32_t c : Decode(entry, "an entry")) {
    const int b = ByteOf(c);
    if (b < 0) return entry;
    bytes.push_back(char(b));
  }
  return bytes;
}

// The first bytes of a text: a character, the beginning of one, or bytes that begin none.
struct Utf8Prefix {
  size_t length = 0;
  enum Kind : uint8_t { kWhole, kPart, kInvalid } kind = kWhole;
};

// Table 3-7 of the Unicode standard: the second byte has a range of its own after some first bytes.
Utf8Prefix PrefixOf(std::string_view s) {
  const auto lead = uint8_t(s[0]);
  if (lead < 0x80) return {1, Utf8Prefix::kWhole};
  if (lead < 0xc2 || lead > 0xf4) return {1, Utf8Prefix::kInvalid};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (i == s.size()) return {i, Utf8Prefix::kPart};
    const auto b = uint8_t(s[i]);
    if (i == 1 ? b < low || b > high : (b & 0xc0) != 0x80) return {i, Utf8Prefix::kInvalid};
  }
  return {length, Utf8Prefix::kWhole};
}

}  // namespace

EntryBytes::EntryBytes(const EntryIds& entries) {
  for (const auto& [entry, id] : entries) {
    SUF_CHECK(id >= 0);
    bytes_.resize(std::max(bytes_.size(), size_t(id) + 1));
    bytes_[size_t(id)] = BytesOf(entry);
  }
}

std::string_view EntryBytes::operator[](int32_t id) const {
  return id >= 0 && size_t(id) < bytes_.size() ? std::string_view(bytes_[size_t(id)]) : std::string_view();
}

std::string Utf8Stream::Append(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  for (std::string_view rest = held_; !rest.empty();) {
    const Utf8Prefix p = PrefixOf(rest);
    if (p.kind == Utf8Prefix::kPart) {
      held_ = std::string(rest);
      return out;
    }
    out += p.kind == Utf8Prefix::kWhole ? rest.substr(0, p.length) : kReplacement;
    rest.remove_prefix(p.length);
  }
  held_.clear();
  return out;
}

std::string Utf8Stream::End() {
  std::string out(held_.empty() ? std::string_view() : kReplacement);
  held_.clear();
  return out;
}

}  // namespace suf::model
