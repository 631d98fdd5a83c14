// Kinds of value in a trace. A value's type is who may know it, a subset of {dealer, P0, P1}: a pure function is known
// to the intersection of its operands' knowers, and an empty set does not compile. Sh is a pair of values, one a party;
// Wire is a masked wire; SharedWire also has shares of its mask. (docs/mathematics.md#who-knows.) Not here: what is
// secret, which pfss/lint.hpp proves.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::pfss {

enum Knower : unsigned { kP0 = 1, kP1 = 2, kDealer = 4 };
inline constexpr unsigned kPub = kP0 | kP1, kAll = kPub | kDealer;
// Party(p): the knower bit of party p.
constexpr unsigned Party(int p) { return p == 0 ? kP0 : kP1; }

using Shape = std::vector<int64_t>;
int64_t Size(const Shape& s);

// Integers modulo 2^bits (kAdd), or strings of `bits` bits under exclusive or (kXor). kAdd: bits <= 64.
struct Ring {
  enum Kind : uint8_t { kAdd, kXor } kind = kAdd;
  int bits = 64;
  bool operator==(const Ring&) const = default;
};
inline Ring Add(int bits) { return {Ring::kAdd, bits}; }
inline Ring Xor(int bits) { return {Ring::kXor, bits}; }

class Trace;

// A node of a trace without its static knowers; only Trace makes them.
class Any {
 public:
  Any() = default;
  Any(Trace* t, int id) : t_(t), id_(id) {}
  Trace& trace() const { return *t_; }
  int id() const { return id_; }
  const Shape& shape() const;
  Ring ring() const;
  int bits() const { return ring().bits; }
  int64_t size() const { return Size(shape()); }

 protected:
  Trace* t_ = nullptr;
  int id_ = -1;
};

// Val<K>: a value that (at least) the knowers K may know. A wider set converts to a narrower one.
template <unsigned K>
class Val : public Any {
  static_assert(K != 0 && K <= kAll, "nobody may know this value");

 public:
  Val() = default;
  Val(Trace* t, int id) : Any(t, id) {}
  template <unsigned L>
  requires((L & K) == K && L != K) Val(const Val<L>& v) : Any(v) {}  // NOLINT: forgetting knowers is always right
};

using Const = Val<kAll>;
using Pub = Val<kPub>;
using Sec = Val<kDealer>;
template <int P>
using Own = Val<Party(P)>;
template <int P>
using Rnd = Val<kDealer | Party(P)>;

// x = a + b (or a ^ b), a known to P0, b to P1.
struct Sh {
  Own<0> a;
  Own<1> b;
  Ring ring() const { return {a.ring().kind, std::min(a.bits(), b.bits())}; }
  int bits() const { return ring().bits; }
  const Shape& shape() const { return a.shape(); }
};

// Shares of a dealer's value; the dealer knows both halves.
struct Dealt {
  Rnd<0> a;
  Rnd<1> b;
  operator Sh() const { return {a, b}; }  // NOLINT
  const Shape& shape() const { return a.shape(); }
};

// Wire<H>: x = hat - r (or hat ^ r); the parties in H know hat, the dealer knows r.
template <unsigned H>
struct Wire {
  Val<H> hat;
  Sec r;
  int k() const { return std::min(hat.bits(), r.bits()); }
  const Shape& shape() const { return hat.shape(); }
  template <unsigned G>
  requires((H & G) == G && H != G) operator Wire<G>() const {  // NOLINT
    return {hat, r};
  }
};

// SharedWire<H>: a wire whose mask the parties share; what a matrix product reads.
template <unsigned H>
struct SharedWire : Wire<H> {
  Dealt s;
  template <unsigned G>
  requires((H & G) == G && H != G) operator SharedWire<G>() const {  // NOLINT
    return {{this->hat, this->r}, s};
  }
};

}  // namespace suf::pfss
