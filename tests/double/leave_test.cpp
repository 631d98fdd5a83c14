// A frame leaves while the device's executor is still in its step: once, whole, and as the one that a host's sends.
#include <gtest/gtest.h>

#include "suf/backends/cuda.hpp"
#include "suf/backends/rig_test.hpp"

namespace suf::backends {
namespace {

// Told: forwards to a party's Io, and counts.
struct Counts {
  int leaves = 0, late = 0;  // late: Took of a step that sends, before its frame left
};
class Told : public pfss::Io {
 public:
  Told(pfss::Io& io, Counts* counts) : io_(io), counts_(*counts) {}
  View In(int i) override { return io_.In(i); }
  bool Ready(int i) override { return io_.Ready(i); }
  void Read(int i) override { io_.Read(i); }
  std::span<uint8_t> Out(int i) override { return io_.Out(i); }
  View Received() override { return io_.Received(); }
  std::span<uint8_t> Sending() override { return io_.Sending(); }
  void Await(size_t bytes) override { io_.Await(bytes); }
  void Written(size_t bytes) override { io_.Written(bytes); }
  void Leave() override {
    ++counts_.leaves, left_ = true;
    io_.Leave();
  }
  Data Input(int i) override { return io_.Input(i); }
  void Done(std::span<const int> nodes) override { io_.Done(nodes); }
  void Took(uint16_t scope, const pfss::Spent& s) override {
    counts_.late += !io_.Sending().empty() && !left_;
    io_.Took(scope, s);
  }
  bool Timed() const override { return io_.Timed(); }

 private:
  pfss::Io& io_;
  Counts& counts_;
  bool left_ = false;
};

class Watched : public pfss::Backend {
 public:
  Watched(pfss::Backend& b, Counts* counts) : b_(b), counts_(counts) {}
  std::string name() const override { return b_.name(); }
  const pfss::Capabilities& capabilities() const override { return b_.capabilities(); }
  uint32_t prg() const override { return b_.prg(); }
  std::unique_ptr<pfss::Randomness> Expand(pfss::Material m) override { return b_.Expand(std::move(m)); }
  std::unique_ptr<pfss::Executor> Start(const Schedule& s, Role role) override {
    struct Steps : pfss::Executor {
      Steps(std::unique_ptr<pfss::Executor> e, Counts* to) : executor(std::move(e)), counts(to) {}
      void Run(const pfss::Program& program, const pfss::Randomness& randomness, pfss::Io& io) override {
        Told told(io, counts);
        executor->Run(program, randomness, told);
        executor->Finish();
      }
      std::vector<uint64_t> Result(int node) override { return executor->Result(node); }
      const std::unique_ptr<pfss::Executor> executor;
      Counts* const counts;
    };
    return std::make_unique<Steps>(b_.Start(s, role), counts_);
  }

 private:
  pfss::Backend& b_;
  Counts* const counts_;
};

TEST(DeviceFrames, LeaveBeforeTheStepIsToldOf) {
  for (int64_t many : {9, 40000}) {  // a short frame, and one of several chunks
    SCOPED_TRACE(many);
    Fixture f;
    const auto x = f.Wire1("x", {many}, 33);
    f.t.reveal<1>(Sh(f.t.deal(Sec(x.r) * 3, 33)) * x.hat);
    f.t.close();
    const Schedule s(f.t);
    const auto clear = MakeClear(), cuda = MakeCuda();
    const auto want = RunOn(f, s, *clear, *clear, *clear);
    Counts counts[2];
    Watched p0(*cuda, &counts[0]), p1(*cuda, &counts[1]);
    const auto got = RunOn(f, s, p0, p1, *clear);
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
