// A device's additions to a role's plan, made without data and without a device. They are batches that run as one graph
// each, slots in one slab of memory, and registers of groups. Addresses are offsets into the slab. Slots that live from
// batch to batch never overlap. Within a batch no memory is used twice. So its instructions need only the order of
// their values.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "suf/grouping/group_plan.hpp"

namespace suf::gpu::cuda {

// A row is a thread, so groups may be long and read through any map. Planes are packed from whole bytes on.
inline constexpr grouping::GroupLimits kLimits{.members = 256,
                                               .bytes = int64_t{16} << 20,
                                               .planes = 64,
                                               .plane_rows = 8,
                                               .tail = 64,
                                               .head = 16,
                                               .table = 480,
                                               .drawn = 0,
                                               .run = 0};

// A slot: bytes of the slab.
struct Slot {
  size_t at = 0, bytes = 0;
};
// A slot, its node, and the first and last batch that use it; for tests.
struct SlotLease {
  Slot slot;
  int first, last;
  int node;
};

// kSlotAlign is the alignment of slots. Kernels may read kEdge bytes before and behind a packed string.
inline constexpr size_t kSlotAlign = 256, kEdge = 256;

// Instructions of one program that run as one graph, after all that they need is on the device.
struct LaunchBatch {
  size_t begin = 0, end = 0;  // instructions
  size_t chapter = 0;
  std::map<int, Slot> told;   // by node: packed key sections that the dealer makes, sent during the next batch
  std::map<int, Slot> spare;  // by instruction
  std::vector<int> made;      // nodes of `told`, in order
  std::vector<int> read;      // key sections that a party's batch reads
};

// Batches [begin, end) whose PRG words are expanded together, one chapter ahead. There are slots for two chapters.
struct Chapter {
  size_t begin = 0, end = 0;
  std::map<int, Slot> drawn;  // by node: planes x rows elements of ElementBytes
  size_t bytes = 0;
};

// The batches [begin, end) of one program and the frames of its step, -1 for none.
struct DeviceStep {
  size_t begin = 0, end = 0;
  int receives = -1, sends = -1;
  Slot received, sent;
};

// The registers of a group, in words: those of each member, and of its operands that are loaded or reduced.
struct RegisterFrame {
  std::vector<int> members;
  std::vector<std::vector<int>> operands;  // -1: none of its own
  int words = 0;
};

struct DevicePlan {
  grouping::GroupPlan plan;
  std::vector<LaunchBatch> batches;
  std::vector<Chapter> chapters;
  std::vector<DeviceStep> programs;
  std::map<int, Slot> keys;    // by node: packed key sections that a party reads; they stay
  std::map<int, Slot> values;  // by node: slots of values; an alias has that of its root
  std::map<int, int> root;     // aliases
  // Words and sections that are read where they were drawn or received, with the bytes of their elements. No
  // instruction copies them.
  std::map<int, std::pair<Slot, int>> direct;
  std::vector<RegisterFrame> frames;  // by instruction; empty for operations
  std::vector<SlotLease> leases;
  size_t slab = 0;
  // Returns whether an instruction needs no work of the device.
  bool Idle(const pfss::Trace& t, size_t k) const;
  // Returns the node whose memory node i has.
  int Root(int i) const {
    const auto it = root.find(i);
    return it == root.end() ? i : it->second;
  }
};

// Returns the bytes of a plan in the host's memory, to about a tenth.
uint64_t MemoryOf(const DevicePlan& plan);

// A function that returns the bytes that an instruction needs in addition to its operands and its result.
using Spare = std::function<size_t(const pfss::Schedule&, const grouping::Instruction&, const RegisterFrame&)>;

// Returns whether operand j of a member, made by its group, has a wider ring than the member's node expects.
bool Reduces(const pfss::Schedule& s, const grouping::Instruction& ins, const grouping::Member& m, size_t j);

// Plans a role's run. A batch or a chapter ends after `most` bytes of words and sections.
DevicePlan PlanOf(const pfss::Schedule& s, Role role, const Spare& spare, size_t most = size_t{64} << 20);

}  // namespace suf::gpu::cuda
