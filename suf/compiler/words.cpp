#include "suf/compiler/words.hpp"

namespace suf::compiler {

namespace {

template <class V>
void Accumulate(std::optional<V>& sum, const V& v, int sign) {
  if (!sum)
    sum = sign < 0 ? -v : v;
  else
    sum = sign < 0 ? *sum - v : *sum + v;
}

}  // namespace

Sh DealOwed(Trace& t, const OwedWord& x) {
  if (!x.owed) return x.y;
  Sh word = t.deal(*x.owed, x.y.bits());
  return x.y + word;
}

Sh Zeros(Trace& t, const pfss::Shape& shape, int k) {
  // not a kConst node, because a constant 0 would be folded into the mask of an opening
  Const zero = shape.empty() ? Reshape(t.constant({0}, {1}), {}) : Broadcast(t.constant(0), shape);
  zero = Low(zero, k);
  return {zero, zero};
}

Sh ZeroString(Trace& t, const pfss::Shape& shape, int k) {
  return pfss::Map(Zeros(t, shape, k), [&](auto v) { return Bits(Lift(v), k); });
}

Factor operator*(const Factor& x, const Factor& y) {
  Factor f{x.sign * y.sign, x.shift + y.shift, x.p, x.u, x.held};
  if (y.p) f.p = f.p ? *f.p * *y.p : *y.p;
  if (y.u) {
    f.held = f.u ? std::nullopt : y.held;
    f.u = f.u ? *f.u * *y.u : *y.u;
  }
  return f;
}

Factors Lifted(Pub h, Sec r, int64_t bias, int s) {
  int k = h.bits();
  Pub a = Lift(h >> s);
  a = a - (bias >> s);
  Pub g = Lift(h >> (k - 1));
  g = 1 - g;
  Sec low = Lift(r >> s);
  Sec b = Lift(r >> (k - 1));
  return {{1, 0, a, {}, {}}, {-1, 0, {}, low, {}}, {1, k - s, g, b, {}}};
}

Factors Centred(const Wire<kPub>& x) {
  int64_t bias = int64_t{1} << (x.k() - 2);
  Pub h = x.hat + bias;
  return Lifted(h, x.r, bias);
}

Factors Masked(const Wire<kPub>& x) { return {{1, 0, x.hat, {}, {}}, {-1, 0, {}, x.r, {}}}; }

Factors Masked(const SharedWire<kPub>& x) { return {{1, 0, x.hat, {}, {}}, {-1, 0, {}, x.r, Sh(x.s)}}; }

void WordSum::Add(const Factor& f) {
  if (f.shift >= k_) return;
  if (!f.u) {
    Pub one = f.p ? *f.p : Pub(t_.constant(1));
    Accumulate(public_, one << f.shift, f.sign);
  } else if (!f.p) {
    Accumulate(owed_, *f.u << f.shift, f.sign);
  } else {
    Sh word = f.held ? *f.held : Sh(t_.deal(*f.u, k_ - f.shift));
    Add(word, f.p, f.sign, f.shift);
  }
}

void WordSum::Add(const Factors& x, const Factor& scale) {
  for (const Factor& f : x) Add(f * scale);
}

void WordSum::Add(const Factors& x, const Factors& y, const Factor& scale) {
  for (const Factor& f : x) {
    Factor g = f * scale;
    Add(y, g);
  }
}

void WordSum::Add(const Sh& s, std::optional<Pub> p, int sign, int shift) {
  if (shift >= k_) return;
  Sh v = Low(s, std::min(s.bits(), k_ - shift));
  if (p) v = v * *p;
  Accumulate(y_, v << shift, sign);
}

OwedWord WordSum::Done(const pfss::Shape& shape) {
  if (!y_) {
    // zeros of the summands' shapes broadcast as the summands do
    Const all = t_.constant({0}, shape);
    if (public_) all = all + t_.constant({0}, public_->shape());
    if (owed_) all = all + t_.constant({0}, owed_->shape());
    y_ = Zeros(t_, all.shape(), k_);
  }
  if (public_) y_ = *y_ + *public_;
  return {Low(*y_, k_), owed_};
}

}  // namespace suf::compiler
