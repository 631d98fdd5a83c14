#include "suf/exec/pools.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "suf/base/cores.hpp"

namespace suf::exec {

struct Pools::Lease::State {
  State(int c, Pool* o) : cores(c), only(o) {}

  std::unique_ptr<Pool> Take(int threads) {
    {
      const std::lock_guard l(m);
      const auto at = std::find_if(idle.begin(), idle.end(), [&](auto& p) { return p->threads() == threads; });
      if (at != idle.end()) {
        std::unique_ptr<Pool> pool = std::move(*at);
        idle.erase(at);
        return pool;
      }
    }
    return std::make_unique<Pool>(threads);
  }
  // Keeps the pool that was used last in front. Drops the oldest pools beyond kIdle threads a core, which sleep but
  // hold a stack each.
  void Give(std::unique_ptr<Pool> pool) {
    std::list<std::unique_ptr<Pool>> dropped;  // joined without the lock
    const std::lock_guard l(m);
    idle.push_front(std::move(pool));
    int threads = 0;
    auto at = idle.begin();
    while (at != idle.end() && (threads += (*at)->threads()) <= kIdle * cores) ++at;
    dropped.splice(dropped.begin(), idle, at, idle.end());
  }

  static constexpr int kIdle = 4;
  const int cores;
  Pool* const only;
  std::mutex m;
  std::list<std::unique_ptr<Pool>> idle;  // the last one in use first
};

Pools::Lease::Lease(std::shared_ptr<State> from, std::unique_ptr<Pool> own, Pool* pool)
    : from_(std::move(from)), own_(std::move(own)), pool_(pool) {}

Pools::Lease::~Lease() {
  if (own_) from_->Give(std::move(own_));
}

Pools::Pools(int cores) : s_(std::make_shared<Lease::State>(std::max(1, cores), nullptr)) {}
Pools::Pools(Pool& only) : s_(std::make_shared<Lease::State>(only.threads(), &only)) {}

Pools::Lease Pools::Take() const {
  if (s_->only) return {s_, nullptr, s_->only};
  std::unique_ptr<Pool> own = s_->Take(std::min(RunningCores(), s_->cores));
  Pool* const pool = own.get();
  return {s_, std::move(own), pool};
}

size_t Pools::idle() const {
  const std::lock_guard l(s_->m);
  return s_->idle.size();
}

Pools& DefaultPools() {
  static Pools pools(Cores());
  return pools;
}

}  // namespace suf::exec
