// Bundles. A bundle is one party's correlated randomness for one inference of exactly one job. It has a header, the key
// K_p and an opaque body. The body travels and rests in chunks of whole sections. Each chunk has a tag, so keys are
// verified as they stream. docs/mathematics.md#prg, docs/security.md#section-keys.
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
#include "suf/store/buffer_pool.hpp"
#include "suf/store/job.hpp"
#include "suf/store/key_source.hpp"
#include "suf/store/lane_id.hpp"

namespace suf::store {

// The version of frames between roles, and that of bundles.
inline constexpr uint32_t kWireVersion = 10, kBundleVersion = 8;

// The header of a bundle. Both headers of a pair are equal except for `party` and `body_bytes`.
struct BundleHeader {
  uint32_t version = kBundleVersion, prg = 0, party = 0;
  Job job;
  uint64_t serial = 0, body_bytes = 0;
  LaneId lane{};
  Hash plan{}, trace{}, weights{}, rho{};
  Hash list{};           // of the index's segments (ListHashes); zeros: the job has no index
  Hash seed_hash[2]{};   // H(seed_0 | seed of B | seed of the index's B), H(seed_1 | zeros | zeros)
  Hash public_key[2]{};  // fingerprints of P0 and P1
  // A secret of both parties and the dealer. It keys the MACs between P0 and P1.
  SharedSecret pair = Share(Secret());
};
// Bytes of an encoded header.
inline constexpr size_t kHeaderBytes = 384;
// Encodes a header, kHeaderBytes bytes.
Bytes Encode(const BundleHeader& h);
// Decodes a header. Throws Cause::kRefused if it is cut short, too long, or of another version.
BundleHeader DecodeHeader(View in);

// Derives K_p = HKDF(salt = rho, ikm = seed_p, info = version | p | H(seed_0) | H(seed_1) | plan | trace | weights |
// list | job | serial | lane).
Secret DeriveKey(const BundleHeader& h, int party, const Secret& seed);

// A bundle: its header, K_p, and the body as it arrives.
struct Bundle {
  BundleHeader header;
  Secret key;
  std::shared_ptr<KeySource> keys;
  // Returns the hash of header and body, for audits. The source must hold the whole body.
  Hash hash() const;
};

// Returns the key for the tags of a bundle's chunks, made of the header including the pair secret.
Hash ChunkKey(const BundleHeader& h);
// Returns the key for the tags of the set-up data, made of plan and weights id. These tags are only checksums.
Hash ChunkKey(const Hash& plan, const Hash& weights);

// Bytes of keys that lie ready by default. At a party they are ahead of its run, at the dealer for the slower party.
inline constexpr uint64_t kKeyWindow = uint64_t{64} << 20;

// The sink for a body that a generator writes: by sections in any order, or by bytes in order. A thread of the sink
// passes each chunk {tag, data} to `out`, in order. The generator waits for the network only while `window` bytes of
// finished chunks wait for it. The thread also makes tags if it has nothing else to send. Other threads help, because
// one thread makes fewer tags than a device makes keys.
class Sink {
 public:
  using Out = std::function<void(View chunk)>;
  Sink(const Hash& key, SharedLayout layout, Out out, uint64_t window = kKeyWindow);
  // Chunks that may still be read after `out` has returned, if there is a `released`.
  static constexpr size_t kLeaving = 4;
  // `released` returns when nothing reads a chunk any more that was passed to `out`.
  Sink(const Hash& key, SharedLayout layout, Out out, Out released, uint64_t window);
  // Takes over the memory of each chunk, its tag before its data.
  using Keep = std::function<void(exec::HostBuffer chunk)>;
  // Passes chunks to `keep`. No window delays the generator.
  Sink(const Hash& key, SharedLayout layout, Keep keep);
  ~Sink();  // without Finish, chunks that are not out yet are dropped
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  // Returns the buffer of section i, valid until MarkWritten(i). Once per section, from one thread. Throws any error of
  // `out`.
  std::span<uint8_t> Buffer(size_t i);
  // Marks section i as written.
  void MarkWritten(size_t i);
  // Writes the next bytes of the body. Throws Bug if these are too many, and any error of `out`.
  void Write(View bytes);
  // Returns when all chunks are out. Throws Bug if a section is missing, and any error of `out`.
  void Finish();
  // Waits up to `wait` for the same; returns whether all chunks are out. Errors as in Finish.
  bool FinishWithin(net::Millis wait);
  uint64_t window() const { return window_; }
  // Returns how long the generator has waited for `out`.
  std::chrono::steady_clock::duration waited() const { return waited_; }

 private:
  Sink(const Hash& key, SharedLayout layout, Out out, Out released, Keep keep, uint64_t window);
  struct SinkChunk {
    exec::HostBuffer buffer;
    size_t left = 0;  // sections that are not written
    bool tagged = false;
  };
  std::span<uint8_t> ChunkOf(size_t i, exec::HostBuffer& buffer) const;
  void KeepError();
  void Tag(std::unique_lock<std::mutex>& lock, net::ChunkTags& tags);
  void TagChunks(net::ChunkTags& tags);
  void Pump();
  void ReclaimLeaving(size_t but);
  void Close(bool drop);

  const SharedLayout layout_;
  const uint64_t window_;
  std::vector<net::ChunkTags> tags_;  // one per thread
  const Out out_, released_;
  const Keep keep_;
  std::chrono::steady_clock::duration waited_{};
  size_t section_ = 0;    // next section of Write
  uint64_t written_ = 0;  // bytes of it that are written
  std::mutex m_;
  std::condition_variable changed_;
  std::vector<SinkChunk> chunks_;
  BufferPool idle_;
  std::deque<std::pair<exec::HostBuffer, View>> leaving_;  // used by the pump alone.
  // Chunks that are out, chunks that are tagged or being tagged, and leading chunks that are written.
  size_t out_next_ = 0, tagging_ = 0, done_ = 0;
  uint64_t waiting_ = 0;                                    // bytes of chunks that are written and not out
  bool closed_ = false, dropped_ = false, pumped_ = false;  // pumped_: the pump has ended
  std::exception_ptr error_;
  std::vector<std::thread> threads_;  // the pump and its helpers
};

// Checks that a chunk, its tag before its data, is number `number` of the sequence. Throws Cause::kRefused, with `what`
// in the error message.
void CheckChunk(net::ChunkTags& tags, uint64_t number, View chunk, const std::string& what);

// The reader's side of a Sink.
class ChunkVerifier {
 public:
  ChunkVerifier(const Hash& key, SharedLayout layout)
      : tags_(key), layout_(std::move(layout)), left_(layout_->bytes()) {}
  // Returns the bytes of the next chunk, or of the one `ahead` chunks later, including the tag.
  size_t bytes(size_t ahead = 0) const { return net::ChunkTags::kBytes + layout_->chunks().at(next_ + ahead).bytes; }
  size_t largest() const { return net::ChunkTags::kBytes + layout_->largest(); }
  size_t next() const { return next_; }
  // Returns how many chunks are due.
  size_t chunks() const { return layout_->chunks().size() - next_; }
  // Returns the data of a chunk. Throws Cause::kRefused, with `what` in the error message, if it is not the next chunk.
  View Verify(View chunk, const std::string& what);
  uint64_t left() const { return left_; }

 private:
  net::ChunkTags tags_;
  SharedLayout layout_;
  size_t next_ = 0;
  uint64_t left_;
};

}  // namespace suf::store
