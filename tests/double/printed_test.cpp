// Printed kernels give the same results as clear. The same texts run on the host, both before a step's graph is made
// and in the graph.
#include <gtest/gtest.h>

#include "suf/gpu/cuda/backend.hpp"
#include "suf/model/rig_test.hpp"
#include "suf/reference/clear.hpp"
#include "tests/double/compiler.hpp"

namespace suf::gpu::cuda {
namespace {

// A small encoder, all three roles: products, cuts, tables, trees, sums and pools; every frame and bundle.
TEST(Printed, AWholeModelHasTheSameWords) {
  const Scratch folder;
  const Variable cache("XDG_CACHE_HOME", folder.path.c_str());
  model::Small small;
  small.layers = 1;
  const model::Compiled c = model::CompileFor(model::SmallModel(3, small), 5);
  pfss::Trace t;
  nn::Build(t, c.plan, 5);
  const pfss::Schedule s(t);
  std::mt19937_64 rng(4);
  run::Inputs in[3];
  model::SetInputs(c.plan, c.q, model::Texts(5, 1, 5, 5, small.vocab)[0], rng, in);
  const auto clear = reference::MakeClear(), device = MakeBackend(CudaCapabilities(), 0, Groups::kPrinted);
  const run::PairRun want = model::RunCounted(s, in, *clear, 1);
  for (int run = 0; run < 3; ++run) {
    SCOPED_TRACE(run);
    const int before = exec::cuda::printed;
    const run::PairRun got = model::RunCounted(s, in, *device, 1);
    EXPECT_EQ(got.result, want.result);
    EXPECT_EQ(got.key, want.key);
    EXPECT_EQ(got.frame, want.frame);
    EXPECT_EQ(exec::cuda::printed > before + 100, run < 2) << exec::cuda::printed - before;
  }
}

}  // namespace
}  // namespace suf::gpu::cuda
