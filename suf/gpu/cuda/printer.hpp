// Groups as kernels of their own: text that calls the row functions one after another on registers, without a loop over
// members. The text says which operations, on how many words, by how many axes; ring widths, shifts, places and
// addresses are parameters, so that alike groups of all layers are one text.
#pragma once
#include <string>

#include "suf/gpu/cuda/assemble.hpp"

namespace suf::gpu::cuda {

struct Printed {
  std::string text;          // a translation unit; the kernel is kKernel
  std::vector<Word> params;  // as the kernel takes them
};
inline constexpr const char* kKernel = "group";
inline constexpr int kPrintedThreads = 128;
// kMostParams: of a kernel; a group that would have more is the interpreter's.
inline constexpr size_t kMostParams = 500;

// An instruction that is a group.
Printed Print(const Assembled& codes, const Base& base, size_t instruction);

// What a text includes, by name.
std::vector<std::pair<const char*, const char*>> Headers();

}  // namespace suf::gpu::cuda
