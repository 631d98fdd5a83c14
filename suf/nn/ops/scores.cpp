#include <algorithm>
#include <cmath>

#include "suf/gates/product.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/ring/gemm.hpp"

namespace suf::nn {

namespace {

// The places of q and k of a head in the inputs' rows. Both in one input have all rows, so those of q begin at `from`.
template <class T>
struct Sides {
  const T *q, *k;
  int64_t q_cols, k_cols;
};
template <class T>
Sides<T> SidesOf(const Scores& s, std::span<const Array<T>* const> x, int64_t head, int64_t from) {
  const int64_t served = head / (s.heads / s.serving) * s.head_dim, own = head * s.head_dim;
  if (x.size() == 2) return {x[0]->at.data() + own, x[1]->at.data() + served, x[0]->cols(), x[1]->cols()};
  const T* row = x[0]->at.data();
  return {row + from * x[0]->cols() + own, row + s.heads * s.head_dim + served, x[0]->cols(), x[0]->cols()};
}

}  // namespace

RealArray Scores::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  const int64_t n = c.n, rows = c.rows;
  RealArray y{{heads, rows, n}, Reals(size_t(heads * rows * n), 0.0)};
  const Reals* bias = relative ? &c.value(relative) : nullptr;
  CheckLength(Longest(), n);
  c.pool.For(size_t(heads), 1, [&](size_t begin, size_t end) {
    for (int64_t h = int64_t(begin); h < int64_t(end); ++h) {
      const Sides<double> s = SidesOf<double>(*this, x, h, c.from);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double& z = y.at[size_t((h * rows + i) * n + j)];
          for (int64_t k = 0; k < head_dim; ++k) z += s.q[i * s.q_cols + k] * s.k[j * s.k_cols + k];
          if (bias) z += (*bias)[size_t(Diagonal(h, c.from + i, j))] * std::sqrt(double(head_dim));
        }
    }
  });
  return y;
}

LengthLimit Scores::Longest() const {
  if (band && (!relative || band < positions())) return {band + 1, "tokens of local attention"};
  return {positions(), "relative positions"};
}

void Scores::Attributes(Visitor& v) {
  v.Int("heads", heads, 1, 1 << 10);
  v.Int("serving", serving, 1, 1 << 10);
  v.Int("head_dim", head_dim, 1, 1 << 14);
  v.Flag("causal", &causal);
  v.Weight("relative", &relative, true);
}

void Scores::Verify(const std::string& where) const {
  Wanted(heads % serving == 0, where, "the heads of k do not divide those of q");
  if (!relative) return;
  const Shape& of = relative.shape();
  Wanted(of.size() == 2 && of[0] == heads && of[1] % 2 == 1, where, "the relative bias has the wrong shape");
}

std::vector<WeightSlot> Scores::Slots() const {
  if (!relative) return {};
  return {{"relative", relative.Times(std::sqrt(double(head_dim))), scale, false, WeightSlot::kCorner}};
}

void Scores::Check(const Edges& in, int max_n, const std::string& where) const {
  const int64_t q = heads * head_dim, k = serving * head_dim;
  if (in.size() == 1)
    Wanted(in[0].dim == q + k, where, "its input is not as wide as q and k");
  else
    Wanted(in[0].dim == q && in[1].dim == k && in[0].scale == in[1].scale, where, "its inputs are not q and k");
  for (const Edge& x : in) {
    Wanted(x.ring >= ring, where, "an input's ring is narrower than its own");
    Wanted(!x.one_row, where, "an input has one row");
  }
  Wanted(scale == 2 * in[0].scale, where, "its scale does not follow from its inputs'");
  Wanted(!relative || positions() >= max_n, where, "the relative bias has too few positions");
}

IntArray Scores::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  const int64_t n = c.n, rows = c.rows;
  IntArray y{{heads, rows, n}, Ints(size_t(heads * rows * n))};
  for (int64_t h = 0; h < heads; ++h) {
    const Sides<int64_t> s = SidesOf<int64_t>(*this, x, h, c.from);
    uint64_t* z = reinterpret_cast<uint64_t*>(&y.at[size_t(h * rows * n)]);
    ring::Gemm(size_t(rows), size_t(n), size_t(head_dim), reinterpret_cast<const uint64_t*>(s.q), size_t(s.q_cols),
               reinterpret_cast<const uint64_t*>(s.k), size_t(s.k_cols), ring::MatrixOrder::kTransposed, z, size_t(n),
               false, c.pool);
  }
  if (relative) {
    const Tensor& bias = c.weight("relative");
    for (int64_t i = 0; i < heads * rows; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t& z = y.at[size_t(i * n + j)];
        z = WrapAdd(z, bias[Diagonal(i / rows, c.from + i % rows, j)]);
      }
  }
  return y;
}

AnyWire Scores::Build(const Emission& e, std::span<const AnyWire> x) const {
  const int64_t n = e.n, q_cols = heads * head_dim, k_cols = serving * head_dim;
  const int64_t texts = e.texts_here, rows = e.rows;
  const bool packed = e.Packed(causal);
  // (texts rows, of head_dim) -> (texts serving, of / serving rows, head_dim): heads that read one k are rows of one
  // product
  auto split = [&](auto v, int64_t of) {
    const int64_t each = v.shape()[0] / texts;
    auto w = ByHeads(v, texts, of);
    return Reshape(w, {texts * serving, of / serving * each, head_dim});
  };
  SharedWire<kPub> in[2] = {AsProduct(x[0]), AsProduct(x.back())};
  SUF_CHECK(in[0].shape()[0] == texts * rows && in[1].shape()[0] == texts * n);
  for (int i : {0, 1})  // takes the own part of an input that holds both
    if (in[i].shape()[1] == q_cols + k_cols)
      in[i] = Map(in[i], [&](auto v) { return Between(v, 1, i ? q_cols : 0, i ? q_cols + k_cols : q_cols); });
  SharedWire<kPub> q = Map(in[0], [&](auto v) { return split(v, heads); });
  SharedWire<kPub> k = Map(in[1], [&](auto v) { return split(v, serving); });
  compiler::OwedWord z = gates::MatmulProduct{true}.Build(e.t, q, k);
  auto shape = [&](auto v) {
    auto u = Reshape(v, {texts * heads, rows, n});
    if (!packed) return u;
    return Pack(u);
  };
  if (packed || serving != heads) z = compiler::Map(z, shape);
  if (relative) {
    pfss::Own<0> bias = e.Plain(Slots()[0], {heads, n, n});
    if (rows < n) bias = Between(bias, 1, e.from, e.from + rows);
    if (packed) bias = Pack(bias);
    z.y.a = z.y.a + ForTexts(bias, texts);
  }
  if (z.y.bits() > ring) {
    z.y = Low(z.y, ring);
  }
  return e.Open(z);
}

}  // namespace suf::nn
