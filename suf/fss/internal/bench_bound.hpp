// Timing for the benches of trees: a kernel's time beside that of AES in registers alone. Both run in turns in one
// process, so that they see the same clock. Header only; not for product code.
#pragma once
#include <algorithm>
#include <functional>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/fss/internal/aes_kernels.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss::bench {

// Seconds of one kernel(), of one AES block in registers, and of one other() if it is given. Each is the best of nine
// rounds. A round is the best of a few dozen slices, which are shorter than a time slice of the scheduler.
struct KernelTimes {
  double kernel = 1e300, block = 1e300, other = 1e300;
  KernelTimes(ring::Isa v, const std::function<void()>& f, const std::function<void()>& with = nullptr) {
    const internal::AesKernels* const table[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
    const auto& aes = *ring::Pick(table, v);
    const uint64_t blocks = v == ring::Isa::kPortable ? 2000 : 320000;
    volatile uint64_t sink = 0;
    auto slice = [](double& best, double many, auto g) {
      const double t = suf::bench::Now();
      g();
      best = std::min(best, (suf::bench::Now() - t) / many);
    };
    double once = 1e300;
    slice(once, 1, f);
    const int reps = std::max(1, int(0.0002 / once)), slices = std::clamp(int(0.01 / once), 1, 30);
    for (int round = 0; round < 9; ++round) {
      for (int i = 0; i < slices; ++i) {
        slice(kernel, reps, [&] {
          for (int r = 0; r < reps; ++r) f();
        });
        slice(block, double(blocks), [&] { sink = aes.bound(blocks); });
        if (with) slice(other, 1, with);
      }
    }
  }
};

}  // namespace suf::fss::bench
