// Deaths of a process at a chosen system call that changes the disk, and a disk that is full. A test redirects the
// calls to Call, and runs in a child the code that dies.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>

#include "tests/faults/disk.hpp"

namespace suf::faults {

// SIGKILL before the call, after a half of it, or after it; or a loss of power before it.
enum class Death { kBefore, kTorn, kAfter, kPower };
inline int due = 0;    // the call at which this process dies; 0: calls are not counted
inline int calls = 0;  // that were made so far
inline Death death;
inline std::optional<Disk> disk;

[[noreturn]] inline void Die() {
  if (death == Death::kPower) disk->Lose();
  raise(SIGKILL);
  abort();
}

inline int full_first = 0, full_last = 0;  // the calls that fail as on a full disk; 0: none

// Makes one system call; `half` does a part of it. A call that frees space succeeds on a full disk.
template <class F, class H>
auto Call(F&& call, H&& half, bool frees = false) {
  if (full_first && !frees && ++calls >= full_first && calls <= full_last) {
    half();
    errno = ENOSPC;
    return decltype(call())(-1);
  }
  if (!due) return call();
  bool now = ++calls == due;
  if (now && death == Death::kTorn) half();
  if (now && death != Death::kAfter) Die();
  auto r = call();
  if (now) Die();
  return r;
}
inline void None() {}

// Records a sync that succeeded.
inline int Synced(int fd, int r) {
  if (disk && !r) disk->Sync(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
  return r;
}

// Runs f, whose calls from `first` to `last` fail as on a full disk. Returns whether f made the first of them.
inline bool OnFullDisk(int first, int last, const std::function<void()>& f) {
  calls = 0;
  full_first = first;
  full_last = last;
  f();
  full_first = 0;
  return calls >= first;
}

// Runs f, which dies at call `at`; returns false if it made fewer calls. The calls of `prepare` before it are not
// counted.
inline bool InChild(
    const std::string& dir, int at, Death how, const std::function<void()>& f,
    const std::function<void()>& prepare = [] {}) {
  pid_t child = fork();
  if (!child) {
    death = how;
    try {
      prepare();
      disk.emplace(dir, dir + ".lost");
      calls = 0;
      due = at;
      f();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      _exit(1);
    }
    _exit(testing::Test::HasFailure());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(killed || status == 0) << "status " << status;
  return killed;
}

}  // namespace suf::faults
