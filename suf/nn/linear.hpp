// A private linear map without key (DESIGN 9): P0 holds W, P1 holds W - B, the dealer B. P1's half depends on nothing
// online, so the schedule sends it ahead; P0 knows the result before it sends.
#pragma once
#include <optional>
#include <string>

#include "suf/gates/gate.hpp"

namespace suf::nn {

using compiler::Owing;
using pfss::kP0;
using pfss::kPub;
using pfss::Own;
using pfss::Pub;
using pfss::Sec;
using pfss::Shape;
using pfss::SharedWire;
using pfss::Trace;
using pfss::Wire;

// Private: a weight tensor's three parts: inputs "W.<name>" of P0, "Wh.<name>" of P1, "B.<name>" of the dealer.
struct Private {
  Own<0> w;
  Own<1> masked;
  Sec b;
};
Private PrivateInput(Trace& t, const std::string& name, const Shape& shape);

// Linear: sum of f(x, W) over its terms, plus biases of P0, opened in Z_{2^k}. f is bilinear.
class Linear {
 public:
  Linear(Trace& t, int k) : t_(t), k_(k) {}
  template <class F>
  void Add(const SharedWire<kP0>& x, const Private& w, F f) {
    auto known = x.hat - x.s.a;
    Own<0> a = f(known, w.w);
    Own<1> b = f(x.s.b, w.masked);
    Sec owed = f(x.s.b, w.b);
    if (!a_) {
      a_ = a, b_ = b, owed_ = owed;
    } else {
      a_ = *a_ + a, b_ = *b_ + b, owed_ = *owed_ + owed;
    }
  }
  // Bias: P0's input "W.<name>", (features) or the whole shape, times 2^shift.
  void Bias(const std::string& name, const Shape& shape, int shift = 0);
  Wire<kPub> Open(const char* label);

 private:
  Trace& t_;
  int k_;
  std::optional<Own<0>> a_;
  std::optional<Own<1>> b_;
  std::optional<Sec> owed_;
};

}  // namespace suf::nn
