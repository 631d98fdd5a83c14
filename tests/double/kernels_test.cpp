// Printed kernels from text to module: compiled once into the folder, after or before the runs. A file whose contents
// do not match its name is never loaded.
#include "suf/gpu/cuda/groups/kernels.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "suf/backends/rig_test.hpp"
#include "suf/base/error.hpp"
#include "suf/base/folder_test.hpp"
#include "suf/gpu/cuda/backend.hpp"
#include "tests/double/compiler.hpp"

namespace suf::gpu::cuda {
namespace {

using namespace pfss;  // NOLINT
using backends::Fixture, backends::RunOn;

using exec::cuda::compiled;
using exec::cuda::compiles;
using exec::cuda::kBadText;

class KernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = Str("/tmp/suf-kernels-", getpid());
    std::filesystem::create_directories(folder_);
    compiled = 0;
    compiles = true;
  }
  void TearDown() override {
    compiles = true;
    gpu::SetLogSink({});
    std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

size_t There(const std::vector<const exec::cuda::Module*>& all) {
  return all.size() - size_t(std::count(all.begin(), all.end(), nullptr));
}

TEST_F(KernelsTest, AreCompiledOnceATextAndFolder) {
  const std::vector<std::string> texts{"a", "b", "a", kBadText};
  for (int run : {0, 1}) {
    KernelCache kernels(Codes(folder_, "sm_90"), 0, true);
    for (int again : {0, 1}) {
      (void)again;
      const auto got = kernels.Load(texts);
      EXPECT_EQ(There(got), 3u);
      EXPECT_EQ(got[0], got[2]);
      EXPECT_EQ(got[3], nullptr);
    }
    // The bad one is tried again each time, because nothing of it is kept.
    EXPECT_EQ(compiled, run ? 6 : 4);
  }
  // Another architecture has other code.
  KernelCache other(Codes(folder_, "sm_80"), 0, true);
  EXPECT_EQ(There(other.Load({"a", "b"})), 2u);
  EXPECT_EQ(compiled, 8);
}

TEST_F(KernelsTest, ComeBehindTheRuns) {
  const std::vector<std::string> texts{"a", "b", kBadText};
  KernelCache kernels(Codes(folder_, "sm_90"), 0, false);
  EXPECT_EQ(There(kernels.Load(texts)), 0u);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!kernels.filled() && std::chrono::steady_clock::now() < end) usleep(1000);
  EXPECT_EQ(There(kernels.Load(texts)), 2u);
  EXPECT_EQ(There(kernels.Load(texts)), 2u);
  EXPECT_EQ(compiled, 3) << "what does not compile is tried once";
}

TEST_F(KernelsTest, AnAlteredFileIsMadeAgain) {
  const Codes codes(folder_, "sm_90");
  const Bytes good = codes.Get("a");
  ASSERT_EQ(compiled, 1);
  const std::string file = std::filesystem::directory_iterator(folder_)->path();
  const auto size = std::filesystem::file_size(file);
  for (uintmax_t at : {uintmax_t{0}, uintmax_t{20}, size - 1}) {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(std::streamoff(at));
    const char was = char(f.get());
    f.seekp(std::streamoff(at));
    f.put(char(was ^ 1));
    f.close();
    EXPECT_TRUE(codes.Find("a").empty()) << "byte " << at;
    EXPECT_EQ(codes.Get("a"), good);
    EXPECT_EQ(codes.Find("a"), good);
  }
  EXPECT_EQ(compiled, 4);
  std::filesystem::resize_file(file, 30);
  EXPECT_TRUE(codes.Find("a").empty());
  EXPECT_TRUE(codes.Find("b").empty());
}

TEST_F(KernelsTest, ThatWillNeverComeAreTold) {
  const std::vector<std::string> texts{"a", "b", kBadText};
  for (bool waits : {true, false}) {
    KernelCache kernels(Codes(folder_, waits ? "sm_90" : "sm_80"), 0, waits);
    (void)kernels.Load(texts);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!waits && !kernels.filled() && std::chrono::steady_clock::now() < end) usleep(1000);
    (void)kernels.Load(texts);
    EXPECT_EQ(
        kernels.Lacks(texts),
        "the interpreter runs 1 of 3 kernels of this run: they do not compile; the result is the same, report it");
    EXPECT_EQ(kernels.Lacks({"a", "b"}), "");
  }
  compiles = false;
  KernelCache none(Codes(folder_, "sm_70"), 0, false);
  (void)none.Load(texts);
  EXPECT_EQ(none.Lacks(texts),
            "the interpreter runs 3 of 3 kernels of this run: this machine has no libnvrtc.so.12 or 13; for full speed "
            "install CUDA's run-time compiler, or bring kernels that were made elsewhere");
}

TEST_F(KernelsTest, WithoutACompilerEachRunSaysSoOnce) {
  Fixture f;
  const auto x = f.Wire1("x", {9}, 8);
  f.t.reveal<1>(Sh(f.t.deal(Lift(x.r) * 3, 20)) * x.hat);
  f.t.close();
  const pfss::Schedule s(f.t);
  const auto clear = reference::MakeClear();
  std::vector<std::string> lines;
  gpu::SetLogSink([&](const std::string& line) { lines.push_back(line); });
  compiles = false;
  const Variable cache("XDG_CACHE_HOME", folder_.c_str());
  const auto cuda = MakeCuda(0, true);
  const auto want = RunOn(f, s, *clear, *clear, *clear);
  for (size_t run : {1, 2, 3}) {
    EXPECT_EQ(RunOn(f, s, *cuda, *clear, *clear).result, want.result);
    ASSERT_EQ(lines.size(), run);
    EXPECT_EQ(lines.back().find("the interpreter runs "), 0u) << lines.back();
  }
}

}  // namespace
}  // namespace suf::gpu::cuda
