// Runs a group's code without a compiler at run time. It runs in the order of a stream and may be captured.
#pragma once
#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda/groups/code.hpp"

namespace suf::gpu::cuda {

using exec::cuda::StreamHandle;

// The most words of registers that a thread keeps in local memory.
inline constexpr int kLocalFrame = 192;
// Returns the bytes of `scratch` for a frame of `frame` words; 0 up to kLocalFrame.
size_t InterpretScratch(int frame);
// Runs a group. `code` is in device memory, and `frame` is the number of words of its registers. If they are more than
// kLocalFrame, they lie in `scratch`.
void Interpret(const GroupCode* code, uint64_t rows, int frame, Word* scratch, StreamHandle s);

}  // namespace suf::gpu::cuda
