// The public file of an index whose table has keys: every document, sealed under the key of its row. A data owner has
// the whole file, because a request for one entry would name it (docs/design/search.md#fetch).
#pragma once
#include <string>
#include <vector>

#include "suf/base/aead.hpp"
#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"

namespace suf::roles {

// Documents are padded to a multiple of this many bytes, so that the file says little about their lengths.
inline constexpr size_t kDocumentStep = 256;

// Returns the entry of a row: the padded document, sealed. A key is that of one segment and one row, so it seals the
// same bytes each time.
Bytes SealDocument(View key, int64_t row, const std::string& text);

// Returns the beginning of the file, before its entries. `list` is the hash of the index's list.
Bytes SealedDocumentsHead(const Hash& list);
// Returns the list of a file that begins with these bytes; zeros for another kind of file.
Hash ListOfSealedDocuments(View head);
inline constexpr size_t kSealedDocumentsHead = 8 + sizeof(Hash);

// The file at a data owner. Thread-safe.
class SealedDocuments {
 public:
  // Reads the places of the entries. Throws Cause::kInput if there is no such file, or if it is another kind of file or
  // cut short.
  explicit SealedDocuments(const std::string& file);
  int64_t rows() const { return int64_t(places_.size()); }
  // Throws Cause::kInput if the file is not that of this list.
  void CheckList(const Hash& list) const;
  // Returns the document of a row. Throws Cause::kInput if the file lacks the row. Throws it also if the key does not
  // open the entry, because the file is of another list.
  std::string Open(int64_t row, View key) const;

 private:
  struct DocumentPlace {
    uint64_t at = 0;
    uint32_t bytes = 0;
  };
  const std::string file_;
  Fd fd_;
  Hash list_{};
  std::vector<DocumentPlace> places_;
};

}  // namespace suf::roles
