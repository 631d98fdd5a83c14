// ReLU as a function that the compiler lowers, and ReLU with a rescale in one gate (docs/mathematics.md#rescale,
// #lowerings). The helper bits of the latter are those of FuseFSS's ReluARS (arXiv 2606.09551).
#pragma once
#include "suf/compiler/lower.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = max(x, 0) in Z_{2^ring} of x in [-2^(k-1), 2^(k-1)). From 32 bits into shares of 32 bits, both bundles have:
// * by parity 812 bytes, with one flight
// * by digits 50.4 bytes, with two flights
// * by blocks 26.8 bytes, with three flights
struct Relu {
  static constexpr std::string_view kName = "relu";
  int ring = 1;
  compiler::Lowering lowering{compiler::Kind::kOpenSteps, compiler::StepSource::kDigits, Stages::kOne};

  // Returns the lowerings that apply at k bits, those with few flights first.
  std::vector<compiler::Lowering> Lowerings(int k) const;
  Ints Spec(const Ints& x, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x) const;
  // Returns the key bits of both bundles for an element, with the owed word dealt.
  int64_t KeyBits(int k) const;
};

// y = max(0, floor(u / 2^s)) in Z_{2^ring} with u = x + 2^(s-1) mod 2^k as a number in [-2^(k-1), 2^(k-1)). This is the
// rounded max(x, 0) if x < 2^(k-1) - 2^(s-1). With h = x_hat + 2^(s-1), helper bits are w = 1[u >= 0],
// t = 1[h mod 2^s < r mod 2^s] and d = 1[h < r]:
//
//   y = w ((h >> s) - (r >> s) - t + d 2^(k-s))
//
// If w = 1, the top bit of u is 0 and d = (1 - MSB h) MSB r, so d is not opened. In a ring of k - s bits it has no
// word. The digit tables are shared, and w and t take one opening. Flights to shares: two by digits, three by blocks.
struct ReluARS {
  static constexpr std::string_view kName = "relu ars";
  int shift = 1, ring = 1;
  Stages stages = Stages::kTwo;  // or three

  Ints Spec(const Ints& x, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x) const;
  // Returns the key bits of both bundles for an element. Nothing is owed.
  int64_t KeyBits(int k) const { return HelpedKeyBits(k, {}); }

  // Bits of x that the gate also gives. The t and d above compare the opened h with the mask r. A party that learns one
  // of them learns more than a function of x. These bits are the same borrow and the same wrap. 2^(s-1) is in the place
  // of r, and u in that of h. For signed numbers:
  //
  //   floor(x / 2^s) = floor(u / 2^s) - t + d 2^(k-s)
  struct HelperBits {
    Ints w;  // 1[u >= 0]: the rounded number is not negative
    Ints t;  // 1[u mod 2^s < 2^(s-1)]: the shift rounds up
    Ints d;  // x + 2^(s-1) leaves [-2^(k-1), 2^(k-1)), so y is 0 although x is positive
  };
  // The helper bits to emit. Their digits are those of y.
  struct HelperRequest {
    bool w = false;  // it is opened anyway
    bool t = false;  // one cut more, at s - 1, unless s = 1
    bool d = false;  // one cut more, at k, and the digits read at a second offset
  };
  // The result, and the requested bits as strings of one bit.
  struct HelpedShares {
    OwedWord y;
    std::optional<Wire<kPub>> w;
    std::optional<OwedWord> t, d;
  };
  HelperBits HelperSpec(const Ints& x, int k) const;
  // Emits y and the helper bits. Without a request the trace is that of Build.
  HelpedShares BuildHelped(Trace& t, const Wire<kPub>& x, const HelperRequest& want) const;
  // Returns the key bits of both bundles for an element. A dealt w or t has one bit more.
  int64_t HelpedKeyBits(int k, const HelperRequest& want) const;
  // Returns whether the digits of all cuts have a plan in this gate's stages.
  bool Applies(int k, const HelperRequest& want) const;

 private:
  std::vector<compiler::Cut> Cuts(int k, const HelperRequest& want) const;
};

}  // namespace suf::gates
