// What a driver says of this machine's devices, and whether one of them can be used. It asks nobody (cuda/device.hpp
// does), so that tests can say what was found.
#pragma once
#include <cstddef>
#include <string>

namespace suf::exec {

// A device as the driver describes it. Bytes.
struct Gpu {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;     // compute capability
  int processors = 0;           // streaming multiprocessors
  size_t memory = 0;            // of the device
  size_t shared = 0;            // that a block can be given
  int driver = 0, runtime = 0;  // versions of CUDA, 1000 major + 10 minor
};

// kLeastMajor: of the compute capability that the kernels need, 8.0.
inline constexpr int kLeastMajor = 8;

// What was found in the look for one device.
struct GpuLook {
  int driver = 0, runtime = 0;  // versions of CUDA: the driver's, 0 where there is none, and this build's
  int count = 0;                // of devices
  std::string error;            // what the runtime says instead of the count, or of what the device is
  Gpu gpu = {};                 // the device of that index, where there is one
};

// Why device `index` cannot be used: what is needed, what was found, and after a semicolon what to do, as in
// "needs .., and ..; ..". Empty where it can.
std::string WhyNot(const GpuLook& look, int index);

}  // namespace suf::exec
