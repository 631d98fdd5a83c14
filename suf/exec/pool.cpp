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

// A step of an inference is a chain of short ranges: a worker that waits this long for the next one spares most
// wake-ups, and yields while it does, so that the peer, whose turn comes next, finds its core. Three processes on 2
// virtual cores, 32 tokens, online: 76 ms; 83 with 400 us; without yielding 83 with 150, 87 with 60, 95 with 20. Where
// cores are many, it outwaits the peer's turn: docs/design/scheduling.md#pool.
constexpr auto kPatience = std::chrono::microseconds(150), kPatienceOfMany = std::chrono::microseconds(1000);
constexpr size_t kWakes = 4;  // sleepers that one hand wakes
constexpr uint32_t kOpen = 1u << 31;
constexpr int kHandBits = 16;
constexpr size_t kAll = (1u << kHandBits) - 1;

}  // namespace

struct Pool::State {
  // Sleeping is 1 while it sleeps, and who calls it wakes it by 0.
  struct alignas(64) Worker {
    std::atomic<uint32_t> sleeping{0};
    std::thread thread;
  };

  explicit State(size_t count) : workers(count) {}

  std::vector<Worker> workers;  // hand i of a range is workers[i - 1], hand 0 its caller
  std::mutex one;               // one For at a time

  // The range being worked on. gate: kOpen while it may be entered, plus the number of workers inside; it is changed
  // only while closed and empty, so a worker that entered reads it safely, and one that comes too late leaves at once
  // and holds nobody up.
  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<size_t> next{0};
  alignas(64) const std::function<void(size_t, size_t)>* f = nullptr;
  size_t n = 0, chunk = 0;
  std::mutex error_m;
  std::exception_ptr error;  // of the part that begins at error_at: those below it were begun before, and end
  size_t error_at = 0;

  // call: number of the range << kHandBits | its hands. Other workers neither enter nor are woken. The last one, of
  // kAll hands, is the end: by that alone a worker leaves, once it has woken those below it.
  alignas(64) std::atomic<uint64_t> call{0};

  void Work() {
    inside = true;
    for (size_t a; (a = next.fetch_add(chunk)) < n;) {
      try {
        (*f)(a, std::min(n, a + chunk));
      } catch (...) {
        std::lock_guard l(error_m);
        if (!error || a < error_at) error = std::current_exception(), error_at = a;
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

  static size_t Hands(uint64_t called) { return called & kAll; }

  // The hands below this one in a tree, where they sleep: nobody wakes all.
  void Wake(size_t hand, size_t hands) {
    hands = std::min(hands, workers.size() + 1);
    for (size_t below = kWakes * hand + 1; below <= kWakes * (hand + 1) && below < hands; ++below) {
      auto& sleeping = workers[below - 1].sleeping;
      if (sleeping.load() != 0 && sleeping.exchange(0) != 0) sleeping.notify_one();
    }
  }

  // Waits for a range that wants this hand, which is not the one that it `seen` last; that one's call.
  uint64_t Called(size_t hand, uint64_t seen) {
    auto& sleeping = workers[hand - 1].sleeping;
    const auto patience = Many(int(workers.size()) + 1) ? kPatienceOfMany : kPatience;
    for (uint64_t now = seen;;) {
      const auto wanted = [&] { return now = call.load(), now != seen && Hands(now) > hand; };
      if (Watch(std::chrono::steady_clock::now() + patience, wanted)) return now;
      sleeping = 1;
      if (call.load() == now) sleeping.wait(1);  // else a call may have missed that it sleeps
      sleeping = 0;
    }
  }

  void Loop(size_t hand) {
    for (uint64_t seen = 0;;) {
      seen = Called(hand, seen);
      Wake(hand, Hands(seen));
      if (Hands(seen) == kAll) return;
      if (Enter()) {
        Work();
        gate.fetch_sub(1);
      }
    }
  }

  void Call(size_t hands) {
    call = ((call.load() >> kHandBits) + 1) << kHandBits | hands;
    Wake(0, hands);
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
  const size_t grains = (n + grain - 1) / grain, hands = std::min(size_t(threads()), grains);
  // about four chunks a thread, so that a slow core does not hold the others up
  s_->f = &f, s_->n = n, s_->chunk = (grains + hands * 4 - 1) / (hands * 4) * grain, s_->next = 0, s_->error = nullptr;
  s_->gate.store(kOpen);
  s_->Call(hands);
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
