// Launches of this module's kernels: a persistent grid of at most one block per multiprocessor. The AES tables take 128
// KiB of shared memory, or 64 KiB if a block cannot get more. Host code; private to the module.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "suf/base/error.hpp"
#include "suf/exec/cuda/device.hpp"
#include "suf/fss/cuda/fss.hpp"

namespace suf::fss::cuda {

// The most tables; 2 lets tests and benches run the small tables on any device.
inline std::atomic<int> most_tables{4};

constexpr size_t TableBytes(int tables) { return size_t(tables) << 15; }

// A grid that keeps `warps` warps busy. Warps are spread over all multiprocessors before two share one.
struct LaunchGrid {
  int tables;
  unsigned blocks;
  explicit LaunchGrid(uint64_t warps) {
    int device = 0;
    exec::cuda::Check(int(cudaGetDevice(&device)), "cudaGetDevice(&device)");
    const exec::cuda::Gpu gpu = exec::cuda::Find(device);
    tables = gpu.shared >= TableBytes(4) + 1024 ? most_tables.load() : 2;
    blocks = unsigned(std::clamp<uint64_t>(warps, 1, uint64_t(gpu.processors)));
  }
};

// Returns whether p is aligned, as callers promise. Vectors are loaded and stored as a whole.
inline bool Aligned(const void* p, size_t bytes) { return std::bit_cast<uintptr_t>(p) % bytes == 0; }

}  // namespace suf::fss::cuda
