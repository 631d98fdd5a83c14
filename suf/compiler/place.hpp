// An XOR-shared one-hot vector at a secret place, which is read in public windows. It is a table up to 10 bits, and a
// tree above, whose key serves every level. A read returns e x value with e = +-1, which only the dealer knows
// (docs/mathematics.md#one-hot, #level-reads).
#pragma once
#include "suf/compiler/words.hpp"

namespace suf::compiler {

inline constexpr int kTableBits = 10;  // a one-hot table is lighter than a DPF up to here

// The vector at one place.
class Place {
 public:
  // Makes a key at alpha in Z_{2^n}.
  Place(Trace& t, Sec alpha);
  // Uses the key of a finer place: alpha = fine >> level.
  Place(Trace& t, const Trace::Tree& fine, Sec alpha, int level);
  // Returns shares of the bits at lo .. lo+m-1, m <= 2^n.
  Sh Read(Pub lo, int m) const;
  // Returns e.
  Sec sign() const { return sign_; }

 private:
  Trace& t_;
  std::optional<Dealt> table_;
  std::optional<Trace::Tree> tree_;
  int level_ = 0;
  Sec sign_;
};

// Returns the key bits of both bundles for a place of n bits.
int64_t PlaceKeyBits(int n);

// Returns 2 bit - 1.
Sec SignOf(Sec bit);

}  // namespace suf::compiler
