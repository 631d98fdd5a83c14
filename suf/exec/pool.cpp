#include "suf/exec/pool.hpp"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "suf/base/cores.hpp"

namespace suf::exec {

namespace {

thread_local bool inside = false;

// How long an idle worker polls before it sleeps. A step of an inference is a chain of short ranges, so polling spares
// most wake-ups. The worker yields meanwhile, so that the peer, which works next, finds a core. Online times of 32
// tokens, three processes on 2 virtual cores:
//
//     yielding:         76 ms with 150 us, 83 ms with 400 us
//     without yielding: 83 ms with 150 us, 87 ms with 60 us, 95 ms with 20 us
//
// On many cores a worker outlasts the peer's turn: docs/design/scheduling.md#pool.
constexpr auto kPollTime = std::chrono::microseconds(150), kPollTimeOfManyCores = std::chrono::microseconds(1000);
constexpr size_t kWakes = 4;  // sleepers that one thread wakes
constexpr uint32_t kOpen = 1u << 31;
constexpr int kThreadBits = 16;
constexpr size_t kAll = (1u << kThreadBits) - 1;

}  // namespace

struct Pool::State {
  // `sleeping` is 1 while the worker sleeps. A waking thread sets it to 0.
  struct alignas(64) Worker {
    std::atomic<uint32_t> sleeping{0};
    std::thread thread;
  };

  explicit State(size_t count) : workers(count) {}

  std::vector<Worker> workers;  // thread i of a range is workers[i - 1], thread 0 its caller
  std::mutex one;               // one For at a time

  // The gate of the current range: kOpen while it may be entered, plus the number of workers inside. The range changes
  // only while the gate is closed and empty, so a worker inside reads it safely. A worker that is late leaves at once
  // and delays no other.
  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<size_t> next{0};
  alignas(64) const std::function<void(size_t, size_t)>* f = nullptr;
  size_t n = 0, chunk = 0;
  std::mutex error_m;
  std::exception_ptr error;  // of the part that begins at error_at; those below it have begun and will end
  size_t error_at = 0;

  // The range's number << kThreadBits | its number of threads. Workers beyond that number neither enter nor are woken.
  // The last call has kAll threads: only then does a worker leave, after it has woken those below it.
  alignas(64) std::atomic<uint64_t> call{0};

  void Work() {
    inside = true;
    for (size_t a; (a = next.fetch_add(chunk)) < n;) {
      try {
        (*f)(a, std::min(n, a + chunk));
      } catch (...) {
        std::lock_guard l(error_m);
        if (!error || a < error_at) {
          error = std::current_exception();
          error_at = a;
        }
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

  static size_t ThreadsOf(uint64_t called) { return called & kAll; }

  // Wakes the sleeping workers below this one in a tree, so that no thread wakes all.
  void Wake(size_t index, size_t threads) {
    threads = std::min(threads, workers.size() + 1);
    for (size_t below = kWakes * index + 1; below <= kWakes * (index + 1) && below < threads; ++below) {
      auto& sleeping = workers[below - 1].sleeping;
      if (sleeping.load() != 0 && sleeping.exchange(0) != 0) sleeping.notify_one();
    }
  }

  // Waits for a range that wants this worker and is not the one of call `seen`. Returns its call.
  uint64_t AwaitCall(size_t index, uint64_t seen) {
    auto& sleeping = workers[index - 1].sleeping;
    const auto poll_time = HasManyCores(int(workers.size()) + 1) ? kPollTimeOfManyCores : kPollTime;
    for (uint64_t now = seen;;) {
      const auto wanted = [&] {
        now = call.load();
        return now != seen && ThreadsOf(now) > index;
      };
      if (PollUntil(std::chrono::steady_clock::now() + poll_time, wanted)) return now;
      sleeping = 1;
      if (call.load() == now) sleeping.wait(1);  // otherwise a call may have missed that it sleeps
      sleeping = 0;
    }
  }

  void Loop(size_t index) {
    for (uint64_t seen = 0;;) {
      seen = AwaitCall(index, seen);
      Wake(index, ThreadsOf(seen));
      if (ThreadsOf(seen) == kAll) return;
      if (Enter()) {
        Work();
        gate.fetch_sub(1);
      }
    }
  }

  void Call(size_t threads) {
    call = ((call.load() >> kThreadBits) + 1) << kThreadBits | threads;
    Wake(0, threads);
  }
};

Pool::Pool(int threads) : s_(new State(size_t(std::clamp(threads, 1, int(kAll) - 1)) - 1)) {
  for (size_t i = 0; i < s_->workers.size(); ++i) s_->workers[i].thread = std::thread([this, i] { s_->Loop(i + 1); });
}

Pool::~Pool() {
  s_->Call(kAll);
  for (auto& w : s_->workers) w.thread.join();
  delete s_;
}

int Pool::threads() const { return int(s_->workers.size()) + 1; }

void Pool::For(size_t n, size_t grain, const std::function<void(size_t, size_t)>& f) {
  if (n == 0) return;
  grain = std::max<size_t>(grain, 1);
  if (inside || s_->workers.empty() || n <= grain) return f(0, n);
  std::lock_guard one(s_->one);
  const size_t grains = (n + grain - 1) / grain, used = std::min(size_t(threads()), grains);
  // about four chunks per thread, so that a slow core does not delay the others
  s_->f = &f;
  s_->n = n;
  s_->chunk = (grains + used * 4 - 1) / (used * 4) * grain;
  s_->next = 0;
  s_->error = nullptr;
  s_->gate.store(kOpen);
  s_->Call(used);
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

Pool& Default() {
  static Pool pool(Cores());
  return pool;
}

void Copy(View from, uint8_t* to) {
  constexpr size_t kPiece = size_t{256} << 10;
  const auto piece = [&](size_t lo, size_t hi) {
    std::copy(from.begin() + ptrdiff_t(lo), from.begin() + ptrdiff_t(hi), to + lo);
  };
  if (from.size() <= kPiece) return piece(0, from.size());
  static Pool pool(std::min(Cores(), 4));
  pool.For(from.size(), kPiece, piece);
}

}  // namespace suf::exec
