// A bundle: one party's correlated randomness for one inference of exactly one job. Header, key K_p, and an opaque
// body that travels and rests in chunks, each with a running hash, so that keys are verified as they stream.
// docs/mathematics.md#prg, SECURITY.md.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "suf/base/secret.hpp"
#include "suf/net/channel.hpp"
#include "suf/net/tags.hpp"
#include "suf/store/job.hpp"

namespace suf::store {

inline constexpr uint32_t kWireVersion = 5;
inline constexpr size_t kChunkBytes = size_t{1} << 20;

// BundleHeader: both headers of a pair are equal but for `party` and body_bytes.
struct BundleHeader {
  uint32_t version = kWireVersion, prg = 0, party = 0;
  Job job;
  uint64_t serial = 0, body_bytes = 0;
  Hash plan{}, trace{}, weights{}, rho{};
  Hash seed_hash[2]{};   // H(seed_0 | seed of B), H(seed_1 | zeros)
  Hash public_key[2]{};  // fingerprints of P0 and P1
  // pair: known to both parties and the dealer: keys the MACs between P0 and P1
  SharedSecret pair = Share(Secret());
};
// Encode: kHeaderBytes bytes.
inline constexpr size_t kHeaderBytes = 332;
Bytes Encode(const BundleHeader& h);
// DecodeHeader: throws Cause::kRefused when it is cut short, too long, or of another version.
BundleHeader DecodeHeader(View in);

// DeriveKey: K_p = HKDF(salt = rho, ikm = seed_p, info = version | p | H(seed_0) | H(seed_1) | plan | trace | weights |
// job | serial).
Secret DeriveKey(const BundleHeader& h, int party, const Secret& seed);

// Bundle: header, K_p and the whole body, in memory.
struct Bundle {
  BundleHeader header;
  Secret key;
  Bytes body;
  Hash hash() const;  // of header and body, for the audit
};

// ChunkKey: what the tags of a bundle's chunks are made with: the header, pair secret included. Of the set-up data:
// plan and weights id, so there it is a checksum.
Hash ChunkKey(const BundleHeader& h);
Hash ChunkKey(const Hash& plan, const Hash& weights);

inline constexpr size_t kMaxChunk = kChunkBytes + net::ChunkTags::kBytes;

// Sink: what a generator writes a body into, in order. Cuts it into chunks {tag, data} of at most kChunkBytes of data,
// and tags and hands them to `out` in a thread of its own, at most kAhead chunks behind, so that a generator meets no
// network.
class Sink {
 public:
  using Out = std::function<void(View chunk)>;
  Sink(const Hash& key, uint64_t total, Out out);
  ~Sink();  // without Finish: what is not yet out is dropped
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  // Write: throws Bug when more than `total` bytes are written, and whatever `out` threw.
  void Write(View bytes);
  // Finish: returns when everything is out; throws Bug when fewer than `total` bytes were written, and whatever `out`
  // threw.
  void Finish();
  // waited: how long Write waited for `out`.
  std::chrono::steady_clock::duration waited() const { return waited_; }

 private:
  static constexpr size_t kAhead = 8;
  void NewBuffer();
  void Flush();
  void Pump();
  net::ChunkTags tags_;
  uint64_t left_;
  Out out_;
  Bytes buffer_;
  std::chrono::steady_clock::duration waited_{};
  std::mutex m_;
  std::condition_variable changed_;
  std::deque<Bytes> queue_, idle_;
  bool closed_ = false, dropped_ = false;
  std::exception_ptr error_;
  std::thread pump_;
};

// Chain: the reader's side of a Sink.
class Chain {
 public:
  Chain(const Hash& key, uint64_t total) : tags_(key), left_(total) {}
  // Next: the data of a chunk; throws Cause::kRefused with `what` in the sentence when it is not the next one.
  View Next(View chunk, const std::string& what);
  uint64_t left() const { return left_; }

 private:
  net::ChunkTags tags_;
  uint64_t left_;
};

}  // namespace suf::store
