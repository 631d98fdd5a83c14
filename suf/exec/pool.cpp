#include "suf/exec/pool.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace suf::exec {

namespace {
thread_local bool inside = false;
}

struct Pool::State {
  std::vector<std::thread> threads;
  std::mutex m;
  std::condition_variable wake, idle;
  const std::function<void(size_t, size_t)>* f = nullptr;
  size_t n = 0, chunk = 0;
  std::atomic<size_t> next{0};
  uint64_t round = 0;
  int busy = 0;
  bool stop = false;
  std::exception_ptr error;
  std::mutex one;  // one For at a time

  void Work() {
    inside = true;
    for (size_t a; (a = next.fetch_add(chunk)) < n;) {
      try {
        (*f)(a, std::min(n, a + chunk));
      } catch (...) {
        std::lock_guard l(m);
        if (!error) error = std::current_exception();
        next = n;
      }
    }
    inside = false;
  }
  void Loop() {
    uint64_t seen = 0;
    for (std::unique_lock l(m);;) {
      wake.wait(l, [&] { return stop || round != seen; });
      if (stop) return;
      seen = round;
      l.unlock();
      Work();
      l.lock();
      if (--busy == 0) idle.notify_one();
    }
  }
};

Pool::Pool(int threads) : s_(new State) {
  for (int i = 1; i < threads; ++i) s_->threads.emplace_back([this] { s_->Loop(); });
}

Pool::~Pool() {
  {
    std::lock_guard l(s_->m);
    s_->stop = true;
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
  size_t parts = size_t(threads()) * 4, chunk = (n / parts + grain) / grain * grain;
  std::unique_lock l(s_->m);
  s_->f = &f, s_->n = n, s_->chunk = chunk, s_->next = 0, s_->error = nullptr;
  s_->busy = int(s_->threads.size()), ++s_->round;
  l.unlock();
  s_->wake.notify_all();
  s_->Work();
  l.lock();
  s_->idle.wait(l, [&] { return s_->busy == 0; });
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
