// Products of two secret values (docs/mathematics.md#products).
#include <algorithm>

#include "suf/gates/compose/ranges.hpp"
#include "suf/gates/product.hpp"

namespace suf::gates {

namespace {

constexpr const char* kProductSource = "docs/mathematics.md#products";
// The certificates of FactorRing and SumOfProducts.
constexpr const char* kGapBits = "the factors' ranges: a factor is read two bits wider, or in the result's ring";
constexpr const char* kSums = "the operands' ranges: every sum fits 64 bits, unless the statement gives a ring";

// Returns the ring in which Multiply and RowProduct read a factor, for a result in Z_{2^ring}. Both take x as
// a - r + 2^k g b. This is exact modulo 2^k, and in [-2^(k-2), 2^(k-2)) over the integers.
int FactorRing(const ValueType& t, int ring) { return std::min(SignedBits(t) + 1, std::max(ring, 2)); }

std::vector<GateNeed> FactorNeeds(const GateUse& u) {
  return {{GateNeed::kWire, FactorRing(u.in[0], u.ring[0])}, {GateNeed::kWire, FactorRing(u.in[1], u.ring[0])}};
}
std::vector<GateNeed> SharedNeeds(const GateUse& u) {
  return {{GateNeed::kSharedWire, u.ring[0]}, {GateNeed::kSharedWire, u.ring[0]}};
}

SharedWire<kPub> Reshaped(const SharedWire<kPub>& w, const pfss::Shape& shape) {
  return pfss::Map(w, [&](auto v) { return Reshape(v, shape); });
}

// Returns the type of a sum of `terms` products.
ValueType SumOfProducts(const GateUse& u, const GateFacts& gate, int64_t terms, pfss::Shape shape) {
  const auto [low, high] = ProductBounds(u.in[0], u.in[1]);
  return NumberOrRing(u, gate, BoundedProduct(low, terms), BoundedProduct(high, terms), u.in[0].scale + u.in[1].scale,
                      std::move(shape));
}

class MultiplyEntry final : public GateEntry {
 public:
  MultiplyEntry()
      : GateEntry({.name = "multiply",
                   .meaning = "x y, element by element; scales add up",
                   .certificate = kGapBits,
                   .source = kProductSource,
                   .inputs = {{"x", ValueKind::kNumber, "any"}, {"y", ValueKind::kNumber, "any"}},
                   .outputs = {{"z", ValueKind::kNumber, "holds every product"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override { return {SumOfProducts(u, facts, 1, u.in[0].shape)}; }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return FactorNeeds(u); }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    return {Multiply{64}.Spec(in[0], in[1])};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {SharesOperand(Multiply{u.ring[0]}.Build(t, *in[0].wire, *in[1].wire))};
  }
};

class RowProductEntry final : public GateEntry {
 public:
  RowProductEntry()
      : GateEntry({.name = "rowproduct",
                   .meaning = "x_ij s_i: each row of x times one number; scales add up",
                   .certificate = kGapBits,
                   .source = kProductSource,
                   .inputs = {{"x", ValueKind::kNumber, "any", {kRows, 8}}, {"s", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "holds every product"}},
                   .elementwise = false}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType &x = u.in[0], &s = u.in[1];
    if (x.shape.empty() || WithoutLast(x.shape) != s.shape)
      FailUse(facts, "x has shape ", Name(x.shape), " and s ", Name(s.shape),
              "; s must have one number for each row: the shape of x without its last axis");
    return {SumOfProducts(u, facts, 1, x.shape)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return FactorNeeds(u); }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    return {RowProduct{64}.Spec(in[0], in[1])};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {SharesOperand(RowProduct{u.ring[0]}.Build(t, *in[0].wire, *in[1].wire))};
  }
};

class DotEntry final : public GateEntry {
 public:
  DotEntry()
      : GateEntry(
            {.name = "dot",
             .meaning = "the sum of x y over the last axis, without key; scales add up",
             .certificate = kSums,
             .source = kProductSource,
             .inputs = {{"x", ValueKind::kNumber, "any", {kRows, 8}}, {"y", ValueKind::kNumber, "any", {kRows, 8}}},
             .outputs = {{"z", ValueKind::kNumber, "holds every sum"}},
             .elementwise = false}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType &x = u.in[0], &y = u.in[1];
    const int64_t m = LastLength(facts, "x", x);
    if (y.shape != x.shape && y.shape != pfss::Shape{m})
      FailUse(facts, "x has shape ", Name(x.shape), " and y ", Name(y.shape), "; y must have the shape of x or [", m,
              "]");
    return {SumOfProducts(u, facts, m, WithoutLast(x.shape))};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return SharedNeeds(u); }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    const int64_t m = u.in[0].shape.back(), rows = int64_t(in[0].size()) / m;
    const bool one = u.in[1].shape.size() == 1;
    return {MatmulProduct{true}.Spec(in[0], in[1], one ? rows : 1, m, 1, 64)};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse&,
                                                const std::vector<GateOperand>& in) const override {
    SharedWire<kPub> x = in[0].AsSharedWire(), y = in[1].AsSharedWire();
    const pfss::Shape shape = WithoutLast(x.shape());
    const int64_t m = x.shape().back(), rows = pfss::Size(shape);
    const bool one = y.shape().size() == 1;  // one y for all rows
    x = Reshaped(x, one ? pfss::Shape{rows, m} : pfss::Shape{rows, 1, m});
    y = Reshaped(y, one ? pfss::Shape{1, m} : pfss::Shape{rows, 1, m});
    const OwedWord z = MatmulProduct{true}.Build(t, x, y);
    return {SharesOperand(compiler::Map(z, [&](auto v) { return Reshape(v, shape); }))};
  }
};

class MatmulEntry final : public GateEntry {
 public:
  MatmulEntry()
      : GateEntry({.name = "matmul",
                   .meaning = "the matrix product of x [.., m] and w [m, b], without key; scales add up",
                   .certificate = kSums,
                   .source = kProductSource,
                   .inputs = {{"x", ValueKind::kNumber, "any", {kRows, 8}}, {"w", ValueKind::kNumber, "any", {8, 3}}},
                   .outputs = {{"z", ValueKind::kNumber, "holds every sum"}},
                   .elementwise = false}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType &x = u.in[0], &w = u.in[1];
    const int64_t m = LastLength(facts, "x", x);
    if (w.shape.size() != 2 || w.shape[0] != m)
      FailUse(facts, "x has shape ", Name(x.shape), " and w ", Name(w.shape), "; w must have two axes, the first of ",
              m);
    pfss::Shape shape = WithoutLast(x.shape);
    shape.push_back(w.shape[1]);
    return {SumOfProducts(u, facts, m, std::move(shape))};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return SharedNeeds(u); }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    const int64_t m = u.in[1].shape[0], rows = int64_t(in[0].size()) / m;
    return {MatmulProduct{}.Spec(in[0], in[1], rows, m, u.in[1].shape[1], 64)};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse&,
                                                const std::vector<GateOperand>& in) const override {
    const SharedWire<kPub> x = in[0].AsSharedWire(), w = in[1].AsSharedWire();
    pfss::Shape shape = WithoutLast(x.shape());
    const int64_t rows = pfss::Size(shape);
    shape.push_back(w.shape()[1]);
    const OwedWord z = MatmulProduct{}.Build(t, Reshaped(x, {rows, x.shape().back()}), w);
    return {SharesOperand(compiler::Map(z, [&](auto v) { return Reshape(v, shape); }))};
  }
};

}  // namespace

void RegisterProducts() {
  RegisterLibraryGate(std::make_unique<MultiplyEntry>());
  RegisterLibraryGate(std::make_unique<RowProductEntry>());
  RegisterLibraryGate(std::make_unique<DotEntry>());
  RegisterLibraryGate(std::make_unique<MatmulEntry>());
}

}  // namespace suf::gates
