// How the kernels of this room are launched: a persistent grid of at most one block a processor, whose tables of AES
// take 128 KiB of shared memory, or 64 KiB where a block cannot be given more. Host code; private to the room.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "suf/base/error.hpp"
#include "suf/exec/cuda/device.hpp"
#include "suf/fss/cuda/fss.hpp"

namespace suf::fss::cuda {

// most_tables: 2 lets tests and benches run the small tables on any device.
inline std::atomic<int> most_tables{4};

constexpr size_t TableBytes(int tables) { return size_t(tables) << 15; }

// For work that keeps `warps` warps busy; warps are spread over the processors before they share one.
struct Grid {
  int tables;
  unsigned blocks;
  explicit Grid(uint64_t warps) {
    int device = 0;
    exec::cuda::Check(int(cudaGetDevice(&device)), "cudaGetDevice(&device)");
    const exec::cuda::Gpu gpu = exec::cuda::Find(device);
    tables = gpu.shared >= TableBytes(4) + 1024 ? most_tables.load() : 2;
    blocks = unsigned(std::clamp<uint64_t>(warps, 1, uint64_t(gpu.processors)));
  }
};

// A promise of the caller; vectors are loaded and stored whole.
inline bool Aligned(const void* p, size_t bytes) { return std::bit_cast<uintptr_t>(p) % bytes == 0; }

}  // namespace suf::fss::cuda
