// A party's store directory: lock, long-lived secrets, pinned keys, W_hat per weights id, and lanes. P1 keeps a lane in
// lanes/ID, P0 in owners/KEY/ID. One process locks the directory. docs/security.md#once,
// docs/design/bundles.md#lanes.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "suf/store/lane.hpp"

namespace suf::store {

// Lanes of one data owner, at most.
inline constexpr size_t kMostLanes = 64;
// Lanes of all data owners in one store, at most.
inline constexpr size_t kMostLanesInAll = 4096;

// The error of a lane that another session has open.
class LaneInUse : public Error {
 public:
  using Error::Error;
};
// The error of a lane beyond the limit, if all others are open or have bundles.
class TooManyLanes : public Error {
 public:
  using Error::Error;
};

// The name of a file of set-up data: of a plan's weights, or of a part of an index.
struct SetupName {
  SetupName(const Hash& id_, const Hash& index_ = {}) : id(id_), index(index_) {}
  Hash id;     // of the weights or the part
  Hash index;  // the index plan; zeros: of weights
};

// A serial that a start burnt, because its process ended during a run.
struct BurntClaim {
  Hash owner{};
  LaneId lane{};
  uint64_t serial = 0;
};

// Thread-safe.
class Home {
 public:
  // Makes `dir` if needed, locks it, and recovers and closes every lane. Wipes the bundles of a store that an older
  // version of suf wrote. TakeNotices then has messages for the user. Throws Cause::kResource.
  explicit Home(const std::string& dir);
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  // Returns the directory, for files that others keep beside the store's own under its lock.
  const std::string& folder() const { return dir_; }
  // Returns messages for the user, each once.
  std::vector<std::string> TakeNotices();
  // Returns the claims that this start burnt, each once.
  std::vector<BurntClaim> TakeBurntClaims();

  // Opens a lane for one session, and makes it if needed. It is closed when the last pointer goes; the home must
  // outlive them. `owner` is P1's key at P0, and zeros at P1. If the owner has kMostLanes lanes, an idle one without
  // bundles is forgotten, the one that was used longest ago. Throws LaneInUse or TooManyLanes, and Cause::kResource.
  std::shared_ptr<Lane> Open(const Hash& owner, const LaneId& id);
  // Opens a lane of P1 that fits: an idle one with bundles, else an idle one, else a new one. Throws as Open does.
  std::shared_ptr<Lane> OpenAny(const LaneWish& wish = {});
  // Returns the ids of an owner's lanes.
  std::vector<LaneId> Lanes(const Hash& owner) const;
  // Returns a lane, open or not, for reports; null if there is none.
  std::shared_ptr<const Lane> Find(const Hash& owner, const LaneId& id) const;
  // Burns all bundles in all lanes of an owner, open or not, after a failed audit. Returns how many they were. Durable
  // when it returns; throws as Lane::BurnAll does, after all lanes.
  size_t BurnPair(const Hash& owner);
  // Throws Cause::kResource if bundles cannot lie on this disk: its file system records no times of birth.
  void CheckCanKeepBundles() const;

  // Returns the file of set-up data (W_hat).
  std::string SetupFile(const SetupName& name) const { return dir_ + "/" + FileOf(name); }
  bool HasSetup(const SetupName& name) const;
  // Begins file `number` of set-up data for the session of a lane. If it is not committed, DropSetup or the next start
  // removes it.
  ChunkFile NewSetup(const LaneId& by, size_t number = 0);
  // Puts the file in the place of earlier set-up data.
  void CommitSetup(ChunkFile file, const SetupName& name);
  void DropSetup(const LaneId& by, size_t number = 0) noexcept;
  // Reads the set-up data of a plan; returns nothing if the file was altered.
  std::optional<Bytes> LoadSetup(const Hash& plan, const SetupName& name, uint64_t bytes);
  // Removes the parts of an index but for those with these ids, best effort.
  void KeepParts(const Hash& index, const std::vector<Hash>& ids) noexcept;

  // Returns a 32-byte secret of this store, made at first use. It is durable before it is returned. Throws
  // Cause::kResource if it is damaged.
  Secret LongLivedSecret(const std::string& name);

  // Remembers the peer's key at first sight; returns false if another key was pinned before.
  bool Pin(const net::Identity& peer);

 private:
  struct HomeEntry {
    std::shared_ptr<Lane> lane;
    bool open = false;
  };
  struct OpenLane;
  using LaneKey = std::pair<Hash, LaneId>;  // owner and id
  using LaneMap = std::map<LaneKey, HomeEntry>;
  // Returns the folder of an owner's lanes.
  std::string FolderOf(const Hash& owner) const;
  std::string SetupPart(const LaneId& by, size_t number) const {
    return Str(dir_, "/w_hat-", Hex(by), "-", number, ".part");
  }
  static std::string PrefixOf(const Hash& index) { return Str("index-", Hex(View(index).first(8)), "-"); }
  static std::string FileOf(const SetupName& name);
  void WipeOldStore();
  void RecoverLanes(const Hash& owner);
  std::pair<LaneMap::iterator, LaneMap::iterator> LanesOf(const Hash& owner);
  LaneMap::iterator Add(const Hash& owner, const LaneId& id);
  bool Forget(LaneMap::iterator from, LaneMap::iterator to);
  std::shared_ptr<Lane> Open(HomeEntry& entry);
  void Close(const Lane& lane) noexcept;

  const std::string dir_;
  const Fd lock_;
  mutable std::mutex m_;  // guards what follows, and the files of secrets and pins; taken before a lane's own
  std::vector<std::string> notices_;
  std::vector<BurntClaim> burnt_claims_;
  LaneMap lanes_;
};

}  // namespace suf::store
