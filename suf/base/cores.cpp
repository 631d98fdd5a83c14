#include "suf/base/cores.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace suf {

namespace {

// All running inferences. `cores` is the result of RunningCores; 0: not computed yet.
struct Running {
  std::mutex m;
  std::vector<const RunningInference*> all;
  std::atomic<int> cores{0};
};
Running& TheRunning() {
  static Running running;
  return running;
}

}  // namespace

int Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

uint64_t MachineMemory() {
  uint64_t bytes = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream in(limit);
    if (uint64_t most = 0; in >> most && most) bytes = std::min(bytes, most);  // "max" is no number
  }
  return bytes;
}

int RunningCores() {
  std::atomic<int>& cores = TheRunning().cores;
  int now = cores.load(std::memory_order_relaxed);
  if (now) return now;
  now = Cores();
  int none = 0;
  return cores.compare_exchange_strong(none, now, std::memory_order_relaxed) ? now : none;
}

bool RunningInference::IsStalled(Clock::time_point now) const {
  const Clock::rep since = since_.load(std::memory_order_relaxed);
  return since && now - Clock::time_point(Clock::duration(since)) > kStalled;
}

// The caller holds the lock.
void RunningInference::Count() {
  Running& running = TheRunning();
  const auto now = Clock::now();
  const auto work = std::count_if(running.all.begin(), running.all.end(), [&](auto* r) { return !r->IsStalled(now); });
  running.cores.store(std::max(1, Cores() / std::max(1, int(work))), std::memory_order_relaxed);
}

RunningInference::RunningInference() {
  Running& running = TheRunning();
  const std::lock_guard l(running.m);
  running.all.push_back(this);
  Count();
  cores_ = running.cores.load(std::memory_order_relaxed);
}

RunningInference::~RunningInference() {
  Running& running = TheRunning();
  const std::lock_guard l(running.m);
  std::erase(running.all, this);
  Count();
}

}  // namespace suf
