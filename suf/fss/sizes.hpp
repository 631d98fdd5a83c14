// Sizes and AES costs of keys and of stored elements: all that higher modules may know of the cores.
#pragma once
#include <cstddef>
#include <cstdint>

namespace suf::fss {

// Returns the bytes that store one element of `bits` >= 1 bits: 1, 2, 4 or 8 up to 64 bits, whole 8-byte words above.
constexpr size_t ElementBytes(int bits) {
  if (bits > 64) return size_t(bits + 63) / 64 * 8;
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

// Returns the bytes of correction words and leaves of a DPF on n bits, 8 <= n <= 64. The root is PRG output and costs
// nothing.
constexpr size_t DpfKeyBytes(int n) { return 16 * size_t(n - 8) + 32; }
constexpr size_t DpfKeyBits(int n) { return 8 * DpfKeyBytes(n); }

// DPF keys that share one public AES key.
inline constexpr size_t kDpfTile = 32;
// DCF keys that share one public AES key. DCFs hash more often than DPFs; this tile leaves 114 bits of security
// (docs/mathematics.md#dcf).
inline constexpr size_t kDcfTile = 16;
static_assert(kDpfTile % kDcfTile == 0,
              "a batch that is split between tiles of one kind is split between tiles of the other");

// The construction of a DCF: that of dcf.hpp, or that of the library myl7/fss. In the latter each word of a payload is
// a DCF of its own over Z_{2^64}. The numbers enter digests, so new ones go to the end.
enum class DcfScheme : uint8_t { kSuf, kMyl7 };
constexpr const char* Name(DcfScheme s) { return s == DcfScheme::kSuf ? "suf" : "myl7"; }

// Returns the bits of a DCF key on n bits, 1 <= n <= 128, with a payload of `words` words of `bits` bits. They are a
// seed, two control bits and a value per level, and a last value. ElementBytes of this are stored. In myl7 the last bit
// of a seed is the left control bit.
constexpr size_t DcfKeyBits(int n, int words, int bits, DcfScheme scheme = DcfScheme::kSuf) {
  if (scheme == DcfScheme::kMyl7) return size_t(words) * (size_t(n) * (128 + 1 + 64) + 64);
  const size_t value = size_t(words) * size_t(bits);
  return size_t(n) * (130 + value) + value;
}
// Returns the bits of a party's seeds; a DCF has one seed.
constexpr int DcfRootBits(int words, DcfScheme scheme = DcfScheme::kSuf) {
  return scheme == DcfScheme::kMyl7 ? 128 * words : 128;
}

// ---- AES blocks per key, without those for the keys of tiles

// Returns the blocks of both parties' paths and leaves.
constexpr int64_t DpfGenBlocks(int n) { return 2 * int64_t(n - 8) + 4; }
// Returns the blocks of one point, or of one threshold of a parity (level 0), at level w. The path ends at a leaf, or
// from w = 8 on at a node.
constexpr int64_t DpfPathBlocks(int n, int w = 0) { return w < 8 ? n - 7 : n - w; }
inline constexpr int kDpfDomainBits = 16;  // the largest domain that is expanded as a whole
// Returns the blocks of all 2^n points.
constexpr int64_t DpfDomainBlocks(int n) { return (int64_t{3} << (n - 8)) - 1; }
// Returns the blocks of m consecutive points at level w, by their nodes alone. The number of nodes above them depends
// on the first point. This is their mean over all first points, rounded up.
constexpr int64_t DpfRangeBlocks(int n, int64_t m, int w = 0) {
  const int depth = n - (w < 8 ? 8 : w);
  if (w >= 8) return depth + (m - 1) - ((m - 1) >> depth);
  const int64_t blocks = ((m << w) + 126) / 128 + 1, more = (blocks - 1) - ((blocks - 1) >> depth);
  return depth + blocks + (more + 1) / 2;
}
// Returns whether a window of m points is cut from the whole domain, one key per lane. A range of nodes has another
// number of nodes for each key. So with AVX-512 a block of the domain is four times as fast, with AVX2 twice.
constexpr bool DpfReadsDomain(int n, int64_t m, int w = 0) {
  return m > 1 && w == 0 && n >= 8 && n <= kDpfDomainBits && DpfDomainBlocks(n) <= 2 * DpfRangeBlocks(n, m);
}
// Returns the blocks of m consecutive points at level w.
constexpr int64_t DpfWindowBlocks(int n, int64_t m, int w = 0) {
  if (m == 1) return DpfPathBlocks(n, w);
  return DpfReadsDomain(n, m, w) ? DpfDomainBlocks(n) : DpfRangeBlocks(n, m, w);
}
// Returns the words of a payload per block: words of up to 32 bits take slots of 32 bits.
constexpr int DcfSlots(int bits) { return bits <= 32 ? 4 : 2; }
// Returns the blocks of a child's value.
constexpr int DcfValueBlocks(int words, int bits) { return (words + DcfSlots(bits) - 1) / DcfSlots(bits); }
// Returns the blocks of one threshold of one party. A level expands the seed on the path and its value. The leaf
// expands a value. The scheme kMyl7 expands both children of a node and both values.
constexpr int64_t DcfEvalBlocks(int n, int words, int bits, DcfScheme scheme = DcfScheme::kSuf) {
  if (scheme == DcfScheme::kMyl7) return int64_t{4} * n * words;
  const int64_t value = DcfValueBlocks(words, bits);
  return n * (1 + value) + value;
}
// Returns the blocks of both parties and both children. The values of both children share a block if they fit into one.
constexpr int64_t DcfGenBlocks(int n, int words, int bits, DcfScheme scheme = DcfScheme::kSuf) {
  if (scheme == DcfScheme::kMyl7) return int64_t{8} * n * words;
  const int64_t value = DcfValueBlocks(words, bits), both = 2 * words <= DcfSlots(bits) ? value : 2 * value;
  return 2 * (n * (2 + both) + value);
}

}  // namespace suf::fss
