// The borrow 1[z_hat mod 2^cut < r mod 2^cut] of a masked wire, at one or more cuts. One-hot tables give the lt and eq
// bits of each digit. They are opened under a mask, and the borrow is a polynomial in them. In one stage its monomials
// are dealt as ring words. In two stages they are dealt as bits, and the masked borrow is opened. Three stages gather
// digits in blocks, whose lt and eq bits are opened first (docs/mathematics.md#borrow, #blocks).
#pragma once
#include <span>
#include <vector>

#include "suf/compiler/wide.hpp"

namespace suf::compiler {

// The openings that a cut takes. With kNone the borrow is an additive share that is never opened (BorrowByDcf); few
// gates accept it.
enum class Stages { kNone, kOne, kTwo, kThree };
// The initial stages of a search, before costs are known. On the critical path (kOnPath) one stage has the fewest
// flights. Beside a longer path (kBeside) two stages need less key and add no flight.
inline constexpr Stages kOnPath = Stages::kOne, kBeside = Stages::kTwo;

// A bit position, and the bits of the ring in which its borrow is needed.
struct Cut {
  int at = 0, ring = 0;
};

// The digits of a wire. A digit that is too wide for a table is a tree, whose parity and point are lt and eq.
struct DigitPlan {
  // Bits of each digit, and in three stages the number of digits in each block; the lowest comes first.
  std::vector<int> widths, blocks;
};
// Returns the plan with the fewest key bits. Every cut lies between two digits or, in three stages, two blocks. Cuts
// must increase. `readings` offsets of one wire are compared and share the tables. Throws Cause::kRefused if there is
// no plan.
DigitPlan PlanDigits(const std::vector<Cut>& cuts, Stages stages, int readings = 1);
// Returns the plan, or nothing if there is none. If `base` is not 0, plans of one or two stages may also read trees.
// The lowest one has `base` bits, others up to 64; none passes a cut.
std::optional<DigitPlan> FindDigits(const std::vector<Cut>& cuts, Stages stages, int readings = 1, int base = 0);
// Returns the key bits of one digit, which is a table or a tree.
int64_t DigitKeyBits(int width);

// The digits of z_hat + offset, and their lt and eq bits against the digits of r, opened together: one flight. In three
// stages the bits are those of blocks: two flights.
class OpenedDigits {
 public:
  OpenedDigits(Trace& t, const Wire<kPub>& z, Const offset, DigitPlan plan);
  OpenedDigits(Trace& t, const WideWire& z, DigitPlan plan);
  Trace& trace() const { return t_; }
  // Returns z_hat + offset in z's ring, if the wire has one limb.
  Pub hat() const { return z_.hat.limbs.at(0); }
  // Returns the mask, if the wire has one limb.
  Sec r() const { return z_.r.limbs.at(0); }
  // Returns the opened string, Xor(2D - 1) of D digits or blocks.
  const SharedWire<kPub>& bits() const { return bits_; }
  // Returns the number of digits, or in three stages of blocks, below a cut. A digit or block must end at the cut.
  int Count(int cut) const;

 private:
  Dealt DealTable(int at, int width);
  Sh ReadEqual(int at, int width);
  Sh ReadBlock(int at, std::span<const int> widths);
  Sh ReadAll(std::span<const int> widths);
  Trace& t_;
  WideWire z_;
  std::vector<int> ends_;  // bits at which digits or blocks end
  SharedWire<kPub> bits_;
};

// Returns shares of the borrow at a cut as a string of one bit, in two or three stages. Monomials are dealt as bits.
Sh BorrowBit(const OpenedDigits& d, int cut);

// The borrow at one cut, which can be multiplied by values of the dealer.
class Borrow {
 public:
  // In two or three stages it opens one more bit: one more flight.
  Borrow(const OpenedDigits& d, int cut, Stages stages);
  // Returns shares of the borrow in Z_{2^k}.
  Sh Share(int k) const;
  // Returns shares of borrow x q in Z_{2^k}. `held` are shares of q if the parties already hold some.
  Sh Times(Sec q, int k, const std::optional<Sh>& held = std::nullopt) const;

 private:
  Trace& t_;
  Pub h_, at0_;  // opened bits; the borrow of these bits alone
  Sec rho_;      // masks of the opened bits
  int digits_;
  Stages stages_;
  Pub carry_, sign_;  // two stages: borrow = carry xor sigma = carry + sign sigma
  Sec sigma_;
};

// Returns bits [begin, end) of z + offset in Z_{2^ring}; d has the digits of z + offset. `low` is the borrow at begin,
// and may be null if begin = 0. `high` is the borrow at end, for a ring wider than the slice (end < k).
OwedWord Slice(const OpenedDigits& d, int begin, int end, int ring, const Borrow* low, const Borrow* high);

// Returns the key bits of an element of OpenedDigits and its borrows. In one stage these are shared at the cuts' rings.
// In two or three stages they are bits, without the dealt words of sigma.
int64_t DigitsKeyBits(const DigitPlan& plan, const std::vector<Cut>& cuts, Stages stages, int readings = 1);
// Returns how many words Times or Share deals, without q itself, at a cut with `digits` digits below.
int BorrowWords(int digits, Stages stages);

// Returns shares in Z_{2^ring} of the borrow 1[h mod 2^cut < r mod 2^cut]. A DCF on the low bits of r has payload 1. It
// takes no stage and no opening (docs/mathematics.md#borrow-dcf).
Sh BorrowByDcf(Trace& t, Pub h, Sec r, int cut, int ring);
int64_t BorrowByDcfKeyBits(int cut, int ring);

}  // namespace suf::compiler
