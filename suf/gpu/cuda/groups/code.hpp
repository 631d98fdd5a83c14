// The codes of a plan that kernels read: plain data with addresses in device memory. The host makes them once
// (assemble.cpp). The interpreter (interpreter_core.hpp), the bulk operations and the printed kernels read them.
#pragma once
#include <cstdint>

#include "suf/grouping/rows_core.hpp"
#include "suf/pfss/op.hpp"

namespace suf::gpu::cuda {

namespace row = grouping::row;

using row::Word;

// The elements of a value in memory: 1, 2, 4, 8 or a multiple of 8 bytes each, low byte first.
struct MemoryArray {
  const uint8_t* data = nullptr;
  uint32_t bytes = 0;                     // per element
  bool splat = false, is_signed = false;  // splat: one element for all places, a constant in the memory of codes
  bool indirect = false;                  // data is the place of the address, for inputs: theirs change between runs
};

// One axis of a piece.
struct AxisCode {
  int64_t extent, stride;
};
// A piece of a map, affine by axes.
struct PieceCode {
  MemoryArray from;
  int64_t end, offset;
  const AxisCode* axes;
  int32_t many;
};
// A map of elements (grouping/map.hpp): pieces along one axis.
struct MapCode {
  const PieceCode* pieces;
  int32_t many;
  int64_t inner, len;  // len: the last piece's end
};

// The source of an operand.
struct OperandCode {
  enum ValueSource : uint8_t { kNone, kRegister, kCopied, kLoaded, kTable } from;
  int32_t at;    // the register, in words of the frame, that the row function reads
  int32_t made;  // kCopied: the register that is reduced
  int32_t planes, words;
  Word mask;
  const Word* table;  // kTable
  MapCode map;        // kLoaded
};

// The work of one member on a row.
struct MemberCode {
  pfss::Op op;
  bool emits, receives, strings;  // strings: its ring is one of bit strings
  int8_t copies;                  // the operand whose value this is; -1: none
  int32_t planes, words;          // words per element
  int32_t bits;                   // of its ring
  int32_t table;                  // bits of operand 0's ring
  int32_t at;                     // its register
  Word mask;
  int32_t operands;
  const OperandCode* operand;
  const int64_t* attrs;
  int32_t many;       // attributes
  int32_t length;     // kDot: words of its table
  MemoryArray drawn;  // kRand: its words; planes x rows elements
  const uint8_t* in;  // receives: packed
  uint8_t* out;       // emits: packed
  uint8_t* kept;      // null if it is not kept
  int32_t kept_bytes;
};

struct GroupCode {
  uint64_t rows;
  int32_t members;
  int32_t frame;  // words
  const MemberCode* member;
};

}  // namespace suf::gpu::cuda
