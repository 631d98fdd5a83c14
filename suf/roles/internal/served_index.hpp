// An index as P0's process serves it: its rows in memory, and the lists of its sessions.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "suf/roles/engine.hpp"
#include "suf/roles/index_folder.hpp"
#include "suf/roles/internal/index_inputs.hpp"
#include "suf/roles/internal/shared_inputs.hpp"
#include "suf/roles/server.hpp"

namespace suf::roles {

// Reads the folder beside a process that changes it. An append shows at the next session, a deletion at the next job.
// Thread-safe.
class ServedIndex {
 public:
  // `number` counts from 1. Throws the errors of IndexFolder, and Cause::kRefused if the folder has another index than
  // the engine.
  ServedIndex(std::shared_ptr<const EngineIndex> index, uint32_t number, const std::string& folder, SeenRows seen);
  // Returns the index with its list of now, for a session that begins. Throws as the constructor does.
  proto::SessionIndex Begin();
  const SharedSecret& seed() const { return seed_; }
  // Returns whether a session with these lists may go on: the index was not compacted since it began.
  bool Has(const std::vector<Hash>& lists);
  // Writes W - B of a part that PartsOf has named.
  void WritePart(const proto::SetupPart& part, store::Sink& out);
  // Returns P0's inputs for a search or a fetch of this data owner, with a bundle of this list.
  run::Inputs InputsFor(const store::Job& job, const proto::SessionIndex& session, const Hash& list, const Hash& owner);

 private:
  // The folder as it was read last.
  struct FolderState {
    store::SegmentList segments;
    std::vector<Hash> lists;
    std::vector<int64_t> deleted;
  };
  std::shared_ptr<const FolderState> RenewLocked();
  std::shared_ptr<const FolderState> Renew();
  const IndexSegment& SegmentLocked(const Hash& id) const;
  const IndexRows& RowsLocked(const Hash& id);
  WipedVector<int16_t> RowsLocked(const Hash& id, int64_t first, int64_t count);
  WipedVector<TableWord> TableLocked(const Hash& id, int64_t first, int64_t count);
  proto::SegmentOffer OfferLocked(const store::SealedSegment& segment);
  // Writes W - B of a segment, whose rows are read with the lock if `locks`.
  void WriteMaskedPart(const store::SealedSegment& segment, bool table, bool locks,
                       const std::function<void(View)>& out);
  WipedVector<int32_t> BiasOf(const proto::SessionIndex& session, int64_t rows, const std::vector<int64_t>& deleted,
                              const Hash& owner) const;
  template <class T>
  run::Inputs RowsOf(RowBlocks<T>& blocks, SharedInputs<Hash>& made, const ReadRows<T>& read,
                     const proto::SessionIndex& session, const Hash& list);

  const std::shared_ptr<const EngineIndex> index_;
  const uint32_t number_;
  const SeenRows seen_;
  const std::string bias_name_;
  std::mutex m_;  // guards the members below
  IndexFolder folder_;
  std::shared_ptr<const FolderState> state_;
  std::pair<Hash, IndexRows> last_;             // the segment that was read last
  std::map<Hash, proto::SegmentOffer> offers_;  // by segment
  const SharedSecret seed_;
  const IndexMasks masks_;
  RowBlocks<int16_t> rows_;
  RowBlocks<TableWord> table_;
  SharedInputs<Hash> searches_{2}, fetches_{1};  // by list
};

}  // namespace suf::roles
