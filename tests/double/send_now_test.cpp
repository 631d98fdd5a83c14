// A frame is sent while the device's executor is still in its step. It is sent once, whole, and equal to a host's
// frame.
#include <gtest/gtest.h>

#include "suf/backends/rig_test.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/pfss/watch.hpp"

namespace suf::backends {
namespace {

// Frames sent, and steps whose time was reported before their frame was sent.
struct Counts {
  int frames = 0, late = 0;
};
class SendCounter : public pfss::Forward {
 public:
  SendCounter(pfss::Io& host, Counts* counts) : Forward(host), counts_(*counts) {}
  void SendNow() override {
    ++counts_.frames;
    sent_ = true;
    io.SendNow();
  }
  void ReportTime(uint16_t scope, const pfss::TimeUse& s) override {
    counts_.late += !io.Sending().empty() && !sent_;
    io.ReportTime(scope, s);
  }

 private:
  Counts& counts_;
  bool sent_ = false;
};

TEST(DeviceFrames, AreSentBeforeTimeIsReported) {
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
    pfss::WatchedBackend party(*cuda, [&](Role role, size_t, pfss::Io& host) {
      return std::make_unique<SendCounter>(host, &counts[size_t(role)]);
    });
    const auto got = RunOn(f, s, party, party, *clear);
    EXPECT_EQ(got.result, want.result);
    EXPECT_EQ(got.frame, want.frame);
    for (int p : {0, 1}) {
      int sends = 0;
      for (const pfss::Step& step : s.steps(p)) sends += step.send >= 0;
      EXPECT_EQ(counts[p].frames, sends) << "P" << p;
      EXPECT_EQ(counts[p].late, 0) << "P" << p;
    }
    EXPECT_GT(counts[0].frames, 0);
  }
}

}  // namespace
}  // namespace suf::backends
