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

namespace suf::roles {

inline constexpr size_t kMostSegments = 1024;
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

// Returns the row of a document: its embedding, scaled to the norm that RowFactor allows, and rounded. `plan` has the
// index. Throws Cause::kInput for an embedding of norm 0.
std::vector<int16_t> RowOf(const nn::Plan& plan, const std::vector<double>& embedding);

// A sealed part of the index. Its id is an HMAC over the index plan, its first row, its rows and its documents.
struct IndexSegment {
  Hash id{};
  int64_t first = 0, rows = 0;
};

// The folder of an index. One process at a time has it, under a lock. A change is there as a whole or not at all, also
// after a crash. Rows are numbered by age from 0; a deleted row keeps its number until Compact. Throws Cause::kInput,
// Cause::kRefused for altered files, and Cause::kResource, each time with the file and the remedy.
//
// The list of segments holds the plan, of which index.json is a public copy. It names its own file, so a folder that
// was copied or put back is noticed: it may lack deletions.
class IndexFolder {
 public:
  // Makes the folder of an index with these rows. Throws Cause::kInput if the folder has something already, and as
  // Append does.
  static void Create(const std::string& dir, const nn::IndexPlan& index, IndexRows rows = {});
  // Opens an index, and reads its list. With `accept` a folder that was copied or put back is taken as it is.
  explicit IndexFolder(const std::string& dir, bool accept = false);

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

  // Returns the rows and documents of all segments, in order.
  IndexRows Read() const;
  // Adds the search's weights to those of the model. `plan` has this index.
  void AddWeights(const nn::Plan& plan, nn::QuantisedWeights* weights) const;

 private:
  IndexFolder(const std::string& dir, nn::IndexPlan index);  // a new one
  void ReadList(bool accept);
  void WriteList() const;
  void WritePlan() const;
  Bytes SegmentBytes(const IndexRows& rows, int64_t first, Hash* id) const;
  IndexRows ReadSegment(const IndexSegment& s) const;
  void RemoveStrays() const;
  std::map<std::string, int64_t> LiveRows();
  std::string PathOf(const std::string& name) const { return dir_ + "/" + name; }

  const std::string dir_;
  const Fd lock_;
  Secret key_;
  nn::IndexPlan index_;
  std::vector<IndexSegment> segments_;
  std::vector<int64_t> deleted_;
  std::optional<std::map<std::string, int64_t>> live_;  // rows by id, once they were read
};

}  // namespace suf::roles
