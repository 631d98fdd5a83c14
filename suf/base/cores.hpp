// How a thread waits: how many cores this process has, and how long a thread polls before it sleeps.
#pragma once
#include <sched.h>

#include <chrono>
#include <mutex>

namespace suf {

// Returns the number of processors that this process may use, at least 1.
int Cores();

// Whether so many cores can spare one for a thread that polls.
inline bool HasManyCores(int cores) { return cores >= 8; }

// Pauses for about a microsecond, or until changed() is true. The core's other hardware thread runs meanwhile.
template <class F>
void Pause(F&& changed) {
  for (int i = 0; i < 20 && !changed(); ++i) __builtin_ia32_pause();
}

// Polls ready() at least once, until it is true or the deadline passes. Returns whether it was true. On few cores it
// yields to another thread between two polls, because the peer works next. On many cores it only pauses, and yields
// every eighth time, because polling threads may outnumber the cores. If changed() is true, a pause ends early; it
// makes no system call. Polling pays because waking a sleeping thread takes about 30 us on a virtual machine.
template <class F, class Changed>
bool PollUntil(std::chrono::steady_clock::time_point deadline, F&& ready, Changed&& changed) {
  static const bool many = HasManyCores(Cores());
  for (unsigned polls = 1;; ++polls) {
    if (ready()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (many && polls % 8)
      Pause(changed);
    else
      sched_yield();
  }
}
// Polls in the same way, without an early end of a pause.
template <class F>
bool PollUntil(std::chrono::steady_clock::time_point deadline, F&& ready) {
  return PollUntil(deadline, ready, [] { return false; });
}

// Returns the time until which a thread that starts to wait for the peer polls before it sleeps. On many cores this
// outlasts the peer's turn, as in the pool. See docs/design/scheduling.md#pool and #watching.
inline std::chrono::steady_clock::time_point PollDeadline() {
  static const auto time = std::chrono::microseconds(HasManyCores(Cores()) ? 1000 : 20);
  return std::chrono::steady_clock::now() + time;
}

// Locks a mutex that is never held for long: tries 300 times before it sleeps.
inline std::unique_lock<std::mutex> SpinThenLock(std::mutex& m) {
  std::unique_lock l(m, std::try_to_lock);
  for (int i = 0; !l && i < 300; ++i) {
    __builtin_ia32_pause();
    (void)l.try_lock();
  }
  if (!l) l.lock();
  return l;
}

}  // namespace suf
