#include "suf/exec/gpu.hpp"

#include <algorithm>

#include "suf/base/error.hpp"

namespace suf::exec {
namespace {

constexpr int kOldestDriver = 12040;  // CUDA 12.4, for capture into graphs

std::string Version(int v) { return Str(v / 1000, ".", v % 1000 / 10); }

}  // namespace

std::string WhyNot(const GpuLook& look, int index) {
  if (!look.driver) return "needs an NVIDIA driver, and this machine has none; install one";
  // a runtime works with every driver of its major version and newer ones
  const int oldest = std::max(kOldestDriver, look.runtime / 1000 * 1000);
  if (look.driver < oldest)
    return Str("needs a driver for CUDA ", Version(oldest), " or newer, and this machine's is for ",
               Version(look.driver), "; update the driver");
  if (look.count <= 0)
    return Str("needs an NVIDIA device, and the driver shows none", look.error.empty() ? "" : " (", look.error,
               look.error.empty() ? "" : ")", "; see what nvidia-smi says");
  if (index < 0 || index >= look.count)
    return Str("needs device ", index, ", and the driver shows ", look.count,
               look.count == 1 ? ", which is number 0; take that" : ", numbered from 0; take one of these");
  if (!look.error.empty())
    return Str("needs to know what device ", index, " is, and the driver does not say (", look.error,
               "); see what nvidia-smi says");
  if (look.gpu.major < kLeastMajor)
    return Str("needs a device of compute capability ", kLeastMajor, ".0 or more, and device ", index, " (",
               look.gpu.name, ") has ", look.gpu.major, ".", look.gpu.minor, "; take another device");
  return "";
}

}  // namespace suf::exec
