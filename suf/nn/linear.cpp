#include "suf/nn/linear.hpp"

namespace suf::nn {

Private PrivateInput(Trace& t, const std::string& name, const Shape& shape) {
  Own<0> w = t.input<kP0>("W." + name, shape);
  Own<1> masked = t.input<pfss::kP1>("Wh." + name, shape);
  Sec b = t.input<pfss::kDealer>("B." + name, shape);
  return {w, masked, b};
}

void Linear::Bias(const std::string& name, const Shape& shape, int shift) {
  Own<0> bias = t_.input<kP0>("W." + name, shape);
  if (shift > 0) bias = bias << shift;
  a_ = *a_ + bias;
}

Wire<kPub> Linear::Open(const char* label) {
  Own<0> a = Low(*a_, k_);
  Own<1> b = Low(*b_, k_);
  b = -b;
  Sec owed = -*owed_;
  return t_.open({a, b}, label, owed);
}

}  // namespace suf::nn
