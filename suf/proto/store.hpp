// A party's store directory: bundles made ahead, the ledger, W_hat per weights id, and the pinned keys of its peers.
// Locked by one process. A claim is durable before it is used, and every bundle serves once. Bundles may arrive in one
// thread while another one claims and finishes. DESIGN 11.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suf/proto/bundle.hpp"
#include "suf/proto/ledger.hpp"

namespace suf::proto {

// ChunkFile: a file {u32 length, preamble, its SHA-256, then per chunk u32 length, chunk}: bundles and W_hat on disk.
class ChunkFile {
 public:
  ChunkFile(const std::string& temp, View preamble);
  void Add(View chunk);
  // Commit: synced, then renamed to dir/name and the directory synced.
  void Commit(const std::string& dir, const std::string& name);

 private:
  std::string temp_;
  Fd fd_;
};

class Store {
 public:
  // Makes dir when needed, locks it and recovers; what a person should know of that is in notices(). Throws
  // Exit::kResource.
  explicit Store(const std::string& dir);
  const std::vector<std::string>& notices() const { return notices_; }
  const Ledger& ledger() const { return ledger_; }

  // Incoming: a bundle on its way in. Dropped unless Commit is reached.
  class Incoming {
   public:
    void Add(View chunk);  // a chunk of a Sink; throws Exit::kRefused when altered
    uint64_t left() const { return chain_.left(); }
    void Commit();

   private:
    friend class Store;
    Incoming(Store& s, const BundleHeader& h, Secret key, bool to_disk);
    Store& store_;
    Bundle bundle_;
    Chain chain_;
    std::unique_ptr<ChunkFile> file_;  // null: in memory
  };
  // Receive: throws Exit::kRefused when the serial is spent or there already.
  Incoming Receive(const BundleHeader& h, Secret key, bool to_disk) { return {*this, h, std::move(key), to_disk}; }

  // Bundles: the headers of all unused bundles, by serial.
  std::vector<BundleHeader> Bundles() const;
  // Header: of one unused bundle; throws Exit::kRefused when there is none of this serial.
  BundleHeader Header(uint64_t serial) const;
  // Forget: drops the bundles that are in memory only; those of a session that broke before its claim.
  void Forget();
  // Claim: durably marks the serial, burns all lower ones, moves the bundle to memory and wipes it from disk. Throws
  // Exit::kRefused when it is spent, unknown or altered (and is burnt), Exit::kResource when the disk fails (burnt as
  // well).
  Bundle Claim(uint64_t serial) { return Take(serial, Fate::kClaimed); }
  // Audit: like Claim, for a bundle that will be opened instead of used.
  Bundle Audit(uint64_t serial) { return Take(serial, Fate::kAudited); }
  // BurnAll: no bundle that is here now will be used; how many they were. Durable when it returns; when the disk fails
  // (Exit::kResource) they are gone from this process all the same.
  size_t BurnAll();
  void Finish(uint64_t serial);
  // Burn: best effort; a claimed serial is burnt at the next start anyway.
  void Burn(uint64_t serial) noexcept;

  // Set-up data (W_hat), once per weights id.
  bool HasSetup(const Hash& weights) const;
  ChunkFile NewSetup();
  void CommitSetup(ChunkFile file, const Hash& weights);
  // LoadSetup: throws Exit::kRefused when the file was altered (it is removed, so that it is sent again).
  Bytes LoadSetup(const Hash& plan, const Hash& weights, uint64_t bytes);

  // LongLived: a 32-byte secret of this store, made at first use, durable before it is returned. Throws Exit::kResource
  // when it is damaged.
  Secret LongLived(const std::string& name);

  // Pin: remembers the peer's key at first sight; false when another key was pinned before.
  bool Pin(const Identity& peer);

 private:
  struct Slot {
    BundleHeader header;
    Bundle memory;  // empty when on disk
    bool on_disk = false;
  };
  const Slot& Find(uint64_t serial) const;
  Bundle Take(uint64_t serial, Fate fate);
  Bundle Load(uint64_t serial);
  void Recover();
  void Discard(const std::string& path);
  void BurnUpTo(uint64_t serial);
  std::string BundleName(uint64_t serial) const;

  std::string dir_, bundles_;
  Fd lock_;
  mutable std::mutex m_;  // of ledger_ and slots_
  Ledger ledger_;
  std::map<uint64_t, Slot> slots_;
  std::vector<std::string> notices_;
};

// DealerState: the dealer's own directory: the next serial.
class DealerState {
 public:
  explicit DealerState(const std::string& dir);
  // Reserve: the first of `count` serials that nobody gets again; durable when it returns.
  uint64_t Reserve(uint64_t count);

 private:
  std::string dir_;
  Fd lock_;
  uint64_t next_ = 1;
};

}  // namespace suf::proto
