// A device whose memory is in use by others. A run reports that before it begins and spends nothing. It works once
// memory is free.
#include <gtest/gtest.h>

#include <optional>

#include "suf/backends/rig_test.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda.hpp"

namespace suf::gpu::cuda {
namespace {

using namespace pfss;  // NOLINT
using backends::DenseRead, backends::Fixture, backends::RunOn;

TEST(MemoryTest, ARunThatLacksItSaysSoAndTheNextOneWorks) {
  Fixture f;
  const Schedule s = DenseRead(f);
  const auto cuda = MakeCuda(), clear = reference::MakeClear();
  exec::cuda::Use(0);
  std::optional<exec::cuda::DeviceMemory> others(exec::cuda::Free() - (size_t{48} << 20));
  for (Role role : {Role::kModel, Role::kData, Role::kDealer}) {
    EXPECT_EQ(cuda->Reserve(s, role, [](const std::string&) { return 8; }).index(), 1u) << "memory is short";
    const auto got = cuda->Reserve(s, role, {});
    const auto* lack = std::get_if<Backend::Lack>(&got);
    ASSERT_TRUE(lack);
    EXPECT_GT(lack->needed, lack->free);
    EXPECT_LE(lack->free, int64_t{48} << 20);
    EXPECT_TRUE(Fails(Cause::kResource,
                      Str("a run needs ", lack->needed, " bytes of the device's memory, and ", lack->free, " are free"),
                      [&] { (void)cuda->Start(s, role); }));
  }
  others.reset();
  for (Role role : {Role::kModel, Role::kData, Role::kDealer})
    EXPECT_EQ(cuda->Reserve(s, role, {}).index(), 0u) << "it is reserved";
  EXPECT_EQ(RunOn(f, s, *cuda, *cuda, *cuda).result, RunOn(f, s, *clear, *clear, *clear).result);
}

}  // namespace
}  // namespace suf::gpu::cuda
