#include "suf/store/bundle.hpp"

namespace suf::store {

Bytes Encode(const BundleHeader& h) {
  Writer w;
  w.Put(h.version), w.Put(h.prg), w.Put(h.party), Put(w, h.job), w.Put(h.serial), w.Put(h.body_bytes);
  for (const Hash* x :
       {&h.plan, &h.trace, &h.weights, &h.rho, &h.seed_hash[0], &h.seed_hash[1], &h.public_key[0], &h.public_key[1]})
    w.Raw(*x);
  w.Raw(h.pair->view());
  SUF_CHECK(w.bytes().size() == kHeaderBytes);
  return w.Take();
}

BundleHeader DecodeHeader(View in) {
  Reader r(in, "a bundle's header");
  BundleHeader h;
  h.version = r.Get<uint32_t>();
  if (h.version != kWireVersion)
    Fail(Cause::kRefused, "a bundle of version ", h.version, " was found; this suf reads version ", kWireVersion,
         "; deal it again");
  h.prg = r.Get<uint32_t>(), h.party = r.Get<uint32_t>(), h.job = GetJob(r);
  h.serial = r.Get<uint64_t>(), h.body_bytes = r.Get<uint64_t>();
  for (Hash* x :
       {&h.plan, &h.trace, &h.weights, &h.rho, &h.seed_hash[0], &h.seed_hash[1], &h.public_key[0], &h.public_key[1]})
    *x = r.GetHash();
  h.pair = Share(Secret(r.Raw(32)));
  r.Done();
  if (h.party > 1)
    Fail(Cause::kRefused, "a bundle for party ", h.party, " was found; there are parties 0 and 1; deal it again");
  return h;
}

Secret DeriveKey(const BundleHeader& h, int party, const Secret& seed) {
  Writer info;
  info.Put(h.version), info.Put(uint32_t(party));
  for (const Hash* x : {&h.seed_hash[0], &h.seed_hash[1], &h.plan, &h.trace, &h.weights}) info.Raw(*x);
  Put(info, h.job), info.Put(h.serial);
  return Hkdf(h.rho, seed.view(), info.bytes());
}

Hash ChunkKey(const BundleHeader& h) { return HashOf({AsView("suf bundle"), Encode(h)}); }
Hash ChunkKey(const Hash& plan, const Hash& weights) { return HashOf({AsView("suf setup"), plan, weights}); }

void Sink::Write(View bytes) {
  SUF_CHECK(bytes.size() <= left_);
  left_ -= bytes.size();
  while (!bytes.empty()) {
    if (buffer_.empty()) NewBuffer();
    size_t n = std::min(bytes.size(), kChunkBytes - (buffer_.size() - net::ChunkTags::kBytes));
    Append(&buffer_, bytes.first(n));
    bytes = bytes.subspan(n);
    if (buffer_.size() == net::ChunkTags::kBytes + kChunkBytes) Flush();
  }
}

// NewBuffer: one that is out already, if there is one; with room for the tag.
void Sink::NewBuffer() {
  {
    std::lock_guard l(m_);
    if (!idle_.empty()) buffer_ = std::move(idle_.back()), idle_.pop_back();
  }
  buffer_.reserve(net::ChunkTags::kBytes + kChunkBytes), buffer_.resize(net::ChunkTags::kBytes);
}

void Sink::Finish() {
  SUF_CHECK(left_ == 0);
  if (!buffer_.empty()) Flush();
  {
    std::lock_guard l(m_);
    closed_ = true;
  }
  changed_.notify_all();
  pump_.join();
  if (error_) std::rethrow_exception(error_);
}

void Sink::Flush() {
  auto start = std::chrono::steady_clock::now();
  std::unique_lock l(m_);
  changed_.wait(l, [&] { return queue_.size() < kAhead || error_; });
  waited_ += std::chrono::steady_clock::now() - start;
  if (error_) std::rethrow_exception(error_);
  queue_.push_back(std::move(buffer_));
  buffer_ = {};
  changed_.notify_all();
}

void Sink::Pump() {
  for (;;) {
    std::unique_lock l(m_);
    changed_.wait(l, [&] { return !queue_.empty() || closed_; });
    if (dropped_ || queue_.empty()) return;
    Bytes chunk = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    l.unlock();
    try {
      auto tag = tags_.Next(View(chunk).subspan(net::ChunkTags::kBytes));
      std::copy(tag.begin(), tag.end(), chunk.begin());
      out_(chunk);
    } catch (...) {
      std::lock_guard lock(m_);
      error_ = std::current_exception();
      changed_.notify_all();
    }
    l.lock();
    idle_.push_back(std::move(chunk));
    if (error_) return;
  }
}

Sink::Sink(const Hash& key, uint64_t total, Out out)
    : tags_(key), left_(total), out_(std::move(out)), pump_([this] { Pump(); }) {}

Sink::~Sink() {
  {
    std::lock_guard l(m_);
    closed_ = dropped_ = true;
  }
  changed_.notify_all();
  if (pump_.joinable()) pump_.join();
}

View Chain::Next(View chunk, const std::string& what) {
  bool fits = chunk.size() > net::ChunkTags::kBytes &&
              chunk.size() - net::ChunkTags::kBytes == std::min<uint64_t>(left_, kChunkBytes);
  if (!fits) Fail(Cause::kRefused, what, " is cut short or too long; it is burnt, start again");
  View data = chunk.subspan(net::ChunkTags::kBytes);
  if (!Equal(tags_.Next(data), chunk.first(net::ChunkTags::kBytes)))
    Fail(Cause::kRefused, what, " was altered; it is burnt, start again");
  left_ -= data.size();
  return data;
}

Hash Bundle::hash() const { return HashOf({Encode(header), body}); }

}  // namespace suf::store
