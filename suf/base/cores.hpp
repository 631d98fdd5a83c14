// What this machine lets a process do at once, and so how long it pays to watch for the other one's turn.
#pragma once
#include <sched.h>

#include <chrono>
#include <mutex>

namespace suf {

// Cores: processors this process may use.
int Cores();

// Many: so many that a thread which watches keeps nobody from a core.
inline bool Many(int cores) { return cores >= 8; }

// Watch: looks once, and on until then, whether there() is true, and yields between two looks, so that the peer, whose
// turn comes next, finds its core. Whether it was. Who sleeps instead is woken some 30 us later on a virtual machine.
template <class F>
bool Watch(std::chrono::steady_clock::time_point until, F&& there) {
  for (;; sched_yield()) {
    if (there()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
  }
}

// Locked: a lock that nobody holds for long: who finds it taken looks again some hundred times before he sleeps.
inline std::unique_lock<std::mutex> Locked(std::mutex& m) {
  std::unique_lock l(m, std::try_to_lock);
  for (int i = 0; !l && i < 300; ++i) {
    __builtin_ia32_pause();
    (void)l.try_lock();
  }
  if (!l) l.lock();
  return l;
}

}  // namespace suf
