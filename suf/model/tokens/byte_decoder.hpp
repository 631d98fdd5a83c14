// From the ids of a byte-level tokenizer back to text, token by token: the ByteLevel decoder of `tokenizers`. Private
// to the module.
#pragma once
#include <string>
#include <vector>

#include "suf/model/tokens/parts.hpp"

namespace suf::model {

// The bytes of each entry. Immutable.
class EntryBytes {
 public:
  // `entries` includes the added tokens. An entry with a character outside the byte alphabet stands for its own UTF-8.
  explicit EntryBytes(const EntryIds& entries);
  // Returns nothing for an id without an entry, as `tokenizers` does.
  std::string_view operator[](int32_t id) const;

 private:
  std::vector<std::string> bytes_;  // by id
};

// Cuts a stream of bytes into valid UTF-8. Invalid bytes become U+FFFD, one for each maximal part of a character.
class Utf8Stream {
 public:
  // Returns the characters that are complete now. Holds back up to three bytes of an incomplete one.
  std::string Append(std::string_view bytes);
  // Returns U+FFFD if a character is incomplete, and starts anew.
  std::string End();

 private:
  std::string held_;
};

// Decodes one text. The entries must live as long.
class ByteDecoder {
 public:
  explicit ByteDecoder(const EntryBytes& entries) : entries_(entries) {}
  // Returns the text that is complete with this token.
  std::string Append(int32_t id) { return stream_.Append(entries_[id]); }
  // Ends the text. Returns U+FFFD if it ends inside a character.
  std::string End() { return stream_.End(); }

 private:
  const EntryBytes& entries_;
  Utf8Stream stream_;
};

}  // namespace suf::model
