#include "suf/gpu/cuda/memory.hpp"

#include "suf/gpu/cuda/inputs.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::DeviceMemory;
using exec::cuda::DeviceStream;
using exec::cuda::StreamHandle;

RunMemory::RunMemory(const Schedule& s, Role role, std::shared_ptr<const DevicePlan> plan, const DeviceStream& stream)
    : plan_(std::move(plan)), slab_(plan_->slab) {
  const Trace& t = s.trace();
  for (int i : Inputs(t, *plan_)) base_.forms[i] = FirstForm(t, i);
  keys_at_ = 8 * base_.forms.size();
  tree_at_ = (keys_at_ + Sections(t, *plan_).size() * sizeof(fss::Prg::SectionKeys) + 15) / 16 * 16;
  fixed_ = DeviceMemory(tree_at_ + 16);
  base_.slab = slab_.data();
  base_.inputs = fixed_.data();
  base_.keys = fixed_.data() + keys_at_;
  ClearEdges(stream.stream());
  code_ = DeviceMemory(Assemble(s, role, *plan_, base_).bytes.size());
  base_.codes = code_.data();
  MakeCodes(s, role, stream);
}

// Clears the edges of packed strings. Kernels read and drop them, and so never read uninitialized memory.
void RunMemory::ClearEdges(StreamHandle s) const {
  const auto clear = [&](const Slot& slot) {
    if (!slot.bytes) return;
    for (size_t at : {slot.at, slot.at + slot.bytes - kEdge}) exec::cuda::Set(slab_.data() + at, 0, kEdge, s);
  };
  for (const auto& [node, slot] : plan_->keys) clear(slot);
  for (const DeviceStep& step : plan_->programs) {
    clear(step.received);
    clear(step.sent);
  }
  for (const LaunchBatch& batch : plan_->batches)
    for (const auto& [node, slot] : batch.told) clear(slot);
}

void RunMemory::MakeCodes(const Schedule& s, Role role, const DeviceStream& stream) {
  codes_ = Assemble(s, role, *plan_, base_);
  exec::cuda::Upload(code_.data(), codes_.bytes.data(), codes_.bytes.size(), stream.stream());
  stream.Wait();
}

bool RunMemory::SetForm(int input, const InputForm& form) {
  return !(std::exchange(base_.forms.at(input), form) == form);
}

void RunMemory::Wipe(StreamHandle s) const {
  exec::cuda::Set(slab_.data(), 0, slab_.size(), s);
  exec::cuda::Set(fixed_.data() + keys_at_, 0, fixed_.size() - keys_at_, s);  // not inputs' addresses
}

MemoryArray RunMemory::Value(const Schedule& s, int node) const { return ArrayOf(s, *plan_, base_, codes_, node); }

}  // namespace suf::gpu::cuda
