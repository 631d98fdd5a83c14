// Place: a one-hot vector at a secret place, XOR-shared, read at public windows of it: a table up to 10 bits, else a
// tree, which one key serves at every level. A read gives e x value, e = +-1 known to the dealer alone
// (docs/mathematics.md#one-hot, #level-reads).
#pragma once
#include "suf/compiler/words.hpp"

namespace suf::compiler {

inline constexpr int kTableBits = 10;  // a one-hot table is lighter than a DPF up to here

class Place {
 public:
  // At alpha in Z_{2^n}. With a tree of a finer place (alpha = fine >> level), its own bits are read.
  Place(Trace& t, Sec alpha);
  Place(Trace& t, const Trace::Tree& fine, Sec alpha, int level);
  // Bits at lo .. lo+m-1, m <= 2^n.
  Sh Read(Pub lo, int m) const;
  Sec sign() const { return sign_; }

 private:
  Trace& t_;
  std::optional<Dealt> table_;
  std::optional<Trace::Tree> tree_;
  int level_ = 0;
  Sec sign_;
};

// 2 bit - 1.
Sec SignOf(Sec bit);

}  // namespace suf::compiler
