// Operations of the trace, one row of a table each: what does not depend on a node. Whoever asks "is this a view?" or
// "how many operands?" asks here; no code compares the numbers of operations. Not here: what an operation computes,
// which each backend says for itself.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "suf/fss/sizes.hpp"

namespace suf::pfss {

struct Node;

// What a node computes. Enumerators enter the digest: new ones go to the end. attrs are listed as [..]; shapes are
// numpy's; "ints" are values of Add(64).
enum class Op : uint8_t {
  kConst,   // plan data
  kInput,   // a role's own data [name, tick]: known as declared
  kRand,    // PRG words of party p [p, section]
  kTell,    // the dealer's words for p, a key section [to, pad or -1]
  kSend,    // p's words for its peer, part of a frame [p]
  kAdd,     // x + y, broadcasting; exclusive or for kXor
  kSub,     // x - y
  kMul,     // x y, elementwise, broadcasting
  kMatmul,  // (.., M, K) (.., K, N) -> (.., M, N) [transpose b]
  kShl,     // x 2^s [s]: the ring grows by s up to 64
  kShr,     // floor of the representative in [0, 2^k) by 2^s [s] -> ring k - s
  kLow,     // the same value in a smaller ring [k]
  kLift,    // the representative in [0, 2^k) (or the bit string) as an int
  kBits,    // the int's low bits as a bit string [k]
  kSum,     // sum over one axis [axis]
  kSuffix,  // suffix sums along the last axis
  kUnit,    // representative i -> (.., m): ints 1[v = i] [m]
  kTake,    // (.., m), index (..) -> (..): a[.., i]
  kRotSum,  // u (.., J, m), i (.., J) -> (.., m): sum over j of u[j, (i_j - v) mod m]; [n]: J packs the pairs of n
            // rows, a sum each: (.., n, m)
  kReshape,
  kPermute,
  kBetween,
  kStack,
  kBroadcast,  // [shape], [axes], [axis, begin, end], axis 0, [shape]
  kHot,        // Add(w) -> Xor(2^w): bit x set
  kDigits,     // z Add(k), one-hot tables T_0.. -> Xor(2D-1): bit 2j = lt_j, 2j-1 = eq_j of digit j [widths]
  kMono,       // rho Xor(2D-1) -> (G_j, ..) ints: group j of the monomials of the borrow polynomial [j]
  kBorrowA,    // h Xor(2D-1) public, w_0 .. w_{D-1} -> sum of coefficient x word [D]
  kBorrowAt0,  // h -> int: the borrow polynomial's constant, the borrow that h itself shows [D]
  kMonoX,      // rho -> Xor(G): nonlinear monomials of group j, j >= 1 [j]
  kBorrowX,    // h, share of rho, share of groups 1 .. D-1 -> Xor(1): linear in the shares [D]
  kPoint,      // T Xor(2^w), index -> Xor(1): bit at the index
  kRotate,     // T Xor(2^w), lo -> Xor(m): bits lo .. lo+m-1, cyclic [m]
  kSelect,     // T Xor(2^w), index, tables const (C, 2^w) -> (C, ..) ints: sum_j T_j table[(index - j) mod 2^w]
  kDot,        // Xor(m), table const -> int: sum_j bit_{first+j} table_j [first]
  kDpfGen,     // alpha Add(n), roots Xor(128) of P0, P1 -> Xor(DpfKeyBits(n)) [program]
  kDpfWindow,  // root, key, lo Add(n - w) -> Xor(m): party p's bits of 1[v = alpha >> w] at v = lo .. lo+m-1, cyclic
               // [p, n, m, program, w]
  kPack,       // (.., n, n) -> (.., n(n+1)/2): the pairs j <= i, row by row
  kUnpack,     // (.., n(n+1)/2) -> (.., n, n), zero where j > i [n]
  kLess,       // x Add(n) -> Xor(m): bit j = 1[x < b_j] [b_0 .. b_{m-1}, words; 0 stands for itself]
  kUnbits,     // Xor(m) -> (m, ..) in Add(1): bit j at j
  kMix,        // Xor(m), masks const (l, ceil(m / 64)) -> Xor(l): bit i = parity of bits and mask i
  kAbove,      // T Xor(2^w), x Add(w) -> Xor(m): bit j = parity of T's bits above (x - b_j) mod 2^w [b_0 .. b_{m-1}]
  kSelectX,    // T Xor(2^w), i Xor(w), tables const (C, 2^w) -> (C, ..) ints: sum_j T_j table[i xor j]
  kTurn,       // r Add(n), table const (2^n) -> (.., 2^n) ints: table[(u - r) mod 2^n] at u
  kDense,      // T Xor(2^w), x Add(w), table const (2^w) -> Xor(l): xor over T's set bits j of table[(x - j) mod 2^w]
               // [l]
  kDpfParity,  // root, key, x Add(n) -> Xor(m): bit j = party p's share of 1[(x - b_j) mod 2^n < alpha]
               // [p, n, program, b_0 .. b_{m-1}]
  kDpfDense,   // root, key, x Add(n), table const (2^n) -> Xor(l): kDense of the whole domain [p, n, program, l]
  kDcfGen,     // alpha Add(n) or halves (2, ..) in Add(n/2), beta (c, ..), roots Xor(DcfRootBits(c)) of P0, P1
               // -> Xor(DcfKeyBits(n, c, w)) [program, form]; form: w and the scheme (Form). Halves: the high one first
  kDcfEval,    // root, key, x as alpha -> (c, m, ..) in Add(w): party p's share of beta 1[(x - b_j) mod 2^n < alpha]
               // [p, n, c, form, program, b_0 .. b_{m-1}], of halves b_0 high, b_0 low ..
  kConcat,     // tensors one behind another along an axis; alike along the others [axis]
  kWait,       // x, which a party has so many ticks later; nothing else reads the ticks [ticks]
};

// Of a DCF, as one attribute: the ring of the payload's words and, above its 8 bits, the scheme. Ours is 0, so
// that a trace of our DCFs has the digest that it had before there were others.
struct Form {
  int bits;
  fss::DcfScheme scheme;
};
constexpr int64_t AttributeOf(Form f) { return f.bits | int64_t(f.scheme) << 8; }
constexpr Form FormOf(int64_t attribute) { return {int(attribute & 255), fss::DcfScheme(attribute >> 8)}; }

// How an operation moves over its operands.
enum class OpClass : uint8_t {
  kGiven,        // no operand: plan data, a role's own data
  kWords,        // PRG words
  kMessage,      // from one role to another
  kElementwise,  // word by word, broadcasting
  kRows,         // element by element, of more than one word or with a table
  kAxes,         // along axes: sums, products, reads by index
  kView,         // the same words (and zeros) at other places; linear
  kTree,         // keys of DPFs and DCFs and their evaluation
};
// Emitted by gates as a pure function (Trace::fn): neither drawn, nor given, nor sent.
constexpr bool Pure(OpClass c) { return c != OpClass::kGiven && c != OpClass::kWords && c != OpClass::kMessage; }

// How many low bits of the operands are read for w low bits of the result. Bit strings are read whole.
enum class WidthRule : uint8_t {
  kSame,   // w
  kShl,    // w less the shift
  kShr,    // w more the shift
  kFirst,  // w of operand 0, others whole
  kRest,   // operand 0 whole, w of the others
  kRing,   // the bits of the result's ring
  kWhole,  // the representative itself
};

// A row. Counts of -1: any number that the shape rule accepts (operands: at least one).
struct OpInfo {
  Op op;
  const char* name;
  OpClass cls;
  int args, attrs;
  // shape: fills n.shape and n.ring from the operands; throws Bug on operands that do not fit. Null: the emitter says.
  void (*shape)(std::span<const Node* const> args, Node& n);
  WidthRule width;

  bool Takes(size_t many_args, size_t many_attrs) const {
    return (args < 0 ? many_args > 0 : many_args == size_t(args)) && (attrs < 0 || many_attrs == size_t(attrs));
  }
};
// All operations, in the order of the enum.
std::span<const OpInfo> Ops();
const OpInfo& Info(Op op);
inline const char* Name(Op op) { return Info(op).name; }

}  // namespace suf::pfss
