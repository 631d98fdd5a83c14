// The types of values in a trace (docs/mathematics.md#who-knows). A type states which roles may know the value, as a
// subset of {dealer, P0, P1}. The result of a pure function is known to the roles that know all operands. An empty set
// does not compile. These types do not state which values are secret: pfss/lint.hpp proves that.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::pfss {

// One bit for each role; a set of roles is their sum.
enum Knower : unsigned { kP0 = 1, kP1 = 2, kDealer = 4 };
inline constexpr unsigned kPub = kP0 | kP1, kAll = kPub | kDealer;
// Returns the knower bit of party p.
constexpr unsigned Party(int p) { return p == 0 ? kP0 : kP1; }

using Shape = std::vector<int64_t>;
// Returns the number of elements.
int64_t Size(const Shape& s);

// Integers modulo 2^bits (kAdd, bits <= 64), or strings of `bits` bits under exclusive or (kXor).
struct Ring {
  enum Kind : uint8_t { kAdd, kXor } kind = kAdd;
  int bits = 64;
  bool operator==(const Ring&) const = default;
};
inline Ring Add(int bits) { return {Ring::kAdd, bits}; }
inline Ring Xor(int bits) { return {Ring::kXor, bits}; }

class Trace;

// A handle of a node whose knowers are not in the type. Only Trace makes handles.
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

// A value that at least the knowers K may know. A wider set of knowers converts to a narrower one.
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

// Shares of x = a + b, or x = a ^ b. P0 knows a, and P1 knows b.
struct Sh {
  Own<0> a;
  Own<1> b;
  Ring ring() const { return {a.ring().kind, std::min(a.bits(), b.bits())}; }
  int bits() const { return ring().bits; }
  const Shape& shape() const { return a.shape(); }
};

// Shares of a dealer's value. The dealer knows both.
struct Dealt {
  Rnd<0> a;
  Rnd<1> b;
  operator Sh() const { return {a, b}; }  // NOLINT
  const Shape& shape() const { return a.shape(); }
};

// A masked wire: x = hat - r, or x = hat ^ r. The parties in H know hat, and the dealer knows r.
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

// A masked wire whose mask the parties share (s). Matrix products require it.
template <unsigned H>
struct SharedWire : Wire<H> {
  Dealt s;
  template <unsigned G>
  requires((H & G) == G && H != G) operator SharedWire<G>() const {  // NOLINT
    return {{this->hat, this->r}, s};
  }
};

}  // namespace suf::pfss
