// A device that is lost at every single call of a few runs. The result is an error message, never a signal. All device
// memory is freed, and a run that completes is right.
#include <gtest/gtest.h>

#include "suf/backends/rig_test.hpp"
#include "suf/gpu/cuda.hpp"
#include "tests/double/compiler.hpp"

namespace suf::backends {
namespace {

using exec::cuda::asked;
using exec::cuda::lost;
using exec::cuda::rooms;

TEST(LostDevice, AtEveryCallIsASentence) {
  Fixture f;
  const auto x = f.Wire1("x", {9}, 8);
  std::vector<uint64_t> table(256, 3);
  f.t.reveal<1>(f.t.dense(f.t.tree(Sec(x.r)), x.hat, f.t.constant(table, {256}), 20));
  f.t.reveal<1>(Sh(f.t.deal(Lift(x.r) * 3, 20)) * x.hat);
  f.t.close();
  const Schedule s(f.t);
  const auto clear = reference::MakeClear();
  const auto want = RunOn(f, s, *clear, *clear, *clear);
  const int before = rooms;
  // Runs twice, because the second run makes the graphs.
  const auto runs = [&](pfss::Backend& cuda, int role) {
    for (int run : {0, 1}) {
      (void)run;
      const std::array<pfss::Backend*, 3> by{role == 0 ? &cuda : clear.get(), role == 1 ? &cuda : clear.get(),
                                             role == 2 ? &cuda : clear.get()};
      EXPECT_FALSE(cuda.Reserve(s, Role(role), {}));
      const auto got = RunOn(f, s, *by[0], *by[1], *by[2]);
      EXPECT_EQ(got.result, want.result);
    }
  };
  for (int role : {0, 1, 2}) {
    asked = 0;
    lost = 0;
    {
      const auto cuda = gpu::MakeCuda();
      runs(*cuda, role);
    }
    const int calls = asked;
    ASSERT_GT(calls, 50);
    int said = 0;
    for (int n = 1; n <= calls; ++n) {
      SCOPED_TRACE(testing::Message() << "role " << role << ", call " << n << " of " << calls);
      asked = 0;
      lost = n;
      {
        std::unique_ptr<pfss::Backend> cuda;
        std::string sentence;
        try {
          cuda = gpu::MakeCuda();
          runs(*cuda, role);
        } catch (const Error& e) {
          sentence = e.what();
          EXPECT_EQ(e.cause(), Cause::kResource) << sentence;
          EXPECT_EQ(sentence.find("device 0 failed: error 719 in "), 0u) << sentence;
          EXPECT_NE(sentence.find("; restart the program, or run it on packed"), std::string::npos);
          ++said;
        }
        // The next call reports the loss before anything is spent.
        if (cuda) {
          EXPECT_THROW((void)cuda->Reserve(s, Role(role), {}), Error);
        }
      }
      ASSERT_EQ(rooms, before) << "memory is lost";
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_GT(said, calls - 10) << "only what wipes after the last run is silent";
    lost = 0;
  }
}

}  // namespace
}  // namespace suf::backends
