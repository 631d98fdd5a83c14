// The operations of a trace, and a table of their properties: class, operands, shape and width. Code that needs such a
// property reads it here and never compares numbers of operations. Each backend implements the operations itself.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "suf/fss/sizes.hpp"

namespace suf::pfss {

struct Node;

// The function of a node. Numbers enter the digest, so new enumerators go to the end. A comment gives operands ->
// result, and attributes in [..]. Shapes are numpy's, and ints are values of Add(64).
enum class Op : uint8_t {
  kConst,   // data of the plan
  kInput,   // a role's own data, known to the declared roles [tick]; its name is Node::label
  kRand,    // PRG words of party p [p, section]
  kTell,    // the dealer's words for parties: a key section [to, pad or -1]
  kSend,    // words of p for its peer: a part of a frame [p]
  kAdd,     // x + y, broadcasting; exclusive or if the ring is kXor
  kSub,     // x - y
  kMul,     // x y, elementwise, broadcasting
  kMatmul,  // (.., M, K) (.., K, N) -> (.., M, N) [transpose b]
  kShl,     // x 2^s [s]; the ring grows by s bits, up to 64
  kShr,     // floor(x / 2^s) of the representative in [0, 2^k), in a ring of k - s bits [s]
  kLow,     // x in a smaller ring [k]
  kLift,    // the representative in [0, 2^k), or the bit string, as an int
  kBits,    // the low bits of an int as a bit string [k]
  kSum,     // sum over one axis [axis]
  kSuffix,  // suffix sums along the last axis
  kUnit,    // representative i -> (.., m): ints 1[v = i] at v [m]
  kTake,    // a (.., m), i (..) -> (..): a[.., i]
  kRotSum,  // u (.., J, m), i (.., J) -> (.., m): sum over j of u[j, (i_j - v) mod m] at v. With [n], J packs the pairs
            // of n rows, and each row has a sum: (.., n, m)
  kReshape,    // [shape]
  kPermute,    // [axes]
  kBetween,    // indices begin .. end-1 of one axis [axis, begin, end]
  kStack,      // tensors along a new axis 0
  kBroadcast,  // [shape]
  kHot,        // Add(w) -> Xor(2^w): bit x is set
  kDigits,     // z Add(k), one-hot tables T_0 .. -> Xor(2D-1): bit 2j = lt_j, bit 2j-1 = eq_j of digit j [widths]
  kMono,       // rho Xor(2D-1) -> (G_j, ..) ints: group j of the monomials of the borrow polynomial [j]
  kBorrowA,    // public h Xor(2D-1), w_0 .. w_{D-1} -> sum of coefficient x word [D]
  kBorrowAt0,  // h -> int: the constant of the borrow polynomial, which is the borrow of h alone [D]
  kMonoX,      // rho -> Xor(G): the nonlinear monomials of group j >= 1 [j]
  kBorrowX,    // h, share of rho, shares of groups 1 .. D-1 -> Xor(1), linear in the shares [D]
  kPoint,      // T Xor(2^w), i -> Xor(1): bit i
  kRotate,     // T Xor(2^w), lo -> Xor(m): bits lo .. lo+m-1, cyclic [m]
  kSelect,     // T Xor(2^w), i, const tables (C, 2^w) -> (C, ..) ints: sum_j T_j table[(i - j) mod 2^w]
  kDot,        // Xor(m), const table -> int: sum_j bit_{first+j} table_j [first]
  kDpfGen,     // alpha Add(n), roots Xor(128) of P0, P1 -> Xor(DpfKeyBits(n)) [program]
  kDpfWindow,  // root, key, lo Add(n - w) -> Xor(m). Bit j is p's share of 1[lo + j = alpha >> w], cyclic
               // [p, n, m, program, w]
  kPack,       // (.., n, n) -> (.., n(n+1)/2): the pairs j <= i, row by row
  kUnpack,     // (.., n(n+1)/2) -> (.., n, n), with zeros at j > i [n]
  kLess,       // x Add(n) -> Xor(m): bit j = 1[x < b_j] [b_0 .. b_{m-1}]; thresholds are words, and 0 is not 2^n
  kUnbits,     // Xor(m) -> (m, ..) in Add(1): bit j at j
  kMix,        // Xor(m), const masks (l, ceil(m / 64)) -> Xor(l): bit i = parity of bits and mask i
  kAbove,      // T Xor(2^w), x Add(w) -> Xor(m): bit j = parity of T's bits above (x - b_j) mod 2^w [b_0 .. b_{m-1}]
  kSelectX,    // T Xor(2^w), i Xor(w), const tables (C, 2^w) -> (C, ..) ints: sum_j T_j table[i xor j]
  kTurn,       // r Add(n), const table (2^n) -> (.., 2^n) ints: table[(u - r) mod 2^n] at u
  kDense,      // T Xor(2^w), x Add(w), const table (2^w) -> Xor(l): xor of table[(x - j) mod 2^w] over T's set bits j
               // [l]
  kDpfParity,  // root, key, x Add(n) -> Xor(m). Bit j is p's share of 1[(x - b_j) mod 2^n < alpha]
               // [p, n, program, b_0 .. b_{m-1}]
  kDpfDense,   // root, key, x Add(n), const table (2^n) -> Xor(l): kDense over the whole domain [p, n, program, l]
  kDcfGen,     // alpha Add(n), beta (c, ..), roots Xor(DcfRootBits(c)) of P0, P1 -> Xor(DcfKeyBits(n, c, w))
               // [program, form]. The form is AttributeOf(Form) of w and the scheme. Alpha may also be two halves
               // (2, ..) in Add(n/2), the high one first
  kDcfEval,    // root, key, x -> (c, m, ..) in Add(w). Word j is p's share of beta 1[(x - b_j) mod 2^n < alpha]
               // [p, n, c, form, program, b_0 .. b_{m-1}]. Of halves, x and each b_j are two, the high one first
  kConcat,     // tensors one behind another along an axis; their other axes are equal [axis]
  kWait,       // x, which a party has `ticks` ticks later; only clocks read the ticks [ticks]
};

// The form of a DCF: the ring of the payload's words and the scheme.
struct DcfForm {
  int bits;
  fss::DcfScheme scheme;
};
// Returns the form as one attribute: `bits` in the low 8 bits, the scheme above. The scheme of suf is 0, so its traces
// keep the digests that they had before there were other schemes.
constexpr int64_t AttributeOf(DcfForm f) { return f.bits | int64_t(f.scheme) << 8; }
constexpr DcfForm FormOf(int64_t attribute) { return {int(attribute & 255), fss::DcfScheme(attribute >> 8)}; }

// The order in which an operation reads its operands.
enum class OpClass : uint8_t {
  kGiven,        // no operands: data of the plan, or a role's own data
  kWords,        // PRG words
  kMessage,      // words from one role to another
  kElementwise,  // word by word, broadcasting
  kRows,         // element by element, with several words or a table for each
  kAxes,         // along axes: sums, matrix products, reads by index
  kView,         // the same words (and zeros) at other places; linear
  kTree,         // generation and evaluation of DPF and DCF keys
};
// Returns whether gates emit the operation as a pure function (Trace::fn).
constexpr bool Pure(OpClass c) { return c != OpClass::kGiven && c != OpClass::kWords && c != OpClass::kMessage; }

// The low bits of the operands that are read if w low bits of the result are needed. Bit strings are read whole.
enum class WidthRule : uint8_t {
  kSame,   // w
  kShl,    // w minus the shift
  kShr,    // w plus the shift
  kFirst,  // w of operand 0, all of the others
  kRest,   // all of operand 0, w of the others
  kRing,   // the width of the result's ring
  kWhole,  // all
};

// A row of the table of operations.
struct OpInfo {
  Op op;
  const char* name;
  OpClass cls;
  // The number of operands and of attributes; -1: any number that `shape` accepts, with at least one operand.
  int args, attrs;
  // Sets n.shape and n.ring from the operands; throws Bug if they do not fit. Null if the emitter sets both.
  void (*shape)(std::span<const Node* const> args, Node& n);
  WidthRule width;

  // Returns whether the operation accepts these numbers of operands and attributes.
  bool Takes(size_t many_args, size_t many_attrs) const {
    return (args < 0 ? many_args > 0 : many_args == size_t(args)) && (attrs < 0 || many_attrs == size_t(attrs));
  }
};
// Returns the table, in the order of Op.
std::span<const OpInfo> Ops();
const OpInfo& Info(Op op);
inline const char* Name(Op op) { return Info(op).name; }

}  // namespace suf::pfss
