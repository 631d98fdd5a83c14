// A driver's report of this machine's devices, and whether a device can be used. The queries are in cuda/device.hpp, so
// that tests can supply a report.
#pragma once
#include <cstddef>
#include <string>

namespace suf::exec {

// A device as the driver describes it. Sizes are in bytes.
struct Gpu {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;     // compute capability
  int processors = 0;           // streaming multiprocessors
  size_t memory = 0;            // of the device
  size_t shared = 0;            // the most that a block can use
  int driver = 0, runtime = 0;  // versions of CUDA, 1000 major + 10 minor
};

// The least major version of the compute capability: the kernels need 8.0.
inline constexpr int kLeastMajor = 8;

// The driver's report about one device.
struct GpuLook {
  int driver = 0, runtime = 0;  // versions of CUDA: the driver's, 0 if there is none, and this build's
  int count = 0;                // number of devices
  std::string error;            // the runtime's error, about the count or the device
  Gpu gpu = {};                 // the device of that index, if there is one
};

// Returns why device `index` cannot be used: need, finding, and after a semicolon the remedy, as in "needs .., and ..;
// ..". Returns nothing if it can be used.
std::string WhyNot(const GpuLook& look, int index);

}  // namespace suf::exec
