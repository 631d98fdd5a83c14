// The streams of a run.
#pragma once
#include <array>

#include "suf/exec/cuda/device.hpp"

namespace suf::gpu::cuda {

// The streams of an instance, and the events by which they wait for each other. They are made once.
struct RunStreams {
  exec::cuda::DeviceStream work{true};  // the kernels of steps, and the copies that they wait for
  exec::cuda::DeviceStream words;       // PRG words of later chapters
  exec::cuda::DeviceStream copies;      // key sections
  // By a chapter's parity: its words are there; they were read.
  std::array<exec::cuda::Event, 2> expanded, used;
  std::array<exec::cuda::Event, 8> copied;  // of chunks of a frame that is sent
};

}  // namespace suf::gpu::cuda
