// What kernels read of a plan: plain data with addresses in the device's memory, made by the host once (assemble.cpp)
// and read by the interpreter (interpreter_core.hpp), the bulk operations and the printed kernels alike.
#pragma once
#include <cstdint>

#include "suf/grouping/rows_core.hpp"
#include "suf/pfss/op.hpp"

namespace suf::gpu::cuda {

namespace row = grouping::row;

using row::Word;

// Elements of a value in memory: 1, 2, 4, 8 or a multiple of 8 bytes each, low byte first.
struct Array {
  const uint8_t* data = nullptr;
  uint32_t bytes = 0;                     // of an element
  bool splat = false, is_signed = false;  // splat: one element for all places: a constant, which lies among the codes
  bool indirect = false;                  // data is where the address lies: inputs, which are others in every run
};

// Place of element x of a map (lower/map.hpp): pieces along one axis, each affine by axes.
struct AxisCode {
  int64_t extent, stride;
};
struct PieceCode {
  Array from;
  int64_t end, offset;
  const AxisCode* axes;
  int32_t many;
};
struct MapCode {
  const PieceCode* pieces;
  int32_t many;
  int64_t inner, len;  // len: the last piece's end
};

// Where a member finds one.
struct OperandCode {
  enum From : uint8_t { kNone, kRegister, kCopied, kLoaded, kTable } from;
  int32_t at;    // register, in words of the frame, where the row function finds it
  int32_t made;  // kCopied: the register that is reduced
  int32_t planes, words;
  Word mask;
  const Word* table;  // kTable
  MapCode map;        // kLoaded
};

// What one member does to a row.
struct MemberCode {
  pfss::Op op;
  bool emits, receives, strings;  // strings: its ring is one of bit strings
  int8_t copies;                  // the operand whose value this is; -1: none
  int32_t planes, words;          // words of an element
  int32_t bits;                   // of its ring
  int32_t table;                  // bits of operand 0's ring
  int32_t at;                     // register
  Word mask;
  int32_t operands;
  const OperandCode* operand;
  const int64_t* attrs;
  int32_t many;       // attributes
  int32_t length;     // kDot: words of its table
  Array drawn;        // kRand: its words; planes x rows elements
  const uint8_t* in;  // receives: packed
  uint8_t* out;       // emits: packed
  uint8_t* kept;      // null: it is not
  int32_t kept_bytes;
};

struct GroupCode {
  uint64_t rows;
  int32_t members;
  int32_t frame;  // words
  const MemberCode* member;
};

}  // namespace suf::gpu::cuda
