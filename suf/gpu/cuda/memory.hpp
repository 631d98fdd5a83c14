// The device memory of a plan.
#pragma once
#include <memory>

#include "suf/gpu/cuda/groups/assemble.hpp"

namespace suf::gpu::cuda {

// Knows where values, frames, keys and codes lie on the device. It has three pieces of memory: the slab of the plan,
// the codes that kernels read, and fixed data. The fixed data are addresses of inputs, keys of PRG sections, and the
// tree key.
class RunMemory {
 public:
  // Allocates the memory and makes the codes, for inputs of their first form.
  RunMemory(const pfss::Schedule& s, Role role, std::shared_ptr<const DevicePlan> plan,
            const exec::cuda::DeviceStream& stream);
  // Makes the codes for the present forms of inputs, and waits until they are on the device.
  void MakeCodes(const pfss::Schedule& s, Role role, const exec::cuda::DeviceStream& stream);
  // Records an input's form. Returns whether it differs from the one before, so that the codes must be made again.
  bool SetForm(int input, const InputForm& form);
  // Wipes the data of a run, in the stream's order.
  void Wipe(exec::cuda::StreamHandle s) const;

  // Returns the place of a node's value.
  MemoryArray Value(const pfss::Schedule& s, int node) const;
  uint8_t* At(const Slot& slot) const { return base_.slab + slot.at; }
  // Returns the 16 bytes of the tree key.
  uint8_t* tree_key() const { return fixed_.data() + tree_at_; }
  // Returns the keys of the plan's PRG sections, in the order of Sections.
  uint8_t* section_keys() const { return base_.keys; }
  const Base& base() const { return base_; }
  const GroupCodes& codes() const { return codes_; }

 private:
  void ClearEdges(exec::cuda::StreamHandle s) const;
  const std::shared_ptr<const DevicePlan> plan_;
  Base base_;
  GroupCodes codes_;
  exec::cuda::DeviceMemory slab_, code_, fixed_;
  size_t keys_at_ = 0, tree_at_ = 0;  // in fixed_
};

}  // namespace suf::gpu::cuda
