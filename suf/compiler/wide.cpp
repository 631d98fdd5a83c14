#include "suf/compiler/wide.hpp"

namespace suf::compiler {

namespace {

using pfss::kDealer;
using pfss::kP0;
using pfss::kP1;
using pfss::Own;
using pfss::Val;

// A wide sum under construction. Column i is an int >= 0 that counts 2^(radix i). The caller keeps it below 2^64.
template <unsigned A>
class Columns {
 public:
  Columns(int radix, int bits) : radix_(radix), bits_(bits), columns_(size_t(Limbs(radix, bits))) {}
  int radix() const { return radix_; }
  int bits() const { return bits_; }
  size_t size() const { return columns_.size(); }

  void Add(size_t i, Val<A> x) {
    if (i < columns_.size()) columns_[i] = columns_[i] ? *columns_[i] + x : x;
  }
  void Add(const Wide<A>& x) {
    for (size_t i = 0; i < x.limbs.size(); ++i) Add(i, Lift(x.limbs[i]));
  }
  // Adds x 2^bit for an int x < 2^width, limb by limb.
  void AddAt(Val<A> x, int width, int bit) {
    size_t i = size_t(bit / radix_);
    const int first = radix_ - bit % radix_;  // bits of x in the lowest column
    Val<A> low = Lift(Low(x, std::min(first, 64)));
    Add(i, low << bit % radix_);
    for (int at = first; at < width; at += radix_) {
      Val<A> next = Lift(Field(Wide<A>{64, 64, {x}}, at, std::min(radix_, 64 - at)));
      Add(++i, next);
    }
  }
  // Adds 2^shift times the sum of x y over the last axis, limb by limb. A row takes one matrix product.
  template <unsigned X, unsigned Y>
  void AddProducts(const Wide<X>& x, const Wide<Y>& y, int shift = 0) {
    Val<X> left = Rows(x);
    Val<Y> right = Rows(y);
    Val<A> all = Matmul(left, right, true);  // (.., limbs of x, limbs of y)
    const pfss::Shape rows(all.shape().begin(), all.shape().end() - 2);
    for (size_t i = 0; i < x.limbs.size(); ++i)
      for (size_t j = 0; j < y.limbs.size() && i + j < columns_.size(); ++j) {
        Val<A> one = Between(all, -2, int64_t(i), int64_t(i) + 1);
        one = Reshape(Between(one, -1, int64_t(j), int64_t(j) + 1), rows);
        Add(i + j, one << shift);
      }
  }
  // Calls f(i, column i with the carry from below, bits of limb i) by increasing i. The result of f carries into the
  // next column; it is the column, possibly with a pad.
  template <class F>
  void Each(F f) const {
    std::optional<Val<A>> carry;
    for (size_t i = 0; i < columns_.size(); ++i) {
      std::optional<Val<A>> sum = columns_[i];
      if (carry) sum = sum ? *sum + *carry : *carry;
      SUF_CHECK(sum);
      Val<A> whole = f(i, *sum, LimbBits(radix_, bits_, int(i)));
      carry = Lift(whole >> radix_);
    }
  }
  Wide<A> Done() const {
    Wide<A> out{radix_, bits_, {}};
    Each([&](size_t, Val<A> sum, int bits) {
      out.limbs.push_back(Low(sum, bits));
      return sum;
    });
    return out;
  }

 private:
  // Returns the limbs as rows of a matrix, (.., limbs, d).
  template <unsigned X>
  static Val<X> Rows(const Wide<X>& x) {
    std::vector<Val<X>> ints;
    for (const Val<X>& v : x.limbs) ints.push_back(Lift(v));
    Val<X> all = Stack(ints);
    pfss::Shape axes;
    for (int64_t i = 1; i < int64_t(all.shape().size()); ++i) axes.push_back(i);
    axes.insert(axes.end() - 1, 0);
    return Permute(all, axes);
  }
  int radix_, bits_;
  std::vector<std::optional<Val<A>>> columns_;
};

// Splits an int into limbs.
template <unsigned A>
Wide<A> Split(Val<A> x, int bits, int radix) {
  Columns<A> c(radix, bits);
  c.AddAt(x, std::min(bits, 64), 0);
  return c.Done();
}

// Adds -x modulo 2^bits, as 2^bits - 1 - x + 1, so that no column is negative.
void Subtract(Trace& t, Columns<kDealer>* c, const Wide<kDealer>& x) {
  for (size_t i = 0; i < c->size(); ++i) {
    const int64_t ones = (int64_t{1} << LimbBits(c->radix(), c->bits(), int(i))) - 1 + (i == 0);
    if (i < x.limbs.size())
      c->Add(i, ones - Lift(Low(x.limbs[i], std::min(x.limbs[i].bits(), LimbBits(c->radix(), c->bits(), int(i))))));
    else
      c->Add(i, t.constant(ones));
  }
}
Wide<kDealer> Negative(Trace& t, const Wide<kDealer>& x, int bits) {
  Columns<kDealer> c(x.radix, bits);
  Subtract(t, &c, x);
  return c.Done();
}

struct WideSh {
  Wide<kP0> a;
  Wide<kP1> b;
};

// Deals shares a + b = x modulo 2^bits. Over the integers the two shares of a limb may exceed it. The dealer subtracts
// the excess from the next limb before it deals that.
WideSh Deal(Trace& t, const Wide<kDealer>& x) {
  WideSh out{{x.radix, x.bits, {}}, {x.radix, x.bits, {}}};
  std::optional<Sec> carry;
  for (size_t i = 0; i < x.limbs.size(); ++i) {
    Sec want = Lift(x.limbs[i]);
    if (carry) want = want - *carry;
    Dealt half = t.deal(want, LimbBits(x.radix, x.bits, int(i)));
    out.a.limbs.push_back(half.a);
    out.b.limbs.push_back(half.b);
    if (i + 1 == x.limbs.size()) break;
    pfss::Rnd<0> first = Lift(half.a);
    pfss::Rnd<1> second = Lift(half.b);
    Sec sum = first + second;
    sum = sum - want;  // a multiple of 2^radix, 0 to 2 of them
    carry = Lift(sum >> x.radix);
  }
  return out;
}

// A party's message of an opening, and the pad in it.
template <int P>
struct Half {
  Wide<kPub> message;
  Wide<kDealer> pad;
};
// Sends a party's sum plus a pad, modulo 2^bits. Each limb contains the carry of the padded limbs below; its own pad is
// drawn after it.
template <int P>
Half<P> Send(Trace& t, const Columns<pfss::Party(P)>& y, const char* label) {
  Half<P> out{{y.radix(), y.bits(), {}}, {y.radix(), y.bits(), {}}};
  y.Each([&](size_t, Own<P> sum, int bits) {
    Own<P> value = Low(sum, bits);
    SharedWire<kPub> sent = t.give<P>(value, bits, label);
    out.message.limbs.push_back(sent.hat);
    out.pad.limbs.push_back(sent.r);
    Own<P> pad;
    if constexpr (P == 0)
      pad = Own<P>(sent.s.a);
    else
      pad = Own<P>(sent.s.b);
    return sum + Lift(pad);
  });
  return out;
}

// Opens x = y_0 + y_1 + owed.
WideWire Open(Trace& t, const Columns<kP0>& y0, const Columns<kP1>& y1, const Columns<kDealer>& owed,
              const char* label) {
  const Wide<kDealer> missing = owed.Done();
  Half<0> p0 = Send<0>(t, y0, label);
  Half<1> p1 = Send<1>(t, y1, label);
  Columns<kPub> hat(y0.radix(), y0.bits());
  hat.Add(p0.message);
  hat.Add(p1.message);
  Columns<kDealer> r(y0.radix(), y0.bits());
  r.Add(p0.pad);
  r.Add(p1.pad);
  Subtract(t, &r, missing);
  WideWire out;
  out.hat = hat.Done();
  out.r = r.Done();
  return out;
}

// The difference of x^2 and (h - R')^2: 2^(k+1) g b (h + 2^(k-1) - R'). Its sum over a row has `bits` bits and is added
// at bit `at` of both parties' sums.
struct Wrapped {
  Pub factor, g;  // g (h + 2^(k-1)), g
  Sec b, masked;  // b, R' b
  int k, bits, at;
};
void AddNarrow(Trace& t, const Wrapped& w, Columns<kP0>* a, Columns<kP1>* b) {
  Sh one = t.deal(w.b, w.bits);
  Sh y = one * w.factor;
  Sh two = t.deal(-w.masked, w.bits);
  y = Sum(y + two * w.g);
  a->AddAt(Lift(y.a), w.bits, w.at);
  b->AddAt(Lift(y.b), w.bits, w.at);
}
void AddWide(Trace& t, const Wrapped& w, Columns<kP0>* a, Columns<kP1>* b) {
  const int radix = a->radix();
  WideSh one = Deal(t, Split(w.b, w.bits, radix));
  WideSh two = Deal(t, Negative(t, Split(w.masked, w.k + 1, radix), w.bits));
  const Wide<kPub> factor = Split(w.factor, w.k + 1, radix), g{radix, radix, {w.g}};
  auto add = [&](auto* sum, const auto& first, const auto& second) {
    std::decay_t<decltype(*sum)> own(radix, w.bits);
    own.AddProducts(factor, first);
    own.AddProducts(g, second);
    const auto limbs = own.Done().limbs;
    for (size_t i = 0; i < limbs.size(); ++i) sum->AddAt(Lift(limbs[i]), radix, w.at + radix * int(i));
  };
  add(a, one.a, two.a);
  add(b, one.b, two.b);
}

}  // namespace

int SumOfSquares::Radix(int64_t row, int k) {
  for (int radix = 26; radix > 1; --radix)  // a column adds doubled products of limbs, h^2 and carries
    if (row * (3 * Limbs(radix, k + 1) + 1) <= int64_t{1} << std::min(62, 64 - 2 * radix)) return radix;
  return 1;
}

WideWire SumOfSquares::Open(Trace& t, Pub h, Sec r, int64_t bias, const char* label) const {
  const int k = h.bits();
  SUF_CHECK(k >= 3 && k <= 63 && bits > k && bits <= kMostWide);
  // x = h - R' + 2^k g b over the integers, R' = r + bias
  Sec masked = Lift(r);
  masked = masked + bias;
  const Wide<kPub> left = Split(Pub(Lift(h)), k, radix);
  const Wide<kDealer> mask = Split(masked, k + 1, radix);
  Columns<kDealer> owed(radix, bits);
  owed.AddProducts(mask, mask);
  Columns<kP0> a(radix, bits);
  Columns<kP1> b(radix, bits);
  WideSh word = Deal(t, Negative(t, mask, bits - 1));
  a.AddProducts(left, word.a, 1);
  a.AddProducts(left, left);
  b.AddProducts(left, word.b, 1);
  if (extra) a.AddAt(t.constant(extra), 63, shift);
  if (bits > k + 1) {
    Pub g = Lift(h >> (k - 1));
    g = 1 - g;
    Pub factor = Lift(h);
    factor = factor + (int64_t{1} << (k - 1));
    factor = factor * g;
    Sec top = Lift(r >> (k - 1));
    Wrapped w{factor, g, top, masked * top, k, bits - k - 1, k + 1};
    w.bits <= 64 ? AddNarrow(t, w, &a, &b) : AddWide(t, w, &a, &b);
  }
  return compiler::Open(t, a, b, owed, label);
}

int64_t SumOfSquares::KeyBits(int k) const { return (bits - 1) + 2 * std::max(0, bits - k - 1); }

}  // namespace suf::compiler
