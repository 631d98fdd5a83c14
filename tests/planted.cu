// A kernel with the fault that its argument names. compute-sanitizer must find it (tools/gpu/sanitize.sh). The faults
// are out_of_bounds, uninitialised, race and barrier; none is clean. Exit code 0: the kernel ran.
#include <cuda_runtime.h>

#include <cstdio>
#include <string>

namespace {

constexpr int kThreads = 64;

// Reverses a block's words, by shared memory.
__global__ void Sum(const int* in, int* out, bool race) {
  __shared__ int held[kThreads];
  held[threadIdx.x] = in[threadIdx.x];
  if (!race) __syncthreads();
  out[threadIdx.x] = held[kThreads - 1 - threadIdx.x];
}
__global__ void Write(int* out, int at) { out[at] = 1; }
// Has a barrier for the upper half of a warp, which the lower half calls.
__global__ void Half(int* out) {
  if (threadIdx.x % 32 < 16) __syncwarp(0xffff0000u);
  out[threadIdx.x] = 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string fault = argc == 2 ? argv[1] : "";
  if (fault != "none" && fault != "out_of_bounds" && fault != "uninitialised" && fault != "race" &&
      fault != "barrier") {
    std::fprintf(stderr, "usage: planted none|out_of_bounds|uninitialised|race|barrier\n");
    return 2;
  }
  int *in = nullptr, *out = nullptr;
  cudaMalloc(&in, kThreads * sizeof(int));
  cudaMalloc(&out, kThreads * sizeof(int));
  if (fault != "uninitialised") cudaMemset(in, 0, kThreads * sizeof(int));
  cudaMemset(out, 0, kThreads * sizeof(int));
  Sum<<<1, kThreads>>>(in, out, fault == "race");
  if (fault == "out_of_bounds") Write<<<1, 1>>>(out, kThreads);
  if (fault == "barrier") Half<<<1, kThreads>>>(out);
  const cudaError_t e = cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  if (e != cudaSuccess) std::fprintf(stderr, "planted: %s\n", cudaGetErrorString(e));
  return e == cudaSuccess ? 0 : 1;
}
