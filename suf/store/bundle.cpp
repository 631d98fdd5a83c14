#include "suf/store/bundle.hpp"

#include <algorithm>

namespace suf::store {

Bytes Encode(const BundleHeader& h) {
  Writer w;
  w.Put(h.version);
  w.Put(h.prg);
  w.Put(h.party);
  Put(w, h.job);
  w.Put(h.serial);
  w.Put(h.body_bytes);
  w.Raw(h.lane);
  for (const Hash* x : {&h.plan, &h.trace, &h.weights, &h.list, &h.rho, &h.seed_hash[0], &h.seed_hash[1],
                        &h.public_key[0], &h.public_key[1]})
    w.Raw(*x);
  w.Raw(h.pair->view());
  SUF_CHECK(w.bytes().size() == kHeaderBytes);
  return w.Take();
}

BundleHeader DecodeHeader(View in) {
  Reader r(in, "a bundle's header");
  BundleHeader h;
  h.version = r.Get<uint32_t>();
  if (h.version != kBundleVersion)
    Fail(Cause::kRefused, "a bundle of version ", h.version, " was found; this suf reads version ", kBundleVersion,
         "; deal it again");
  h.prg = r.Get<uint32_t>();
  h.party = r.Get<uint32_t>();
  h.job = GetJob(r);
  h.serial = r.Get<uint64_t>();
  h.body_bytes = r.Get<uint64_t>();
  h.lane = GetLaneId(r);
  for (Hash* x : {&h.plan, &h.trace, &h.weights, &h.list, &h.rho, &h.seed_hash[0], &h.seed_hash[1], &h.public_key[0],
                  &h.public_key[1]})
    *x = r.GetHash();
  h.pair = Share(Secret(r.Raw(32)));
  r.ExpectEnd();
  if (h.party > 1)
    Fail(Cause::kRefused, "a bundle for party ", h.party, " was found; there are parties 0 and 1; deal it again");
  return h;
}

Secret DeriveKey(const BundleHeader& h, int party, const Secret& seed) {
  Writer info;
  info.Put(h.version);
  info.Put(uint32_t(party));
  for (const Hash* x : {&h.seed_hash[0], &h.seed_hash[1], &h.plan, &h.trace, &h.weights, &h.list}) info.Raw(*x);
  Put(info, h.job);
  info.Put(h.serial);
  info.Raw(h.lane);
  return Hkdf(h.rho, seed.view(), info.bytes());
}

Hash ChunkKey(const BundleHeader& h) { return HashOf({AsView("suf bundle"), Encode(h)}); }
Hash ChunkKey(const Hash& plan, const Hash& weights) { return HashOf({AsView("suf setup"), plan, weights}); }

namespace {
constexpr size_t kTag = net::ChunkTags::kBytes;
}

Sink::Sink(const Hash& key, SharedLayout layout, Out out, uint64_t window)
    : Sink(key, std::move(layout), std::move(out), nullptr, nullptr, window) {}

Sink::Sink(const Hash& key, SharedLayout layout, Out out, Out released, uint64_t window)
    : Sink(key, std::move(layout), std::move(out), std::move(released), nullptr, window) {}

Sink::Sink(const Hash& key, SharedLayout layout, Keep keep)
    : Sink(key, std::move(layout), nullptr, nullptr, std::move(keep), ~uint64_t{0}) {}

Sink::Sink(const Hash& key, SharedLayout layout, Out out, Out released, Keep keep, uint64_t window)
    : layout_(std::move(layout)),
      window_(window),
      tags_(net::ChunkTags::Several(key)),
      out_(std::move(out)),
      released_(std::move(released)),
      keep_(std::move(keep)),
      chunks_(layout_->chunks().size()),
      idle_(keep_ ? 0 : kTag + std::min<uint64_t>(kChunkBytes, layout_->largest()), window) {
  for (size_t i = 0; i < chunks_.size(); ++i) chunks_[i].left = layout_->chunks()[i].sections;
  try {
    threads_.emplace_back([this] { Pump(); });
    for (size_t i = 1; i < tags_.size(); ++i) threads_.emplace_back([this, i] { TagChunks(tags_[i]); });
  } catch (...) {
    Close(true);
    throw;
  }
}

Sink::~Sink() { Close(true); }

// Ends the threads; nothing more comes. With `drop`, waiting chunks do not go out.
void Sink::Close(bool drop) {
  {
    std::lock_guard lock(m_);
    closed_ = true;
    dropped_ = drop;
  }
  changed_.notify_all();
  for (std::thread& t : threads_)
    if (t.joinable()) t.join();
}

// A chunk that was begun may always be finished, because only finished chunks go out and free capacity.
std::span<uint8_t> Sink::Buffer(size_t i) {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  if (!s.bytes) return {};
  std::unique_lock lock(m_);
  SinkChunk& c = chunks_[s.chunk];
  if (c.buffer.empty()) {
    const auto begin = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return waiting_ < window_ || error_; });
    waited_ += std::chrono::steady_clock::now() - begin;
    c.buffer = idle_.Take(kTag + layout_->chunks()[s.chunk].bytes);
  }
  if (error_) std::rethrow_exception(error_);
  return c.buffer.span().subspan(kTag + s.at, s.bytes);
}

void Sink::MarkWritten(size_t i) {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  if (!s.bytes) return;
  std::deque<exec::HostBuffer> unused;  // wiped without the lock
  {
    std::lock_guard lock(m_);
    SUF_CHECK(chunks_[s.chunk].left > 0);
    if (--chunks_[s.chunk].left) return;
    for (; done_ < chunks_.size() && !chunks_[done_].left; ++done_) waiting_ += layout_->chunks()[done_].bytes;
    if (done_ == chunks_.size()) unused = idle_.TakeAll();
  }
  changed_.notify_all();
}

void Sink::Write(View bytes) {
  while (!bytes.empty()) {
    SUF_CHECK(section_ < layout_->sections().size());
    const std::span<uint8_t> buffer = Buffer(section_).subspan(written_);
    const size_t n = std::min(bytes.size(), buffer.size());
    if (n) std::memcpy(buffer.data(), bytes.data(), n);
    bytes = bytes.subspan(n);
    written_ += n;
    if (n == buffer.size()) {
      MarkWritten(section_++);
      written_ = 0;
    }
  }
}

void Sink::Finish() {
  {
    std::lock_guard lock(m_);
    SUF_CHECK(error_ || done_ == chunks_.size());
  }
  Close(false);
  if (error_) std::rethrow_exception(error_);
}

bool Sink::FinishWithin(net::Millis wait) {
  {
    std::unique_lock lock(m_);
    SUF_CHECK(error_ || done_ == chunks_.size());
    closed_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, wait, [&] { return pumped_; })) return false;
  }
  Finish();
  return true;
}

// Returns the bytes of a chunk in its buffer, its tag before its data.
std::span<uint8_t> Sink::ChunkOf(size_t i, exec::HostBuffer& buffer) const {
  return buffer.span().first(kTag + layout_->chunks()[i].bytes);
}

// Keeps the current exception. The caller holds the lock.
void Sink::KeepError() {
  if (!error_) error_ = std::current_exception();
  changed_.notify_all();
}

// Tags the next chunk without a tag. Releases the lock meanwhile.
void Sink::Tag(std::unique_lock<std::mutex>& lock, net::ChunkTags& tags) {
  const size_t i = tagging_++;
  lock.unlock();
  const std::span<uint8_t> chunk = ChunkOf(i, chunks_[i].buffer);
  const auto tag = tags.Of(i, View(chunk).subspan(kTag), {});
  std::copy(tag.begin(), tag.end(), chunk.begin());
  lock.lock();
  chunks_[i].tagged = true;
  changed_.notify_all();
}

void Sink::TagChunks(net::ChunkTags& tags) {
  std::unique_lock lock(m_);
  try {
    for (;;) {
      changed_.wait(lock, [&] { return tagging_ < done_ || closed_ || error_; });
      if (tagging_ == done_ || dropped_ || error_) return;
      Tag(lock, tags);
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    KeepError();
  }
}

// Waits until all but the last `but` leaving chunks are read no more; their buffers serve others.
void Sink::ReclaimLeaving(size_t but) {
  for (; leaving_.size() > but; leaving_.pop_front()) {
    auto& [buffer, chunk] = leaving_.front();
    if (released_) released_(chunk);
    std::lock_guard lock(m_);
    if (done_ < chunks_.size()) idle_.Return(std::move(buffer));  // otherwise no chunk needs one
  }
}

void Sink::Pump() {
  struct All {
    Sink* sink;
    ~All() {
      sink->ReclaimLeaving(0);
      const std::lock_guard l(sink->m_);
      sink->pumped_ = true;
      sink->changed_.notify_all();
    }
  } all{this};  // runs however Pump ends, after the lock is released
  std::unique_lock lock(m_);
  try {
    for (;;) {
      const auto ready = [&] { return out_next_ < done_ && chunks_[out_next_].tagged; };
      const auto over = [&] { return dropped_ || error_ || (closed_ && out_next_ == done_); };
      changed_.wait(lock, [&] { return ready() || tagging_ < done_ || over(); });
      if (over()) return;
      if (!ready()) {
        Tag(lock, tags_[0]);
        continue;
      }
      exec::HostBuffer buffer = std::move(chunks_[out_next_].buffer);
      lock.unlock();
      if (keep_) {
        keep_(std::move(buffer));
      } else {
        const View leaves = ChunkOf(out_next_, buffer);
        leaving_.emplace_back(std::move(buffer), leaves);
        out_(leaves);
        ReclaimLeaving(released_ ? kLeaving : 0);
      }
      lock.lock();
      waiting_ -= layout_->chunks()[out_next_++].bytes;
      changed_.notify_all();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    KeepError();
  }
}

void CheckChunk(net::ChunkTags& tags, uint64_t number, View chunk, const std::string& what) {
  if (!Equal(tags.Of(number, chunk.subspan(kTag), {}), chunk.first(kTag)))
    Fail(Cause::kRefused, what, " was altered; it is burnt, start again");
}

View ChunkVerifier::Verify(View chunk, const std::string& what) {
  if (!left_ || chunk.size() != bytes())
    Fail(Cause::kRefused, what, " is cut short or too long; it is burnt, start again");
  View data = chunk.subspan(kTag);
  CheckChunk(tags_, next_, chunk, what);
  left_ -= data.size();
  ++next_;
  return data;
}

Hash Bundle::hash() const {
  Sha256 h;
  h.Add(Encode(header));
  for (size_t i = 0; i < keys->layout().chunks().size(); ++i) h.Add(keys->Data(i));
  return h.Done();
}

}  // namespace suf::store
