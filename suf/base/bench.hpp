// Helpers of every x_bench.cpp: a clock and the best of several short runs. Header only; not for product code.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace suf::bench {

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the seconds of one f(): the best average of `runs` runs of about 20 ms each, after a warm-up.
template <class F>
double BestSeconds(F f, int runs = 9) {
  double t = Now();
  f();
  const int reps = std::max(1, int(0.02 / std::max(Now() - t, 1e-9)));
  double best = 1e300;
  for (int r = 0; r < runs; ++r) {
    t = Now();
    for (int i = 0; i < reps; ++i) f();
    best = std::min(best, (Now() - t) / reps);
  }
  return best;
}

// Ends the bench if its result is wrong, before anything is timed.
inline void Verify(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s is wrong; nothing was timed\n", what);
  std::exit(1);
}

}  // namespace suf::bench
