// A device whose memory others have: a run says so before it begins and spends nothing, and works once there is room.
#include <gtest/gtest.h>

#include <optional>

#include "suf/backends/cuda.hpp"
#include "suf/backends/rig_test.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/exec/cuda/device.hpp"

namespace suf::backends {
namespace {

TEST(MemoryTest, ARunThatLacksItSaysSoAndTheNextOneWorks) {
  Fixture f;
  const auto x = f.Wire1("x", {100}, 9);
  f.t.reveal<1>(f.t.dense(f.t.tree(Sec(x.r)), x.hat, f.t.constant(std::vector<uint64_t>(512, 3), {512}), 20));
  f.t.close();
  const Schedule s(f.t);
  const auto cuda = MakeCuda(), clear = MakeClear();
  const auto results = [&](pfss::Backend* by) {
    return run::RunPair({s,
                         {by, by, by},
                         {&f.inputs[0], &f.inputs[1], &f.inputs[2]},
                         Material{{Secret(Hash{1, 2, 3}), Secret(Hash{4, 5, 6})}, Hash{7}}})
        .result;
  };
  exec::cuda::Use(0);
  std::optional<exec::cuda::Memory> others(exec::cuda::Free() - (size_t{48} << 20));
  for (Role role : {Role::kModel, Role::kData, Role::kDealer}) {
    EXPECT_TRUE(cuda->Reserve(s, role, [](const std::string&) { return 8; }));
    const auto lack = cuda->Reserve(s, role, {});
    ASSERT_TRUE(lack);
    EXPECT_GT(lack->needed, lack->free);
    EXPECT_LE(lack->free, int64_t{48} << 20);
    EXPECT_TRUE(Fails(Cause::kResource,
                      Str("a run needs ", lack->needed, " bytes of the device's memory, and ", lack->free, " are free"),
                      [&] { (void)cuda->Start(s, role); }));
  }
  others.reset();
  for (Role role : {Role::kModel, Role::kData, Role::kDealer}) EXPECT_FALSE(cuda->Reserve(s, role, {}));
  EXPECT_EQ(results(cuda.get()), results(clear.get()));
}

}  // namespace
}  // namespace suf::backends
