// pool_bench [threads]: the cost of handing a range to threads. Ranges have 1 to 1024 chunks of 1, 10 and 100 us. They
// run one after another, and each after a pause in which the workers fall asleep. Measures oneTBB as well if CMake
// found it. JSON lines: microseconds per range, median and 9th decile, and the least that `threads` cores need.
#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/cores.hpp"
#include "suf/exec/pool.hpp"

#ifdef SUF_TBB
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace {

using For = std::function<void(size_t, size_t, const std::function<void(size_t, size_t)>&)>;

void Spin(double seconds) {
  for (const double until = suf::bench::Now() + seconds; suf::bench::Now() < until;) {
  }
}

void Measure(const char* name, int threads, const For& range) {
  for (size_t chunks : {1, 2, 4, 64, 1024}) {
    std::atomic<size_t> covered{0};
    range(chunks, 1, [&](size_t a, size_t b) { covered += b - a; });
    suf::bench::Verify(covered == chunks, "a range");
    for (double us : {1.0, 10.0, 100.0})
      for (double pause : {0.0, 400.0}) {
        const double work = double(chunks) * us;
        const int runs = int(std::clamp(3e5 / (work + pause), 20.0, 2000.0));
        std::vector<double> took;
        for (int i = 0; i < runs; ++i) {
          if (pause > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(pause));
          const double t = suf::bench::Now();
          range(chunks, 1, [&](size_t a, size_t b) { Spin(double(b - a) * us * 1e-6); });
          took.push_back((suf::bench::Now() - t) * 1e6);
        }
        std::sort(took.begin(), took.end());
        const double least = double((chunks + size_t(threads) - 1) / size_t(threads)) * us;
        std::printf(
            "{\"bench\":\"pool\",\"pool\":\"%s\",\"threads\":%d,\"chunks\":%zu,\"chunk_us\":%.0f,\"pause_us\":%.0f,"
            "\"us\":%.1f,\"us_9th_decile\":%.1f,\"least_us\":%.0f}\n",
            name, threads, chunks, us, pause, took[took.size() / 2], took[took.size() * 9 / 10], least);
      }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : suf::Cores();
  {
    suf::exec::Pool pool(threads);
    Measure("own", threads, [&](size_t n, size_t grain, const auto& f) { pool.For(n, grain, f); });
  }
#ifdef SUF_TBB
  tbb::task_arena arena(threads);
  Measure("oneTBB", threads, [&](size_t n, size_t grain, const auto& f) {
    arena.execute([&] {
      tbb::parallel_for(tbb::blocked_range<size_t>(0, n, grain), [&](const auto& r) { f(r.begin(), r.end()); });
    });
  });
#endif
}
