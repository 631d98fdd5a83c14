#include <algorithm>

#include "suf/gates/tables.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/nn/layers.hpp"

namespace suf::nn {

namespace {

using compiler::Borrow;
using compiler::Factors;
using compiler::OpenedDigits;
using compiler::Stages;
using compiler::Words;

std::vector<compiler::Cut> NormCuts(const Norm& n) { return {{n.cut, std::max(n.square, n.product)}}; }

// x^2 in Z_{2^square}, x = T - R + 2^k g b - c: every summand of the expansion, c^2 = c and b^2 = b.
Owing Square(Trace& t, const Factors& x, const Borrow* c, int k, int square) {
  Pub top = *x[0].p, g = *x[2].p;
  Sec r = *x[1].u, b = *x[2].u;
  Words v(t, square);
  v.Add({1, 0, top * top, {}, {}});
  v.Add({-1, 1, top, r, {}});
  v.Add({1, 0, {}, r * r, {}});
  v.Add({1, k + 1, g * top, b, {}});
  v.Add({-1, k + 1, g, r * b, {}});
  v.Add({1, 2 * k, g, b, {}});
  if (!c) return v.Done();
  Pub slope = top * 2;
  slope = 1 - slope;
  v.Add(c->Share(square), slope);
  v.Add(c->Times(r, square - 1), std::nullopt, 1, 1);
  if (square > k + 1) v.Add(c->Times(b, square - k - 1), g, -1, k + 1);
  return v.Done();
}

}  // namespace

Owing Normalise(Trace& t, const Wire<kPub>& z, const Norm& norm, Stages stages) {
  int k = norm.kz - norm.cut;
  SUF_CHECK(z.k() == norm.kz);
  int64_t bias = int64_t{1} << (norm.kz - 2);
  std::optional<OpenedDigits> digits;
  std::optional<Borrow> c;
  Pub h;
  if (norm.cut > 0) {
    bias += int64_t{1} << (norm.cut - 1);
    digits.emplace(t, z, t.constant(bias), compiler::PlanDigits(NormCuts(norm), stages));
    c.emplace(*digits, norm.cut, stages);
    h = digits->hat();
  } else {
    h = z.hat + bias;
  }
  Factors x = compiler::Lifted(h, z.r, bias, norm.cut);  // x + c
  Owing sum = Square(t, x, c ? &*c : nullptr, k, norm.square);
  sum = Map(sum, [](auto v) { return Sum(v); });
  sum.y = sum.y + norm.eps;
  Wire<kPub> v = compiler::OpenDefined(t, sum, "sum of squares");  // (rows)
  gates::RowFunction rsqrt{norm.rsqrt, norm.product};
  SharedWire<kPub> root = compiler::OpenShared(t, rsqrt.Build(t, v), "rsqrt");
  root = Map(root, [](auto w) { return Column(w); });
  Words y(t, norm.product);
  y.Add(x, compiler::Masked(root));
  if (c) {
    y.Add(c->Share(norm.product), root.hat, -1);
    y.Add(c->Times(root.r, norm.product, pfss::Sh(root.s)));
  }
  Wire<kPub> product = compiler::OpenDefined(t, y.Done(), "x*rsqrt");
  return gates::Trunc{norm.shift, norm.out, Stages::kOne}.Build(t, product);
}

int64_t NormaliseKeyBits(const Norm& norm, Stages stages, int64_t rows, int64_t d, bool shared) {
  int k = norm.kz - norm.cut;
  auto word = [](int bits) { return int64_t(std::max(0, bits)); };
  int64_t high = word(norm.square - k - 1);
  int64_t bits = word(std::max(norm.square - 1, norm.product))  // R
                 + std::max(high, word(norm.product - k))       // b
                 + high + word(norm.product - k);               // R b; b r'
  if (norm.cut > 0) {
    std::vector<int> widths = compiler::PlanDigits(NormCuts(norm), stages);
    int words = stages == Stages::kTwo ? 1 : compiler::BorrowWords(int(widths.size()));
    bits += compiler::DigitsKeyBits(widths, {{norm.cut, 0}}, stages);
    // borrow alone, times R, b and r'
    bits += words * (std::max(norm.square, norm.product) + word(norm.square - 1) + high + norm.product);
  }
  int64_t row = compiler::RowLutKeyBits(norm.square, norm.rsqrt, norm.product) + norm.product;
  return rows * (d * (bits + gates::Trunc{norm.shift, norm.out, Stages::kOne}.KeyBits(norm.product, shared)) + row);
}

}  // namespace suf::nn
