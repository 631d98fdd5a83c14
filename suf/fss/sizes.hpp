// Sizes of keys and of stored elements: all that rooms above may know of the cores.
#pragma once
#include <cstddef>

namespace suf::fss {

// ElementBytes: storage of one element of `bits` >= 1 bits: 1, 2, 4, 8 bytes up to 64 bits, above that whole 8-byte
// words.
constexpr size_t ElementBytes(int bits) {
  if (bits > 64) return size_t(bits + 63) / 64 * 8;
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

// DpfKeyBytes: correction words and leaves of a DPF on n bits, 8 <= n <= 64; the root is PRG output and costs nothing.
constexpr size_t DpfKeyBytes(int n) { return 16 * size_t(n - 8) + 32; }
constexpr size_t DpfKeyBits(int n) { return 8 * DpfKeyBytes(n); }

// DPF keys that share one public AES key; DCF keys, which hash more often, so that 114 bits are left
// (docs/mathematics.md#dcf).
inline constexpr size_t kDpfTile = 32;
inline constexpr size_t kDcfTile = 16;
static_assert(kDpfTile % kDcfTile == 0,
              "who splits a batch between tiles of the one splits it between those of the other");

// DcfKeyBits: a DCF on n bits, 1 <= n <= 64, with a payload of `words` words of `bits` bits: a seed, two control bits
// and a value a level, and a last value. ElementBytes of it are stored.
constexpr size_t DcfKeyBits(int n, int words, int bits) {
  const size_t value = size_t(words) * size_t(bits);
  return size_t(n) * (130 + value) + value;
}

}  // namespace suf::fss
