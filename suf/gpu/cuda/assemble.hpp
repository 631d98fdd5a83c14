// A device's plan as what kernels read: one piece of memory with the codes of all groups and all constants, whose
// pointers lead into it and into the slab.
#pragma once
#include <array>

#include "suf/gpu/cuda/code.hpp"
#include "suf/gpu/cuda/plan.hpp"
#include "suf/fss/cuda/fss.hpp"

namespace suf::gpu::cuda {

// How an input's words lie; the same in every run, or the codes are made again.
struct InputForm {
  int bytes = 0;
  bool is_signed = false;
  bool operator==(const InputForm&) const = default;
};

// (party, section) of all PRG words of a plan, in order of their keys.
std::vector<std::array<uint32_t, 2>> Sections(const pfss::Trace& t, const DevicePlan& plan);

// Where things lie: the slab; a table of addresses, one an input, in order of its nodes; keys of sections.
struct Base {
  uint8_t* slab = nullptr;
  uint8_t* inputs = nullptr;
  uint8_t* keys = nullptr;
  uint8_t* codes = nullptr;        // the memory that Assembled::bytes goes to
  std::map<int, InputForm> forms;  // by input node
};

struct Assembled {
  std::vector<uint8_t> bytes;
  std::vector<const GroupCode*> groups;         // by instruction; null for operations
  std::vector<const Word*> tables;              // by instruction: thresholds of reads of trees; words of sums by bits
  std::map<int, Array> constants;               // by node
  std::vector<const fss::cuda::Piece*> pieces;  // by chapter: of its PRG words
  std::vector<size_t> many;
};
// The codes. Their size does not depend on the addresses.
Assembled Assemble(const pfss::Schedule& s, Role role, const DevicePlan& plan, const Base& base);

// A value in memory.
Array ArrayOf(const pfss::Schedule& s, const DevicePlan& plan, const Base& base, const Assembled& codes, int node);
// A plan's input nodes, in order.
std::vector<int> Inputs(const pfss::Trace& t, const DevicePlan& plan);

}  // namespace suf::gpu::cuda
