// A warp on the host, for a printed kernel's own text. Each lane is a fibre. It runs until it exchanges a word, and
// goes on when all lanes have done so. It includes few headers, because each kernel is a compilation.
#pragma once
#include <ucontext.h>

#include <cstdint>

#define __global__
#define __device__
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(threads)

namespace suf::lanes {

inline constexpr int kLanes = 32;
struct Fibre {
  ucontext_t at;
  char stack[1 << 17];
  bool over;
};
inline Fibre fibres[kLanes];
inline uint64_t words[kLanes];  // the word that each lane exchanges
inline ucontext_t back;
inline int lane;
// The order in which lanes go on; nothing may depend on it.
struct Turns {
  int of[kLanes];
  constexpr Turns() : of() {
    for (int i = 0; i < kLanes; ++i) of[i] = i;
  }
};
inline Turns turns;
inline void (*kernel)(const void* params);
inline const void* given;  // params

// Waits for all lanes of the warp.
inline void Wait() { swapcontext(&fibres[lane].at, &back); }
inline void Lane() {
  kernel(given);
  fibres[lane].over = true;
  Wait();
}
// Exchanges x; returns the word of lane `from`.
inline uint64_t Handed(uint64_t x, int from) {
  words[lane] = x;
  Wait();
  const uint64_t got = words[from % kLanes];
  Wait();
  return got;
}

}  // namespace suf::lanes

struct Place {
  unsigned x;
};
inline Place threadIdx, blockIdx;

inline float __fdividef(float a, float b) { return a / b; }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return uint32_t(uint64_t{a} * b >> 32); }
template <class T>
T __shfl_sync(unsigned, T x, int from) {
  return T(suf::lanes::Handed(uint64_t(x), from));
}
template <class T>
T __shfl_down_sync(unsigned, T x, int by) {
  return T(suf::lanes::Handed(uint64_t(x),
                              suf::lanes::lane + by < suf::lanes::kLanes ? suf::lanes::lane + by : suf::lanes::lane));
}
inline unsigned __ballot_sync(unsigned, bool bit) {
  unsigned all = 0;
  for (int i = 0; i < suf::lanes::kLanes; ++i) all |= unsigned(suf::lanes::Handed(bit, i)) << i;
  return all;
}

namespace suf::lanes {

inline void Begin(Fibre& f) {
  f.over = false;
  getcontext(&f.at);
  f.at.uc_stack.ss_sp = f.stack;
  f.at.uc_stack.ss_size = sizeof f.stack;
  makecontext(&f.at, Lane, 0);
}
// Runs the kernel in each thread of each block.
inline void Run(unsigned blocks, unsigned threads, void (*f)(const void*), const void* params) {
  kernel = f;
  given = params;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (unsigned first = 0; first < threads; first += kLanes) {
      for (Fibre& each : fibres) Begin(each);
      for (bool more = true; more;) {
        more = false;
        for (int next : turns.of) {
          lane = next;
          if (fibres[lane].over) continue;
          threadIdx.x = first + unsigned(lane);
          more = true;
          swapcontext(&back, &fibres[lane].at);
        }
      }
    }
}

}  // namespace suf::lanes
