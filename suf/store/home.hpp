// A party's store directory: lock, long-lived secrets, pinned keys, and W_hat per weights id. Its bundles and their
// ledger are in a Lane. One process locks the directory. docs/security.md#once, docs/design/bundles.md#witness.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "suf/store/lane.hpp"

namespace suf::store {

// Thread-safe.
class Home {
 public:
  // Makes `dir` if needed, locks it and recovers its lane. TakeNotices then has messages for the user. Throws
  // Cause::kResource.
  explicit Home(const std::string& dir);
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  // Returns messages for the user, each once.
  std::vector<std::string> TakeNotices();

  // Returns the lane, for one session at a time. The home must outlive it.
  std::shared_ptr<Lane> OpenAny() { return lane_; }
  // Throws Cause::kResource if bundles cannot lie on this disk: its file system records no times of birth.
  void CheckCanKeepBundles() const;

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
  const std::string dir_;
  const Fd lock_;
  std::mutex m_;  // guards notices_, and the files of secrets and pins
  std::vector<std::string> notices_;
  std::shared_ptr<Lane> lane_;
};

}  // namespace suf::store
