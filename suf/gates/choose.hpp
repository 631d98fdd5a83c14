// Choices by a comparison: between a number and zero, between two numbers, between a number and two bounds. Clamp and
// ArgmaxBit are functions that the compiler lowers (docs/mathematics.md#lowerings).
#pragma once
#include "suf/compiler/bits.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// y = b v of an opened bit b and a word v, in Z_{2^ring}, ring <= v's. No flight.
struct Select {
  static constexpr std::string_view kName = "select";
  int ring = 1;

  Ints Spec(const Ints& b, const Ints& v) const;
  Owing Build(Trace& t, const compiler::OpenedBit& b, const Wire<kPub>& v) const;
  // An element of both bundles; `held`: the parties share v's mask, which the trace finds out. Nothing is
  // owed.
  int64_t KeyBits(bool held) const { return (held ? 2 : 3) * int64_t(ring); }
};

// b = 1[x >= y] and max(x, y) = y + b (x - y), of words x and y of k bits whose difference, as a number of
// [-2^(k-1), 2^(k-1)), is x - y; in Z_{2^ring}, ring <= k. One comparison makes both. The difference of two wires is
// one: nothing is opened for it. Flights to shares: by parity one, by digits two, by blocks three.
struct ArgmaxBit {
  static constexpr std::string_view kName = "argmax bit";
  int ring = 1;
  compiler::Steps steps = compiler::Steps::kDigits;

  struct Pair {
    Ints bit, max;
  };
  struct Shares {
    Owing bit, max;
  };
  Pair Spec(const Ints& x, const Ints& y, int k) const;
  Shares Build(Trace& t, const Wire<kPub>& x, const Wire<kPub>& y) const;
  // An element of both bundles, the owed words dealt.
  int64_t KeyBits(int k) const;
};

// y = min(max(x, low), high) of x in [-2^(k-1), 2^(k-1)), in Z_{2^ring}. low < high, both numbers of x.
struct Clamp {
  static constexpr std::string_view kName = "clamp";
  int64_t low = 0, high = 1;
  int ring = 1;
  compiler::Lowering lowering{compiler::Kind::kOpenSteps, compiler::Steps::kDigits, Stages::kOne};

  Ints Spec(const Ints& x, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // An element of both bundles, the owed word dealt.
  int64_t KeyBits(int k) const;
};

}  // namespace suf::gates
