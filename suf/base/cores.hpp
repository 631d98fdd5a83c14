// What this machine lets a process do at once, and so how long it pays to watch for the other one's turn.
#pragma once
#include <sched.h>

#include <chrono>
#include <mutex>

namespace suf {

// Processors this process may use.
int Cores();

// So many that a thread which watches keeps nobody from a core.
inline bool Many(int cores) { return cores >= 8; }

// Pause: for about a microsecond, or until soon() is true, the processor's other thread has most of the core.
template <class F>
void Pause(F&& soon) {
  for (int i = 0; i < 20 && !soon(); ++i) __builtin_ia32_pause();
}

// Watch: looks once, and on until then, whether there() is true; whether it was. Between two looks it leaves the core:
// where cores are few to another thread, as the peer's turn comes next, else to the processor's, and every eighth time
// to another thread, as those who watch may be more than the cores. `soon`, a look that asks nothing of the system,
// ends a pause early. Who sleeps instead is woken some 30 us later on a virtual machine.
template <class F, class Soon>
bool Watch(std::chrono::steady_clock::time_point until, F&& there, Soon&& soon) {
  static const bool many = Many(Cores());
  for (unsigned looks = 1;; ++looks) {
    if (there()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    if (many && looks % 8)
      Pause(soon);
    else
      sched_yield();
  }
}
template <class F>
bool Watch(std::chrono::steady_clock::time_point until, F&& there) {
  return Watch(until, there, [] { return false; });
}

// Until when a thread that waits for the peer from now on watches, before it sleeps: where cores are many, it
// outwaits the peer's turn, as the pool does. docs/design/scheduling.md#pool, #watching.
inline std::chrono::steady_clock::time_point Patience() {
  static const auto time = std::chrono::microseconds(Many(Cores()) ? 1000 : 20);
  return std::chrono::steady_clock::now() + time;
}

// A lock that nobody holds for long: who finds it taken looks again some hundred times before he sleeps.
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
