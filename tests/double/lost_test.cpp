// A device that is lost at every single call of a few runs. The result is an error message, never a signal. All device
// memory is freed, and a run that completes is right.
#include <gtest/gtest.h>

#include <optional>

#include "suf/backends/rig_test.hpp"
#include "suf/gpu/cuda.hpp"
#include "tests/double/compiler.hpp"

namespace suf::backends {
namespace {

using exec::cuda::buffers;
using exec::cuda::calls;
using exec::cuda::fails_from;

class LostDevice : public testing::Test {
 protected:
  LostDevice() {
    const auto x = f_.Wire1("x", {9}, 8);
    std::vector<uint64_t> table(256, 3);
    f_.t.reveal<1>(f_.t.dense(f_.t.tree(Sec(x.r)), x.hat, f_.t.constant(table, {256}), 20));
    f_.t.reveal<1>(Sh(f_.t.deal(Lift(x.r) * 3, 20)) * x.hat);
    f_.t.close();
    s_.emplace(f_.t);
    want_ = RunOn(f_, *s_, *clear_, *clear_, *clear_);
  }
  void TearDown() override { fails_from = 0; }

  // Runs a role on the device twice, because the second run makes the graphs.
  void RunTwice(pfss::Backend& cuda, int role) {
    const std::array<pfss::Backend*, 3> by{role == 0 ? &cuda : clear_.get(), role == 1 ? &cuda : clear_.get(),
                                           role == 2 ? &cuda : clear_.get()};
    for (int run : {0, 1}) {
      SCOPED_TRACE(run);
      EXPECT_EQ(cuda.Reserve(*s_, Role(role), {}).index(), 0u) << "it is reserved";
      EXPECT_EQ(RunOn(f_, *s_, *by[0], *by[1], *by[2]).result, want_.result);
    }
  }
  // Returns the number of calls of a role's runs.
  int CallsOf(int role) {
    calls = 0;
    fails_from = 0;
    RunTwice(*gpu::MakeCuda(), role);
    return calls;
  }
  // Runs a role on a device that is lost at call n. Returns whether the runs ended with an error message.
  bool FailsAtCall(int n, int role) {
    calls = 0;
    fails_from = n;
    bool failed = false;
    std::unique_ptr<pfss::Backend> cuda;
    try {
      cuda = gpu::MakeCuda();
      RunTwice(*cuda, role);
    } catch (const Error& e) {
      const std::string message = e.what();
      EXPECT_EQ(e.cause(), Cause::kResource) << message;
      EXPECT_EQ(message.find("device 0 failed: error 719 in "), 0u) << message;
      EXPECT_NE(message.find("; restart the program, or run it on packed"), std::string::npos);
      failed = true;
    }
    // The next call reports the loss before anything is spent.
    if (cuda) {
      EXPECT_THROW((void)cuda->Reserve(*s_, Role(role), {}), Error);
    }
    return failed;
  }

 private:
  Fixture f_;
  std::optional<Schedule> s_;
  const std::unique_ptr<pfss::Backend> clear_ = reference::MakeClear();
  run::PairRun want_;
};

TEST_F(LostDevice, AtEveryCallIsAnErrorMessage) {
  const int before = buffers;
  for (int role : {0, 1, 2}) {
    const int all = CallsOf(role);
    ASSERT_GT(all, 50);
    int failed = 0;
    for (int n = 1; n <= all; ++n) {
      SCOPED_TRACE(testing::Message() << "role " << role << ", call " << n << " of " << all);
      failed += FailsAtCall(n, role);
      ASSERT_EQ(buffers, before) << "memory is lost";
      if (HasFailure()) break;
    }
    EXPECT_GT(failed, all - 10) << "only what wipes after the last run is silent";
  }
}

}  // namespace
}  // namespace suf::backends
