#include "suf/exec/gpu.hpp"

#include <gtest/gtest.h>

namespace suf::exec {
namespace {

// Returns a report of devices with compute capability 9.0. The requested device is "NVIDIA X".
GpuLook Machine(int driver, int runtime, int count) {
  GpuLook out{driver, runtime, count, ""};
  out.gpu.name = "NVIDIA X";
  out.gpu.major = 9;
  return out;
}

TEST(Gpu, SaysWhyADeviceCannotBeUsed) {
  EXPECT_EQ(WhyNot({}, 0), "needs an NVIDIA driver, and this machine has none; install one");
  EXPECT_EQ(WhyNot(Machine(12080, 13000, 1), 0),
            "needs a driver for CUDA 13.0 or newer, and this machine's is for 12.8; update the driver");
  EXPECT_EQ(WhyNot(Machine(12020, 12060, 1), 0),
            "needs a driver for CUDA 12.4 or newer, and this machine's is for 12.2; update the driver");
  EXPECT_EQ(WhyNot(Machine(13000, 13000, 0), 0),
            "needs an NVIDIA device, and the driver shows none; see what nvidia-smi says");
  GpuLook look = Machine(13000, 13000, 0);
  look.error = "no CUDA-capable device is detected";
  EXPECT_EQ(WhyNot(look, 0),
            "needs an NVIDIA device, and the driver shows none (no CUDA-capable device is detected); see what "
            "nvidia-smi says");
  EXPECT_EQ(WhyNot(Machine(13000, 13000, 1), 1),
            "needs device 1, and the driver shows 1, which is number 0; take that");
  EXPECT_EQ(WhyNot(Machine(13000, 13000, 2), 7),
            "needs device 7, and the driver shows 2, numbered from 0; take one of these");
  EXPECT_EQ(WhyNot(Machine(13000, 13000, 2), -1),
            "needs device -1, and the driver shows 2, numbered from 0; take one of these");
  look = Machine(13000, 13000, 2);
  look.error = "unknown error";
  EXPECT_EQ(WhyNot(look, 1),
            "needs to know what device 1 is, and the driver does not say (unknown error); see what nvidia-smi says");
  look = Machine(13000, 13000, 2);
  look.gpu.major = 7;
  look.gpu.minor = 5;
  EXPECT_EQ(WhyNot(look, 1),
            "needs a device of compute capability 8.0 or more, and device 1 (NVIDIA X) has 7.5; take another device");
}

TEST(Gpu, TakesWhatCanBeUsed) {
  for (int driver : {13000, 13010, 14000})
    for (int runtime : {12040, 12080, 13000}) EXPECT_EQ(WhyNot(Machine(driver, runtime, 2), 1), "") << driver;
  EXPECT_EQ(WhyNot(Machine(12040, 12080, 1), 0), "") << "a runtime works with older drivers of its major version";
  GpuLook look = Machine(13000, 13000, 1);
  look.gpu.major = 8;
  EXPECT_EQ(WhyNot(look, 0), "");
}

}  // namespace
}  // namespace suf::exec
