// Where programs keep compiled kernels between runs.
#pragma once
#include <string>

namespace suf::gpu {

// A folder of kernels, or why there is none.
struct KernelFolder {
  std::string path, why_not;  // one of them is empty
};
// Makes suf/kernels in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache). There is no folder if no cache is
// named, or if another user could change it (OwnFolder): its kernels run on our device.
KernelFolder FindKernelFolder();

}  // namespace suf::gpu
