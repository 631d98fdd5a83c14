// Rounding shifts, slices and extensions of numbers (docs/mathematics.md#rescale, #shifts).
#include <algorithm>
#include <bit>

#include "suf/gates/compose/ranges.hpp"
#include "suf/gates/shift.hpp"
#include "suf/gates/trunc.hpp"

namespace suf::gates {

namespace {

constexpr const char* kRescale = "docs/mathematics.md#rescale";
constexpr const char* kShifts = "docs/mathematics.md#shifts";
constexpr const char* kRange = "the range of x, which sets the ring of its opening";
constexpr int kWidestRing = 64;

GateParameter ShiftParameter() { return {"shift", "bits to shift by", 1, 63, std::nullopt}; }
int ShiftOf(const GateUse& u) { return int(u["shift"]); }

// Returns half a step of a shift.
Bound Half(int shift) { return Bound{1} << (shift - 1); }

// Returns the options whose digits have a plan for these cuts.
std::vector<std::string> StagesFor(const std::vector<compiler::Cut>& cuts, std::initializer_list<int> all) {
  std::vector<std::string> out;
  for (const std::string& stages : StageNames(all))
    if (compiler::FindDigits(cuts, StagesOf(stages))) out.push_back(stages);
  return out;
}

// A shift whose result is floor((x + 2^(s-1)) / 2^s).
class ShiftEntry : public GateEntry {
 public:
  using GateEntry::GateEntry;

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    if (x.high > INT64_MAX)
      Fail(Cause::kRefused, facts.name, ": x has numbers up to ", Decimal(x.high), ", over 2^63; shift it with lrs");
    CheckWidth(u);
    const int s = ShiftOf(u);
    return {NumberOrRing(u, facts, Shifted(x.low, s), Shifted(x.high, s), x.scale - s, x.shape)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kWire, Width(u)}}; }
  std::vector<std::string> Options(const GateUse& u) const override { return StagesFor(Cuts(u), {1, 2, 3}); }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override { return {Meaning(u, in[0])}; }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {SharesOperand(Emit(t, u, *in[0].wire))};
  }

 protected:
  // Throws Cause::kRefused if no ring of 64 bits holds what the form needs.
  virtual void CheckWidth(const GateUse&) const {}
  // Returns the ring in which x is read.
  virtual int Width(const GateUse& u) const = 0;
  virtual std::vector<compiler::Cut> Cuts(const GateUse& u) const { return {{ShiftOf(u), u.ring[0]}}; }
  virtual Ints Meaning(const GateUse& u, const Ints& x) const = 0;
  virtual OwedWord Emit(Trace& t, const GateUse& u, const Wire<kPub>& x) const = 0;

  // Throws Cause::kRefused: the certificate needs a wider ring than there is.
  [[noreturn]] void RefuseRange(const GateUse& u) const {
    Fail(Cause::kRefused, facts.name, ": numbers from ", Decimal(u.in[0].low), " to ", Decimal(u.in[0].high),
         " and half of 2^", ShiftOf(u), " do not fit a ring of ", kWidestRing,
         " bits with the gap of this form; narrow x, or take ars or lrs");
  }
};

class TruncEntry final : public ShiftEntry {
 public:
  TruncEntry()
      : ShiftEntry({.name = "trunc",
                    .meaning = "floor((x + 2^(s-1)) / 2^s), by the lightest form that reads the low bits alone",
                    .certificate = kRange,
                    .source = kRescale,
                    .parameters = {ShiftParameter()},
                    .inputs = {{"x", ValueKind::kNumber, "below 2^63"}},
                    .outputs = {{"y", ValueKind::kNumber, "x less the shift"}}}) {}

  // Opened digits in 1 to 3 stages, or a DCF whose borrow is never opened.
  std::vector<std::string> Options(const GateUse& u) const override {
    std::vector<std::string> out = ShiftEntry::Options(u);
    out.emplace_back("dcf");
    return out;
  }

 protected:
  // A word of ring + shift bits shows every bit of the result. A number is extended from a gap of two bits.
  int Width(const GateUse& u) const override {
    const int s = ShiftOf(u), word = u.ring[0] + s;
    const Bound most = std::max(-u.in[0].low, u.in[0].high) + Half(s);
    int gap = s + 2;
    while (most >= Bound{1} << (gap - 2)) ++gap;
    return word <= kWidestRing && (word <= gap || gap > kWidestRing) ? word : gap;
  }
  Ints Meaning(const GateUse& u, const Ints& x) const override { return Trunc{ShiftOf(u), 64}.Spec(x, 64); }
  OwedWord Emit(Trace& t, const GateUse& u, const Wire<kPub>& x) const override {
    const Stages stages = u.option == "dcf" ? Stages::kNone : StagesOf(u.option);
    return Trunc{ShiftOf(u), u.ring[0], stages}.Build(t, x);
  }
};

// LRS reads words of the width of x. ARS reads signed words.
class WholeShiftEntry final : public GateEntry {
 public:
  explicit WholeShiftEntry(bool is_signed)
      : GateEntry({.name = is_signed ? "ars" : "lrs",
                   .meaning = is_signed ? "floor(u / 2^s) of u = x + 2^(s-1), which wraps as a signed word"
                                        : "floor(u / 2^s) of u = x + 2^(s-1), which wraps as an unsigned word of x's "
                                          "width",
                   .source = kShifts,
                   .parameters = {ShiftParameter()},
                   .inputs = {{"x", ValueKind::kNumber, "more bits than the shift"}},
                   .outputs = {{"y", ValueKind::kNumber, is_signed ? "x less the shift" : "unsigned, likewise"}}}),
        signed_(is_signed) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    const int s = ShiftOf(u), k = Width(x);
    if (s >= k) FailUse(facts, "shift is ", s, ", and x is read with ", k, " bits; use 1 to ", k - 1);
    const ValueType word = WholeNumber(k, x.scale, signed_, x.shape);
    const bool fits = x.low >= word.low && x.high + Half(s) <= word.high;
    const Bound low = fits ? Shifted(x.low, s) : word.low >> s, high = fits ? Shifted(x.high, s) : word.high >> s;
    return {NumberOrRing(u, facts, low, high, x.scale - s, x.shape)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kWire, Width(u.in[0])}}; }
  std::vector<std::string> Options(const GateUse& u) const override {
    const int k = Width(u.in[0]), s = ShiftOf(u), ring = u.ring[0];
    std::vector<compiler::Cut> cuts{{s, ring}};
    if (ring > k - s) cuts.push_back({k, ring - (k - s)});
    return StagesFor(cuts, {1, 2, 3});
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    const int s = ShiftOf(u), k = Width(u.in[0]);
    return {signed_ ? ARS{s, 64}.Spec(in[0], k) : LRS{s, 64}.Spec(in[0], k)};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const int s = ShiftOf(u), ring = u.ring[0];
    const Stages stages = StagesOf(u.option);
    const Wire<kPub>& x = *in[0].wire;
    return {SharesOperand(signed_ ? ARS{s, ring, stages}.Build(t, x) : LRS{s, ring, stages}.Build(t, x))};
  }

 private:
  int Width(const ValueType& x) const { return signed_ ? SignedWidth(x) : x.bits; }
  bool signed_;
};

// GapARS and SlackARS read x in the narrowest ring that holds [low, high] with their gap above it.
class GapEntry final : public ShiftEntry {
 public:
  explicit GapEntry(bool slack)
      : ShiftEntry({.name = slack ? "slackars" : "gapars",
                    .meaning = slack ? "floor((x + 2^(s-1)) / 2^s), by a table of the top bits"
                                     : "floor((x + 2^(s-1)) / 2^s), by a top bit that is zero",
                    .certificate = kRange,
                    .source = kShifts,
                    .parameters = ParametersOf(slack),
                    .inputs = {{"x", ValueKind::kNumber, "below 2^63"}},
                    .outputs = {{"y", ValueKind::kNumber, "x less the shift"}}}),
        slack_(slack) {}

 protected:
  void CheckWidth(const GateUse& u) const override {
    if (Width(u) > kWidestRing) RefuseRange(u);
  }
  int Width(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    const int s = ShiftOf(u), top = slack_ ? int(u["top"]) : 1;
    const Bound whole_steps = (x.low >> s) * (Bound{1} << s);  // low', a multiple of 2^s
    int k = std::max(s, top) + 1;
    while (x.high >= whole_steps + (Bound{1} << k) - (Bound{1} << (k - top)) - Half(s)) ++k;
    return k;
  }
  Ints Meaning(const GateUse& u, const Ints& x) const override {
    const int s = ShiftOf(u);
    return slack_ ? SlackARS{s, 64}.Spec(x, 64) : GapARS{s, 64}.Spec(x, 64);
  }
  OwedWord Emit(Trace& t, const GateUse& u, const Wire<kPub>& x) const override {
    const int s = ShiftOf(u), ring = u.ring[0];
    const auto low = int64_t(u.in[0].low);
    const Stages stages = StagesOf(u.option);
    return slack_ ? SlackARS{s, ring, low, int(u["top"]), stages}.Build(t, x)
                  : GapARS{s, ring, low, stages}.Build(t, x);
  }

 private:
  static std::vector<GateParameter> ParametersOf(bool slack) {
    if (!slack) return {ShiftParameter()};
    return {ShiftParameter(), {"top", "high bits in the table", 1, 10, 5}};
  }
  bool slack_;
};

class AutoTruncEntry final : public ShiftEntry {
 public:
  AutoTruncEntry()
      : ShiftEntry({.name = "autotrunc",
                    .meaning = "floor((x + 2^(s-1)) / 2^s), by the form and the ring with the fewest bits",
                    .certificate = kRange,
                    .source = kShifts,
                    .parameters = {ShiftParameter()},
                    .inputs = {{"x", ValueKind::kNumber, "below 2^63"}},
                    .outputs = {{"y", ValueKind::kNumber, "x less the shift"}}}) {}

 protected:
  void CheckWidth(const GateUse& u) const override {
    if (Least(u) > kWidestRing) RefuseRange(u);
  }
  // Compares the key bits and opened bits of the least ring, two above it, and that of the inside form.
  int Width(const GateUse& u) const override {
    const int least = Least(u), inside = u.ring[0] + ShiftOf(u);
    std::vector<int> rings{least, least + 1, least + 2};
    if (inside < least) rings.push_back(inside);
    int best = least;
    int64_t fewest = INT64_MAX;
    for (int k : rings) {
      if (k > kWidestRing) continue;
      const int64_t bits = Of(u, Stages::kTwo).KeyBits(k, false) + 2 * k;
      if (bits >= fewest) continue;
      fewest = bits;
      best = k;
    }
    return best;
  }
  std::vector<compiler::Cut> Cuts(const GateUse& u) const override {
    const int k = Width(u), s = ShiftOf(u), ring = u.ring[0];
    std::vector<compiler::Cut> cuts{{s, ring}};
    if (Of(u, Stages::kTwo).Pick(k) == ShiftForm::kFull) cuts.push_back({k, ring - (k - s)});
    return cuts;
  }
  Ints Meaning(const GateUse& u, const Ints& x) const override { return AutoTrunc{ShiftOf(u), 64}.Spec(x, 64); }
  OwedWord Emit(Trace& t, const GateUse& u, const Wire<kPub>& x) const override {
    return Of(u, StagesOf(u.option)).Build(t, x);
  }

 private:
  static AutoTrunc Of(const GateUse& u, Stages stages) {
    return {ShiftOf(u), u.ring[0], {int64_t(u.in[0].low), int64_t(u.in[0].high), Proof::kHard}, stages};
  }
  // Returns the least ring that holds x and half a step.
  static int Least(const GateUse& u) {
    const ValueType& x = u.in[0];
    const int s = ShiftOf(u), sign = x.low < 0;
    int k = s + 1;
    while (x.low < -(Bound{1} << (k - 1)) || x.high + Half(s) >= Bound{1} << (k - sign)) ++k;
    return k;
  }
};

class SliceEntry final : public GateEntry {
 public:
  SliceEntry()
      : GateEntry({.name = "slice",
                   .meaning = "bits [begin, end) of x + offset in two's complement, as an unsigned number",
                   .source = kRescale,
                   .parameters = {{"begin", "the lowest bit", 0, 63, 0},
                                  {"end", "one above the highest bit", 1, 64, std::nullopt},
                                  {"offset", "a whole number to add first", INT64_MIN, INT64_MAX, 0}},
                   .inputs = {{"x", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "unsigned, end - begin bits"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override {
    const int begin = int(u["begin"]), end = int(u["end"]);
    if (begin >= end) FailUse(facts, "bits ", begin, " to ", end, " are none; let end be larger than begin");
    const Bound most = (Bound{1} << (end - begin)) - 1;
    return {NumberOrRing(u, facts, 0, most, u.in[0].scale - begin, u.in[0].shape)};
  }
  // A ring above the slice needs the bit above it. The low bits of x in their own ring need no gate.
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    if (IsLocal(u)) return {{GateNeed::kShares, u.ring[0]}};
    return {{GateNeed::kWire, int(u["end"]) + IsWider(u)}};
  }
  std::vector<std::string> Options(const GateUse& u) const override {
    if (IsLocal(u)) return {""};
    const int begin = int(u["begin"]), end = int(u["end"]), ring = u.ring[0];
    std::vector<compiler::Cut> cuts;
    if (begin > 0) cuts.push_back({begin, ring});
    if (IsWider(u)) cuts.push_back({end, ring - (end - begin)});
    return StagesFor(cuts, {1, 2, 3});
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    return {Of(u, 64, Stages::kOne).Spec(in[0], 64)};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    GateOperand y = in[0];
    if (!IsLocal(u)) {
      y = SharesOperand(Of(u, u.ring[0], StagesOf(u.option)).Build(t, *in[0].wire));
    } else if (y.wire) {
      y.wire->hat = y.wire->hat + u["offset"];
    } else {
      y.shares->y = y.shares->y + u["offset"];
    }
    return {y};
  }

 private:
  static Slice Of(const GateUse& u, int ring, Stages stages) {
    return {int(u["begin"]), int(u["end"]), ring, u["offset"], stages};
  }
  static bool IsWider(const GateUse& u) { return u.ring[0] > u["end"] - u["begin"]; }
  static bool IsLocal(const GateUse& u) { return u["begin"] == 0 && !IsWider(u); }
};

class ExtendEntry final : public GateEntry {
 public:
  ExtendEntry()
      : GateEntry({.name = "extend",
                   .meaning = "x in a wider ring, as its readers or `ring` need it",
                   .certificate = "the range of x, which leaves a gap of one bit in the ring of its opening",
                   .source = kRescale,
                   .inputs = {{"x", ValueKind::kNumber, "any"}},
                   .outputs = {{"y", ValueKind::kNumber, "the range of x"}}}) {}

  std::vector<ValueType> Infer(const GateUse& u) const override { return {u.in[0]}; }
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    if (IsLocal(u)) return {{GateNeed::kShares, u.ring[0]}};
    return {{GateNeed::kWire, Width(u)}};
  }
  std::vector<Ints> Spec(const GateUse&, const std::vector<Ints>& in) const override {
    return {Extend{64}.Spec(in[0], 64)};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    if (IsLocal(u)) return {in[0]};
    return {SharesOperand(Extend{u.ring[0]}.Build(t, *in[0].wire))};
  }

 private:
  // x lies in [-2^(k-2), 2^(k-2)).
  static int Width(const GateUse& u) { return SignedBits(u.in[0]) + 1; }
  static bool IsLocal(const GateUse& u) { return u.ring[0] <= Width(u); }
};

}  // namespace

void RegisterShifts() {
  RegisterLibraryGate(std::make_unique<TruncEntry>());
  RegisterLibraryGate(std::make_unique<WholeShiftEntry>(false));
  RegisterLibraryGate(std::make_unique<WholeShiftEntry>(true));
  RegisterLibraryGate(std::make_unique<GapEntry>(false));
  RegisterLibraryGate(std::make_unique<GapEntry>(true));
  RegisterLibraryGate(std::make_unique<AutoTruncEntry>());
  RegisterLibraryGate(std::make_unique<SliceEntry>());
  RegisterLibraryGate(std::make_unique<ExtendEntry>());
}

}  // namespace suf::gates
