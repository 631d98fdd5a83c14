// The backends by name: the one that auto selects, and the message of one that does not run here. None is made on a
// device.
#include "suf/backends/all.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "suf/gpu/cuda.hpp"

namespace suf::backends {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Returns the message of Find, if it finds no entry.
std::string Said(Cause cause, const std::string& name, bool models = false, int device = 0) {
  try {
    const BackendEntry e = Find(name, models, device);
    return "found " + e.name;
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), cause) << e.what();
    return e.what();
  }
}

TEST(All, FindsByName) {
  for (const BackendEntry& e : All())
    if (e.why_not.empty())
      EXPECT_EQ(Find(e.name).name, e.name);
    else
      EXPECT_EQ(Said(Cause::kResource, e.name), e.why_not);
  EXPECT_THAT(Said(Cause::kInput, "cpu9"),
              StartsWith("there is no backend cpu9; use one of auto, packed, packed/portable, "));
  EXPECT_THAT(Said(Cause::kInput, "cpu9"), HasSubstr("rows, myl7, cuda"));
  EXPECT_THAT(Said(Cause::kInput, "myl7", true),
              StartsWith("the backend myl7 runs plans of functions alone; use one "));
  EXPECT_EQ(Find("clear", true).name, "clear");
}

TEST(All, AutoIsADeviceThatCanBeUsedElsePacked) {
  EXPECT_EQ(Find("auto").name, gpu::CudaWhyNot().empty() ? "cuda" : "packed");
  EXPECT_EQ(Find("auto", true, 999).name, "packed") << "no machine has that many";
  const std::vector<BackendEntry> usable = Usable();
  EXPECT_EQ(std::any_of(usable.begin(), usable.end(), [](auto& e) { return e.name == "cuda"; }),
            gpu::CudaWhyNot().empty());
}

TEST(All, CudaSaysWhyNot) {
  const std::string why_not = gpu::CudaWhyNot(999);
  EXPECT_EQ(Said(Cause::kResource, "cuda", true, 999), why_not + ", or use packed");
  EXPECT_EQ(All(999).back().why_not, why_not + ", or use packed");
  EXPECT_EQ(All().back().built, !gpu::CudaBuilt().empty());
  if (gpu::CudaBuilt().empty())
    EXPECT_EQ(why_not, "this suf was built without CUDA; build it where nvcc is");
  else
    EXPECT_THAT(why_not, StartsWith("the backend cuda needs "));
}

}  // namespace
}  // namespace suf::backends
