// A private linear map without key: P0 holds W, P1 holds W - B, the dealer B. P1's half depends on nothing online, so
// the schedule sends it ahead. P0 knows the result before it sends. (docs/mathematics.md#private-linear-maps)
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// The sum of f(x, W) over terms, plus biases of P0, in Z_{2^k}. f is bilinear.
class Linear {
 public:
  explicit Linear(int k) : k_(k) {}
  template <class F>
  void Add(const SharedWire<kP0>& x, const Private& w, F f) {
    auto known = x.hat - x.s.a;
    pfss::Own<0> a = f(known, w.w);
    pfss::Own<1> b = f(x.s.b, w.masked);
    pfss::Sec owed = f(x.s.b, w.b);
    if (!a_) {
      a_ = a;
      b_ = b;
      owed_ = owed;
    } else {
      a_ = *a_ + a;
      b_ = *b_ + b;
      owed_ = *owed_ + owed;
    }
  }
  // Adds a bias of P0 times 2^shift: (features) or the whole shape.
  void Bias(pfss::Own<0> bias, int shift) {
    if (shift > 0) bias = bias << shift;
    a_ = *a_ + bias;
  }
  // Applies a public linear function to the sum.
  template <class F>
  void Turn(F f) {
    a_ = f(*a_);
    b_ = f(*b_);
    owed_ = f(*owed_);
  }
  compiler::OwedWord Done() const {
    pfss::Own<0> a = Low(*a_, k_);
    pfss::Own<1> b = Low(*b_, k_);
    b = -b;
    pfss::Sec owed = -*owed_;
    return {{a, b}, owed};
  }

 private:
  int k_;
  std::optional<pfss::Own<0>> a_;
  std::optional<pfss::Own<1>> b_;
  std::optional<pfss::Sec> owed_;
};

}  // namespace suf::nn
