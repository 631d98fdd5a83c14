#include "suf/exec/pool.hpp"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace suf::exec {

namespace {

thread_local bool inside = false;

// A step of an inference is a chain of short ranges: a worker that waits this long for the next one spares most
// wake-ups, and yields while it does, so that the peer, whose turn comes next, finds its core. Three processes on 2
// virtual cores, 32 tokens, online: 76 ms; 83 with 400 us; without yielding 83 with 150, 87 with 60, 95 with 20.
constexpr auto kPatience = std::chrono::microseconds(150);
constexpr uint32_t kOpen = 1u << 31;

}  // namespace

struct Pool::State {
  std::vector<std::thread> threads;
  std::mutex one;  // one For at a time

  // The range being worked on. gate: kOpen while it may be entered, plus the number of workers inside; it is changed
  // only while closed and empty, so a worker that entered reads it safely, and one that comes too late leaves at once
  // and holds nobody up.
  std::atomic<uint32_t> gate{0};
  const std::function<void(size_t, size_t)>* f = nullptr;
  size_t n = 0, chunk = 0;
  std::atomic<size_t> next{0};
  std::mutex error_m;
  std::exception_ptr error;

  std::atomic<uint64_t> round{0};
  std::atomic<int> asleep{0};
  std::mutex m;
  std::condition_variable wake;
  std::atomic<bool> stopping{false};

  void Work() {
    inside = true;
    for (size_t a; (a = next.fetch_add(chunk)) < n;) {
      try {
        (*f)(a, std::min(n, a + chunk));
      } catch (...) {
        std::lock_guard l(error_m);
        if (!error) error = std::current_exception();
        next = n;
      }
    }
    inside = false;
  }

  bool Enter() {
    uint32_t v = gate.load();
    while (v & kOpen)
      if (gate.compare_exchange_weak(v, v + 1)) return true;
    return false;
  }

  void Loop() {
    for (uint64_t seen = 0;;) {
      auto until = std::chrono::steady_clock::now() + kPatience;
      while (round.load() == seen && std::chrono::steady_clock::now() < until) sched_yield();
      if (round.load() == seen) {
        std::unique_lock l(m);
        ++asleep;
        wake.wait(l, [&] { return round.load() != seen; });
        --asleep;
      }
      if (stopping.load()) return;
      seen = round.load();
      if (Enter()) {
        Work();
        gate.fetch_sub(1);
      }
    }
  }
};

Pool::Pool(int threads) : s_(new State) {
  for (int i = 1; i < threads; ++i) s_->threads.emplace_back([this] { s_->Loop(); });
}

Pool::~Pool() {
  {
    std::lock_guard l(s_->m);
    s_->stopping = true;
    ++s_->round;
  }
  s_->wake.notify_all();
  for (auto& t : s_->threads) t.join();
  delete s_;
}

int Pool::threads() const { return int(s_->threads.size()) + 1; }

void Pool::For(size_t n, size_t grain, const std::function<void(size_t, size_t)>& f) {
  if (n == 0) return;
  grain = std::max<size_t>(grain, 1);
  if (inside || s_->threads.empty() || n <= grain) return f(0, n);
  std::lock_guard one(s_->one);
  // about four chunks a thread, so that a slow core does not hold the others up
  size_t parts = size_t(threads()) * 4;
  s_->f = &f, s_->n = n, s_->chunk = (n + parts * grain - 1) / (parts * grain) * grain, s_->next = 0,
  s_->error = nullptr;
  s_->gate.store(kOpen);
  ++s_->round;
  if (s_->asleep.load() > 0) {
    { std::lock_guard l(s_->m); }  // a worker between its last look and its sleep would miss the call
    s_->wake.notify_all();
  }
  s_->Work();
  s_->gate.fetch_and(~kOpen);
  for (int spins = 0; s_->gate.load() != 0; ++spins) {
    if (spins < 2000)
      _mm_pause();
    else
      sched_yield();
  }
  if (s_->error) std::rethrow_exception(s_->error);
}

int Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

Pool& Default() {
  static Pool pool(Cores());
  return pool;
}

}  // namespace suf::exec
