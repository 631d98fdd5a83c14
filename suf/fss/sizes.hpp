// Sizes of FSS values: what layers above the kernels may know.
#pragma once
#include <cstddef>

namespace suf::fss {

// ElementBytes: storage of one element of `bits` bits: 1, 2, 4 or 8 bytes, above 64 bits whole 8-byte words.
constexpr size_t ElementBytes(int bits) {
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8 * size_t((bits + 63) / 64);
}

// DpfKeyBits: correction words of a 1-bit half-tree DPF over n >= 8 bits with two 128-bit leaf words.
constexpr size_t DpfKeyBits(int n) { return 8 * (16 * size_t(n - 8) + 32); }

}  // namespace suf::fss
