// Members of groups: operands, arithmetic and messages. member_tables.cpp has tables and borrows.
#include "suf/cpu/members.hpp"

#include <algorithm>

#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

const uint8_t* MemberKernels::Operand(const Strip& s, size_t k, int want, int spare) const {
  return Operand(s, k, want, s.spare(spare));
}

const uint8_t* MemberKernels::Operand(const Strip& s, size_t k, int want, uint8_t* buffer) const {
  const grouping::Operand& o = s.member().operands[k];
  if (o.from == grouping::Operand::kMember) {
    const int had = element(s.ins.members[size_t(o.member)].node);
    const uint8_t* at = s.reg(size_t(o.member)) + size_t(o.plane) * s.n * size_t(had);
    if (had == want) return at;
    loops_.move[Code(had)][Code(want)](at, size_t(o.planes) * s.n, buffer);
    return buffer;
  }
  // Words of the right width are read in place.
  if (const grouping::AxisPart& p = o.map.pieces[0]; o.planes == 1 && grouping::IsContiguous(o.map, p.at.offset))
    if (const PackedTensor& v = tensors_.of(p.node); v.element == want && !v.splat)
      return v.at(size_t(p.at.offset) + s.lo);
  for (size_t q = 0; q < size_t(o.planes); ++q)
    tensors_.Load(o.map, q * s.ins.rows + s.lo, s.n, want, buffer + q * s.n * size_t(want));
  return buffer;
}

void MemberKernels::Keep(const Strip& s) const {
  if (s.own().direct == int(s.at)) return;
  const MemberResources& r = s.resource();
  for (int q = 0; q < s.member().planes; ++q)
    std::memcpy(r.kept + (size_t(q) * s.ins.rows + s.lo) * r.element, s.reg() + size_t(q) * s.n * r.element,
                s.n * r.element);
}

void MemberKernels::Compute(const Strip& s) const {
  const Op op = node(s).op;
  switch (op) {
    case Op::kRand:
      return Random(s);
    case Op::kTell:
    case Op::kSend:
      return s.resource().in.data() ? Receive(s) : Emit(s);
    case Op::kSum:
      return SumPlanes(s);
    case Op::kUnit:
      return Unit(s);
    case Op::kDigits:
    case Op::kMono:
    case Op::kMonoX:
    case Op::kBorrowA:
    case Op::kBorrowX:
    case Op::kBorrowAt0:
      return Borrow(s);
    default:
      return Info(op).cls == OpClass::kRows ? BitString(s) : Arithmetic(s);
  }
}

void MemberKernels::Arithmetic(const Strip& s) const {
  const grouping::Member& m = s.member();
  const Node& x = node(s);
  const size_t n = size_t(m.planes) * s.n;
  const int e = element(m.node), code = Code(e);
  uint8_t* const out = s.reg();
  auto operand = [&](size_t k) { return Operand(s, k, e, int(k)); };
  if (m.copies >= 0) {
    if (s.own().alias) return;
    // The one operand of a view goes directly to the register.
    const uint8_t* from = Operand(s, std::min(size_t(m.copies), m.operands.size() - 1), e, out);
    if (from != out) std::memcpy(out, from, n * size_t(e));
    return;
  }
  switch (x.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
      if (x.ring.kind == Ring::kXor)
        return loops_.binary[3][kExclusiveOr](operand(0), operand(1), (n * size_t(e) + 7) / 8, out);
      return loops_.binary[code][x.op == Op::kAdd   ? kPlus
                                 : x.op == Op::kSub ? kMinus
                                                    : kTimes](operand(0), operand(1), n, out);
    case Op::kShl:
      return loops_.shift[code][0](operand(0), int(x.attrs[0]), 0, n, out);
    case Op::kShr:
      return ShiftRight(s);
    case Op::kLift:
    case Op::kBits:
      return loops_.shift[code][1](operand(0), 0, ring::Mask(std::min(arg(x, 0).ring.bits, x.ring.bits)), n, out);
    default:  // kBroadcast
      std::memcpy(out, operand(0), n * size_t(e));
  }
}

// The representative has the operand's ring, which may be wider than that of the result.
void MemberKernels::ShiftRight(const Strip& s) const {
  const int i = s.member().node;
  const Node& x = node(s);
  const size_t n = size_t(s.member().planes) * s.n;
  const int e = element(i), from = element(x.args[0]), shift = int(x.attrs[0]);
  const uint64_t mask = ring::Mask(std::min(arg(x, 0).ring.bits, shift + std::max(1, tensors_.schedule().width(i))));
  uint8_t* const to = from == e ? s.reg() : s.spare(1);
  loops_.shift[Code(from)][1](Operand(s, 0, from, 0), shift, mask, n, to);
  if (from != e) loops_.move[Code(from)][Code(e)](to, n, s.reg());
}

void MemberKernels::SumPlanes(const Strip& s) const {
  const int e = element(s.member().node);
  const size_t bytes = s.n * size_t(e);
  const uint8_t* plane = Operand(s, 0, e, 0);
  std::memcpy(s.reg(), plane, bytes);
  for (int q = 1; q < s.member().operands[0].planes; ++q)
    loops_.binary[Code(e)][kPlus](s.reg(), plane + size_t(q) * bytes, s.n, s.reg());
}

void MemberKernels::Unit(const Strip& s) const {
  const grouping::Member& m = s.member();
  const Node& x = node(s);
  const size_t cols = size_t(x.attrs[0]), e = size_t(element(m.node));
  for (size_t k = 0, run; k < s.n; k += run) {
    const grouping::ElementRun from = grouping::RunAt(m.operands[0].map, int64_t(s.lo + k));
    const size_t v = (s.lo + k) % cols;
    run = std::min(s.n - k, cols - v);
    uint64_t word = 0;
    const PackedTensor& in = tensors_.of(from.node);
    std::memcpy(&word, in.at(size_t(from.at)), size_t(in.element));
    loops_.unit[Code(int(e))](uint32_t(v), uint32_t(word & ring::Mask(arg(x, 0).ring.bits)), run, s.reg() + k * e);
  }
}

void MemberKernels::Random(const Strip& s) const {
  const grouping::Member& m = s.member();
  const Node& x = node(s);
  const size_t e = size_t(element(m.node));
  for (int q = 0; q < m.planes; ++q) {
    // The PRG fills from whole blocks on; planes may begin within one.
    const size_t from = (size_t(q) * s.ins.rows + s.lo) * e, skew = from % 16;
    uint8_t* const out = s.reg() + size_t(q) * s.n * e;
    if (skew == 0) {
      s.resource().section->Fill(from, {out, s.n * e});
    } else {
      s.resource().section->Fill(from - skew, {s.spare(0), s.n * e + skew});
      std::memcpy(out, s.spare(0) + skew, s.n * e);
    }
    if (x.ring.kind == Ring::kAdd || size_t(x.ring.bits) == 8 * e) continue;
    // Bit strings are kept reduced, because parities read whole words.
    if (e <= 8) {
      loops_.shift[Code(int(e))][1](out, 0, ring::Mask(x.ring.bits), s.n, out);
    } else {
      for (size_t k = 0; k < s.n; ++k) As<uint64_t>(out)[(k + 1) * e / 8 - 1] &= ring::Mask((x.ring.bits - 1) % 64 + 1);
    }
  }
}

void MemberKernels::Receive(const Strip& s) const {
  const grouping::Member& m = s.member();
  const int bits = node(s).ring.bits, w = element(m.node);
  const uint8_t* in = s.resource().in.data();
  if (bits > 64) return ring::UnpackLong(in + s.lo / 8 * size_t(bits), s.n, bits, As<uint64_t>(s.reg()));
  By(w, [&](auto zero) {
    using T = decltype(zero);
    for (int q = 0; q < m.planes; ++q) {
      size_t from = size_t(q) * s.ins.rows + s.lo, skew = from % 8;
      T* out = As<T>(s.reg()) + size_t(q) * s.n;
      T* to = skew ? As<T>(s.spare(0)) : out;
      ring::Unpack<T>(in + from / 8 * size_t(bits), s.n + skew, bits, to, variant_);
      if (skew) std::copy_n(to + skew, s.n, out);
    }
  });
}

void MemberKernels::Emit(const Strip& s) const {
  const grouping::Member& m = s.member();
  const Node& x = node(s);
  const int bits = x.ring.bits, w = element(m.node);
  const size_t bytes = size_t(m.planes) * s.n * size_t(w);
  if (!s.own().alias) std::memcpy(s.reg(), Operand(s, 0, w, 0), bytes);
  if (x.op == Op::kSend) s.io.ReportSent(m.node, {s.reg(), bytes});
  uint8_t* const out = s.resource().out.data();
  if (bits > 64) return ring::PackLong(As<uint64_t>(s.reg()), s.n, bits, out + s.lo / 8 * size_t(bits));
  By(w, [&](auto zero) {
    using T = decltype(zero);
    for (int q = 0; q < m.planes; ++q)  // whole bytes: packed planes have a multiple of 8 rows
      ring::Pack<T>(As<T>(s.reg()) + size_t(q) * s.n, s.n, bits,
                    out + (size_t(q) * s.ins.rows + s.lo) / 8 * size_t(bits), variant_);
  });
}

}  // namespace suf::cpu
