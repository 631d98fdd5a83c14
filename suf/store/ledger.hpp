// The ledger of a lane: the spent serials, the files of its bundles, and the dealer's answers. Each record has a
// check, and is synced before anything depends on it. The header ties the ledger to its lane, to one place and one
// file. So a copied or restored lane is noticed. The ledger is rewritten without history at each start and every 2^16
// records. docs/security.md#once, #restored, docs/design/bundles.md#witness.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "suf/base/file.hpp"
#include "suf/store/lane_id.hpp"

namespace suf::store {

// The statement of a record about a serial. The first four say how it was used. At kStored, a file holds its bundle. At
// kReported, the dealer is about to be notified of it. At kFloor, all serials up to it are spent. At kWitnessed, it is
// the dealer's answer for a pair.
enum class RecordKind : uint32_t { kClaimed = 1, kDone, kAudited, kBurnt, kStored, kReported, kFloor, kWitnessed };

// The id of two parties (PairOf in supply.hpp), or of a lane between them (LaneOf), at their dealer.
using PairId = std::array<uint8_t, 24>;

class Ledger {
 public:
  static constexpr size_t kMostRecords = 1 << 16;

  // Reads dir/ledger or begins it; the caller holds the lock of `dir`. A torn last record is dropped. Its append never
  // returned, so nothing depended on it. Before the first append, the caller checks files() and calls Settle.
  Ledger(const std::string& dir, const LaneId& id);
  // Keeps only the bundle files of these serials, and drops the history. Burns serials that are kClaimed or kReported
  // without an end.
  void Settle(const std::map<uint64_t, FileId>& files);

  // Appends a record; durable when it returns. Throws Cause::kResource; the record then counts as not written, but the
  // serial as burnt. `lane` names the lane whose dealer was notified of the serial; zero if it was not.
  void Append(uint64_t serial, RecordKind kind, const PairId& lane = {});
  // Records that this file is the bundle of this serial; durable when it returns.
  void Bind(uint64_t serial, const FileId& file);
  // Closes the file until the next record. A file that is another one by then is written anew.
  void Close() { fd_ = Fd(); }

  // Returns the highest serial ever named; all serials up to it are spent.
  uint64_t floor() const { return floor_; }
  // Returns the files of bundles above the floor.
  const std::map<uint64_t, FileId>& files() const { return files_; }
  // Returns the last serial that the dealer is known to have recorded as used by this lane's party.
  uint64_t witnessed(const PairId& lane) const;
  // Reads the kind of each serial's last record that says how it was used. Records are those since Settle, or since the
  // last rewrite after 2^16 records.
  std::map<uint64_t, RecordKind> LastRecords() const;
  // Returns whether the ledger belongs to another place or is damaged in its middle. Every bundle beside it must then
  // go.
  bool keys_lost() const { return keys_lost_; }
  const std::vector<std::string>& notices() const { return notices_; }
  // Returns the claimed serials that Settle burnt: their process ended during a run.
  const std::vector<uint64_t>& burnt_claims() const { return burnt_claims_; }

 private:
  struct Record {
    uint64_t serial = 0;
    RecordKind kind{};
    std::array<uint8_t, 24> detail{};  // a PairId, or a FileId
    bool operator==(const Record&) const = default;
  };
  static Bytes Encode(uint64_t index, const Record& r);
  void Rewrite();
  void Reopen();
  void Load(View file);
  size_t Parse(View records, std::vector<Record>* out) const;
  void Write(const Record& r);
  void Apply(const Record& r);
  std::vector<Record> LiveRecords() const;

  std::string dir_, path_;
  LaneId id_;
  Fd fd_;
  std::map<uint64_t, Record> open_;  // kClaimed or kReported, without an end
  std::map<uint64_t, FileId> files_;
  std::map<PairId, uint64_t> witnessed_;  // by lane
  std::vector<Record> loaded_;            // until Settle
  uint64_t floor_ = 0, records_ = 0;
  bool keys_lost_ = false;
  std::vector<std::string> notices_;
  std::vector<uint64_t> burnt_claims_;
};

}  // namespace suf::store
