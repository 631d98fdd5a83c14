// A lane: one sequence of serials between two parties. Its bundles and their ledger are in one folder of a Home. A
// claim is durable before it is used, and every bundle serves once. A bundle from disk serves only after the dealer has
// witnessed that its serial is new. Bundles may arrive in one thread while another one claims and finishes.
// docs/security.md#once, docs/design/bundles.md#witness.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suf/store/bundle.hpp"
#include "suf/store/chunk_file.hpp"
#include "suf/store/ledger.hpp"

namespace suf::store {

// Returns the bytes of a bundle's file.
uint64_t BundleFileBytes(const BodyLayout& body);
// Overwrites key and pair secret of a bundle's file, then removes it; the caller syncs the directory. A claimed
// bundle's open file still has the chunks behind them. Throws Cause::kResource.
void DiscardBundle(const std::string& path);

class Home;

class Lane {
 public:
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  const LaneId& id() const { return id_; }
  // Returns the key of P1 at P0, and zeros at P1, whose own lane it is.
  const Hash& owner() const { return owner_; }
  // Returns the store directory of this lane.
  Home& home() { return home_; }
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
    friend class Lane;
    IncomingBundle(Lane& s, const BundleHeader& h, Secret key, SharedLayout body, bool to_disk, uint64_t window);
    Lane& lane_;
    const BundleHeader header_;
    ChunkVerifier verifier_;
    std::shared_ptr<KeySource> keys_;               // null: to disk
    std::unique_ptr<ChunkFile> file_;               // null: in memory
    std::array<exec::HostBuffer, kAhead> to_disk_;  // chunks on their way there: number i in i mod kAhead
    std::span<uint8_t> buffer_;                     // buffer of the next chunk
    uint64_t burns_ = 0;                            // Lane::burns_ when it began
    bool committed_ = false;
  };
  // How far a serial may be above all earlier ones, so that no dealer uses the serials up.
  static constexpr uint64_t kMaxSerialJump = uint64_t{1} << 40;
  // Begins to receive a bundle of this lane. `body` is the plan's layout for the header's job, `window` as in
  // KeySource. Throws Cause::kRefused if the serial is spent, already there or too far above the others.
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
  // Cleans up after a session that broke before its claim. Drops bundles that are in memory only, and burns those of
  // which the dealer was notified. Best effort: both are gone from this process, and burnt at the next start.
  void DropUnclaimed() noexcept;
  // Durably marks the serial before the dealer is notified of it, under the id of this lane (LaneOf in supply.hpp). The
  // bundle is used now, or never.
  void BeginWitness(uint64_t serial, const PairId& lane);
  // Takes the dealer's answer after BeginWitness: the serial up to which it knew this party's bundles as used. If the
  // answer is not below the serial, this lane was rolled back: throws Cause::kRefused and burns all its bundles. If it
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
  // Burns all bundles that are here; returns how many they were. A delivery to disk that began before cannot be
  // committed any more. Durable when it returns. If the disk fails (Cause::kResource), they are gone from this process
  // all the same.
  size_t BurnAll();
  void Finish(uint64_t serial);
  // Burns a serial, best effort. A claimed serial is burnt at the next start anyway.
  void Burn(uint64_t serial) noexcept;

 private:
  friend class Home;
  // Makes the folder's files if needed, and recovers it. Adds messages for the user to `notices`. Throws
  // Cause::kResource.
  Lane(Home& home, const Hash& owner, const LaneId& id, const std::string& dir, std::vector<std::string>* notices);
  // Whether no bundle is on disk or in memory.
  bool IsEmpty() const;
  // Returns when the ledger was last written, in nanoseconds.
  int64_t LastUse() const;
  // Closes the ledger's file until it is needed again.
  void CloseFile() noexcept;
  // Removes the folder of a lane that is empty.
  void Remove();
  struct LaneSlot {
    BundleHeader header;
    Bundle memory;  // empty if on disk and not read ahead
    bool on_disk = false;
    std::optional<PairId> reported_to = {};  // set by BeginWitness; EndWitness sets `witnessed`
    bool witnessed = false;
    // Returns why the bundle will never be complete, for the caller that claims it.
    std::exception_ptr DeliveryError() const { return memory.keys && !on_disk ? memory.keys->failed() : nullptr; }
  };
  const LaneSlot& Find(uint64_t serial) const;
  LaneSlot& Find(uint64_t serial) { return const_cast<LaneSlot&>(std::as_const(*this).Find(serial)); }
  Bundle Take(uint64_t serial, RecordKind kind, SharedLayout body, uint64_t window);
  Bundle Load(const BundleHeader& known, SharedLayout body, uint64_t window);
  void Recover(std::vector<std::string>* notices);
  // Files found at a start: bundles to keep, how many the ledger knows, and how many may be used ones.
  struct LaneScan {
    std::map<uint64_t, FileId> files;
    size_t known = 0, strange = 0;
  };
  void RecoverFile(const std::string& name, LaneScan* found, std::vector<std::string>* notices);
  void BurnUpTo(uint64_t serial);
  size_t BurnAllLocked();
  // Returns the path of a bundle's file: its name is the serial, then the job.
  std::string PathOf(const BundleHeader& h) const;

  Home& home_;
  const Hash owner_;
  const LaneId id_;
  const std::string dir_, bundles_;
  mutable std::mutex m_;  // guards what follows
  Ledger ledger_;
  uint64_t burns_ = 0;  // how often all bundles were burnt
  std::map<uint64_t, LaneSlot> slots_;
};

}  // namespace suf::store
