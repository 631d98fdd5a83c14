// The room's functions on a device: the same bytes as prg.hpp, dpf.hpp and dcf.hpp make, from and into memory of the
// device, in the order of a stream. Keys and nodes stay in registers, tables of AES in shared memory with a bank a
// lane, so that no address that another thread can see depends on a secret. Calls may be captured into graphs: none
// allocates, none waits, and what differs from run to run (keys, tree key, operands) is read from memory.
#pragma once
#include "suf/exec/cuda/device.hpp"
#include "suf/fss/prg.hpp"
#include "suf/fss/sizes.hpp"

namespace suf::fss::cuda {

using exec::cuda::Stream;

// `blocks` blocks of a section of the PRG, from number `first` on, to `to`, which is 16-byte aligned.
struct Piece {
  const Prg::Keys* keys;  // 4-byte aligned
  uint8_t* to;
  uint32_t first, blocks;
};
// kPieceBlocks: most blocks of a piece where many pieces shall keep all processors busy to the end.
inline constexpr uint32_t kPieceBlocks = 4096;
// All pieces, in one launch; pieces and what they point to lie in the device's memory.
void Expand(const Piece* pieces, size_t count, Stream s);

// Keys of one node, as pfss::Batch: `count` keys on n bits; tree_key: 16 bytes in the device's memory. Elements
// stand one after another: roots 16 bytes, keys ElementBytes of their ring. Roots and keys of DPFs are 16-byte aligned,
// keys of DCFs 8-byte, tree_key 4-byte.
struct Batch {
  const uint8_t* tree_key;
  uint32_t program;
  int n;
  size_t count;
  int words = 1, bits = 64;  // of a DCF's payload
  uint64_t first_tile = 0;   // of key 0: whoever splits a batch splits it between tiles
};
// Numbers, Results: elements of 1, 2, 4 or 8 bytes, low byte first: read modulo 2^bits; a result's low bytes.
struct Numbers {
  const void* data;
  int bytes = 8, bits = 64;
  Numbers(const uint64_t* words) : data(words) {}  // NOLINT: words are numbers
  Numbers(const void* d, int of_bytes, int of_bits) : data(d), bytes(of_bytes), bits(of_bits) {}
};
struct Results {
  void* data;
  int bytes = 8;
  Results(uint64_t* words) : data(words) {}  // NOLINT: likewise
  Results(void* d, int of_bytes) : data(d), bytes(of_bytes) {}
};
// As in dpf.hpp and dcf.hpp. Strings above 64 bits are words of 8 bytes. Points are x less a threshold: x has a number
// a key (DCFs above 64 bits: two words, the low one first), thresholds m numbers; alpha, lo and x need not be reduced
// to n bits.
void DpfGen(const Batch& b, Numbers alpha, const uint8_t* root0, const uint8_t* root1, uint8_t* key, Stream s);
void DpfWindow(const Batch& b, int party, const uint8_t* root, const uint8_t* key, int level, Numbers lo, int m,
               Results out, Stream s);
void DpfParity(const Batch& b, int party, const uint8_t* root, const uint8_t* key, Numbers x,
               const uint64_t* thresholds, int m, Results out, Stream s);
void DpfDense(const Batch& b, int party, const uint8_t* root, const uint8_t* key, Numbers x, const uint64_t* table,
              uint64_t* out, Stream s);
void DcfGen(const Batch& b, const uint64_t* alpha, const uint64_t* beta, const uint8_t* root0, const uint8_t* root1,
            uint8_t* key, Stream s);
void DcfEval(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
             const uint64_t* thresholds, int m, uint64_t* out, Stream s);

}  // namespace suf::fss::cuda
