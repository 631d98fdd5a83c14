#include "suf/nn/graph/tensor.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

namespace {

template <class T>
bool Holds(const Ints& v) {
  return std::all_of(v.begin(), v.end(), [](int64_t x) { return x == int64_t(T(x)); });
}

}  // namespace

Tensor::Tensor(Shape shape, const Ints& v) : shape_(std::move(shape)) {
  SUF_CHECK(!shape_.empty() && size() == int64_t(v.size()));
  if (Holds<int16_t>(v))
    data_ = std::vector<int16_t>(v.begin(), v.end());
  else if (Holds<int32_t>(v))
    data_ = std::vector<int32_t>(v.begin(), v.end());
  else
    data_ = v;
}

int64_t Tensor::operator[](int64_t i) const {
  return Visit([&](const auto* p) { return int64_t(p[i]); });
}

Ints Tensor::Row(int64_t i) const {
  return Visit([&](const auto* p) { return Ints(p + i * cols(), p + (i + 1) * cols()); });
}

std::vector<uint64_t> Tensor::Words() const {
  return Visit([&](const auto* p) {
    std::vector<uint64_t> w(static_cast<size_t>(size()));
    for (size_t i = 0; i < w.size(); ++i) w[i] = uint64_t(int64_t(p[i]));
    return w;
  });
}

Reals Tensor::Numbers() const {
  return Visit([&](const auto* p) { return Reals(p, p + size()); });
}

Tensor Fixed(const std::string& name, Shape shape, const Reals& a, int scale) {
  Ints v(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    double x = std::floor(std::ldexp(a[i], scale) + 0.5);
    if (!(std::abs(x) < 0x1p50))
      Fail(Cause::kRefused, "a weight of ", name, " exceeds 2^50 at scale 2^", scale,
           "; check the model's weights or lower the scale");
    v[i] = int64_t(x);
  }
  return Tensor(std::move(shape), v);
}

}  // namespace suf::nn
