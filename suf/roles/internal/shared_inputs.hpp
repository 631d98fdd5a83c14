// Inputs that several runs use at the same time: a model's weights, the dealer's B, P1's masked weights.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "suf/run/inputs.hpp"

namespace suf::roles {

// Inputs by key. The first thread that needs some makes them, while threads with other keys go on. The inputs that were
// used last stay. Older ones are wiped as soon as nothing uses them. A run takes a copy, which shares arrays and
// versions, so that a backend prepares each weight once. Thread-safe.
template <class Key>
class SharedInputs {
 public:
  // Keeps the inputs of the `most` keys that were used last.
  explicit SharedInputs(size_t most) : most_(most) {}

  // Returns the inputs of this key. If there are none, `make` sets them; if it throws, the next call makes them.
  template <class Make>
  std::shared_ptr<const run::Inputs> Get(const Key& key, const Make& make) {
    const std::shared_ptr<Entry> entry = Use(key, true);
    std::lock_guard l(entry->m);
    if (!entry->complete) {
      run::Inputs inputs;
      make(inputs);
      entry->inputs = std::move(inputs);
      entry->complete = true;
    }
    return {entry, &entry->inputs};
  }

  // Returns the inputs of this key; null if there are none.
  std::shared_ptr<const run::Inputs> Find(const Key& key) {
    const std::shared_ptr<Entry> entry = Use(key, false);
    if (!entry) return nullptr;
    std::lock_guard l(entry->m);
    return entry->complete ? std::shared_ptr<const run::Inputs>(entry, &entry->inputs) : nullptr;
  }

 private:
  struct Entry {
    std::mutex m;  // held while the inputs are made
    bool complete = false;
    run::Inputs inputs;
  };

  // Returns the entry of this key as the one used last. If there is none, makes it or returns null.
  std::shared_ptr<Entry> Use(const Key& key, bool make) {
    std::shared_ptr<Entry> oldest;  // wiped after the lock is released
    std::lock_guard l(m_);
    std::erase_if(known_, [](const auto& k) { return k.second.expired(); });
    const auto at = known_.find(key);
    std::shared_ptr<Entry> entry = at == known_.end() ? nullptr : at->second.lock();
    if (!entry) {
      if (!make) return nullptr;
      known_[key] = entry = std::make_shared<Entry>();
    }
    std::erase(last_, entry);
    last_.push_front(entry);
    if (last_.size() > most_) {
      oldest = std::move(last_.back());
      last_.pop_back();
    }
    return entry;
  }

  const size_t most_;
  std::mutex m_;                               // guards the members below
  std::map<Key, std::weak_ptr<Entry>> known_;  // of `last_` and of runs
  std::deque<std::shared_ptr<Entry>> last_;    // the one used last comes first
};

}  // namespace suf::roles
