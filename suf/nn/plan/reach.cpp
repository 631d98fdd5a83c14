#include "suf/nn/plan/reach.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

double RowBound::most() const {
  return each.empty() ? length : std::min(length, *std::max_element(each.begin(), each.end()));
}

Reals RowBound::Box() const { return each.empty() ? Reals(size_t(dim), length) : each; }

RowBound RowBound::Scaled(double f, double eps) const {
  RowBound r = *this;
  r.length = length * f + eps * std::sqrt(double(dim));
  for (double& x : r.each) x = x * f + eps;
  for (Image& x : r.images) x.radius *= f;
  for (Noise& x : r.noise) x.each *= f;
  if (eps > 0 && !images.empty()) r.noise.push_back({eps, dim});
  return r;
}

}  // namespace suf::nn
