// A kernel traps in the middle of a run, in each role. That run ends with an error message. Later runs also do, before
// they begin. The process ends by itself.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "suf/backends/rig_test.hpp"
#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda.hpp"

namespace suf::gpu::cuda {

void PlantTrap();  // trap_test.cu

namespace {

using namespace pfss;  // NOLINT
using backends::DenseRead, backends::Fixture;

// Returns the exit code of a process in which `role` runs on the device and traps before its first step.
int Ends(int role) {
  const int child = fork();
  if (child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int code = 0;
  {
    Fixture f;
    const Schedule s = DenseRead(f);
    const auto cuda = MakeCuda(), clear = reference::MakeClear();
    const BundleSecrets m{{Secret(Hash{1, 2, 3}), Secret(Hash{4, 5, 6})}, Hash{7}};
    const std::array<pfss::Backend*, 3> by{role == 0 ? cuda.get() : clear.get(), role == 1 ? cuda.get() : clear.get(),
                                           role == 2 ? cuda.get() : clear.get()};
    const auto run = [&](bool trap) {
      (void)cuda->Reserve(s, Role(role), {});
      (void)run::RunPair({s, by, {&f.inputs[0], &f.inputs[1], &f.inputs[2]}, m, [&](Role r, auto randomness) {
                            if (trap && int(r) == role) {
                              exec::cuda::Use(0);
                              PlantTrap();
                            }
                            return randomness;
                          }});
    };
    run(false);
    run(false);
    for (bool trap : {true, false}) {
      try {
        run(trap);
        code = 1;
      } catch (const Error& e) {
        if (e.cause() != Cause::kResource || std::string(e.what()).find("device 0 failed: ") != 0) {
          std::fprintf(stderr, "%s\n", e.what());
          code = 2;
        }
      }
    }
  }
  std::exit(code);  // like a program: everything that the process still has is destroyed
}

TEST(TrapTest, ARunWhoseDeviceIsLostIsASentence) {
  for (int role : {0, 1, 2}) EXPECT_EQ(Ends(role), 0) << "role " << role;
}

}  // namespace
}  // namespace suf::gpu::cuda
