#include "suf/nn/ops/softmax.hpp"

#include <algorithm>
#include <cmath>

namespace suf::nn {

namespace {

constexpr int64_t kMostOwn = 1 << 8;  // sixteenths
constexpr double kFinite = 300;  // largest exponent of the float model, so that the sum of a row's powers is finite

const char* const kForms[] = {"maximum", "shift"};

}  // namespace

RealArray Softmax::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  const int64_t n = c.n;
  RealArray y = by == kShift ? SoftmaxByShift::Difference(*this, c.from, *x[0], *x[1]) : *x[0];
  for (int64_t i = 0; i < y.rows(); ++i) {
    double* row = &y.at[size_t(i * n)];
    const int64_t count = RowLength(c.from + i % c.rows, n);
    const double most = by == kShift ? 0 : *std::max_element(row, row + count);
    for (int64_t j = 0; j < n; ++j)
      row[j] = j < count ? std::exp(std::min((row[j] - most) / std::sqrt(double(head_dim)), kFinite)) : 0;
  }
  return y;
}

// Records scores and row maxima of every head, and scores less their shifts.
void Softmax::See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const {
  const int64_t n = c.n, rows = c.rows, n_heads = x[0]->shape[0];
  auto length = [&](int64_t i) { return RowLength(c.from + i % rows, n); };
  std::vector<SeenRange>&score = (*seen)["score"], &row_max = (*seen)["row_max"];
  score.resize(size_t(n_heads));
  row_max.resize(size_t(n_heads));
  for (int64_t i = 0; i < n_heads * rows; ++i) {
    const double* row = &x[0]->at[size_t(i * n)];
    double most = -1e300;
    for (int64_t j = 0; j < length(i); ++j) {
      score[size_t(i / rows)].See(row[j]);
      most = std::max(most, row[j]);
    }
    row_max[size_t(i / rows)].See(most);
  }
  if (x.size() < 2) return;
  const RealArray z = SoftmaxByShift::Difference(*this, c.from, *x[0], *x[1]);
  std::vector<SeenRange>& ranges = (*seen)["shifted"];
  ranges.resize(size_t(n_heads));
  for (int64_t i = 0; i < n_heads * rows; ++i)
    for (int64_t j = 0; j < length(i); ++j) ranges[size_t(i / rows)].See(z.at[size_t(i * n + j)]);
}

void Softmax::Attributes(Visitor& v) {
  v.Int("head_dim", head_dim, 1, 1 << 14);
  v.Flag("causal", &causal);
  v.Many("own", &own, 1 << 11, -kMostOwn, kMostOwn);
}

void Softmax::Choose(const Facts& c, const Edges& in) {
  by = in.size() == 2 && c.options.softmax == Options::kShift ? kShift : kMaximum;
  if (by == kShift)
    shifted.Choose(c, in, this);
  else
    maximum.Choose(c, in, this);
}

RowBound Softmax::Bound(const Facts& c, const Edges&, std::vector<Width>* widths) {
  widths->push_back({"score", window() - 1, nullptr, 61, true});
  const double most = by == kShift ? shifted.Most() : maximum.Most();
  // the length of a row is the sum of its entries
  return {c.n, most * c.n, {most}, {}, {}, by == kShift ? 0 : std::ldexp(1.0, scale - 1)};
}

int Softmax::Need(int input, const Edges&) const {
  if (by == kShift) return shifted.Need(*this, input);
  return input == 0 ? window() : 1;
}

void Softmax::Fields(Visitor& v) {
  v.Choice("form", &by, kForms, "has a softmax of the form ");
  v.Int("shift", shift, 1, kRing);
  v.Many("offset", &offset, 1 << 10, -kBig, kBig);
  if (by == kShift)
    shifted.Fields(v);
  else
    maximum.Fields(v);
}

void Softmax::Check(const Edges& in, int max_n, const std::string& where) const {
  Wanted(own.empty() || int64_t(own.size()) == 2 * in[0].dim, where, "there are not two coefficients a head");
  Wanted(form != OperandForm::kSummands || by == kShift, where, "its reader takes summands of a maximum's exponential");
  if (by == kShift)
    shifted.Check(*this, in, where);
  else
    maximum.Check(*this, in, max_n, where);
}

IntArray Softmax::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  return by == kShift ? shifted.Spec(*this, c, *x[0], *x[1]) : maximum.Spec(*this, c, *x[0]);
}

AnyWire Softmax::Build(const Emission& e, std::span<const AnyWire> x) const {
  if (by == kShift) return shifted.Build(*this, e, AsOpen(x[0]), AsOpen(x[1]));
  return maximum.Build(*this, e, AsOpen(x[0]));
}

}  // namespace suf::nn
