// P0's index on disk: a public index plan, and private segments of rows (docs/operations.md#index).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "suf/base/file.hpp"
#include "suf/base/secret.hpp"
#include "suf/nn/plan/index_plan.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/roles/sealed_documents.hpp"
#include "suf/store/segments.hpp"

namespace suf::roles {

using store::kMostSegments;
inline constexpr size_t kMostDocumentId = 1024;
inline constexpr size_t kMostDocumentText = 2000;  // bytes

struct IndexDocument {
  std::string id, text;
};

// Documents and their rows: whole numbers (documents, columns) at the scale g of the search.
struct IndexRows {
  std::vector<int16_t> values;
  std::vector<IndexDocument> documents;
};

// Reads the public plan of an index. Throws Cause::kInput if there is no such file, and the errors of ParseIndexPlan.
nn::IndexPlan LoadIndexPlan(const std::string& path);

// Returns the row of a document: its embedding, scaled to the norm `row_factor` (nn::RowFactor) and rounded. Throws
// Cause::kInput for an embedding of norm 0.
std::vector<int16_t> RowOf(const nn::Search& search, double row_factor, const std::vector<double>& embedding);

// The words of a row in a table of keys, which open a public file of documents.
inline constexpr int64_t kKeyTableWords = kAeadKeyBytes / sizeof(uint16_t);
// Returns a document as a row of the table that can be fetched. It has `words` words of 16 bits: its length, then its
// bytes.
std::vector<uint16_t> TableRowOf(const std::string& text, int64_t words);
// Returns the document of such a row. Throws Cause::kPeer for a length that no honest P0 sends.
std::string DocumentOf(std::span<const uint16_t> row);

// A sealed part of the index. Its id is an HMAC over the index plan, its first row, its rows and its documents.
struct IndexSegment {
  Hash id{};
  int64_t first = 0, rows = 0;
};

// Whether an index is opened to be changed, under a lock, or only read beside a process that changes it. An accepted
// folder is taken as it is, although it was copied or put back.
enum class IndexAccess { kChange, kAccept, kRead };

// The folder of an index. One process at a time may change it, under a lock. A change is there as a whole or not at
// all, also after a crash. Rows are numbered by age from 0; a deleted row keeps its number until Compact. Throws
// Cause::kInput, Cause::kRefused for altered files, and Cause::kResource, each time with the file and the remedy.
//
// The list of segments holds the plan, of which index.json is a public copy. It names its own file, so a folder that
// was copied or put back is noticed: it may lack deletions.
class IndexFolder {
 public:
  // Throws Cause::kInput if there is something in the folder already.
  static void CheckNew(const std::string& dir);
  // Makes the folder of an index with these rows. Throws Cause::kInput if the folder has something already, and as
  // Append does. An error leaves the folder empty.
  static void Create(const std::string& dir, const nn::IndexPlan& index, IndexRows rows = {});
  // Opens an index, and reads its list.
  explicit IndexFolder(const std::string& dir, IndexAccess access = IndexAccess::kChange);
  // Reads the list again if another process has changed it; returns whether it had. For IndexAccess::kRead. If it
  // throws, everything is as before.
  bool Renew();
  // Returns the row of document i of a segment in the table that can be fetched. It is the document, or the key of its
  // entry in the file of sealed documents.
  std::vector<uint16_t> TableRow(const IndexSegment& s, size_t i, const IndexDocument& document) const;
  // Returns the seed of B of this index, which is derived from its key.
  Secret MaskSeed() const;

  const nn::IndexPlan& index() const { return index_; }
  const std::vector<IndexSegment>& segments() const { return segments_; }
  int64_t rows() const;  // sealed ones, deleted ones included
  int64_t live() const { return rows() - int64_t(deleted_.size()); }
  const std::vector<int64_t>& deleted() const { return deleted_; }  // numbers of rows, ascending

  // Throws Cause::kInput if so many rows more do not fit.
  void CheckRoom(int64_t rows) const;
  // Seals the rows as a segment. Throws as CheckRoom does, and Cause::kInput for an id that is there already or twice.
  void Append(IndexRows rows);
  // Deletes the documents with these ids. Throws Cause::kInput, and deletes none, if one is not there.
  void Delete(const std::vector<std::string>& ids);
  // Makes one segment of all live rows, which get new numbers. The index plan may be another one for the same model, of
  // another capacity. Its hash enters all ids.
  void Compact(const nn::IndexPlan& index);

  // The row and the document of an index's first live row.
  struct FirstRow {
    std::vector<int16_t> row;
    IndexDocument document;
  };
  // The index must have a live row.
  FirstRow FirstLive() const;
  // Returns the rows and documents of all segments, in order.
  IndexRows Read() const;
  IndexRows ReadSegment(const IndexSegment& s) const;
  // Returns the rows of live documents, by id.
  std::map<std::string, int64_t> LiveRows();
  // Adds the search's weights to those of the model. `plan` has this index.
  void AddWeights(const nn::Plan& plan, nn::QuantisedWeights* weights) const;

 private:
  IndexFolder(const std::string& dir, const nn::IndexPlan& index, const IndexRows& rows);  // a new one
  bool ListChanged() const;
  void ReadList(IndexAccess access);
  // Writes the list of another state, which is this folder's once the file has its name. If that fails, the old one
  // stays.
  void WriteList(nn::IndexPlan index, std::vector<IndexSegment> segments, std::vector<int64_t> deleted);
  void WritePlan() const;
  void WriteDocuments() const;
  Hash ListHash() const;
  Secret DocumentKey(const Hash& segment, size_t i) const;
  // Writes the segment of these rows behind others. Returns all of them.
  std::vector<IndexSegment> Sealed(const nn::IndexPlan& index, const IndexRows& rows,
                                   std::vector<IndexSegment> before) const;
  void RemoveStrays() const;
  std::string PathOf(const std::string& name) const { return dir_ + "/" + name; }

  std::string dir_;
  Fd lock_;  // none: it is only read
  Secret key_;
  FileId list_{};  // of the file of the list that was read
  nn::IndexPlan index_;
  std::vector<IndexSegment> segments_;
  std::vector<int64_t> deleted_;
  std::optional<std::map<std::string, int64_t>> live_;  // rows by id, once they were read
};

}  // namespace suf::roles
