#include "suf/gpu/kernel_folder.hpp"

#include <cstdlib>
#include <filesystem>

#include "suf/base/file.hpp"
#include "suf/base/private_files.hpp"

namespace suf::gpu {

KernelFolder FindKernelFolder() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path base = cache ? cache : "";
  if (!base.is_absolute()) base = home && *home ? std::filesystem::path(home) / ".cache" : "";
  if (!base.is_absolute()) return {"", "neither XDG_CACHE_HOME nor HOME names a folder"};
  try {
    std::filesystem::path made;
    for (const auto& part : base) MakeDir(made /= part);
    MakePrivateFolderIn(base, "suf");
    MakePrivateFolderIn(base / "suf", "kernels");
  } catch (const Error& e) {
    return {"", e.what()};
  }
  return {base / "suf" / "kernels", ""};
}

}  // namespace suf::gpu
