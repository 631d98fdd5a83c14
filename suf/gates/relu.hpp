// ReLU, as a function that the compiler lowers, and ReLU with a rescale in one gate, on helper bits (FuseFSS's ReluARS,
// arXiv 2606.09551; docs/mathematics.md#rescale, #lowerings).
#pragma once
#include "suf/compiler/lower.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = max(x, 0) of x in [-2^(k-1), 2^(k-1)), in Z_{2^ring}. At 32 bits to shares of as many, both bundles: 812
// bytes and one flight by parity, 50.4 and two by digits, 26.8 and three by blocks.
struct Relu {
  static constexpr std::string_view kName = "relu";
  int ring = 1;
  compiler::Lowering lowering{compiler::Kind::kOpenSteps, compiler::Steps::kDigits, Stages::kOne};

  Ints Spec(const Ints& x, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // An element of both bundles, the owed word dealt.
  int64_t KeyBits(int k) const;
};

// y = max(0, floor(u / 2^s)) in Z_{2^ring}, u = x + 2^(s-1) mod 2^k as a number of [-2^(k-1), 2^(k-1)): that
// is the rounded x where it is positive and x < 2^(k-1) - 2^(s-1). With h = x_hat + 2^(s-1) its helper bits are w = 1[u
// >= 0], t = 1[h mod 2^s < r mod 2^s] and d = 1[h < r]:
//   y = w ((h >> s) - (r >> s) - t + d 2^(k-s)).
// Where w = 1, the top bit of u is 0 and d = (1 - MSB h) MSB r: no bit is opened for it, and in a ring of k - s bits it
// has no word. One set of digit tables, w and t in one opening; two flights to shares by digits, three by blocks.
struct ReluARS {
  static constexpr std::string_view kName = "relu ars";
  int shift = 1, ring = 1;
  Stages stages = Stages::kTwo;  // or three

  Ints Spec(const Ints& x, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // An element of both bundles; nothing is owed.
  int64_t KeyBits(int k) const;

 private:
  std::vector<compiler::Cut> Cuts(int k) const;
};

}  // namespace suf::gates
