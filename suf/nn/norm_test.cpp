#include <gtest/gtest.h>

#include <cmath>

#include "suf/func/fit.hpp"
#include "suf/gates/rig_test.hpp"
#include "suf/nn/layers.hpp"

namespace suf::nn {
namespace {

using compiler::Stages;
using gates::Ints;

// What a norm means, by rows of d.
Ints Spec(const Norm& n, const Ints& z, int64_t d) {
  Ints x, out;
  for (int64_t v : z) x.push_back(n.cut ? (v + (int64_t{1} << (n.cut - 1))) >> n.cut : v);
  func::Suf f = func::FromGroups("rsqrt", n.rsqrt, n.square, 64);
  for (size_t row = 0; row < x.size(); row += size_t(d)) {
    int64_t v = n.eps;
    for (size_t j = row; j < row + size_t(d); ++j) v += x[j] * x[j];
    int64_t root = int64_t(func::Evaluate(f, uint64_t(v) & func::Mask(n.square)).poly[0]);
    for (size_t j = row; j < row + size_t(d); ++j)
      out.push_back((x[j] * root + (int64_t{1} << (n.shift - 1))) >> n.shift);
  }
  return out;
}

Norm MakeNorm(int kz, int cut, int d, int out) {
  Norm n{.kz = kz, .cut = cut};
  int x = kz - cut - 2, log_d = int(std::ceil(std::log2(d)));
  n.square = 2 * x + log_d + 1;
  n.eps = 3, n.shift = 7, n.out = out;
  int scale = x + log_d + n.shift;
  n.rsqrt = func::FitOctaves([&](double v) { return std::ldexp(std::sqrt(d / v), scale); }, 1, n.square, 3, 3).f;
  n.product = x + scale + log_d + 3;
  return n;
}

// Every z of the certified range, in every place of a row.
TEST(Normalise, Exhaustive) {
  for (int cut : {0, 1, 3})
    for (Stages stages : {Stages::kOne, Stages::kTwo})
      for (int d : {1, 4})
        for (int out : {6, 20, 40}) {
          Norm n = MakeNorm(5 + cut, cut, d, out);
          int64_t top = (int64_t{1} << (n.kz - 2)) - (cut ? int64_t{1} << (cut - 1) : 0);
          Ints z = gates::Range(-top + (cut == 0), top, 4);
          while (z.size() % size_t(d)) z.push_back(0);
          for (size_t i = 0; i + 1 < z.size(); i += 3) std::swap(z[i], z[(i * 7919) % z.size()]);
          gates::Rig g;
          Wire<kPub> w = g.Give(z, n.kz, {int64_t(z.size()) / d, d});
          Ints want = Spec(n, z, d);
          for (int64_t& v : want) v = func::Signed(uint64_t(v), out);
          EXPECT_EQ(g.Run(Normalise(g.t, w, n, stages)), want) << cut << " " << d << " " << out;
          EXPECT_EQ(g.key_bits(), NormaliseKeyBits(n, stages, int64_t(z.size()) / d, d, true));
          // give, [bits, carry,] sum of squares, window sums, rsqrt, product, bits, P0's share
          EXPECT_EQ(g.flights(), cut == 0 ? 6 : stages == Stages::kOne ? 8 : 8);
        }
}

TEST(Normalise, WideRings) {
  for (int kz : {31, 32, 33, 63, 64})
    for (Stages stages : {Stages::kOne, Stages::kTwo}) {
      int d = 24, cut = kz - 13;
      if (stages == Stages::kOne && cut > 24) continue;
      Norm n = MakeNorm(kz, cut, d, 30);
      int64_t top = (int64_t{1} << (kz - 2)) - (int64_t{1} << (cut - 1)) - 1;
      Ints z = gates::Some(-top, top, size_t(5 * d), uint64_t(kz));
      gates::Rig g;
      Wire<kPub> w = g.Give(z, kz, {5, d});
      EXPECT_EQ(g.Run(Normalise(g.t, w, n, stages)), Spec(n, z, d)) << kz;
      EXPECT_EQ(g.key_bits(), NormaliseKeyBits(n, stages, 5, d, true));
    }
}

}  // namespace
}  // namespace suf::nn
