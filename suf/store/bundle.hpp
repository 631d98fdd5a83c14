// A bundle: one party's correlated randomness for one inference of exactly one job. Header, key K_p, and an opaque
// body that travels and rests in chunks of whole sections, each with a tag, so that keys are verified as they stream.
// docs/mathematics.md#prg, docs/security.md#section-keys.
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
#include "suf/store/idle_rooms.hpp"
#include "suf/store/job.hpp"
#include "suf/store/key_source.hpp"

namespace suf::store {

inline constexpr uint32_t kWireVersion = 6;

// Both headers of a pair are equal but for `party` and body_bytes.
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
// Throws Cause::kRefused when it is cut short, too long, or of another version.
BundleHeader DecodeHeader(View in);

// K_p = HKDF(salt = rho, ikm = seed_p, info = version | p | H(seed_0) | H(seed_1) | plan | trace | weights |
// job | serial).
Secret DeriveKey(const BundleHeader& h, int party, const Secret& seed);

// Header, K_p and the body as it comes.
struct Bundle {
  BundleHeader header;
  Secret key;
  std::shared_ptr<KeySource> keys;
  Hash hash() const;  // of header and body, for the audit; of a source that holds all of it
};

// What the tags of a bundle's chunks are made with: the header, pair secret included. Of the set-up data:
// plan and weights id, so there it is a checksum.
Hash ChunkKey(const BundleHeader& h);
Hash ChunkKey(const Hash& plan, const Hash& weights);

// kKeyWindow: bytes that lie ready, unless somebody says otherwise: at a party ahead of its run, and at the dealer for
// a party that is slower than the other.
inline constexpr uint64_t kKeyWindow = uint64_t{64} << 20;

// What a generator writes a body into: sections in any order, or its bytes in theirs. Hands each chunk {tag,
// data} to `out`, in order, in a thread of its own, so that a generator meets no network unless `window` bytes of
// finished chunks wait for it. That thread makes tags where it has nothing else to do, and others help it: one thread
// makes fewer than a device makes keys.
class Sink {
 public:
  using Out = std::function<void(View chunk)>;
  Sink(const Hash& key, SharedLayout layout, Out out, uint64_t window = kKeyWindow);
  // gone: returns when nothing reads a chunk any more that `out` was given: kLeaving may be read behind its back.
  static constexpr size_t kLeaving = 4;
  Sink(const Hash& key, SharedLayout layout, Out out, Out gone, uint64_t window);
  // Takes each chunk's memory over, its tag before its data; no window holds the generator up.
  using Keep = std::function<void(exec::HostBuffer chunk)>;
  Sink(const Hash& key, SharedLayout layout, Keep keep);
  ~Sink();  // without Finish: what is not yet out is dropped
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  // Of section i, until Done(i); each once, from one thread. Throws whatever `out` threw.
  std::span<uint8_t> Room(size_t i);
  void Done(size_t i);
  // The next bytes of the body. Throws Bug when more than all are written, and whatever `out` threw.
  void Write(View bytes);
  // Returns when everything is out; throws Bug when a section is missing, and whatever `out` threw.
  void Finish();
  // waited: how long the generator waited for `out`.
  std::chrono::steady_clock::duration waited() const { return waited_; }

 private:
  Sink(const Hash& key, SharedLayout layout, Out out, Out gone, Keep keep, uint64_t window);
  struct Chunk {
    exec::HostBuffer room;
    size_t left = 0;  // sections that are not Done
    bool tagged = false;
  };
  std::span<uint8_t> ChunkOf(size_t i, exec::HostBuffer& room) const;
  void Failed();
  void Tag(std::unique_lock<std::mutex>& lock, net::ChunkTags& tags);
  void Help(net::ChunkTags& tags);
  void Pump();
  void Gone(size_t but);
  void Close(bool drop);

  const SharedLayout layout_;
  const uint64_t window_;
  std::vector<net::ChunkTags> tags_;  // of a thread each
  const Out out_, gone_;
  const Keep keep_;
  std::chrono::steady_clock::duration waited_{};
  size_t section_ = 0;    // of Write
  uint64_t written_ = 0;  // bytes therein
  std::mutex m_;
  std::condition_variable changed_;
  std::vector<Chunk> chunks_;
  IdleRooms idle_;
  std::deque<std::pair<exec::HostBuffer, View>> leaving_;  // of the pump
  // chunks that are out; of which the tag is made; all before it are Done
  size_t out_next_ = 0, tagging_ = 0, done_ = 0;
  uint64_t waiting_ = 0;  // bytes of the chunks between both
  bool closed_ = false, dropped_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;  // the pump, and who helps it
};

// A chunk, its tag before its data, is number `number` of what these tags are of. Throws Cause::kRefused
// with `what` in the sentence.
void CheckChunk(net::ChunkTags& tags, uint64_t number, View chunk, const std::string& what);

// The reader's side of a Sink.
class Chain {
 public:
  Chain(const Hash& key, SharedLayout layout) : tags_(key), layout_(std::move(layout)), left_(layout_->bytes()) {}
  // bytes: of the next chunk, or of one so many behind it, its tag included. chunks: so many are due.
  size_t bytes(size_t ahead = 0) const { return net::ChunkTags::kBytes + layout_->chunks().at(next_ + ahead).bytes; }
  size_t largest() const { return net::ChunkTags::kBytes + layout_->largest(); }
  size_t next() const { return next_; }
  size_t chunks() const { return layout_->chunks().size() - next_; }
  // The data of a chunk; throws Cause::kRefused with `what` in the sentence when it is not the next one.
  View Next(View chunk, const std::string& what);
  uint64_t left() const { return left_; }

 private:
  net::ChunkTags tags_;
  SharedLayout layout_;
  size_t next_ = 0;
  uint64_t left_;
};

}  // namespace suf::store
