// What this machine lets a process do at once, and so how long it pays to watch for the other one's turn.
#pragma once
#include <sched.h>

#include <chrono>

namespace suf {

// Cores: processors this process may use.
int Cores();

// Many: so many that a thread which watches keeps nobody from a core.
inline bool Many(int cores) { return cores >= 8; }

// Watch: looks until then whether there() is true, and yields between two looks, so that the peer, whose turn comes
// next, finds its core. Whether it was. Who sleeps instead is woken some 30 us later on a virtual machine.
template <class F>
bool Watch(std::chrono::steady_clock::time_point until, F&& there) {
  for (; std::chrono::steady_clock::now() < until; sched_yield())
    if (there()) return true;
  return false;
}

}  // namespace suf
