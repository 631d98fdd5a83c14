// The ledger of a store: which serials are spent, which files are its bundles, and what the dealer answered. Each
// record is checked and synced before anything depends on it. Its header ties it to one place and one file, so that a
// copied or restored store is noticed; it is written anew, without history, at each start and every 2^16 records.
// docs/security.md#once, #restored, docs/design/bundles.md#witness.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "suf/base/file.hpp"

namespace suf::store {

// Of a serial. From kStored on they say something else of it: that a file holds its bundle; that the dealer is
// about to hear of it; that all serials up to it are spent; that it is what the dealer knows of a pair.
enum class Fate : uint32_t { kClaimed = 1, kDone, kAudited, kBurnt, kStored, kTold, kFloor, kAnswer };

// Names two parties, for the witness of their dealer (PairOf in supply.hpp).
using PairId = std::array<uint8_t, 24>;

class Ledger {
 public:
  static constexpr size_t kMostRecords = 1 << 16;

  // Opens dir/ledger or begins it; the caller holds the lock of dir. A torn last record is dropped (its append never
  // returned, so nothing depended on it). Before anything is appended, the caller looks at files() and calls Settle.
  explicit Ledger(const std::string& dir);
  // Of the bundles' files only those of these serials are there; the history goes; serials CLAIMED or TOLD
  // without an end are burnt.
  void Settle(const std::map<uint64_t, FileId>& files);

  // Durable when it returns; throws Cause::kResource, and then counts as not written but the serial as burnt.
  // pair: whose dealer was told the serial; zero when it was not.
  void Append(uint64_t serial, Fate fate, const PairId& pair = {});
  // This file is the bundle of this serial; durable when it returns.
  void Bind(uint64_t serial, const FileId& file);

  // floor: the highest serial ever named; everything up to it is spent.
  uint64_t floor() const { return floor_; }
  // files: the bundles above the floor.
  const std::map<uint64_t, FileId>& files() const { return files_; }
  // answer: the serial up to which the dealer is known to know what this pair's party used.
  uint64_t answer(const PairId& pair) const;
  // What was written of serials since Settle or the last 2^16 records, read from the file.
  std::map<uint64_t, Fate> Fates() const;
  // keys_lost: the ledger belongs to another place or is damaged in its middle; every bundle beside it must go.
  bool keys_lost() const { return keys_lost_; }
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  struct Record {
    uint64_t serial = 0;
    Fate fate{};
    std::array<uint8_t, 24> detail{};  // a PairId, or a FileId
    bool operator==(const Record&) const = default;
  };
  static Bytes Encode(uint64_t index, const Record& r);
  void Begin();
  void Load(View file);
  size_t Parse(View records, std::vector<Record>* out) const;
  void Write(const Record& r);
  void Apply(const Record& r);
  std::vector<Record> Live() const;

  std::string dir_, path_;
  Fd fd_;
  std::map<uint64_t, Record> open_;  // CLAIMED or TOLD, without an end
  std::map<uint64_t, FileId> files_;
  std::map<PairId, uint64_t> answers_;
  std::vector<Record> loaded_;  // until Settle
  uint64_t floor_ = 0, records_ = 0;
  bool keys_lost_ = false;
  std::vector<std::string> notices_;
};

}  // namespace suf::store
