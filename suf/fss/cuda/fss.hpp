// The module's functions on a device. They produce the same bytes as prg.hpp, dpf.hpp and dcf.hpp, in device memory, in
// the order of a stream. Keys and nodes stay in registers. AES tables are in shared memory with one bank per lane. So
// no address that another thread can observe depends on a secret. Calls may be captured into graphs: none allocates or
// waits. Data that changes between runs (keys, tree key, operands) is read from memory.
#pragma once
#include "suf/exec/cuda/device.hpp"
#include "suf/fss/prg.hpp"
#include "suf/fss/sizes.hpp"

namespace suf::fss::cuda {

using exec::cuda::StreamHandle;

// `blocks` blocks of a section of the PRG from block `first` on, written to `to`, which is 16-byte aligned.
struct PrgSpan {
  const Prg::SectionKeys* keys;  // 4-byte aligned
  uint8_t* to;
  uint32_t first, blocks;
};
// The most blocks of a piece, if many pieces are to keep all multiprocessors busy until the end.
inline constexpr uint32_t kPieceBlocks = 4096;
// Expands all pieces in one launch. The pieces and the memory they point to are in device memory.
void Expand(const PrgSpan* pieces, size_t count, StreamHandle s);

// The keys of one node, like pfss::Batch: `count` keys on n bits. tree_key has 16 bytes in device memory. Elements lie
// one after another: 16 bytes per root, ElementBytes of their ring per key. Roots and DPF keys are 16-byte aligned, DCF
// keys 8-byte, tree_key 4-byte.
struct DeviceKeyBatch {
  const uint8_t* tree_key;
  uint32_t program;
  int n;
  size_t count;
  int words = 1, bits = 64;  // of a DCF's payload
  uint64_t first_tile = 0;   // tile of key 0; a batch is split only between tiles
};
// Operands of 1, 2, 4 or 8 bytes, low byte first, read modulo 2^bits.
struct DeviceNumbers {
  const void* data;
  int bytes = 8, bits = 64;
  DeviceNumbers(const uint64_t* words) : data(words) {}  // NOLINT: words are numbers
  DeviceNumbers(const void* d, int of_bytes, int of_bits) : data(d), bytes(of_bytes), bits(of_bits) {}
};
// Results of 1, 2, 4 or 8 bytes, the low bytes of each, low byte first.
struct DeviceResults {
  void* data;
  int bytes = 8;
  DeviceResults(uint64_t* words) : data(words) {}  // NOLINT: likewise
  DeviceResults(void* d, int of_bytes) : data(d), bytes(of_bytes) {}
};
// Generates keys as dpf.hpp describes. alpha need not be reduced to n bits.
void DpfGen(const DeviceKeyBatch& b, DeviceNumbers alpha, const uint8_t* root0, const uint8_t* root1, uint8_t* key,
            StreamHandle s);
// Reads a window as dpf.hpp describes. lo need not be reduced to n bits. A string above 64 bits is a sequence of 8-byte
// words.
void DpfWindow(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, int level, DeviceNumbers lo,
               int m, DeviceResults out, StreamHandle s);
// Computes shares of comparisons as dpf.hpp describes, at x less each of m thresholds. There is one x per key, which
// need not be reduced to n bits.
void DpfParity(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, DeviceNumbers x,
               const uint64_t* thresholds, int m, DeviceResults out, StreamHandle s);
// Computes dense reads as dpf.hpp describes, with one x per key, which need not be reduced to n bits.
void DpfDense(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, DeviceNumbers x,
              const uint64_t* table, uint64_t* out, StreamHandle s);
// Generates keys as dcf.hpp describes. alpha need not be reduced to n bits.
void DcfGen(const DeviceKeyBatch& b, const uint64_t* alpha, const uint64_t* beta, const uint8_t* root0,
            const uint8_t* root1, uint8_t* key, StreamHandle s);
// Evaluates keys as dcf.hpp describes, at x less each of m thresholds. There is one x per key, which need not be
// reduced to n bits. A number above 64 bits is two words, the low one first.
void DcfEval(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
             const uint64_t* thresholds, int m, uint64_t* out, StreamHandle s);

}  // namespace suf::fss::cuda
