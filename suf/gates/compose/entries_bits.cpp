// Gates on bits and masks: strings under XOR. Only `number` reads bits as integers.
#include <algorithm>

#include "suf/compiler/poly.hpp"
#include "suf/gates/compose/ranges.hpp"

namespace suf::gates {

namespace {

constexpr const char* kBitsSource = "docs/mathematics.md#opened-bits";
constexpr const char* kEither = "a bit, or a mask";

// Throws Cause::kInput if an input is a number.
void CheckString(const GateFacts& gate, const std::string& name, const ValueType& t) {
  if (t.kind == ValueKind::kNumber)
    FailUse(gate, name, " is a number (", Name(t), ") and must be a bit or a mask; a gate's bits come from outputs ",
            "such as w, index or hot");
}
// Returns the type of a string as wide as both inputs.
ValueType BothStrings(const GateFacts& gate, const GateUse& u) {
  const ValueType &x = u.in[0], &y = u.in[1];
  CheckString(gate, "x", x);
  CheckString(gate, "y", y);
  if (x.bits != y.bits)
    FailUse(gate, "x is a ", Name(x), " and y a ", Name(y), "; both must be bits, or masks of one width");
  return x;
}

// Returns bits (k, ..) in Z_2 as strings of k bits; bit i comes from index i. Linear over XOR.
template <unsigned A>
pfss::Val<A> Joined(pfss::Val<A> bits) {
  const int64_t k = bits.shape()[0];
  if (k == 1) return Bits(Lift(At(bits, 0)), 1);
  std::vector<uint64_t> powers;
  for (int64_t i = 0; i < k; ++i) powers.push_back(uint64_t{1} << i);
  pfss::Shape column(bits.shape().size(), 1);
  column[0] = k;
  const pfss::Const weights = bits.trace().constant(std::move(powers), std::move(column));
  pfss::Val<A> ints = Lift(bits);
  ints = ints * weights;
  return Bits(Sum(ints, 0), int(k));
}

// x and y, or x or y = not (not x and not y), bit by bit. In Z_2, x = h + r and y = g + s of opened h and g. The
// parties hold shares of r and s, and x y = h g + h s + g r + r s. The word r s is owed.
class Conjunction final : public GateEntry {
 public:
  explicit Conjunction(bool of_complements)
      : GateEntry({.name = of_complements ? "or" : "and",
                   .meaning = of_complements ? "x or y, bit by bit" : "x and y, bit by bit",
                   .source = kBitsSource,
                   .inputs = {{"x", ValueKind::kMask, kEither}, {"y", ValueKind::kMask, "the width of x"}},
                   .outputs = {{"z", ValueKind::kMask, "the width of x"}}}),
        of_complements_(of_complements) {}

  std::vector<ValueType> Infer(const GateUse& u) const override { return {BothStrings(facts, u)}; }
  std::vector<GateNeed> Needs(const GateUse&) const override {
    return {{GateNeed::kSharedWire}, {GateNeed::kSharedWire}};
  }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    Ints z;
    for (size_t i = 0; i < in[0].size(); ++i) z.push_back(of_complements_ ? in[0][i] | in[1][i] : in[0][i] & in[1][i]);
    return {z};
  }
  std::vector<std::optional<GateOperand>> Build(Trace&, const GateUse&,
                                                const std::vector<GateOperand>& in) const override {
    const auto apart = [](auto v) { return Unbits(v); };
    const SharedWire<kPub> x = pfss::Map(in[0].AsSharedWire(), apart);
    const SharedWire<kPub> y = pfss::Map(in[1].AsSharedWire(), apart);
    Pub h = x.hat, g = y.hat;
    if (of_complements_) {
      h = h + 1;
      g = g + 1;
    }
    Pub open = h * g;
    if (of_complements_) open = open + 1;
    const Sh left = Sh(y.s) * h;
    const Sh right = Sh(x.s) * g;
    Sh sum = left + right;
    sum = sum + open;
    return {SharesOperand(compiler::Map(OwedWord{sum, x.r * y.r}, [](auto v) { return Joined(v); }))};
  }

 private:
  bool of_complements_;
};

class ExclusiveOr final : public GateEntry {
 public:
  ExclusiveOr()
      : GateEntry({.name = "xor",
                   .meaning = "x xor y, bit by bit, without key or message",
                   .inputs = {{"x", ValueKind::kMask, kEither}, {"y", ValueKind::kMask, "the width of x"}},
                   .outputs = {{"z", ValueKind::kMask, "the width of x"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override { return {BothStrings(facts, u)}; }
  std::vector<GateNeed> Needs(const GateUse&) const override { return {{GateNeed::kShares}, {GateNeed::kShares}}; }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    Ints z;
    for (size_t i = 0; i < in[0].size(); ++i) z.push_back(in[0][i] ^ in[1][i]);
    return {z};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse&,
                                                const std::vector<GateOperand>& in) const override {
    return {Added(t, in[0], in[1])};
  }
};

class Complement final : public GateEntry {
 public:
  Complement()
      : GateEntry({.name = "not",
                   .meaning = "every bit of x inverted, without key or message",
                   .inputs = {{"x", ValueKind::kMask, kEither}},
                   .outputs = {{"y", ValueKind::kMask, "the width of x"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    CheckString(facts, "x", u.in[0]);
    return {u.in[0]};
  }
  std::vector<GateNeed> Needs(const GateUse&) const override { return {{GateNeed::kShares}}; }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    Ints y;
    for (int64_t v : in[0]) y.push_back(int64_t(Word(~v, u.in[0].bits)));
    return {y};
  }
  // Adds the ones to the opened value, or to P0's share.
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const Pub ones = Bits(t.constant(-1), u.in[0].bits);
    GateOperand y = in[0];
    if (y.wire)
      y.wire->hat = y.wire->hat + ones;
    else
      y.shares->y = y.shares->y + ones;
    return {y};
  }
};

class BitOfMask final : public GateEntry {
 public:
  BitOfMask()
      : GateEntry({.name = "bit",
                   .meaning = "bit i of a mask, without key or message; bit 0 is the lowest",
                   .parameters = {{"i", "the bit's place", 0, 63, std::nullopt}},
                   .inputs = {{"m", ValueKind::kMask, "more than i bits"}},
                   .outputs = {{"b", ValueKind::kBit, "1"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    CheckString(facts, "m", u.in[0]);
    if (u["i"] >= u.in[0].bits)
      FailUse(facts, "i is ", u["i"], ", and m is a ", Name(u.in[0]), "; use 0 to ", u.in[0].bits - 1);
    return {BitOf(u.in[0].shape)};
  }
  std::vector<GateNeed> Needs(const GateUse&) const override { return {{GateNeed::kShares}}; }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    Ints b;
    for (int64_t v : in[0]) b.push_back(v >> u["i"] & 1);
    return {b};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const pfss::Const row = t.constant({uint64_t{1} << u["i"]}, {1, 1});
    return {Mapped(in[0], [&](auto v) { return Mix(v, row); })};
  }
};

class NumberOfBits final : public GateEntry {
 public:
  NumberOfBits()
      : GateEntry({.name = "number",
                   .meaning = "a bit or a mask as an unsigned number of scale 0; bit 0 is the lowest",
                   .source = kBitsSource,
                   .inputs = {{"b", ValueKind::kMask, kEither}},
                   .outputs = {{"x", ValueKind::kNumber, "unsigned, the width of b"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    CheckString(facts, "b", u.in[0]);
    return {NumberOrRing(u, facts, 0, (Bound{1} << u.in[0].bits) - 1, 0, u.in[0].shape)};
  }
  std::vector<GateNeed> Needs(const GateUse&) const override { return {{GateNeed::kWire}}; }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override { return {in[0]}; }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const std::vector<compiler::OpenedBit> bits = compiler::SplitBits(*in[0].wire);
    compiler::WeightedProducts sum;
    for (int i = 0; i < std::min(int(bits.size()), u.ring[0]); ++i) sum.push_back({int64_t(uint64_t{1} << i), {i}});
    return {SharesOperand(compiler::PolynomialA(t, bits, sum, u.ring[0]))};
  }
};

}  // namespace

void RegisterBits() {
  RegisterLibraryGate(std::make_unique<Conjunction>(false));
  RegisterLibraryGate(std::make_unique<Conjunction>(true));
  RegisterLibraryGate(std::make_unique<ExclusiveOr>());
  RegisterLibraryGate(std::make_unique<Complement>());
  RegisterLibraryGate(std::make_unique<BitOfMask>());
  RegisterLibraryGate(std::make_unique<NumberOfBits>());
}

}  // namespace suf::gates
