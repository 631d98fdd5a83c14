#include "suf/gates/newton.hpp"

#include <algorithm>
#include <bit>

#include "suf/gates/product.hpp"
#include "suf/gates/trunc.hpp"

namespace suf::gates {

static_assert(Gate<Newton>);

using Wide = __int128;

Newton::Rings Newton::Plan(int k) const {
  const bool root = of == Of::kRsqrt;
  const int top = x_scale + scale + (root ? scale : 0);  // X Y (Y) < 2^(top + 1)
  SUF_CHECK(!groups.empty() && steps >= 1);
  if (top > 60) Fail(Cause::kRefused, "a product of Newton's step needs ", top, " bits, over 60; lower the scales");
  int64_t most = 0;
  for (const func::Octave& g : groups)
    for (int64_t v = g.lo; v < g.hi; ++v) {
      const int64_t y = g.values[size_t(v - g.lo)];
      const Wide x = ((Wide{v} + 1) << g.w) - 1;
      if (y < 0 || y >= int64_t{1} << 31 || (x * y * (root ? y : 1)) >> (top + 1))
        Fail(Cause::kRefused, "the coarse table's ", y, " is more than Newton's step takes for numbers up to ",
             int64_t(x), "; make its pieces narrower or round them down");
      most = std::max(most, y);
    }
  const int highest = std::bit_width(uint64_t(groups.back().hi) << groups.back().w);
  Rings r{};
  // below the floor of the table a step at most doubles Y
  r.y = std::bit_width(uint64_t(most)) + steps + 2;
  r.e = one + 4;
  r.last = r.y + one + 3;
  r.xy = root ? (2 + highest + top) / 2 + 3 : top + 4;
  if (root) {
    r.d = r.xy - cut;
    r.dy = std::max(top - cut + 1, r.y - 2) + 4;
  }
  const int widest = std::max({r.last, r.xy, r.dy});
  // the rounding of E by Y / 2^(shift + 1) is at most 1/64
  if (Shift() < 1 || one < 6 || cut < 1 || (root && (r.d < 3 || r.y - 2 - Shift() - 1 > one - 6)) || widest > 62 ||
      k > 62)
    Fail(Cause::kRefused, "Newton's steps of scales ", x_scale, ", ", scale, " and ", one, ", cut by ", cut,
         ", do not fit rings of 62 bits (", widest, " are needed) or lose E; change the scales");
  return r;
}

FunctionGate Newton::Coarse(int k, int y) const {
  return {compiler::Compile(func::FromGroups("coarse", groups, k, y)), table, {}, y};
}

static int64_t Divided(Wide v, int s) { return int64_t((v + (Wide{1} << (s - 1))) >> s); }

Ints Newton::Spec(const Ints& x, int) const {
  Ints out;
  const Wide whole = Wide{1} << one;
  for (int64_t v : x) {
    int64_t y = 0;
    for (const func::Octave& g : groups)
      if (v >> g.w >= g.lo && v >> g.w < g.hi) {
        y = g.values[size_t((v >> g.w) - g.lo)];
        break;
      }
    for (int i = 0; i < steps; ++i) {
      if (of == Of::kRecip) {
        const int64_t e = Divided(Wide{v} * y, x_scale + scale - one);
        y = Divided(Wide{y} * (2 * whole - e), one);
      } else {
        const int64_t d = Divided(Wide{v} * y, cut);
        const int64_t e = Divided(Wide{d} * y, x_scale + 2 * scale - cut - one);
        y = Divided(Wide{y} * (3 * whole - e), one + 1);
      }
    }
    out.push_back(Number(uint64_t(y), ring));
  }
  return out;
}

OwedWord Newton::Build(Trace& t, const Wire<kPub>& x) const {
  const bool root = of == Of::kRsqrt;
  const Rings r = Plan(x.k());
  OwedWord next = Coarse(x.k(), r.y).Build(t, x);
  auto rescaled = [&](const Wire<kPub>& a, const Wire<kPub>& b, int product, int shift, int to) {
    OwedWord p = Multiply{product}.Build(t, a, b);
    Wire<kPub> w = compiler::OpenDefined(t, p, "product");
    return Trunc{shift, to, stages}.Build(t, w);
  };
  for (int i = 0; i < steps; ++i) {
    Wire<kPub> y = compiler::OpenDefined(t, next, "y");
    OwedWord e;
    if (root) {
      OwedWord d = rescaled(x, y, r.xy, cut, r.d);
      Wire<kPub> w = compiler::OpenDefined(t, d, "D");
      e = rescaled(w, y, r.dy, Shift(), r.e);
    } else {
      e = rescaled(x, y, r.xy, Shift(), r.e);
    }
    Wire<kPub> w = compiler::OpenDefined(t, e, "E");
    Pub hat = (int64_t{root ? 3 : 2} << one) - w.hat;
    pfss::Sec mask = -w.r;
    next = rescaled(y, Wire<kPub>{hat, mask}, r.last, one + root, i + 1 == steps ? ring : r.y);
  }
  return next;
}

int64_t Newton::KeyBits(int k) const {
  const bool root = of == Of::kRsqrt;
  const Rings r = Plan(k);
  auto words = [](int bits) { return int64_t(std::max(0, bits)); };
  // a wire's mask and its top bit, at the widest ring of its products
  auto own = [&](int width, int widest) { return words(widest) + words(widest - width); };
  // products of the words of two wires
  auto cross = [&](int a, int b, int in) { return words(in - a) + words(in - b) + words(in - a - b); };
  auto cutting = [&](int from, int shift, int to) { return Trunc{shift, to, stages}.KeyBits(from, false); };
  int64_t bits = Coarse(k, r.y).KeyBits(false);
  bits += own(k, r.xy);
  for (int i = 0; i < steps; ++i) {
    bits += own(r.y, std::max({r.xy, r.dy, r.last})) + cross(k, r.y, r.xy);
    if (root) {
      bits += cutting(r.xy, cut, r.d) + own(r.d, r.dy) + cross(r.d, r.y, r.dy) + cutting(r.dy, Shift(), r.e);
    } else {
      bits += cutting(r.xy, Shift(), r.e);
    }
    bits += own(r.e, r.last) + cross(r.y, r.e, r.last);
    bits += cutting(r.last, one + root, i + 1 == steps ? ring : r.y);
  }
  return bits + ring;
}

}  // namespace suf::gates
