#include "suf/store/bundle.hpp"

#include <algorithm>

#include "suf/exec/pool.hpp"

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
    : Sink(key, std::move(layout), std::move(out), nullptr, nullptr, window) {}

Sink::Sink(const Hash& key, SharedLayout layout, Out out, Out gone, uint64_t window)
    : Sink(key, std::move(layout), std::move(out), std::move(gone), nullptr, window) {}

Sink::Sink(const Hash& key, SharedLayout layout, Keep keep)
    : Sink(key, std::move(layout), nullptr, nullptr, std::move(keep), ~uint64_t{0}) {}

Sink::Sink(const Hash& key, SharedLayout layout, Out out, Out gone, Keep keep, uint64_t window)
    : layout_(std::move(layout)),
      window_(window),
      usual_(kTag + std::min<uint64_t>(kChunkBytes, layout_->largest())),
      out_(std::move(out)),
      gone_(std::move(gone)),
      keep_(std::move(keep)),
      chunks_(layout_->chunks().size()) {
  tags_ = net::ChunkTags::Several(key);  // one thread makes fewer of them than a device makes keys
  for (size_t i = 0; i < chunks_.size(); ++i) chunks_[i].left = layout_->chunks()[i].sections;
  pump_ = std::thread([this] { Pump(); });
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
    const uint64_t exact = kTag + layout_->chunks()[s.chunk].bytes;
    const size_t bytes = keep_ ? exact : std::max(usual_, exact);
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

// Gone: of the chunks that leave all but so many are read no more; their rooms serve others.
void Sink::Gone(size_t but) {
  for (; leaving_.size() > but; leaving_.pop_front()) {
    auto& [room, chunk] = leaving_.front();
    if (gone_) gone_(chunk);
    if (room.size() != usual_) continue;
    std::lock_guard lock(m_);
    idle_.push_back(std::move(room));
  }
}

void Sink::Pump() {
  struct All {
    Sink* sink;
    ~All() { sink->Gone(0); }
  } all{this};  // whatever ends it, and after the lock
  exec::Pool pool(int(tags_.size()));
  std::unique_lock lock(m_);
  try {
    for (;;) {
      changed_.wait(lock, [&] { return out_next_ < done_ || closed_; });
      if (out_next_ == done_) return;
      const size_t first = out_next_, many = std::min(done_ - first, tags_.size());
      std::vector<exec::HostBuffer> rooms;
      for (size_t i = 0; i < many; ++i) rooms.push_back(std::move(chunks_[first + i].room));
      lock.unlock();
      const auto bytes = [&](size_t i) { return layout_->chunks()[first + i].bytes; };
      const auto chunk = [&](size_t i) { return rooms[i].span().first(kTag + bytes(i)); };
      pool.For(many, 1, [&](size_t lo, size_t hi) {
        for (size_t i = lo; i < hi; ++i) {
          const auto tag = tags_[i].Of(first + i, View(chunk(i)).subspan(kTag), {});
          std::copy(tag.begin(), tag.end(), chunk(i).begin());
        }
      });
      for (size_t i = 0; i < many; ++i) {
        lock.lock();
        if (dropped_) return;
        lock.unlock();
        if (keep_) {
          keep_(std::exchange(rooms[i], {}));
        } else {
          const View leaves = chunk(i);
          leaving_.emplace_back(std::move(rooms[i]), leaves);
          out_(leaves);
          Gone(gone_ ? kLeaving : 0);
        }
        lock.lock();
        ++out_next_, waiting_ -= bytes(i);
        lock.unlock();
        changed_.notify_all();
      }
      lock.lock();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

void CheckChunk(net::ChunkTags& tags, uint64_t number, View chunk, const std::string& what) {
  if (!Equal(tags.Of(number, chunk.subspan(kTag), {}), chunk.first(kTag)))
    Fail(Cause::kRefused, what, " was altered; it is burnt, start again");
}

View Chain::Next(View chunk, const std::string& what) {
  if (!left_ || chunk.size() != bytes())
    Fail(Cause::kRefused, what, " is cut short or too long; it is burnt, start again");
  View data = chunk.subspan(kTag);
  CheckChunk(tags_, next_, chunk, what);
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
