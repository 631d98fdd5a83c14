// The folder of compiled kernels, which are kept between runs.
#pragma once
#include <string>

namespace suf::gpu {

// A folder of kernels, or the reason why there is none.
struct KernelFolder {
  std::string path, why_not;  // one of them is empty
};
// Makes suf/kernels in the user's cache folder ($XDG_CACHE_HOME, or ~/.cache if it is unset). There is no folder if
// neither is named. There is none either if another user could change it (MakePrivateFolder), because its kernels run
// on our device.
KernelFolder FindKernelFolder();

}  // namespace suf::gpu
