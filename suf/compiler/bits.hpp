// Bits of a wire's value: comparisons rewritten on the public masked value, exact over the integers and so over XOR:
// 1[x < beta] = D(x_hat - beta) + 1[x_hat < beta] - D(x_hat) with D(u) = 1[u < r]; the top bit of x + c is that of
// x_hat + c, of r, and the borrow below it. One key a view r mod 2^f. (docs/mathematics.md#mask-rewrite.)
#pragma once
#include <map>
#include <span>

#include "suf/compiler/lower.hpp"
#include "suf/compiler/poly.hpp"

namespace suf::compiler {

// Where D is read in each view, by its f: points p of D(x_hat - p).
std::map<int, std::vector<uint64_t>> PointsOf(const Compiled& c, std::span<const Bit> bits, bool wrap);

class BitReader {
 public:
  // For strings of these bits, and 1[x_hat < r] with `wrap`: what they need of a view is read together.
  BitReader(Trace& t, const Wire<kPub>& x, const Compiled& c, Steps steps, std::span<const Bit> bits,
            bool wrap = false);
  // Shares of at most 64 bits, Xor(l), the first lowest; with `wrap` one more, 1[x_hat < r]. What is owed are
  // top bits of r; settled: they are dealt.
  Owing String(std::span<const Bit> bits, bool wrap = false, bool settled = false);

 private:
  // D at points u_j = x_hat - p_j mod 2^f, and 1[x_hat mod 2^f < beta].
  struct View {
    std::vector<uint64_t> points, betas;
    std::optional<Sh> string;  // parity: Xor(points)
    std::vector<Sh> apart;     // digits, blocks: Xor(1) each
    std::optional<Pub> less;   // Xor(betas)
  };
  void Read(int f, View* v);
  Sh Product(int i);

  Trace& t_;
  Wire<kPub> x_;
  const Compiled& c_;
  Steps steps_;
  std::map<int, View> views_;
  std::map<int, Sh> products_;  // Xor(1)
};

}  // namespace suf::compiler
