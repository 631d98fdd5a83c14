// Properties of a device's plan for every trace. Buffers of values that live at the same time never overlap, and every
// buffer is within the slab. The number of kernels of a role is fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "suf/base/scratch_test.hpp"
#include "suf/gpu/cuda/backend.hpp"
#include "suf/gpu/cuda/device_plan.hpp"
#include "suf/gpu/cuda/executor.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/run/deal.hpp"
#include "tests/double/compiler.hpp"

namespace suf::gpu::cuda {
namespace {

nn::Plan PlanIn(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return nn::Parse({std::istreambuf_iterator<char>(in), {}});
}

// A plan's trace for `tokens` tokens, with its schedule.
struct Built {
  Built(const std::string& file, int tokens) {
    nn::Build(t, PlanIn(file), tokens);
    s.emplace(t);
  }
  pfss::Trace t;
  std::optional<pfss::Schedule> s;
};

// Checks that leases that share a batch share no byte.
void ExpectApart(const DevicePlan& plan) {
  std::vector<std::vector<const SlotLease*>> alive(plan.batches.size() + 1);
  for (const SlotLease& l : plan.leases) {
    ASSERT_LE(l.slot.at + l.slot.bytes, plan.slab);
    for (int b = l.first; b <= std::min(l.last, int(plan.batches.size())); ++b) alive[size_t(b)].push_back(&l);
  }
  for (size_t b = 0; b < alive.size(); ++b) {
    auto& all = alive[b];
    std::sort(all.begin(), all.end(), [](auto* x, auto* y) { return x->slot.at < y->slot.at; });
    for (size_t i = 1; i < all.size(); ++i)
      ASSERT_LE(all[i - 1]->slot.at + all[i - 1]->slot.bytes, all[i]->slot.at)
          << "batch " << b << ": %" << all[i - 1]->node << " and %" << all[i]->node;
  }
}

// Files and tokens; SUF_PLANS adds more, as in "a.json:128 b.json:32" (tools/gpu/plans.sh).
std::vector<std::pair<std::string, int>> Plans() {
  const std::string data = "tests/data/";
  std::vector<std::pair<std::string, int>> out{{data + "tiny_plan.json", 3},
                                               {data + "tiny_plan.json", 40},
                                               {data + "tiny-gpt2_plan.json", 8},
                                               {data + "tiny-llama_plan.json", 9}};
  if (const char* more = std::getenv("SUF_PLANS")) {
    std::istringstream in(more);
    for (std::string item; in >> item;) {
      const size_t colon = item.rfind(':');
      out.emplace_back(item.substr(0, colon), std::stoi(item.substr(colon + 1)));
    }
  }
  return out;
}

TEST(DevicePlan, SlotsNeverOverlap) {
  for (const auto& [file, tokens] : Plans()) {
    const Built of(file, tokens);
    const pfss::Schedule& s = *of.s;
    for (int role : {0, 1, 2})
      for (size_t most : {size_t{1} << 14, size_t{1} << 20, size_t{64} << 20}) {
        SCOPED_TRACE(testing::Message() << file << ", " << tokens << " tokens, role " << role << ", batches of " << most
                                        << " bytes");
        ExpectApart(PlanOf(s, Role(role), SpareOf, most));
      }
  }
}

// A section is sent while the next batch runs, so its buffer is not reused until that is over.
TEST(DevicePlan, SectionsOutliveTheirBatch) {
  const Built of("tests/data/tiny_plan.json", 7);
  const DevicePlan p = PlanOf(*of.s, Role::kDealer, SpareOf, size_t{1} << 14);
  ASSERT_GT(p.batches.size(), 8u);
  size_t told = 0;
  for (size_t b = 0; b < p.batches.size(); ++b)
    for (const auto& [node, slot] : p.batches[b].told)
      told += std::count_if(p.leases.begin(), p.leases.end(), [&, of = node, at = slot.at](const SlotLease& l) {
        return l.node == of && l.slot.at == at && l.first == int(b) && l.last == int(b) + 1;
      });
  size_t made = 0;
  for (const LaunchBatch& b : p.batches) made += b.made.size();
  EXPECT_EQ(told, made);
}

// The kernels of a role without its PRG words: all, and the most in one step of the inference itself.
std::pair<int, int> KernelsOf(const pfss::Schedule& s, const DevicePlan& p) {
  int all = 0, most = 0;
  for (size_t i = 0; i < p.programs.size(); ++i) {
    int step = 0;
    for (size_t b = p.programs[i].begin; b < p.programs[i].end; ++b)
      for (size_t k = p.batches[b].begin; k < p.batches[b].end; ++k)
        if (!p.Idle(s.trace(), k)) step += LaunchesOf(s, p, p.plan.instructions[k]);
    all += step;
    if (s.steps(int(p.plan.role))[i].tick >= 0) most = std::max(most, step);
  }
  return {all, most};
}

// One more kernel a step costs time in every inference, so a change must be entered here.
TEST(DevicePlan, KernelsOfAStepAreCounted) {
  for (const auto& [file, tokens] : Plans()) {
    const Built of(file, tokens);
    const pfss::Schedule& s = *of.s;
    for (int role : {0, 1}) {
      const DevicePlan p = PlanOf(s, Role(role), SpareOf);
      const auto [all, most] = KernelsOf(s, p);
      const double mean = double(all) / double(p.programs.size());
      std::cout << file << ", " << tokens << " tokens, P" << role << ": " << all << " kernels in " << p.programs.size()
                << " steps, " << std::round(10 * mean) / 10 << " a step, at most " << most << "\n";
      EXPECT_LE(mean, 10) << file;
      EXPECT_LE(most, 28) << file;
    }
  }
}

TEST(DevicePlan, KernelsAreCounted) {
  const Built of("tests/data/tiny_plan.json", 7);
  const pfss::Schedule& s = *of.s;
  std::array<size_t, 3> groups{}, operations{};
  for (size_t role : {0, 1, 2}) {
    const DevicePlan p = PlanOf(s, Role(role), SpareOf);
    for (size_t k = 0; k < p.plan.instructions.size(); ++k)
      if (!p.Idle(s.trace(), k)) ++(p.plan.instructions[k].group ? groups : operations)[role];
    std::cout << "role " << role << ": " << groups[role] << " groups and " << operations[role] << " operations in "
              << p.programs.size() << " steps, slab of " << p.slab << " bytes\n";
  }
  EXPECT_EQ(groups, (std::array<size_t, 3>{147, 128, 307}));
  EXPECT_EQ(operations, (std::array<size_t, 3>{97, 97, 78}));
}

// Returns the memory that P0's run of a trace lacks; none if it was reserved. The reservation ends here, or with *held.
std::optional<pfss::Backend::Lack> LackOf(pfss::Backend& backend, const pfss::Schedule& s,
                                          std::shared_ptr<pfss::Reservation>* held = nullptr) {
  auto got = backend.Reserve(s, Role::kModel, [](const std::string& name) { return name.starts_with("W.") ? -2 : 8; });
  if (const auto* lack = std::get_if<pfss::Backend::Lack>(&got)) return *lack;
  if (held) *held = std::get<0>(std::move(got));
  return std::nullopt;
}

// A lack of memory is known before a run starts, and memory kept for other traces is freed first.
TEST(Backend, MemoryIsReservedBeforeARun) {
  const Built of_longer("tests/data/tiny_plan.json", 40), of_shorter("tests/data/tiny_plan.json", 5);
  const pfss::Schedule &longer = *of_longer.s, &shorter = *of_shorter.s;
  const auto backend = MakeBackend(CudaCapabilities(), 0, Groups::kInterpreted);
  const auto bytes_of = [](const std::string& name) { return name.starts_with("W.") ? -2 : 8; };
  const DeviceCost most = DeviceCostOf(longer, Role::kModel, bytes_of);
  ASSERT_GT(most.weights, 0);
  ASSERT_LT(DeviceCostOf(shorter, Role::kModel, bytes_of).bytes(), most.bytes());
  const size_t all = exec::cuda::free_bytes;
  exec::cuda::free_bytes = size_t(most.bytes()) + (size_t{64} << 20) - 1;
  const auto lack = LackOf(*backend, longer);
  ASSERT_TRUE(lack);
  EXPECT_EQ(lack->needed, lack->free + 1);
  exec::cuda::free_bytes = size_t(most.values);
  EXPECT_TRUE(Fails(
      Cause::kResource,
      Str("a run needs ", most.values + (64 << 20), " bytes of the device's memory, and ", most.values, " are free"),
      [&] { (void)backend->Start(longer, Role::kModel); }));
  exec::cuda::free_bytes = size_t(most.bytes()) + (size_t{64} << 20) - 1;
  EXPECT_FALSE(LackOf(*backend, shorter));
  EXPECT_NE(backend->Start(shorter, Role::kModel), nullptr);
  exec::cuda::free_bytes = all;
  EXPECT_FALSE(LackOf(*backend, longer));
  EXPECT_NE(backend->Start(longer, Role::kModel), nullptr);
}

// An idle instance is promised to one run. Runs that are to come keep theirs when memory is freed for other traces.
TEST(Backend, EachReservationHasAnInstance) {
  const Built of_longer("tests/data/tiny_plan.json", 40), of_shorter("tests/data/tiny_plan.json", 5);
  const pfss::Schedule &longer = *of_longer.s, &shorter = *of_shorter.s;
  const auto backend = MakeBackend(CudaCapabilities(), 0, Groups::kInterpreted);
  std::shared_ptr<pfss::Reservation> first, second, third;
  ASSERT_FALSE(LackOf(*backend, shorter, &first));
  ASSERT_FALSE(LackOf(*backend, shorter, &second));
  const size_t all = exec::cuda::free_bytes;
  exec::cuda::free_bytes = 0;
  EXPECT_TRUE(LackOf(*backend, shorter)) << "both instances are promised";
  EXPECT_TRUE(LackOf(*backend, longer)) << "and stay for their runs";
  auto run = backend->Start(shorter, Role::kModel);
  EXPECT_TRUE(LackOf(*backend, shorter)) << "one runs, the other is promised";
  second.reset();
  EXPECT_FALSE(LackOf(*backend, shorter, &third)) << "the other is free";
  auto beside = backend->Start(shorter, Role::kModel);
  EXPECT_TRUE(LackOf(*backend, shorter)) << "both run";
  EXPECT_THROW((void)backend->Start(shorter, Role::kModel), Error);
  run.reset();
  EXPECT_TRUE(LackOf(*backend, shorter)) << "the first is still promised, to the next run of its holder";
  first.reset();
  EXPECT_FALSE(LackOf(*backend, shorter));
  beside.reset();
  third.reset();
  EXPECT_TRUE(LackOf(*backend, longer)) << "which frees the idle ones";
  EXPECT_TRUE(LackOf(*backend, shorter));
  exec::cuda::free_bytes = all;
  EXPECT_FALSE(LackOf(*backend, longer));
}

// The estimate equals the run: the dealer's kernels, measured one by one or not. Its memory is its plan's.
TEST(DeviceCost, IsWhatRuns) {
  const Built of("tests/data/tiny_plan.json", 7);
  const pfss::Schedule& s = *of.s;
  const auto bytes_of = [](const std::string&) { return 8; };
  const DeviceCost cost = DeviceCostOf(s, Role::kDealer, bytes_of);
  EXPECT_EQ(size_t(cost.values), PlanOf(s, Role::kDealer, SpareOf).slab);
  EXPECT_EQ(cost.bytes(), cost.values + cost.codes + cost.weights + cost.inputs);
  EXPECT_GT(std::min({cost.values, cost.codes, cost.inputs}), 0);
  EXPECT_GT(DeviceCostOf(s, Role::kModel, bytes_of).weights, 0);
  run::Inputs inputs;
  for (const pfss::Node& n : s.trace().nodes())
    if (n.op == pfss::Op::kInput)
      inputs.Set(s.trace().name(n.label), std::vector<int64_t>(size_t(pfss::Size(n.shape))));
  const auto backend = MakeBackend(CudaCapabilities(), 0, Groups::kInterpreted);
  for (bool timed : {false, true, false, true}) {  // the second run without measuring uses graphs
    const auto randomness = backend->Expand({{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}});
    const auto sink = [&](int p) {
      return std::make_unique<store::Sink>(Hash{}, std::make_shared<const store::BodyLayout>(run::LayoutOf(s, p)),
                                           [](View) {});
    };
    const auto p0 = sink(0), p1 = sink(1);
    run::Times times;
    run::Deal(s, *backend, *randomness, inputs, *p0, *p1, &times, timed);
    p0->Finish();
    p1->Finish();
    int64_t launches = 0;
    for (const auto& [scope, spent] : times.by) launches += spent.launches;
    EXPECT_EQ(launches, cost.launches) << "measured: " << timed;
    EXPECT_GT(times.peak.device, 0);
  }
}

}  // namespace
}  // namespace suf::gpu::cuda
