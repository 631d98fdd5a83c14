// Gates that choose by a comparison, and the maximum of a row (docs/mathematics.md#lowerings, #relu-ars).
#include <algorithm>
#include <bit>

#include "suf/gates/choose.hpp"
#include "suf/gates/compose/ranges.hpp"
#include "suf/gates/maximum.hpp"
#include "suf/gates/relu.hpp"

namespace suf::gates {

namespace {

using compiler::Lowering;
using compiler::StepSource;

constexpr const char* kLowerings = "docs/mathematics.md#lowerings";
constexpr const char* kStepNames[] = {"parity", "digits", "blocks"};

// Returns the source of steps with this name.
StepSource StepsNamed(const std::string& option) {
  for (StepSource s : {StepSource::kParity, StepSource::kDigits, StepSource::kBlocks})
    if (kStepNames[size_t(s)] == option) return s;
  SUF_CHECK(false);
}

std::vector<std::string> NamesOf(const std::vector<Lowering>& all) {
  std::vector<std::string> out;
  for (const Lowering& l : all) out.push_back(compiler::Name(l));
  return out;
}

class ReluEntry final : public GateEntry {
 public:
  ReluEntry()
      : GateEntry({.name = "relu",
                   .meaning = "max(x, 0)",
                   .source = kLowerings,
                   .inputs = {{"x", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "holds both bounds"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    return {NumberIn(std::max<Bound>(0, x.low), std::max<Bound>(0, x.high), x.scale, x.shape, facts.name)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kWire, Width(u)}}; }
  std::vector<std::string> Options(const GateUse& u) const override {
    return NamesOf(Relu{u.ring[0]}.Lowerings(Width(u)));
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    return {Relu{64}.Spec(in[0], Width(u))};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {SharesOperand(Relu{u.ring[0], compiler::NumbersNamed(u.option).value()}.Build(t, *in[0].wire))};
  }

 private:
  static int Width(const GateUse& u) { return std::max(2, SignedWidth(u.in[0])); }
};

// ReluARS. FuseFSS's t and d compare the opened value with the mask, so they are no functions of x. A party that learns
// one of them learns more of x than its value says. They are only used inside the gate. The outputs t and d are the
// borrow and the wrap of the rounding, x + 2^(s-1). These are functions of x (ReluARS::HelperBits).
class ReluArsEntry final : public GateEntry {
 public:
  ReluArsEntry()
      : GateEntry({.name = "reluars",
                   .meaning = "max(0, floor(u / 2^s)) of u = x + 2^(s-1), which wraps as a signed word",
                   .source = "FuseFSS (arXiv 2606.09551); docs/mathematics.md#relu-ars",
                   .parameters = {{"shift", "bits to shift by", 1, 62, std::nullopt}},
                   .inputs = {{"x", ValueKind::kNumber, "two bits more than the shift"}},
                   .outputs = {{"y", ValueKind::kNumber, "the positive part of x, less the shift"},
                               {"w", ValueKind::kBit, "1 if u >= 0"},
                               {"t", ValueKind::kBit, "1 if the shift rounds up"},
                               {"d", ValueKind::kBit, "1 if u wraps, so y is 0"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    const int s = int(u["shift"]), k = Width(u);
    if (s > k - 2)
      FailUse(facts, "shift is ", s, ", and x is read with ", k, " bits; use at most ", k - 2, " for this x");
    const Bound most = Wraps(u) ? ((Bound{1} << (k - 1)) - 1) >> s : std::max<Bound>(0, Shifted(x.high, s));
    const Bound least = Wraps(u) ? 0 : std::max<Bound>(0, Shifted(x.low, s));
    const ValueType bit = BitOf(x.shape);
    return {NumberOrRing(u, facts, least, most, x.scale - s, x.shape), bit, bit, bit};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kWire, Width(u)}}; }
  std::vector<std::string> Options(const GateUse& u) const override {
    std::vector<std::string> out;
    for (const std::string& stages : StageNames({2, 3}))
      if (Of(u, StagesOf(stages)).Applies(Width(u), RequestOf(u))) out.push_back(stages);
    return out;
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    ReluARS gate = Of(u, Stages::kTwo);
    gate.ring = 64;
    ReluARS::HelperBits bits = gate.HelperSpec(in[0], Width(u));
    return {gate.Spec(in[0], Width(u)), bits.w, bits.t, bits.d};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const ReluARS::HelpedShares made = Of(u, StagesOf(u.option)).BuildHelped(t, *in[0].wire, RequestOf(u));
    std::vector<std::optional<GateOperand>> out(4);
    out[0] = SharesOperand(made.y);
    if (made.w) {
      out[1].emplace();
      out[1]->wire = *made.w;
    }
    if (made.t) out[2] = SharesOperand(*made.t);
    if (made.d) out[3] = SharesOperand(*made.d);
    if (u.read[3] && !made.d) out[3] = SharesOperand({compiler::ZeroString(t, in[0].wire->shape(), 1), std::nullopt});
    return out;
  }

 private:
  static int Width(const GateUse& u) { return std::max(3, SignedWidth(u.in[0])); }
  static ReluARS Of(const GateUse& u, Stages stages) { return {int(u["shift"]), u.ring[0], stages}; }
  // Returns whether x + 2^(s-1) can leave its ring. Otherwise d is 0.
  static bool Wraps(const GateUse& u) {
    return u.in[0].high + (Bound{1} << (u["shift"] - 1)) >= Bound{1} << (Width(u) - 1);
  }
  static ReluARS::HelperRequest RequestOf(const GateUse& u) { return {u.read[1], u.read[2], u.read[3] && Wraps(u)}; }
};

class ClampEntry final : public GateEntry {
 public:
  ClampEntry()
      : GateEntry({.name = "clamp",
                   .meaning = "min(max(x, low), high)",
                   .source = kLowerings,
                   .parameters = {{"low", "the least result, at the scale of x", INT64_MIN, INT64_MAX, std::nullopt},
                                  {"high", "the largest result, above low", INT64_MIN, INT64_MAX, std::nullopt}},
                   .inputs = {{"x", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "holds the results"}}}) {}

  std::vector<SingleGate> Samples(int bits) const override {
    return {{.bits = bits, .set = {{"low", "-3"}, {"high", "2"}}}};
  }
  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    const Bound low = u["low"], high = u["high"];
    if (low >= high) FailUse(facts, "low is ", u["low"], " and high ", u["high"], "; low must be below high");
    return {NumberIn(std::clamp(x.low, low, high), std::clamp(x.high, low, high), x.scale, x.shape, facts.name)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kWire, Width(u)}}; }
  std::vector<std::string> Options(const GateUse& u) const override {
    return NamesOf(Of(u, u.ring[0], {}).Lowerings(Width(u)));
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    return {Of(u, 64, {}).Spec(in[0], Width(u))};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {SharesOperand(Of(u, u.ring[0], compiler::NumbersNamed(u.option).value()).Build(t, *in[0].wire))};
  }

 private:
  static Clamp Of(const GateUse& u, int ring, const Lowering& lowering) {
    return {u["low"], u["high"], ring, lowering};
  }
  // The ring holds x and both bounds.
  static int Width(const GateUse& u) { return std::max({2, SignedWidth(u.in[0]), SignedBits(u["low"], u["high"])}); }
};

class SelectEntry final : public GateEntry {
 public:
  SelectEntry()
      : GateEntry({.name = "select",
                   .meaning = "v where b = 1, otherwise 0; no flight after the opening of both",
                   .source = kLowerings,
                   .inputs = {{"b", ValueKind::kBit, "1"}, {"v", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "holds v and 0"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& v = u.in[1];
    return {NumberIn(std::min<Bound>(0, v.low), std::max<Bound>(0, v.high), v.scale, v.shape, facts.name)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    return {{GateNeed::kWire, 1}, {GateNeed::kWire, u.ring[0]}};
  }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    return {Select{64}.Spec(in[0], in[1])};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const std::vector<compiler::OpenedBit> b = compiler::SplitBits(*in[0].wire);
    return {SharesOperand(Select{u.ring[0]}.Build(t, b[0], *in[1].wire))};
  }
};

class ArgmaxBitEntry final : public GateEntry {
 public:
  ArgmaxBitEntry()
      : GateEntry({.name = "argmaxbit",
                   .meaning = "1 where x >= y, and the larger of both, by one comparison",
                   .source = kLowerings,
                   .inputs = {{"x", ValueKind::kNumber, "any"}, {"y", ValueKind::kNumber, "the scale of x"}},
                   .outputs = {{"bit", ValueKind::kBit, "1"}, {"max", ValueKind::kNumber, "holds both bounds"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType &x = u.in[0], &y = u.in[1];
    if (x.scale != y.scale)
      FailUse(facts, "the scales ", x.scale, " and ", y.scale, " differ; shift one of them first, with trunc or times");
    return {BitOf(x.shape), NumberIn(std::max(x.low, y.low), std::max(x.high, y.high), x.scale, x.shape, facts.name)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    return {{GateNeed::kWire, Width(u)}, {GateNeed::kWire, Width(u)}};
  }
  std::vector<std::string> Options(const GateUse&) const override {
    return {std::begin(kStepNames), std::end(kStepNames)};
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    ArgmaxBit::Pair out = ArgmaxBit{64}.Spec(in[0], in[1], Width(u));
    return {out.bit, out.max};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const ArgmaxBit gate{Ring(u), StepsNamed(u.option)};
    const ArgmaxBit::ChosenShares made = gate.Build(t, *in[0].wire, *in[1].wire);
    const auto lowest = [](auto v) { return Bits(Lift(Low(v, 1)), 1); };
    return {SharesOperand(compiler::Map(made.bit, lowest)), SharesOperand(made.max)};
  }

 private:
  // Returns the ring of both results.
  static int Ring(const GateUse& u) { return u.read[1] ? u.ring[1] : 1; }
  // The ring holds every difference and the results.
  static int Width(const GateUse& u) {
    const ValueType &x = u.in[0], &y = u.in[1];
    return std::max({2, SignedBits(x.low - y.high, x.high - y.low), Ring(u)});
  }
};

// Maximum of numbers less their lowest bound, which are not negative.
class MaximumEntry final : public GateEntry {
 public:
  MaximumEntry()
      : GateEntry({.name = "maximum",
                   .meaning = "the maximum over the last axis, and at least floor",
                   .source = "docs/mathematics.md#histogram-maximum",
                   .parameters = {{"floor", "the least result, at the scale of x", INT64_MIN, INT64_MAX, INT64_MIN},
                                  {"causal",
                                   "yes: the last axis packs the pairs j <= i of rows, and row i has its maximum",
                                   0,
                                   1,
                                   0,
                                   {"no", "yes"}}},
                   .inputs = {{"x", ValueKind::kNumber, "a range of at most 2^62 numbers", {kRows, 3}}},
                   .outputs = {{"y", ValueKind::kNumber, "holds x, and floor"}},
                   .elementwise = false}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    const int64_t length = LastLength(facts, "x", x);
    if (u["floor"] >= x.high)
      FailUse(facts, "floor is ", u["floor"], ", and x is at most ", Decimal(x.high), "; use a lower one");
    if (x.high - x.low >= Bound{1} << kWidest)
      FailUse(facts, "numbers from ", Decimal(x.low), " to ", Decimal(x.high), " are more than 2^", kWidest,
              "; clamp x first");
    pfss::Shape shape = WithoutLast(x.shape);
    if (u["causal"]) {
      const int64_t rows = RowLength(u);
      if (rows * (rows + 1) / 2 != length)
        FailUse(facts, "the last axis has ", length, " numbers, and causal rows have 1, 3, 6, 10 or so; pack pairs");
      shape.push_back(rows);
    }
    return {NumberIn(std::max(x.low, Bound{u["floor"]}), x.high, x.scale, std::move(shape), facts.name)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    if (Width(u) > kWidest)
      FailUse(facts, "a reader needs the result in a ring of ", u.ring[0], " bits, and ", kWidest,
              " are the most; let extend widen it");
    return {{GateNeed::kWire, Width(u)}};
  }
  // A histogram makes the result in the ring of its numbers.
  std::vector<std::string> Options(const GateUse& u) const override {
    std::vector<std::string> out(std::begin(kStepNames), std::end(kStepNames));
    if (Width(u) <= kMostHistogram && RowLength(u) <= kMostHistogramRow) out.push_back("histogram");
    return out;
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    const auto low = uint64_t(u.in[0].low);
    Ints above;
    for (int64_t v : in[0]) above.push_back(int64_t(uint64_t(v) - low));
    Ints y = Of(u).Spec(above, kWidest, RowLength(u));
    for (int64_t& v : y) v = int64_t(Word(v, kWidest) + low);
    return {y};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const auto low = int64_t(u.in[0].low);
    Maximum gate = Of(u);
    gate.form = u.option == "histogram" ? Maximum::MaximumForm::kHistogram : Maximum::MaximumForm::kTournament;
    if (u.option != "histogram") gate.steps = StepsNamed(u.option);
    Wire<kPub> x = *in[0].wire;
    x.hat = x.hat - low;
    OwedWord y = gate.Build(t, x);
    y.y = y.y + low;
    return {SharesOperand(compiler::Map(y, [&](auto v) { return Low(v, u.ring[0]); }))};
  }

 private:
  static constexpr int kWidest = 62;
  // A histogram has a table of 2^k counts for each number.
  static constexpr int kMostHistogram = 8, kMostHistogramRow = 255;

  // Returns the numbers in a row, or the rows if they are packed.
  static int64_t RowLength(const GateUse& u) {
    const int64_t length = u.in[0].shape.back();
    if (!u["causal"]) return length;
    int64_t rows = 1;
    while (rows * (rows + 1) / 2 < length) ++rows;
    return rows;
  }
  // The ring holds the numbers and the result.
  static int Width(const GateUse& u) {
    const int bits = std::bit_width(uint64_t(u.in[0].high - u.in[0].low));
    return std::max(bits, u.ring[0]);
  }
  static Maximum Of(const GateUse& u) {
    const Bound floor = std::max<Bound>(0, Bound{u["floor"]} - u.in[0].low);
    return {int64_t(floor), int(std::bit_width(uint64_t(RowLength(u)))), u["causal"] != 0};
  }
};

}  // namespace

void RegisterChoices() {
  RegisterLibraryGate(std::make_unique<ReluEntry>());
  RegisterLibraryGate(std::make_unique<ReluArsEntry>());
  RegisterLibraryGate(std::make_unique<ClampEntry>());
  RegisterLibraryGate(std::make_unique<SelectEntry>());
  RegisterLibraryGate(std::make_unique<ArgmaxBitEntry>());
  RegisterLibraryGate(std::make_unique<MaximumEntry>());
}

}  // namespace suf::gates
