// Cores and memory of this process and of its inferences, and how long a waiting thread polls before it sleeps.
#pragma once
#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>

namespace suf {

// Returns the number of processors that this process may use, at least 1.
int Cores();

// Returns the bytes of the machine's memory, or the limit of this process's container (cgroup) if that is lower.
uint64_t MachineMemory();

// Returns the cores of one running inference of this process: Cores() divided by their number, at least 1. It is
// Cores() while none runs. One relaxed read.
int RunningCores();

// A running inference of this process, or a running deal. It is counted while it exists. Threads of other inferences
// are neither taken away nor added when one begins or ends.
class RunningInference {
 public:
  using Clock = std::chrono::steady_clock;
  // If an inference has waited for another process for longer than this, its cores count as free when another begins.
  static constexpr std::chrono::seconds kStalled{1};
  RunningInference();
  ~RunningInference();
  RunningInference(const RunningInference&) = delete;
  RunningInference& operator=(const RunningInference&) = delete;
  // Returns the cores that it got when it began.
  int cores() const { return cores_; }
  // Marks that it waits for another process, until Resume.
  void Wait(Clock::time_point since) { since_.store(since.time_since_epoch().count(), std::memory_order_relaxed); }
  void Resume() { since_.store(0, std::memory_order_relaxed); }

 private:
  bool IsStalled(Clock::time_point now) const;
  static void Count();

  std::atomic<Clock::rep> since_{0};  // 0: it waits for no process
  int cores_ = 1;
};

// Whether so many cores can spare one for a thread that polls.
inline bool HasManyCores(int cores) { return cores >= 8; }

// Pauses for about a microsecond, or until changed() is true. The core's other hardware thread runs meanwhile.
template <class F>
void Pause(F&& changed) {
  for (int i = 0; i < 20 && !changed(); ++i) __builtin_ia32_pause();
}

// Polls ready() at least once, until it is true or the deadline passes. Returns whether it was true. If an inference
// has few cores (RunningCores), it yields to another thread between two polls, because the peer works next. With many
// it only pauses, and yields every eighth time, because polling threads may outnumber the cores. If changed() is true,
// a pause ends early; it makes no system call. Polling pays because waking a sleeping thread takes about 30 us on a
// virtual machine.
template <class F, class Changed>
bool PollUntil(std::chrono::steady_clock::time_point deadline, F&& ready, Changed&& changed) {
  const bool many = HasManyCores(RunningCores());
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

// Returns the time until which a thread that starts to wait for the peer polls before it sleeps. With many cores this
// outlasts the peer's turn, as in the pool. See docs/design/scheduling.md#pool and #watching.
inline std::chrono::steady_clock::time_point PollDeadline() {
  const auto time = std::chrono::microseconds(HasManyCores(RunningCores()) ? 1000 : 20);
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
