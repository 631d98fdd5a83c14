// The interpreter: a group is a kernel, a row a thread, whose registers are in its local memory. Printed kernels are
// measured against it. It runs groups if there is no compiler at run time.
#include "suf/exec/cuda/check.cuh"
#include "suf/gpu/cuda/groups/interpreter.hpp"
#include "suf/gpu/cuda/groups/interpreter_core.hpp"
#include "suf/ring/cuda/bits_core.hpp"

namespace suf::gpu::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kScratchThreads = 8192;  // threads of groups whose registers do not fit

// Packed bits of a warp's consecutive rows, from `base` on, a multiple of 32.
struct DeviceBits {
  uint64_t base;
  __device__ void Receive(const uint8_t* in, uint64_t at, int k, Word* out) const {
    for (int w = 0; k > 0; ++w, at += 64, k -= 64) out[w] = ring::cuda::ReadWord(in, at, k < 64 ? k : 64);
  }
  __device__ void Emit(const MemberCode& m, const Word* x, uint64_t first, uint64_t, uint64_t, bool here) const {
    const int rows = __popc(__ballot_sync(~0u, here));
    if (rows) ring::cuda::WarpPack(x, m.bits, rows, m.out + (first + base) * uint64_t(m.bits) / 8);
  }
};

template <int kWords>
__global__ void __launch_bounds__(kThreads) RunGroup(const GroupCode* g, uint64_t rows) {
  Word frame[kWords];
  const uint64_t at = uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  const bool here = at < rows;
  RunRow(*g, here ? at : rows - 1, here, frame, DeviceBits{at / 32 * 32});
}

// Runs a group with a long frame: few threads, whose registers lie one after another.
__global__ void __launch_bounds__(kThreads) RunLongGroup(const GroupCode* g, uint64_t rows, int words, Word* scratch) {
  const uint64_t thread = uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  for (uint64_t first = 0; first < rows; first += uint64_t(gridDim.x) * kThreads) {
    const uint64_t at = first + thread;
    const bool here = at < rows;
    RunRow(*g, here ? at : rows - 1, here, scratch + thread * uint64_t(words), DeviceBits{at / 32 * 32});
  }
}

}  // namespace

size_t InterpretScratch(int frame) { return frame <= kLocalFrame ? 0 : size_t(frame) * kScratchThreads * sizeof(Word); }

void Interpret(const GroupCode* code, uint64_t rows, int frame, Word* scratch, StreamHandle s) {
  const unsigned blocks = exec::cuda::Blocks(rows, kThreads);
  if (frame <= 32)
    RunGroup<32><<<blocks, kThreads, 0, s>>>(code, rows);
  else if (frame <= 64)
    RunGroup<64><<<blocks, kThreads, 0, s>>>(code, rows);
  else if (frame <= kLocalFrame)
    RunGroup<kLocalFrame><<<blocks, kThreads, 0, s>>>(code, rows);
  else
    RunLongGroup<<<exec::cuda::Blocks(rows, kThreads, kScratchThreads / kThreads), kThreads, 0, s>>>(code, rows, frame,
                                                                                                     scratch);
  exec::cuda::CheckLaunch("the kernel of a group");
}

}  // namespace suf::gpu::cuda
