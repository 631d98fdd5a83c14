// A kernel that traps. All later calls to the device throw an error message, and its objects are freed without an
// exception. Each case is a process of its own, because a trap ends all device work of its process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "suf/base/error.hpp"
#include "suf/exec/cuda/check.cuh"
#include "suf/exec/host.hpp"

namespace suf::exec::cuda {
namespace {

__global__ void Trap() { asm("trap;"); }
__global__ void Count(int* n) { ++*n; }

// Returns the exit code of f in a process of its own, or 128 plus the signal that ended it.
template <class F>
int In(F f) {
  const int child = fork();
  if (!child) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class F>
bool Says(F f, const std::string& words) {
  try {
    f();
  } catch (const Error& e) {
    const std::string s = e.what();
    const bool right = e.cause() == Cause::kResource && s.find(words) != std::string::npos;
    if (!right) std::fprintf(stderr, "%s\n", s.c_str());
    return right;
  }
  return false;
}

int CallAfterTrap() {
  Use(0);
  PinHostBuffers();
  HostBuffer pages(size_t{4} << 20);
  DeviceStream stream(true), other;
  const Event event, timed(true);
  const DeviceMemory memory(size_t{1} << 20);
  const PinnedMemory pinned(size_t{1} << 20);
  LaunchGraph graph;
  graph.Add({}, [&](StreamHandle s) { Count<<<1, 1, 0, s>>>(reinterpret_cast<int*>(memory.data())); });
  graph.Ready();
  graph.Launch(stream.stream());
  stream.Wait();
  Trap<<<1, 1, 0, stream.stream()>>>();
  const std::string words = "device 0 failed: ", remedy = "; restart the program, or run it on packed";
  if (!Says([&] { stream.Wait(); }, words)) return 1;
  if (!Says([&] { stream.Wait(); }, remedy)) return 2;
  if (!Says([&] { other.Wait(); }, words)) return 3;
  if (!Says([&] { event.Record(stream.stream()); }, words)) return 4;
  if (!Says([&] { Upload(memory.data(), pinned.data(), 64, stream.stream()); }, words)) return 5;
  if (!Says([&] { graph.Launch(stream.stream()); }, words)) return 6;
  if (!Says([] { const DeviceMemory more(64); }, words)) return 7;
  if (!Says([] { const PinnedMemory more(64); }, words)) return 8;
  if (!Says([] { (void)Free(); }, words)) return 9;
  if (!Says([] { const DeviceStream more; }, words)) return 10;
  return 0;
}
TEST(Device, AfterATrapEveryCallIsAnErrorMessage) { EXPECT_EQ(In(CallAfterTrap), 0); }

// Bytes behind the end, and before an odd place, stay unchanged.
int CopyAllSizes() {
  Use(0);
  const DeviceStream stream;
  const size_t most = (size_t{1} << 17) + 64;
  const DeviceMemory memory(most + 64);
  const PinnedMemory pinned(most);
  const std::vector<uint8_t> pageable(most, 3);
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{4103}, most - 64, most - 63, most - 16})
    for (size_t at : {0, 3, 16}) {
      for (size_t i = 0; i < most; ++i) pinned.data()[i] = uint8_t(i * 7 + bytes);
      Set(memory.data(), 0xA5, most + 64, stream.stream());
      UploadNow(memory.data() + 32, pinned.data() + at, bytes, stream.stream());
      std::vector<uint8_t> out(most + 64);
      Download(out.data(), memory.data(), out.size(), stream.stream());
      stream.Wait();
      for (size_t i = 0; i < out.size(); ++i) {
        const bool in = i >= 32 && i < 32 + bytes;
        if (out[i] != (in ? uint8_t((i - 32 + at) * 7 + bytes) : 0xA5)) return 1;
      }
      std::fill_n(pinned.data(), most, uint8_t{0x5A});
      DownloadNow(pinned.data() + at, memory.data() + 32, bytes, stream.stream());
      stream.Wait();
      for (size_t i = 0; i < most; ++i) {
        const bool in = i >= at && i < at + bytes;
        if (pinned.data()[i] != (in ? uint8_t(i * 7 + bytes) : 0x5A)) return 2;
      }
    }
  int one = 0;
  UploadNow(memory.data(), pageable.data(), 64, stream.stream());
  DownloadNow(&one, memory.data(), sizeof one, stream.stream());
  stream.Wait();
  return one == 0x03030303 ? 0 : 3;
}
TEST(Device, CopiesOfAnySizeAndPlaceAreWhole) { EXPECT_EQ(In(CopyAllSizes), 0); }

int FindPinnedPages() {
  Use(0);
  const std::vector<uint8_t> pageable(64);
  const HostBuffer before(size_t{1} << 20);
  PinHostBuffers();
  const uint8_t* gone = nullptr;
  {
    const PinnedMemory pinned(4096);
    gone = pinned.data();
    if (!IsPinned(gone, 4096) || !IsPinned(gone + 4095, 1) || IsPinned(gone + 4095, 2)) return 1;
  }
  const HostBuffer after(size_t{1} << 20);
  const uint8_t* const pages = after.view().data();
  if (!IsPinned(pages, after.size()) || IsPinned(pages - 1, 2)) return 2;
  return IsPinned(gone, 1) || IsPinned(pageable.data(), 1) || IsPinned(before.view().data(), 1) ? 3 : 0;
}
TEST(Device, KernelsReachPinnedPagesAndNoOthers) { EXPECT_EQ(In(FindPinnedPages), 0); }

int RunFenced() {
  Use(0);
  const DeviceStream stream;
  const DeviceMemory memory(64);
  const auto n = reinterpret_cast<int*>(memory.data());
  Fence fence;
  Set(memory.data(), 0, 64, stream.stream());
  stream.Wait();
  for (bool ends : {true, false, true}) {
    const Event done;
    const auto begin = std::chrono::steady_clock::now();
    fence.Begin(stream.stream());
    Count<<<1, 1, 0, stream.stream()>>>(n);
    done.Record(stream.stream());
    const bool passed = done.Passed();
    if (passed && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1)) return 1;
    if (ends) fence.End();
    stream.Wait();
  }
  int out = 0;
  Download(&out, n, sizeof out, stream.stream());
  stream.Wait();
  return out == 3 ? 0 : 2;
}
TEST(Device, FencedWorkRunsAfterEndOrTheTimeout) { EXPECT_EQ(In(RunFenced), 0); }

int FailToDescribe() {
  Use(0);
  const DeviceStream stream;
  const DeviceMemory memory(64);
  const auto n = reinterpret_cast<int*>(memory.data());
  for (int i = 0; i < 3; ++i) {
    LaunchGraph graph;
    graph.Add({}, [&](StreamHandle s) { Count<<<1, 1, 0, s>>>(n); });
    if (!Says([&] { graph.Add({}, [](StreamHandle) { Fail(Cause::kResource, "no such piece"); }); }, "no such"))
      return 1;
  }
  int out = 7;
  Set(memory.data(), 0, 64, stream.stream());
  Count<<<1, 1, 0, stream.stream()>>>(n);
  Download(&out, n, sizeof out, stream.stream());
  stream.Wait();
  return out == 1 ? 0 : 2;
}
TEST(Device, APieceThatCannotBeDescribedLeavesTheStreamFree) { EXPECT_EQ(In(FailToDescribe), 0); }

}  // namespace
}  // namespace suf::exec::cuda
