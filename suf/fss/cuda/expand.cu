// The PRG of prg.hpp for a list of pieces. It is AES-128 in counter mode, each piece with the round keys of its
// section.
#include "suf/fss/cuda/aes.cuh"

namespace suf::fss::cuda {
namespace {

// Blocks that a warp takes at a time.
constexpr uint32_t kPart = 512;
// Shares of a piece. In a longer piece each share repeats after kPieceBlocks blocks.
constexpr uint32_t kParts = kPieceBlocks / kPart;

template <int kTables>
__global__ void __launch_bounds__(kThreads, 1) ExpandKernel(const PrgSpan* pieces, uint64_t tickets) {
  __shared__ unsigned next;  // the block's next ticket: its warps draw tickets in turn
  if (threadIdx.x == 0) next = 0;
  Aes<kTables> aes;
  const unsigned lane = threadIdx.x % 32;
  for (;;) {
    unsigned mine = 0;
    if (lane == 0) mine = atomicAdd(&next, 1u);
    const uint64_t ticket = uint64_t(__shfl_sync(~0u, mine, 0)) * gridDim.x + blockIdx.x;
    if (ticket >= tickets) break;
    // Only the first share of a small piece has blocks. The order is rotated from piece to piece to balance the load.
    const uint64_t number = ticket / kParts;
    const uint32_t part = uint32_t(ticket + number) % kParts * kPart;
    const PrgSpan piece = pieces[number];
    if (part >= piece.blocks) continue;
    aes.TakeRoundKeys(reinterpret_cast<const uint32_t*>(piece.keys->round_keys.data()));
    const uint32_t* const nonce = reinterpret_cast<const uint32_t*>(piece.keys->nonce.data());
    const Quad first = aes.Counter(nonce[0], nonce[1], nonce[2]);
    uint4* const to = reinterpret_cast<uint4*>(piece.to);
    for (uint64_t begin = part; begin < piece.blocks; begin += kPieceBlocks) {
      const uint64_t end = begin + kPart < piece.blocks ? begin + kPart : piece.blocks;
#pragma unroll 1
      for (uint64_t i = begin + lane; i < end; i += 32)
        Store(to + i, aes.EncryptCounter(first, piece.first + uint32_t(i)));
    }
  }
}

}  // namespace

void Expand(const PrgSpan* pieces, size_t count, StreamHandle s) {
  if (count == 0) return;
  const uint64_t tickets = uint64_t(count) * kParts;
  Launch("ExpandKernel", ExpandKernel<4>, ExpandKernel<2>, kThreads, tickets, s, pieces, tickets);
}

}  // namespace suf::fss::cuda
