// A device's plan in the form that kernels read. It is one piece of memory with the codes of all groups and all
// constants. Its pointers lead into it and into the slab.
#pragma once
#include <array>

#include "suf/fss/cuda/fss.hpp"
#include "suf/gpu/cuda/device_plan.hpp"
#include "suf/gpu/cuda/groups/code.hpp"

namespace suf::gpu::cuda {

// The form of an input's words. If it changes between runs, the codes are made again.
struct InputForm {
  int bytes = 0;
  bool is_signed = false;
  bool operator==(const InputForm&) const = default;
};

// Returns (party, section) of all PRG words of a plan, in the order of their keys.
std::vector<std::array<uint32_t, 2>> Sections(const pfss::Trace& t, const DevicePlan& plan);

// The addresses on the device: the slab; a table of one address per input, in node order; keys of sections.
struct Base {
  uint8_t* slab = nullptr;
  uint8_t* inputs = nullptr;
  uint8_t* keys = nullptr;
  uint8_t* codes = nullptr;        // the memory for GroupCodes::bytes
  std::map<int, InputForm> forms;  // by input node
};

struct GroupCodes {
  std::vector<uint8_t> bytes;
  std::vector<const GroupCode*> groups;           // by instruction; null for operations
  std::vector<const Word*> tables;                // by instruction: thresholds of tree reads; words of sums by bits
  std::map<int, MemoryArray> constants;           // by node
  std::vector<const fss::cuda::PrgSpan*> pieces;  // by chapter: those of its PRG words
  std::vector<size_t> many;
};
// Makes the codes. Their size does not depend on the addresses.
GroupCodes Assemble(const pfss::Schedule& s, Role role, const DevicePlan& plan, const Base& base);

// Returns the place of a value in memory.
MemoryArray ArrayOf(const pfss::Schedule& s, const DevicePlan& plan, const Base& base, const GroupCodes& codes,
                    int node);
// Returns a plan's input nodes, in order.
std::vector<int> Inputs(const pfss::Trace& t, const DevicePlan& plan);

}  // namespace suf::gpu::cuda
