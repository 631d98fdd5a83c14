// Pools of threads that running inferences lease. An inference waits for its peer inside Pool::For, and a pool runs one
// range at a time. With a pool of its own it delays no other inference (docs/design/scheduling.md#leases).
#pragma once
#include <memory>

#include "suf/exec/pool.hpp"

namespace suf::exec {

// A source of pools. Copies share their idle pools. Thread-safe.
class Pools {
 public:
  // Makes pools of at most `cores` threads. An idle pool serves again for a lease of its size.
  explicit Pools(int cores);
  // Makes every lease that of `only`, which must outlive all leases. Two runs that share a pool may wait for each
  // other's peer. So this is for tests, and for a process with one run at a time.
  Pools(Pool& only);  // NOLINT(google-explicit-constructor): a pool stands for itself

  // The right to one pool. It must be taken and used outside the threads of other pools, whose ranges run inline.
  class Lease {
   public:
    Lease(Lease&&) noexcept = default;
    ~Lease();
    Pool& pool() const { return *pool_; }

   private:
    friend class Pools;
    struct State;
    Lease(std::shared_ptr<State> from, std::unique_ptr<Pool> own, Pool* pool);
    std::shared_ptr<State> from_;
    std::unique_ptr<Pool> own_;
    Pool* pool_;
  };
  // Leases a pool of RunningCores() threads, as they are now.
  Lease Take() const;
  // Returns the number of idle pools.
  size_t idle() const;

 private:
  std::shared_ptr<Lease::State> s_;
};

// Returns the process's pools, of at most Cores() threads each.
Pools& DefaultPools();

}  // namespace suf::exec
