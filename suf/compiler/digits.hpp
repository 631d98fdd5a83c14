// Lowering `Digits`: the borrow c = 1[z_hat mod 2^cut < r mod 2^cut] of a masked wire at one or more cuts, from one-hot
// tables on digits. Each digit's lt and eq bit is opened masked; the borrow is a polynomial in them. One stage: its
// monomials are dealt as ring words. Two stages: they are dealt as bits, and the masked borrow is opened. Three stages:
// digits are gathered in blocks, whose lt and eq bits are opened in between. (docs/mathematics.md#borrow, #blocks;
// closed-form key bits at the end.)
#pragma once
#include <span>
#include <vector>

#include "suf/compiler/wide.hpp"

namespace suf::compiler {

// Of a cut. None: the borrow is an additive share that nobody opens (BorrowByDcf); only a gate that says so
// takes it.
enum class Stages { kNone, kOne, kTwo, kThree };
// Where a choice of stages begins before costs are known: the fewest flights on a path that others wait for; beside a
// longer one two, which need less key and there no flight.
inline constexpr Stages kOnPath = Stages::kOne, kBeside = Stages::kTwo;

// A bit position and the ring in which its borrow is wanted.
struct Cut {
  int at = 0, ring = 0;
};

// Digit widths, low digit first; a digit wider than a table is a tree, whose parity and point are lt and eq.
// Three stages: digits a block, low block first; else none.
struct DigitPlan {
  std::vector<int> widths, blocks;
};
// The plan with the fewest key bits such that every cut lies between two digits, in three stages between
// two blocks. Cuts increase. readings: how many offsets of one wire are compared: they share the tables. Throws
// Cause::kRefused where there is none; FindDigits returns nothing there. base: if any, one or two stages may also read
// trees: of the lowest `base` bits, and up to the next cut or 64 bits.
DigitPlan PlanDigits(const std::vector<Cut>& cuts, Stages stages, int readings = 1);
std::optional<DigitPlan> FindDigits(const std::vector<Cut>& cuts, Stages stages, int readings = 1, int base = 0);
// Of one digit, a table or a tree.
int64_t DigitKeyBits(int width);

// z_hat + offset, and the lt/eq bits of its digits against r's, opened together: one flight. Three
// stages: those of its blocks, one flight more.
class OpenedDigits {
 public:
  OpenedDigits(Trace& t, const Wire<kPub>& z, Const offset, DigitPlan plan);
  OpenedDigits(Trace& t, const WideWire& z, DigitPlan plan);
  Trace& trace() const { return t_; }
  Pub hat() const { return z_.hat.limbs.at(0); }  // z_hat + offset in z's ring, of a wire of one limb
  Sec r() const { return z_.r.limbs.at(0); }
  const SharedWire<kPub>& bits() const { return bits_; }  // Xor(2D - 1) of D digits or blocks
  // Digits, in three stages blocks, below a cut, which must lie between two of them.
  int Count(int cut) const;

 private:
  Dealt Table(int at, int width);
  Sh Equal(int at, int width);
  Sh Block(int at, std::span<const int> widths);
  Sh All(std::span<const int> widths);
  Trace& t_;
  WideWire z_;
  std::vector<int> ends_;  // of digits or blocks
  SharedWire<kPub> bits_;
};

// Shares of the borrow at a cut as a string of one bit, its monomials dealt as bits (two or three stages).
Sh BorrowBit(const OpenedDigits& d, int cut);

// The borrow at one cut, ready to be multiplied by what only the dealer knows. Two or three stages: opens one
// more bit, one more flight.
class Borrow {
 public:
  Borrow(const OpenedDigits& d, int cut, Stages stages);
  // Shares of the borrow in Z_{2^k}.
  Sh Share(int k) const;
  // Shares of borrow x q in Z_{2^k}; `held`: shares of q that the parties hold anyway.
  Sh Times(Sec q, int k, const std::optional<Sh>& held = std::nullopt) const;

 private:
  Trace& t_;
  Pub h_, at0_;  // opened bits; the borrow that they alone show
  Sec rho_;      // their masks
  int digits_;
  Stages stages_;
  Pub carry_, sign_;  // two stages: borrow = carry xor sigma = carry + sign sigma
  Sec sigma_;
};

// Bits [begin, end) of z + offset, of which d is, in Z_{2^ring}. low: the borrow at begin (none when begin = 0);
// high: at end, for a ring wider than the slice (end < k).
Owing Slice(const OpenedDigits& d, int begin, int end, int ring, const Borrow* low, const Borrow* high);

// Key bits an element of OpenedDigits with one-stage borrows shared at the cuts' rings, or borrow bits
// (without what is dealt of sigma) in two or three.
int64_t DigitsKeyBits(const DigitPlan& plan, const std::vector<Cut>& cuts, Stages stages, int readings = 1);
// What Times or Share deals, beside the word itself, at a cut below which there are D digits.
int BorrowWords(int digits, Stages stages);

// Shares in Z_{2^ring} of the borrow 1[h mod 2^cut < r mod 2^cut]: a DCF on the low bits of r with payload
// 1. No stage, no opening (docs/mathematics.md#borrow-dcf).
Sh BorrowByDcf(Trace& t, Pub h, Sec r, int cut, int ring);
int64_t BorrowByDcfKeyBits(int cut, int ring);

}  // namespace suf::compiler
