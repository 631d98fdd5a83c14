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

namespace {
constexpr size_t kTag = net::ChunkTags::kBytes;
}

Sink::Sink(const Hash& key, SharedLayout layout, Out out, uint64_t window)
    : layout_(std::move(layout)),
      window_(window),
      usual_(kTag + std::min<uint64_t>(kChunkBytes, layout_->largest())),
      tags_(key),
      out_(std::move(out)),
      chunks_(layout_->chunks().size()),
      pump_([this] { Pump(); }) {
  std::lock_guard lock(m_);
  for (size_t i = 0; i < chunks_.size(); ++i) chunks_[i].left = layout_->chunks()[i].sections;
}

Sink::~Sink() {
  {
    std::lock_guard lock(m_);
    closed_ = dropped_ = true;
  }
  changed_.notify_all();
  if (pump_.joinable()) pump_.join();
}

// Room: a chunk that is begun is always let to end: only what is finished can go out and make room.
std::span<uint8_t> Sink::Room(size_t i) {
  const Layout::Section& s = layout_->sections().at(i);
  if (!s.bytes) return {};
  std::unique_lock lock(m_);
  Chunk& c = chunks_[s.chunk];
  if (c.room.empty()) {
    const auto begin = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return waiting_ < window_ || error_; });
    waited_ += std::chrono::steady_clock::now() - begin;
    const size_t bytes = std::max<uint64_t>(usual_, kTag + layout_->chunks()[s.chunk].bytes);
    if (bytes == usual_ && !idle_.empty()) {
      c.room = std::move(idle_.back());
      idle_.pop_back();
    } else {
      c.room = exec::HostBuffer(bytes);
    }
  }
  if (error_) std::rethrow_exception(error_);
  return c.room.span().subspan(kTag + s.at, s.bytes);
}

void Sink::Done(size_t i) {
  const Layout::Section& s = layout_->sections().at(i);
  if (!s.bytes) return;
  {
    std::lock_guard lock(m_);
    SUF_CHECK(chunks_[s.chunk].left > 0);
    if (--chunks_[s.chunk].left) return;
    for (; done_ < chunks_.size() && !chunks_[done_].left; ++done_) waiting_ += layout_->chunks()[done_].bytes;
  }
  changed_.notify_all();
}

void Sink::Write(View bytes) {
  while (!bytes.empty()) {
    SUF_CHECK(section_ < layout_->sections().size());
    const std::span<uint8_t> room = Room(section_).subspan(written_);
    const size_t n = std::min(bytes.size(), room.size());
    if (n) std::memcpy(room.data(), bytes.data(), n);
    bytes = bytes.subspan(n), written_ += n;
    if (n == room.size()) Done(section_++), written_ = 0;
  }
}

void Sink::Finish() {
  {
    std::lock_guard lock(m_);
    SUF_CHECK(error_ || done_ == chunks_.size());
    closed_ = true;
  }
  changed_.notify_all();
  pump_.join();
  if (error_) std::rethrow_exception(error_);
}

void Sink::Pump() {
  std::unique_lock lock(m_);
  for (;;) {
    changed_.wait(lock, [&] { return out_next_ < done_ || closed_; });
    if (dropped_ || out_next_ == done_) return;
    const uint64_t bytes = layout_->chunks()[out_next_].bytes;
    exec::HostBuffer room = std::move(chunks_[out_next_].room);
    lock.unlock();
    try {
      const std::span<uint8_t> chunk = room.span().first(kTag + bytes);
      auto tag = tags_.Next(View(chunk).subspan(kTag));
      std::copy(tag.begin(), tag.end(), chunk.begin());
      out_(chunk);
      if (room.size() != usual_) room = {};
      lock.lock();
    } catch (...) {
      lock.lock();
      error_ = std::current_exception();
    }
    ++out_next_, waiting_ -= bytes;
    if (!room.empty()) idle_.push_back(std::move(room));
    changed_.notify_all();
    if (error_) return;
  }
}

View Chain::Next(View chunk, const std::string& what) {
  if (!left_ || chunk.size() != bytes())
    Fail(Cause::kRefused, what, " is cut short or too long; it is burnt, start again");
  View data = chunk.subspan(kTag);
  if (!Equal(tags_.Next(data), chunk.first(kTag)))
    Fail(Cause::kRefused, what, " was altered; it is burnt, start again");
  left_ -= data.size(), ++next_;
  return data;
}

Hash Bundle::hash() const {
  Sha256 h;
  h.Add(Encode(header));
  for (size_t i = 0; i < keys->layout().chunks().size(); ++i) h.Add(keys->Data(i));
  return h.Done();
}

}  // namespace suf::store
