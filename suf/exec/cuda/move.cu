// Copies by a kernel. Between two kernels this replaces a copy engine, which takes some microseconds to start and end.
#include "suf/exec/cuda/check.cuh"

namespace suf::exec::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kMost = size_t{1} << 17;  // bytes; above it the engine's rate outweighs its start

__global__ void MoveWords(uint4* to, const uint4* from, size_t bytes) {
  const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x, words = bytes / sizeof(uint4);
  if (i < words) to[i] = from[i];
  if (i >= bytes % sizeof(uint4)) return;
  const size_t at = words * sizeof(uint4) + i;
  reinterpret_cast<uint8_t*>(to)[at] = reinterpret_cast<const uint8_t*>(from)[at];
}

bool Moves(void* to, const void* from, const void* host, size_t bytes, StreamHandle s) {
  if (!bytes || bytes > kMost || (uintptr_t(to) | uintptr_t(from)) % sizeof(uint4) || !IsPinned(host, bytes))
    return false;
  MoveWords<<<Blocks((bytes + sizeof(uint4) - 1) / sizeof(uint4), kThreads), kThreads, 0, s>>>(
      static_cast<uint4*>(to), static_cast<const uint4*>(from), bytes);
  SUF_CUDA_CHECK(cudaGetLastError());
  return true;
}

}  // namespace

void UploadNow(void* to, const void* from, size_t bytes, StreamHandle s) {
  if (!Moves(to, from, from, bytes, s)) Upload(to, from, bytes, s);
}
void DownloadNow(void* to, const void* from, size_t bytes, StreamHandle s) {
  if (!Moves(to, from, to, bytes, s)) Download(to, from, bytes, s);
}

}  // namespace suf::exec::cuda
