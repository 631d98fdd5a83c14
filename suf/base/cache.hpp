// The values of a pure function, kept by its arguments. It serves functions that are called often with few arguments.
// An example is the digits of a cut while thousands of traces are priced. Thread-safe.
#pragma once
#include <map>
#include <memory>
#include <mutex>

namespace suf {

template <class Key, class Value>
class Cache {
 public:
  // Returns the kept value of this key, or keeps that of make(). Concurrent threads may each call make(); the first
  // value is kept.
  template <class F>
  std::shared_ptr<const Value> Get(const Key& key, F make) {
    {
      const std::lock_guard lock(mutex_);
      if (auto at = values_.find(key); at != values_.end()) return at->second;
    }
    auto made = std::make_shared<const Value>(make());
    const std::lock_guard lock(mutex_);
    return values_.try_emplace(key, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Value>> values_;
};

}  // namespace suf
