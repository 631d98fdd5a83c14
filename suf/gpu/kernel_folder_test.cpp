#include "suf/gpu/kernel_folder.hpp"

#include <sys/stat.h>

#include "suf/base/scratch_test.hpp"

namespace suf::gpu {
namespace {

// Compiled kernels run on our device, so a folder that another user could fill is refused.
TEST(KernelFolder, IsOneThatNoOtherUserCanChange) {
  const Scratch dir;
  const Variable home("HOME", (dir / "home").c_str());
  {
    const Variable cache("XDG_CACHE_HOME", nullptr);
    EXPECT_EQ(FindKernelFolder().path, dir / "home/.cache/suf/kernels");
    EXPECT_EQ(FindKernelFolder().why_not, "");
  }
  const Variable cache("XDG_CACHE_HOME", (dir / "cache").c_str());
  EXPECT_EQ(FindKernelFolder().path, dir / "cache/suf/kernels");
  for (const std::string open : {"cache/suf/kernels", "cache/suf", "cache"}) {
    ASSERT_EQ(chmod((dir / open).c_str(), 0777), 0);
    EXPECT_EQ(FindKernelFolder().path, "") << open;
    EXPECT_NE(FindKernelFolder().why_not.find(dir / open + " belongs to user "), std::string::npos);
    ASSERT_EQ(chmod((dir / open).c_str(), 0700), 0);
  }
  std::filesystem::remove_all(dir / "cache/suf/kernels");
  std::filesystem::create_directory_symlink(dir / "home", dir / "cache/suf/kernels");
  EXPECT_NE(FindKernelFolder().why_not.find("is a symbolic link"), std::string::npos);
}

TEST(KernelFolder, TakesACacheOfAnAbsoluteName) {
  const Scratch dir;
  const Variable home("HOME", (dir / "home").c_str()), cache("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(FindKernelFolder().path, dir / "home/.cache/suf/kernels");
  for (const char* none : {"", "relative"}) {
    const Variable no_home("HOME", none);
    EXPECT_EQ(FindKernelFolder().path, "");
    EXPECT_EQ(FindKernelFolder().why_not, "neither XDG_CACHE_HOME nor HOME names a folder");
  }
}

}  // namespace
}  // namespace suf::gpu
