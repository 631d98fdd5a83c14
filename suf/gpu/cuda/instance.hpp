// The parts of a role's runs that stay for later runs of the same trace.
#pragma once
#include "suf/gpu/cuda/clock.hpp"
#include "suf/gpu/cuda/graphs.hpp"
#include "suf/gpu/cuda/inputs.hpp"
#include "suf/gpu/cuda/memory.hpp"
#include "suf/gpu/cuda/streams.hpp"

namespace suf::gpu::cuda {

// A plan with its own memory, streams, kernels and graphs. One executor at a time owns it. It keeps no reference to a
// trace, because two traces with one digest are alike.
struct Instance {
  // If `cache` is null, the interpreter runs all groups. `worth` says whether missing kernels are compiled.
  Instance(const pfss::Schedule& s, Role role, std::shared_ptr<const DevicePlan> of, KernelCache* cache, bool worth)
      : plan(std::move(of)),
        memory(s, role, plan, streams.work),
        inputs(grouping::ReadAsWords(s.trace(), plan->plan)),
        kernels(plan->plan.instructions.size(), cache, worth),
        graphs(plan->batches.size()),
        launches(plan->plan.instructions.size(), plan->chapters.size()) {}
  // Makes the codes again, because inputs have another form.
  void MakeCodes(const pfss::Schedule& s, Role role) {
    memory.MakeCodes(s, role, streams.work);
    graphs.ResetAll();
    kernels.Renew();
  }
  // Loads the kernels of all groups if they do not fit the codes.
  void LoadKernels() {
    if (kernels.Load(memory)) graphs.ResetAll();
  }
  // Wipes the data of a run.
  void Wipe() {
    streams.words.Wait();
    streams.copies.Wait();
    memory.Wipe(streams.work.stream());
    streams.work.Wait();
  }

  const std::shared_ptr<const DevicePlan> plan;
  RunStreams streams;
  BatchClock clock;
  RunMemory memory;
  ResidentInputs inputs;
  GroupKernels kernels;
  BatchGraphs graphs;
  LaunchCounts launches;
};

}  // namespace suf::gpu::cuda
