// A party's store directory: bundles made ahead, the ledger, W_hat per weights id, and the pinned keys of its peers.
// Locked by one process. A claim is durable before it is used, and every bundle serves once; one from disk only after
// the dealer has witnessed that its serial is new. Bundles may arrive in one thread while another one claims and
// finishes. docs/security.md#once, docs/design/bundles.md#witness.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suf/store/bundle.hpp"
#include "suf/store/ledger.hpp"

namespace suf::store {

// A file {u32 length, preamble, its SHA-256, then per chunk u32 length, chunk}: bundles and W_hat on disk.
class ChunkFile {
 public:
  ChunkFile(const std::string& temp, View preamble);
  void Add(View chunk);
  // What was added is on the disk. Commit, after it: renamed to path and its directory synced.
  void Sync() { suf::Sync(fd_.get(), temp_); }
  void Commit(const std::string& path);
  int fd() const { return fd_.get(); }

 private:
  std::string temp_;
  Fd fd_;
};

// What the file of a bundle takes.
uint64_t BundleFileBytes(const Layout& body);

class Store {
 public:
  // Makes dir when needed, locks it and recovers; what a person should know of that is in notices(). Throws
  // Cause::kResource.
  explicit Store(const std::string& dir);
  const std::vector<std::string>& notices() const { return notices_; }
  const Ledger& ledger() const { return ledger_; }

  // A bundle on its way in. In memory it may be claimed from now on, and what comes is read as it comes;
  // dropped unless Commit is reached.
  class Incoming {
   public:
    ~Incoming();
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;
    // Rooms: for the next chunks of a Sink, `most` of them at most, kAhead at most: those that were given and did not
    // come are the first again; waits while a window of them lies here. Empty when all came, or when the run that reads
    // them has ended. Room: the first.
    static constexpr size_t kAhead = 4;
    std::vector<std::span<uint8_t>> Rooms(size_t most = kAhead);
    std::span<uint8_t> Room() {
      const auto one = Rooms(1);
      return one.empty() ? std::span<uint8_t>() : one[0];
    }
    // The first of the rooms is filled; throws Cause::kRefused when the chunk was altered.
    void Came();
    void Commit();
    // What ends the delivery, for who reads it already. Close: from any thread: nothing more is wanted.
    void Failed(std::exception_ptr error) noexcept;
    void Close() noexcept {
      if (keys_) keys_->Close();
    }

   private:
    friend class Store;
    Incoming(Store& s, const BundleHeader& h, Secret key, SharedLayout body, bool to_disk, uint64_t window);
    Store& store_;
    const BundleHeader header_;
    Chain chain_;
    std::shared_ptr<KeySource> keys_;  // null: to disk
    std::unique_ptr<ChunkFile> file_;               // null: in memory
    std::array<exec::HostBuffer, kAhead> to_disk_;  // chunks on their way there: number i in i mod kAhead
    std::span<uint8_t> room_;                       // of the next one
    bool committed_ = false;
  };
  // kLeap: how far above all serials so far one may be, so that no dealer uses them up.
  static constexpr uint64_t kLeap = uint64_t{1} << 40;
  // Body: as the plan has it for the header's job. window: of KeySource. Throws Cause::kRefused when the
  // serial is spent, there already or too far above the others.
  Incoming Receive(const BundleHeader& h, Secret key, SharedLayout body, bool to_disk,
                   uint64_t window = KeySource::kWhole) {
    return {*this, h, std::move(key), std::move(body), to_disk, window};
  }

  // The headers of all unused bundles, by serial; of one job.
  std::vector<BundleHeader> Bundles() const;
  std::vector<BundleHeader> Bundles(const Job& job) const;
  // Of one unused bundle; throws Cause::kRefused when there is none of this serial.
  BundleHeader Header(uint64_t serial) const;
  // Throws Cause::kResource where bundles cannot lie on disk: a file system without times of birth.
  void CheckAhead() const;
  // Drops the bundles that are in memory only, and burns those of which the dealer was told: what a session
  // that broke before its claim leaves. Best effort: both are gone from this process, and burnt at the next start.
  void Forget() noexcept;
  // Durably marks the serial as one of which this pair's dealer is about to be told: used now, or never.
  void Tell(uint64_t serial, const PairId& pair);
  // What the dealer said, after Tell: the serial up to which it knew this party's bundles as used. Throws
  // Cause::kRefused when that is not below the serial (this store was rolled back: all its bundles are burnt) or below
  // an earlier answer (the dealer's state was: this bundle is burnt).
  void Answer(uint64_t serial, uint64_t known);
  // Durably marks the serial, burns all lower ones, and hands the bundle over; one on disk loses its name and
  // key there, and is read from there chunk by chunk, a window ahead. Of a bundle on disk, after Answer. Throws
  // Cause::kRefused when it is spent, unknown or altered (and is burnt), Cause::kResource when the disk fails (burnt as
  // well); what is altered behind its header fails when it is read.
  Bundle Claim(uint64_t serial, SharedLayout body, uint64_t window = KeySource::kWhole) {
    return Take(serial, Fate::kClaimed, std::move(body), window);
  }
  // Like Claim, for a bundle that will be opened instead of used.
  Bundle Audit(uint64_t serial, SharedLayout body) {
    return Take(serial, Fate::kAudited, std::move(body), KeySource::kWhole);
  }
  // Opens, reads and verifies a bundle on disk before it is claimed: chunks lie in memory a window ahead of
  // its run, until Forget. Nothing is spent; what is wrong with it hears who claims it.
  void ReadAhead(uint64_t serial, SharedLayout body, uint64_t window);
  // No bundle that is here now will be used; how many they were. Durable when it returns; when the disk fails
  // (Cause::kResource) they are gone from this process all the same.
  size_t BurnAll();
  void Finish(uint64_t serial);
  // Best effort; a claimed serial is burnt at the next start anyway.
  void Burn(uint64_t serial) noexcept;

  // Set-up data (W_hat), once per weights id. NewSetup: a file on its way in, which CommitSetup puts in the place of
  // what was there; one that is not committed goes with DropSetup, or at the next start.
  std::string SetupFile(const Hash& weights) const { return dir_ + "/" + Hex(weights) + ".w_hat"; }
  bool HasSetup(const Hash& weights) const;
  ChunkFile NewSetup();
  void CommitSetup(ChunkFile file, const Hash& weights);
  void DropSetup() noexcept;
  // Nothing when the file was altered.
  std::optional<Bytes> LoadSetup(const Hash& plan, const Hash& weights, uint64_t bytes);

  // A 32-byte secret of this store, made at first use, durable before it is returned. Throws
  // Cause::kResource when it is damaged.
  Secret LongLived(const std::string& name);

  // Remembers the peer's key at first sight; false when another key was pinned before.
  bool Pin(const net::Identity& peer);

 private:
  struct Slot {
    BundleHeader header;
    Bundle memory;  // empty when on disk and not read ahead
    bool on_disk = false;
    std::optional<PairId> told = {};  // Tell; witnessed: Answer
    bool witnessed = false;
    // Why it will never be whole: who claims it is to hear so
    std::exception_ptr Broken() const { return memory.keys && !on_disk ? memory.keys->failed() : nullptr; }
  };
  const Slot& Find(uint64_t serial) const;
  Slot& Find(uint64_t serial) { return const_cast<Slot&>(std::as_const(*this).Find(serial)); }
  Bundle Take(uint64_t serial, Fate fate, SharedLayout body, uint64_t window);
  Bundle Load(const BundleHeader& known, SharedLayout body, uint64_t window);
  void Recover();
  // At a start: bundles to keep; how many files are known to the ledger, and how many others may be used ones.
  struct Found {
    std::map<uint64_t, FileId> files;
    size_t known = 0, strange = 0;
  };
  void RecoverFile(const std::string& name, Found* found);
  void Discard(const std::string& path);
  void BurnUpTo(uint64_t serial);
  size_t BurnHere();
  // Of a bundle's file: its serial, then its job.
  std::string PathOf(const BundleHeader& h) const;

  std::string dir_, bundles_;
  Fd lock_;
  mutable std::mutex m_;  // of ledger_ and slots_
  Ledger ledger_;
  std::map<uint64_t, Slot> slots_;
  std::vector<std::string> notices_;
};

}  // namespace suf::store
