// Bits of a wire's value, as comparisons on the public x_hat (docs/mathematics.md#mask-rewrite). With D(u) = 1[u < r],
// 1[x < beta] = D(x_hat - beta) + 1[x_hat < beta] - D(x_hat), over the integers and so over XOR. The top bit of
// x + c is the XOR of three bits. They are the top bits of x_hat + c and of r, and the borrow below. Each view
// r mod 2^f has one key.
#pragma once
#include <map>
#include <span>

#include "suf/compiler/lower.hpp"
#include "suf/compiler/poly.hpp"

namespace suf::compiler {

// Returns for each view, by its f, the points p at which D(x_hat - p) is read.
std::map<int, std::vector<uint64_t>> PointsOf(const CompiledFunction& c, std::span<const Bit> bits, bool wrap);

// A reader of bits of one wire.
class WireBits {
 public:
  // Prepares strings of these bits, and 1[x_hat < r] if `wrap`. All that they need of a view is read together.
  WireBits(Trace& t, const Wire<kPub>& x, const CompiledFunction& c, StepSource steps, std::span<const Bit> bits,
           bool wrap = false);
  // Returns shares of at most 64 bits as a string, the first one lowest. With `wrap` the string has one bit more:
  // 1[x_hat < r]. The owed word has top bits of r; they are dealt if `deal_owed`.
  OwedWord ReadString(std::span<const Bit> bits, bool wrap = false, bool deal_owed = false);

 private:
  // The reads of a view: D at u_j = x_hat - p_j mod 2^f, and 1[x_hat mod 2^f < beta].
  struct MaskView {
    std::vector<uint64_t> points, betas;
    std::optional<Sh> string;  // by parity: Xor(points)
    std::vector<Sh> apart;     // by digits or blocks: Xor(1) each
  };
  struct StringSum;
  void ReadView(int f, MaskView* v);
  void AddView(int f, MaskView* v, std::span<const Bit> rows, bool wrap, StringSum* sum);
  void AddTopBits(const Compare& p, const Const& masks, bool deal_owed, StringSum* sum);
  Sh Product(int i);

  Trace& t_;
  Wire<kPub> x_;
  const CompiledFunction& c_;
  StepSource steps_;
  std::map<int, MaskView> views_;
  std::map<int, Sh> products_;  // Xor(1)
};

}  // namespace suf::compiler
