// A cache of immutable values that take long to make and much memory, such as traces and their plans. Values that were
// not used for the longest time are dropped first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace suf {

// Returns the bytes of a vector's elements in memory, with those of the allocator.
template <class T>
uint64_t HeapBytes(const std::vector<T>& v) {
  return v.capacity() ? v.capacity() * sizeof(T) + 16 : 0;
}

// Keeps values within a limit of bytes. A value in use is never dropped, so the limit may be exceeded meanwhile.
// Thread-safe.
template <class Key, class Value>
class LruCache {
 public:
  explicit LruCache(uint64_t limit) : limit_(limit) {}
  // A value and its bytes in memory.
  using SizedValue = std::pair<std::shared_ptr<const Value>, uint64_t>;

  // Returns the kept value of this key, or makes and keeps it: make() returns a SizedValue. If several threads need one
  // key, one calls make() and the others wait for it. Threads with other keys go on. If make() throws, each waiting
  // thread calls its own.
  template <class F>
  std::shared_ptr<const Value> Get(const Key& key, F make) {
    const std::shared_ptr<CacheSlot> slot = Find(key);
    const std::lock_guard making(slot->making);
    if (slot->value) return slot->value;
    try {
      SizedValue made = make();
      Keep(key, *slot, made);
      return std::move(made.first);
    } catch (...) {
      Forget(key, *slot);
      throw;
    }
  }
  // Sets the limit, and drops values beyond it.
  void SetLimit(uint64_t bytes) {
    std::vector<std::shared_ptr<CacheSlot>> dropped;
    const std::lock_guard l(m_);
    limit_ = bytes;
    dropped = Evict();
  }
  // Returns the bytes of all kept values.
  uint64_t bytes() const {
    const std::lock_guard l(m_);
    return bytes_;
  }
  // Returns the number of kept values.
  size_t size() const {
    const std::lock_guard l(m_);
    return size_t(std::count_if(slots_.begin(), slots_.end(), [](auto& s) { return s.second->bytes > 0; }));
  }

 private:
  // The place of a value. `making` is held while it is made. The cache's lock guards the rest, but only the thread that
  // holds `making` sets `value`.
  struct CacheSlot {
    std::mutex making;
    std::shared_ptr<const Value> value;
    uint64_t bytes = 0;  // 0: there is no value yet
    uint64_t used = 0;   // the number of the last use
  };

  std::shared_ptr<CacheSlot> Find(const Key& key) {
    const std::lock_guard l(m_);
    std::shared_ptr<CacheSlot>& slot = slots_[key];
    if (!slot) slot = std::make_shared<CacheSlot>();
    slot->used = ++uses_;
    return slot;
  }
  void Keep(const Key& key, CacheSlot& slot, const SizedValue& made) {
    std::vector<std::shared_ptr<CacheSlot>> dropped;  // freed without the lock
    const std::lock_guard l(m_);
    // another thread may have failed and removed the slot
    if (const auto at = slots_.find(key); at == slots_.end() || at->second.get() != &slot) return;
    slot.value = made.first;
    slot.bytes = std::max<uint64_t>(1, made.second);
    bytes_ += slot.bytes;
    dropped = Evict();
  }
  void Forget(const Key& key, const CacheSlot& slot) {
    const std::lock_guard l(m_);
    if (const auto at = slots_.find(key); at != slots_.end() && at->second.get() == &slot) slots_.erase(at);
  }
  // Removes values that are not in use, oldest use first, until the rest fits. Threads hold a slot while they read it.
  std::vector<std::shared_ptr<CacheSlot>> Evict() {
    std::vector<std::shared_ptr<CacheSlot>> dropped;
    while (bytes_ > limit_) {
      auto oldest = slots_.end();
      for (auto at = slots_.begin(); at != slots_.end(); ++at) {
        const bool idle = at->second->bytes && at->second.use_count() == 1 && at->second->value.use_count() == 1;
        if (idle && (oldest == slots_.end() || at->second->used < oldest->second->used)) oldest = at;
      }
      if (oldest == slots_.end()) break;
      bytes_ -= oldest->second->bytes;
      dropped.push_back(std::move(oldest->second));
      slots_.erase(oldest);
    }
    return dropped;
  }

  mutable std::mutex m_;
  std::map<Key, std::shared_ptr<CacheSlot>> slots_;
  uint64_t limit_, bytes_ = 0, uses_ = 0;
};

}  // namespace suf
