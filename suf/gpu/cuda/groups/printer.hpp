// Groups as kernels of their own. Their text calls the row functions one after another on registers, without a loop
// over members. It states the operations, their numbers of words and of axes. Ring widths, shifts, places and addresses
// are parameters, so similar groups of all layers share one text.
#pragma once
#include <string>

#include "suf/gpu/cuda/groups/assemble.hpp"

namespace suf::gpu::cuda {

struct PrintedKernel {
  std::string text;          // a translation unit with the kernel kKernel
  std::vector<Word> params;  // the kernel's parameters
};
inline constexpr const char* kKernel = "group";
inline constexpr int kPrintedThreads = 128;
// The most parameters of a kernel. The interpreter runs a group that would have more.
inline constexpr size_t kMostParams = 500;

// Prints an instruction that is a group.
PrintedKernel Print(const GroupCodes& codes, const Base& base, size_t instruction);

// Returns the files that a text includes, by name.
std::vector<std::pair<const char*, const char*>> Headers();

}  // namespace suf::gpu::cuda
