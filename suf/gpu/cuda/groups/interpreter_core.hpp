// The interpreter of one row of a group, member by member, with the row functions. Included by the kernel and by the
// tests' double of a device. No address and no branch depends on a secret. Indices of tables are public if
// rows_core.hpp says so.
#pragma once
#include "suf/gpu/cuda/groups/code.hpp"

namespace suf::gpu::cuda {

SUF_ROW const uint8_t* DataOf(const MemoryArray& a) {
  return a.indirect ? *reinterpret_cast<const uint8_t* const*>(a.data) : a.data;
}

// Returns word w of element i, extended.
SUF_ROW Word WordAt(const MemoryArray& a, const uint8_t* data, uint64_t i, int w) {
  const uint8_t* p = data + (a.splat ? 0 : i * a.bytes) + 8 * w;
  switch (a.bytes) {
    case 1:
      return a.is_signed ? Word(int64_t(*reinterpret_cast<const int8_t*>(p))) : Word(*p);
    case 2:
      return a.is_signed ? Word(int64_t(*reinterpret_cast<const int16_t*>(p))) : *reinterpret_cast<const uint16_t*>(p);
    case 4:
      return a.is_signed ? Word(int64_t(*reinterpret_cast<const int32_t*>(p))) : *reinterpret_cast<const uint32_t*>(p);
    default:
      return *reinterpret_cast<const Word*>(p);
  }
}
SUF_ROW Word WordAt(const MemoryArray& a, uint64_t i) { return WordAt(a, DataOf(a), i, 0); }

// Stores the low bytes of a word as word w of element i.
SUF_ROW void PutWord(uint8_t* data, int bytes, uint64_t i, int w, Word x) {
  uint8_t* p = data + i * uint64_t(bytes) + 8 * w;
  switch (bytes) {
    case 1:
      *p = uint8_t(x);
      return;
    case 2:
      *reinterpret_cast<uint16_t*>(p) = uint16_t(x);
      return;
    case 4:
      *reinterpret_cast<uint32_t*>(p) = uint32_t(x);
      return;
    default:
      *reinterpret_cast<Word*>(p) = x;
  }
}

// Finds the piece of x and its element there.
SUF_ROW const PieceCode& Find(const MapCode& m, int64_t x, int64_t* element) {
  const PieceCode* p = m.pieces;
  int64_t local = x;
  if (m.many > 1) {
    const int64_t c = x / m.inner % m.len;
    int64_t begin = 0;
    for (; p->end <= c; ++p) begin = p->end;
    local = (x / (m.inner * m.len) * (p->end - begin) + c - begin) * m.inner + x % m.inner;
  }
  int64_t at = p->offset;
  for (int d = p->many; d-- > 0;) {
    const int64_t next = d ? local / p->axes[d].extent : 0;
    at += (local - next * p->axes[d].extent) * p->axes[d].stride;
    local = next;
  }
  *element = at;
  return *p;
}

SUF_ROW void Fetch(const OperandCode& o, uint64_t rows, uint64_t at, Word* frame) {
  Word* const to = frame + o.at;
  for (int q = 0; q < o.planes; ++q) {
    if (o.from == OperandCode::kCopied) {
      row::Reduce(frame + o.made + q * o.words, size_t(o.words), o.mask, to + q * o.words);
      continue;
    }
    int64_t i;
    const PieceCode& p = Find(o.map, int64_t(uint64_t(q) * rows + at), &i);
    const uint8_t* const data = DataOf(p.from);
    for (int w = 0; w < o.words; ++w) to[q * o.words + w] = WordAt(p.from, data, uint64_t(i), w) & o.mask;
  }
}

// The most operands of a member: a borrow's groups and h.
inline constexpr int kMostOperands = 18;

// Runs row `at` of a group; `frame` holds its registers. A thread that only helps to pack has `here` = false.
// Bits::Receive(string, bit, k, out) reads an element of a string. Bits::Emit packs a row's elements.
template <class Bits>
SUF_ROW void RunRow(const GroupCode& g, uint64_t at, bool here, Word* frame, const Bits& bits) {
  for (int k = 0; k < g.members; ++k) {
    const MemberCode& m = g.member[k];
    const Word* in[kMostOperands];
    for (int j = 0; j < m.operands; ++j) {
      const OperandCode& o = m.operand[j];
      in[j] = o.from == OperandCode::kTable ? o.table : frame + o.at;
      if (o.from == OperandCode::kCopied || o.from == OperandCode::kLoaded) Fetch(o, g.rows, at, frame);
    }
    Word* const out = frame + m.at;
    const size_t many = size_t(m.planes) * size_t(m.words), table = size_t(m.table), ring = size_t(m.bits);
    if (m.receives) {
      for (int q = 0; q < m.planes; ++q)
        bits.Receive(m.in, (uint64_t(q) * g.rows + at) * ring, m.bits, out + q * m.words);
    } else if (m.op == pfss::Op::kRand) {
      for (int q = 0; q < m.planes; ++q)
        for (int w = 0; w < m.words; ++w) {
          const Word mask = row::LowBits(w + 1 < m.words ? 64 : row::TopBits(m.bits));
          out[q * m.words + w] = WordAt(m.drawn, m.drawn.data, uint64_t(q) * g.rows + at, w) & mask;
        }
    } else if (m.emits) {
      row::Reduce(in[0], many, m.mask, out);
      for (int q = 0; q < m.planes; ++q) bits.Emit(m, out + q * m.words, uint64_t(q) * g.rows, at, g.rows, here);
    } else if (m.copies >= 0) {
      row::Reduce(in[m.copies], many, m.mask, out);
    } else {
      switch (m.op) {
        case pfss::Op::kAdd:
        case pfss::Op::kSub:
          if (m.strings)
            row::ExclusiveOr(in[0], in[1], many, out);
          else if (m.op == pfss::Op::kAdd)
            row::Plus(in[0], in[1], many, m.mask, out);
          else
            row::Minus(in[0], in[1], many, m.mask, out);
          break;
        case pfss::Op::kMul:
          row::Times(in[0], in[1], many, m.mask, out);
          break;
        case pfss::Op::kShl:
          row::ShiftLeft(in[0], int(m.attrs[0]), many, m.mask, out);
          break;
        case pfss::Op::kShr:
          row::ShiftRight(in[0], int(m.attrs[0]), many, m.mask, out);
          break;
        case pfss::Op::kLow:
        case pfss::Op::kLift:
        case pfss::Op::kBroadcast:
          row::Reduce(in[0], many, m.mask, out);
          break;
        case pfss::Op::kBits:
          row::Reduce(in[0], many, row::LowBits(m.bits), out);
          break;
        case pfss::Op::kUnit:
          *out = row::Unit(*in[0], Word(at % uint64_t(m.attrs[0])));
          break;
        case pfss::Op::kSum: {
          Word sum = 0;
          for (int q = 0; q < m.operand[0].planes; ++q) sum += in[0][q];
          *out = sum & m.mask;
          break;
        }
        case pfss::Op::kHot:
          row::Hot(*in[0], ring, out);
          break;
        case pfss::Op::kPoint:
          *out = row::Point(in[0], table, *in[1]);
          break;
        case pfss::Op::kRotate:
          row::Rotate(in[0], table, *in[1], size_t(m.attrs[0]), out);
          break;
        case pfss::Op::kAbove:
          row::Above(in[0], table, *in[1], m.attrs, size_t(m.many), out);
          break;
        case pfss::Op::kDense:
          *out = row::Dense(in[0], table, *in[1], in[2]) & row::LowBits(m.bits);
          break;
        case pfss::Op::kSelect:
          row::Select(in[0], table, *in[1], in[2], many, m.mask, out);
          break;
        case pfss::Op::kSelectX:
          row::SelectX(in[0], table, *in[1], in[2], many, m.mask, out);
          break;
        case pfss::Op::kDot:
          *out = row::Dot(in[0], size_t(m.attrs[0]), in[1], size_t(m.length)) & m.mask;
          break;
        case pfss::Op::kLess:
          row::Less(*in[0], m.attrs, size_t(m.many), out);
          break;
        case pfss::Op::kUnbits:
          row::Unbits(in[0], many, out);
          break;
        case pfss::Op::kMix:
          row::Mix(in[0], (table + 63) / 64, in[1], ring, out);
          break;
        case pfss::Op::kDigits:
          *out = row::Digits(*in[0], in + 1, m.attrs, size_t(m.many));
          break;
        case pfss::Op::kMono:
          row::Mono(*in[0], int(m.attrs[0]), out);
          break;
        case pfss::Op::kMonoX:
          row::MonoX(*in[0], int(m.attrs[0]), out);
          break;
        case pfss::Op::kBorrowA:
          *out = row::BorrowA(*in[0], in + 1, int(m.attrs[0])) & m.mask;
          break;
        case pfss::Op::kBorrowX:
          *out = row::BorrowX(*in[0], *in[1], in + 2, int(m.attrs[0]));
          break;
        case pfss::Op::kBorrowAt0:
          *out = row::BorrowAt0(*in[0], int(m.attrs[0])) & m.mask;
          break;
        default:
          break;
      }
    }
    if (m.kept && here)
      for (int q = 0; q < m.planes; ++q)
        for (int w = 0; w < m.words; ++w)
          PutWord(m.kept, m.kept_bytes, uint64_t(q) * g.rows + at, w, out[q * m.words + w]);
  }
}

}  // namespace suf::gpu::cuda
