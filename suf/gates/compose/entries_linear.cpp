// Linear statements. They need no key of their own. If every operand is opened, so is the result.
#include <algorithm>

#include "suf/gates/compose/ranges.hpp"

namespace suf::gates {

namespace {

// x + y, or x - y.
class SumOfTwo final : public GateEntry {
 public:
  explicit SumOfTwo(bool minus)
      : GateEntry({.name = minus ? "sub" : "add",
                   .meaning = minus ? "x - y" : "x + y",
                   .inputs = {{"x", ValueKind::kNumber, "any"}, {"y", ValueKind::kNumber, "the scale of x"}},
                   .outputs = {{"z", ValueKind::kNumber, "holds both bounds"}}}),
        minus_(minus) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType &x = u.in[0], &y = u.in[1];
    if (x.scale != y.scale)
      FailUse(facts, "the scales ", x.scale, " and ", y.scale, " differ; shift one of them first, with trunc or times");
    return {NumberOrRing(u, facts, x.low + (minus_ ? -y.high : y.low), x.high + (minus_ ? -y.low : y.high), x.scale,
                         x.shape)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    return {{GateNeed::kShares, u.ring[0]}, {GateNeed::kShares, u.ring[0]}};
  }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    Ints z;
    for (size_t i = 0; i < in[0].size(); ++i)
      z.push_back(int64_t(minus_ ? uint64_t(in[0][i]) - uint64_t(in[1][i]) : uint64_t(in[0][i]) + uint64_t(in[1][i])));
    return {z};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse&,
                                                const std::vector<GateOperand>& in) const override {
    return {Added(t, in[0], minus_ ? Mapped(in[1], [](auto v) { return -v; }) : in[1])};
  }

 private:
  bool minus_;
};

// x times the public number by / 2^scale.
class TimesPublic final : public GateEntry {
 public:
  TimesPublic()
      : GateEntry({.name = "times",
                   .meaning = "x times the public number by / 2^scale; scales add up",
                   .parameters = {{"by", "a whole number", INT64_MIN, INT64_MAX, std::nullopt},
                                  {"scale", "the scale of `by`", 0, kMostResultScale, 0}},
                   .inputs = {{"x", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "holds both bounds times by"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    const Bound a = BoundedProduct(x.low, u["by"]), b = BoundedProduct(x.high, u["by"]);
    return {NumberOrRing(u, facts, std::min(a, b), std::max(a, b), x.scale + int(u["scale"]), x.shape)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kShares, u.ring[0]}}; }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    Ints y;
    for (int64_t v : in[0]) y.push_back(int64_t(uint64_t(v) * uint64_t(u["by"])));
    return {y};
  }
  std::vector<std::optional<GateOperand>> Build(Trace&, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {Mapped(in[0], [&](auto v) { return v * u["by"]; })};
  }
};

// The sum over the last axis.
class SumOfAxis final : public GateEntry {
 public:
  SumOfAxis()
      : GateEntry({.name = "sum",
                   .meaning = "the sum over the last axis",
                   .inputs = {{"x", ValueKind::kNumber, "any", {kRows, 8}}},
                   .outputs = {{"y", ValueKind::kNumber, "holds every sum"}},
                   .elementwise = false}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    const int64_t m = LastLength(facts, "x", x);
    return {NumberOrRing(u, facts, BoundedProduct(x.low, m), BoundedProduct(x.high, m), x.scale, WithoutLast(x.shape))};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kShares, u.ring[0]}}; }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    const size_t m = size_t(u.in[0].shape.back());
    Ints y;
    for (size_t row = 0; row < in[0].size(); row += m) {
      uint64_t sum = 0;
      for (size_t j = 0; j < m; ++j) sum += uint64_t(in[0][row + j]);
      y.push_back(int64_t(sum));
    }
    return {y};
  }
  std::vector<std::optional<GateOperand>> Build(Trace&, const GateUse&,
                                                const std::vector<GateOperand>& in) const override {
    return {Mapped(in[0], [](auto v) { return Sum(v); })};
  }
};

// x with a last axis of length 1, so that each number broadcasts along a row.
class ColumnOfNumbers final : public GateEntry {
 public:
  ColumnOfNumbers()
      : GateEntry({.name = "column",
                   .meaning = "x with a last axis of length 1, along which it broadcasts",
                   .inputs = {{"x", ValueKind::kNumber, "any, with at most 3 axes"}},
                   .outputs = {{"y", ValueKind::kNumber, "the range of x"}},
                   .elementwise = false}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    ValueType y = u.in[0];
    if (y.shape.size() >= 4) FailUse(facts, "x ", Name(y.shape), " has four axes, which are the most");
    y.shape.push_back(1);
    return {y};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kShares, u.ring[0]}}; }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override { return {in[0]}; }
  std::vector<std::optional<GateOperand>> Build(Trace&, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {Mapped(in[0], [&](auto v) { return Reshape(v, u.out[0].shape); })};
  }
};

}  // namespace

void RegisterLinear() {
  RegisterLibraryGate(std::make_unique<SumOfTwo>(false));
  RegisterLibraryGate(std::make_unique<SumOfTwo>(true));
  RegisterLibraryGate(std::make_unique<TimesPublic>());
  RegisterLibraryGate(std::make_unique<SumOfAxis>());
  RegisterLibraryGate(std::make_unique<ColumnOfNumbers>());
}

}  // namespace suf::gates
