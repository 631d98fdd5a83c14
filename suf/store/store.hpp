// A party's store directory: preprocessed bundles, the ledger, W_hat per weights id, and the pinned keys of its peers.
// One process locks it. A claim is durable before it is used, and every bundle serves once. A bundle from disk serves
// only after the dealer has witnessed that its serial is new. Bundles may arrive in one thread while another one claims
// and finishes. docs/security.md#once, docs/design/bundles.md#witness.
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

// The file format of bundles and of W_hat: {u32 length, preamble, its SHA-256, then per chunk u32 length, chunk}.
class ChunkFile {
 public:
  ChunkFile(const std::string& temp, View preamble);
  void Add(View chunk);
  // Makes all that was added durable.
  void Sync() { suf::Sync(fd_.get(), temp_); }
  // Renames the file to `path` and syncs its directory. Called after Sync.
  void Commit(const std::string& path);
  int fd() const { return fd_.get(); }

 private:
  std::string temp_;
  Fd fd_;
};

// Returns the bytes of a bundle's file.
uint64_t BundleFileBytes(const BodyLayout& body);

class Store {
 public:
  // Makes `dir` if needed, locks it and recovers; notices() then has messages for the user. Throws Cause::kResource.
  explicit Store(const std::string& dir);
  const std::vector<std::string>& notices() const { return notices_; }
  const Ledger& ledger() const { return ledger_; }

  // A bundle that is being received. In memory it may be claimed from now on, and is read as it arrives. It is dropped
  // unless Commit is reached.
  class IncomingBundle {
   public:
    ~IncomingBundle();
    IncomingBundle(const IncomingBundle&) = delete;
    IncomingBundle& operator=(const IncomingBundle&) = delete;
    // Most buffers that NextBuffers returns.
    static constexpr size_t kAhead = 4;
    // Returns buffers for the next chunks of a Sink, at most `most`. Buffers that were returned before and not filled
    // come first again. Waits while a window of chunks lies here. Returns none if all arrived or the run that reads
    // them has ended.
    std::vector<std::span<uint8_t>> NextBuffers(size_t most = kAhead);
    // Returns the first of these buffers.
    std::span<uint8_t> NextBuffer() {
      const auto one = NextBuffers(1);
      return one.empty() ? std::span<uint8_t>() : one[0];
    }
    // Reports that the first buffer is filled. Throws Cause::kRefused if the chunk was altered.
    void MarkFilled();
    void Commit();
    // Ends the delivery with an error, for a run that reads it already.
    void Abort(std::exception_ptr error) noexcept;
    // Ends the delivery because nothing more is wanted; from any thread.
    void Close() noexcept {
      if (keys_) keys_->Close();
    }

   private:
    friend class Store;
    IncomingBundle(Store& s, const BundleHeader& h, Secret key, SharedLayout body, bool to_disk, uint64_t window);
    Store& store_;
    const BundleHeader header_;
    ChunkVerifier verifier_;
    std::shared_ptr<KeySource> keys_;               // null: to disk
    std::unique_ptr<ChunkFile> file_;               // null: in memory
    std::array<exec::HostBuffer, kAhead> to_disk_;  // chunks on their way there: number i in i mod kAhead
    std::span<uint8_t> buffer_;                     // buffer of the next chunk
    bool committed_ = false;
  };
  // How far a serial may be above all earlier ones, so that no dealer uses the serials up.
  static constexpr uint64_t kMaxSerialJump = uint64_t{1} << 40;
  // Begins to receive a bundle. `body` is the plan's layout for the header's job, `window` as in KeySource. Throws
  // Cause::kRefused if the serial is spent, already there or too far above the others.
  IncomingBundle Receive(const BundleHeader& h, Secret key, SharedLayout body, bool to_disk,
                         uint64_t window = KeySource::kWhole) {
    return {*this, h, std::move(key), std::move(body), to_disk, window};
  }

  // Returns the headers of all unused bundles, by serial.
  std::vector<BundleHeader> Bundles() const;
  // Returns the headers of all unused bundles for a job, by serial.
  std::vector<BundleHeader> Bundles(const Job& job) const;
  // Returns the header of an unused bundle. Throws Cause::kRefused if there is none of this serial.
  BundleHeader Header(uint64_t serial) const;
  // Throws Cause::kResource if bundles cannot lie on this disk: its file system records no times of birth.
  void CheckCanKeepBundles() const;
  // Cleans up after a session that broke before its claim. Drops bundles that are in memory only, and burns those of
  // which the dealer was notified. Best effort: both are gone from this process, and burnt at the next start.
  void DropUnclaimed() noexcept;
  // Durably marks the serial before this pair's dealer is notified of it. The bundle is used now, or never.
  void BeginWitness(uint64_t serial, const PairId& pair);
  // Takes the dealer's answer after BeginWitness: the serial up to which it knew this party's bundles as used. If the
  // answer is not below the serial, this store was rolled back: throws Cause::kRefused and burns all its bundles. If it
  // is below an earlier answer, the dealer's state was rolled back: throws Cause::kRefused, and this bundle is burnt.
  void EndWitness(uint64_t serial, uint64_t known);
  // Durably marks the serial, burns all lower ones, and returns the bundle. A bundle on disk needs an EndWitness first.
  // It loses its name and key on disk, and is read from there chunk by chunk, a window ahead. Throws Cause::kRefused if
  // the bundle is spent, unknown or altered, and Cause::kResource if the disk fails; it is then burnt. Altered data
  // behind the header throws when it is read.
  Bundle Claim(uint64_t serial, SharedLayout body, uint64_t window = KeySource::kWhole) {
    return Take(serial, RecordKind::kClaimed, std::move(body), window);
  }
  // Like Claim, for a bundle that will be revealed in an audit instead of used.
  Bundle Audit(uint64_t serial, SharedLayout body) {
    return Take(serial, RecordKind::kAudited, std::move(body), KeySource::kWhole);
  }
  // Reads and verifies a bundle on disk before it is claimed. Its chunks lie in memory, a window ahead of its run,
  // until DropUnclaimed. Nothing is spent. Errors surface when the bundle is claimed.
  void ReadAhead(uint64_t serial, SharedLayout body, uint64_t window);
  // Burns all bundles that are here; returns how many they were. Durable when it returns. If the disk fails
  // (Cause::kResource), they are gone from this process all the same.
  size_t BurnAll();
  void Finish(uint64_t serial);
  // Burns a serial, best effort. A claimed serial is burnt at the next start anyway.
  void Burn(uint64_t serial) noexcept;

  // Returns the file of the set-up data (W_hat) for a weights id.
  std::string SetupFile(const Hash& weights) const { return dir_ + "/" + Hex(weights) + ".w_hat"; }
  bool HasSetup(const Hash& weights) const;
  // Begins a file of set-up data. If it is not committed, DropSetup or the next start removes it.
  ChunkFile NewSetup();
  // Puts the file in the place of earlier set-up data.
  void CommitSetup(ChunkFile file, const Hash& weights);
  void DropSetup() noexcept;
  // Reads the set-up data; returns nothing if the file was altered.
  std::optional<Bytes> LoadSetup(const Hash& plan, const Hash& weights, uint64_t bytes);

  // Returns a 32-byte secret of this store, made at first use. It is durable before it is returned. Throws
  // Cause::kResource if it is damaged.
  Secret LongLivedSecret(const std::string& name);

  // Remembers the peer's key at first sight; returns false if another key was pinned before.
  bool Pin(const net::Identity& peer);

 private:
  struct StoreSlot {
    BundleHeader header;
    Bundle memory;  // empty if on disk and not read ahead
    bool on_disk = false;
    std::optional<PairId> reported_to = {};  // set by BeginWitness; EndWitness sets `witnessed`
    bool witnessed = false;
    // Returns why the bundle will never be complete, for the caller that claims it.
    std::exception_ptr DeliveryError() const { return memory.keys && !on_disk ? memory.keys->failed() : nullptr; }
  };
  const StoreSlot& Find(uint64_t serial) const;
  StoreSlot& Find(uint64_t serial) { return const_cast<StoreSlot&>(std::as_const(*this).Find(serial)); }
  Bundle Take(uint64_t serial, RecordKind kind, SharedLayout body, uint64_t window);
  Bundle Load(const BundleHeader& known, SharedLayout body, uint64_t window);
  void Recover();
  // Files found at a start: bundles to keep, how many the ledger knows, and how many may be used ones.
  struct StoreScan {
    std::map<uint64_t, FileId> files;
    size_t known = 0, strange = 0;
  };
  void RecoverFile(const std::string& name, StoreScan* found);
  void Discard(const std::string& path);
  void BurnUpTo(uint64_t serial);
  size_t BurnAllLocked();
  // Returns the path of a bundle's file: its name is the serial, then the job.
  std::string PathOf(const BundleHeader& h) const;

  std::string dir_, bundles_;
  Fd lock_;
  mutable std::mutex m_;  // guards ledger_ and slots_
  Ledger ledger_;
  std::map<uint64_t, StoreSlot> slots_;
  std::vector<std::string> notices_;
};

}  // namespace suf::store
