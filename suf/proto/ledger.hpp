// The ledger of a store: which serials were claimed, finished, audited or burnt. Append-only, each record checked and
// synced before anything depends on it. Its header ties it to one place, so that a copied store is noticed. DESIGN 11.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "suf/proto/internal/file.hpp"

namespace suf::proto {

enum class Fate : uint32_t { kClaimed = 1, kDone = 2, kAudited = 3, kBurnt = 4 };

class Ledger {
 public:
  // Opens dir/ledger or begins it; the caller holds the lock of dir. What was found is in notices(). A torn last record
  // is dropped (its append never returned, so nothing depended on it); serials CLAIMED without an end are burnt.
  explicit Ledger(const std::string& dir);

  // Append: durable when it returns; throws Exit::kResource, and then counts as not written but the serial as burnt.
  void Append(uint64_t serial, Fate fate);
  // floor: the highest serial ever named; everything up to it is spent.
  uint64_t floor() const { return floor_; }
  const std::map<uint64_t, Fate>& fates() const { return fates_; }
  // keys_lost: the ledger belongs to another place or is damaged in its middle; every bundle beside it must go.
  bool keys_lost() const { return keys_lost_; }
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  void Begin();
  void Load(View file);

  std::string dir_, path_;
  Fd fd_;
  std::map<uint64_t, Fate> fates_;
  uint64_t floor_ = 0, records_ = 0;
  bool keys_lost_ = false;
  std::vector<std::string> notices_;
};

}  // namespace suf::proto
