// A frame is sent while the device's executor is still in its step. It is sent once, whole, and equal to a host's
// frame.
#include <gtest/gtest.h>

#include "suf/backends/rig_test.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/pfss/watch.hpp"

namespace suf::backends {
namespace {

// Frames sent, and steps reported before their frame was sent.
struct Counts {
  int leaves = 0, late = 0;
};
class Told : public pfss::Forward {
 public:
  Told(pfss::Io& host, Counts* counts) : Forward(host), counts_(*counts) {}
  void Leave() override {
    ++counts_.leaves;
    left_ = true;
    io.Leave();
  }
  void Took(uint16_t scope, const pfss::Spent& s) override {
    counts_.late += !io.Sending().empty() && !left_;
    io.Took(scope, s);
  }

 private:
  Counts& counts_;
  bool left_ = false;
};

TEST(DeviceFrames, LeaveBeforeTheStepIsToldOf) {
  for (int64_t many : {9, 40000}) {  // a short frame, and one of several chunks
    SCOPED_TRACE(many);
    Fixture f;
    const auto x = f.Wire1("x", {many}, 33);
    f.t.reveal<1>(Sh(f.t.deal(Sec(x.r) * 3, 33)) * x.hat);
    f.t.close();
    const Schedule s(f.t);
    const auto clear = reference::MakeClear(), cuda = gpu::MakeCuda();
    const auto want = RunOn(f, s, *clear, *clear, *clear);
    Counts counts[2];
    pfss::WatchedBackend party(
        *cuda, [&](Role role, size_t, pfss::Io& host) { return std::make_unique<Told>(host, &counts[size_t(role)]); });
    const auto got = RunOn(f, s, party, party, *clear);
    EXPECT_EQ(got.result, want.result);
    EXPECT_EQ(got.frame, want.frame);
    for (int p : {0, 1}) {
      int sends = 0;
      for (const pfss::Step& step : s.steps(p)) sends += step.send >= 0;
      EXPECT_EQ(counts[p].leaves, sends) << "P" << p;
      EXPECT_EQ(counts[p].late, 0) << "P" << p;
    }
    EXPECT_GT(counts[0].leaves, 0);
  }
}

}  // namespace
}  // namespace suf::backends
