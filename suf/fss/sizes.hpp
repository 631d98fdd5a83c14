// Sizes of keys and of stored elements: all that rooms above may know of the cores.
#pragma once
#include <cstddef>
#include <cstdint>

namespace suf::fss {

// Storage of one element of `bits` >= 1 bits: 1, 2, 4, 8 bytes up to 64 bits, above that whole 8-byte
// words.
constexpr size_t ElementBytes(int bits) {
  if (bits > 64) return size_t(bits + 63) / 64 * 8;
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

// Correction words and leaves of a DPF on n bits, 8 <= n <= 64; the root is PRG output and costs nothing.
constexpr size_t DpfKeyBytes(int n) { return 16 * size_t(n - 8) + 32; }
constexpr size_t DpfKeyBits(int n) { return 8 * DpfKeyBytes(n); }

// DPF keys that share one public AES key; DCF keys, which hash more often, so that 114 bits are left
// (docs/mathematics.md#dcf).
inline constexpr size_t kDpfTile = 32;
inline constexpr size_t kDcfTile = 16;
static_assert(kDpfTile % kDcfTile == 0,
              "who splits a batch between tiles of the one splits it between those of the other");

// Whose DCFs: dcf.hpp's, or those of the library myl7/fss, of which each word of a payload is a DCF of its
// own over Z_{2^64}. Numbers enter digests: new ones go to the end.
enum class DcfScheme : uint8_t { kSuf, kMyl7 };
constexpr const char* Name(DcfScheme s) { return s == DcfScheme::kSuf ? "suf" : "myl7"; }

// A DCF on n bits, 1 <= n <= 128, with a payload of `words` words of `bits` bits: a seed, two control bits
// and a value a level, and a last value. ElementBytes of it are stored. The left control bit of myl7 is a seed's last.
constexpr size_t DcfKeyBits(int n, int words, int bits, DcfScheme scheme = DcfScheme::kSuf) {
  if (scheme == DcfScheme::kMyl7) return size_t(words) * (size_t(n) * (128 + 1 + 64) + 64);
  const size_t value = size_t(words) * size_t(bits);
  return size_t(n) * (130 + value) + value;
}
// A party's seeds; a DCF has one.
constexpr int DcfRootBits(int words, DcfScheme scheme = DcfScheme::kSuf) {
  return scheme == DcfScheme::kMyl7 ? 128 * words : 128;
}

// ---- AES blocks a key, without the keys of tiles

// Both parties' paths and leaves.
constexpr int64_t DpfGenBlocks(int n) { return 2 * int64_t(n - 8) + 4; }
// One point, or one threshold of a parity (level 0), at level w: a leaf, or from w = 8 on a node.
constexpr int64_t DpfPathBlocks(int n, int w = 0) { return w < 8 ? n - 7 : n - w; }
// DpfDomainBlocks: all 2^n points.
inline constexpr int kDpfDomainBits = 16;  // the largest domain that is expanded whole
constexpr int64_t DpfDomainBlocks(int n) { return (int64_t{3} << (n - 8)) - 1; }
// m points in a row at level w, by their nodes alone. The nodes above them depend on where they begin:
// their mean over all places, rounded up.
constexpr int64_t DpfRangeBlocks(int n, int64_t m, int w = 0) {
  const int depth = n - (w < 8 ? 8 : w);
  if (w >= 8) return depth + (m - 1) - ((m - 1) >> depth);
  const int64_t blocks = ((m << w) + 126) / 128 + 1, more = (blocks - 1) - ((blocks - 1) >> depth);
  return depth + blocks + (more + 1) / 2;
}
// Whether a window of m points is cut from the whole domain, a key in each lane: with AVX-512 four
// times as fast a block as a range of nodes, whose number differs from key to key, with AVX2 twice.
constexpr bool DpfReadsDomain(int n, int64_t m, int w = 0) {
  return m > 1 && w == 0 && n >= 8 && n <= kDpfDomainBits && DpfDomainBlocks(n) <= 2 * DpfRangeBlocks(n, m);
}
// m points in a row at level w.
constexpr int64_t DpfWindowBlocks(int n, int64_t m, int w = 0) {
  if (m == 1) return DpfPathBlocks(n, w);
  return DpfReadsDomain(n, m, w) ? DpfDomainBlocks(n) : DpfRangeBlocks(n, m, w);
}
// Words of a payload in a block: those of up to 32 bits take 32. DcfValueBlocks: of a child's value.
constexpr int DcfSlots(int bits) { return bits <= 32 ? 4 : 2; }
constexpr int DcfValueBlocks(int words, int bits) { return (words + DcfSlots(bits) - 1) / DcfSlots(bits); }
// One threshold of one party: a level expands the seed on the path and its value; the leaf a value.
// myl7 expands both children of a node, and both values.
constexpr int64_t DcfEvalBlocks(int n, int words, int bits, DcfScheme scheme = DcfScheme::kSuf) {
  if (scheme == DcfScheme::kMyl7) return int64_t{4} * n * words;
  const int64_t value = DcfValueBlocks(words, bits);
  return n * (1 + value) + value;
}
// Both parties, both children, whose values share a block where they fit it.
constexpr int64_t DcfGenBlocks(int n, int words, int bits, DcfScheme scheme = DcfScheme::kSuf) {
  if (scheme == DcfScheme::kMyl7) return int64_t{8} * n * words;
  const int64_t value = DcfValueBlocks(words, bits), both = 2 * words <= DcfSlots(bits) ? value : 2 * value;
  return 2 * (n * (2 + both) + value);
}

}  // namespace suf::fss
