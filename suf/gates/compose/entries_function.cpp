// Functions of a text or of the library, splines, Newton's steps and tables (docs/mathematics.md#lowerings, #split,
// #octaves).
#include <algorithm>
#include <bit>

#include "suf/compiler/place.hpp"
#include "suf/gates/compose/function_parts.hpp"
#include "suf/gates/compose/ranges.hpp"
#include "suf/gates/cubic.hpp"
#include "suf/gates/function_program.hpp"
#include "suf/gates/newton.hpp"

namespace suf::gates {

namespace {

using compiler::Choice;
using compiler::CompiledFunction;
using compiler::Lowering;
using func::Split;
using func::Suf;
using pfss::Sec;

GateParameter FinerParameter() {
  return {"finer", "bits by which the scale of its numbers exceeds that of x", kLeastResultScale, kMostResultScale, 0};
}

// The least widths at which a check takes functions of the library, and those with fitted pieces.
constexpr int kLeastLibrary = 8, kLeastFitted = 12;

// Throws Cause::kInput if x has numbers that are no words of the function's domain.
void CheckDomain(const GateFacts& gate, const func::Function& f, const ValueType& x) {
  func::Verify(f);
  if (const int n = func::DomainBits(f); !FitsWord(x, n))
    FailUse(gate, func::Name(f), " takes words of ", n, " bits, and x has numbers from ", Decimal(x.low), " to ",
            Decimal(x.high), "; clamp x, or take a function of a wider domain");
}

// Returns the type of a channel's numbers.
ValueType TypeOf(const GateUse& u, const GateFacts& gate, const func::OutputChannel& c,
                 const std::optional<std::pair<Bound, Bound>>& range) {
  const ValueType& x = u.in[0];
  const int scale = x.scale + int(u["finer"]);
  const ValueType whole = WholeNumber(c.bits, scale, c.kind == func::OutputChannel::kSigned, x.shape);
  return NumberOrRing(u, gate, range ? range->first : whole.low, range ? range->second : whole.high, scale, x.shape);
}

// Returns the choices that apply to all functions, by name. The first has the numbers.
std::vector<std::pair<std::string, Choice>> ChoicesOf(const std::vector<CompiledFunction>& functions, int ring) {
  const CompiledFunction& first = functions[0];
  std::vector<Lowering> numbers{{}}, bits{{}};
  if (first.f.outputs > 0) numbers = NumberLowerings(first, {}, ring);
  if (!first.f.formulas.empty()) {
    bits.clear();
    for (const Lowering& l : compiler::AllForBits())
      if (std::all_of(functions.begin(), functions.end(), [&](auto& c) { return WhyNotBits(c, l).empty(); }))
        bits.push_back(l);
  }
  std::vector<std::pair<std::string, Choice>> out;
  for (const Lowering& n : numbers)
    for (const Lowering& b : bits) out.push_back({compiler::Name(first, {n, b}), {n, b}});
  return out;
}

std::vector<CompiledFunction> Compiled(const std::vector<Suf>& functions) {
  std::vector<CompiledFunction> out;
  for (const Suf& f : functions) out.push_back(compiler::Compile(f));
  return out;
}

// Returns the bits of some strings with these numbers as one string. A string has kMostFormulas bits, the last fewer.
OwedWord Picked(Trace& t, const std::vector<OwedWord>& strings, const std::vector<int>& numbers) {
  std::optional<OwedWord> out;
  for (size_t s = 0; s < strings.size(); ++s) {
    std::vector<uint64_t> rows;
    bool any = false;
    for (int n : numbers) {
      const bool here = n / func::kMostFormulas == int(s);
      rows.push_back(here ? uint64_t{1} << (n % func::kMostFormulas) : 0);
      any |= here;
    }
    if (!any) continue;
    const pfss::Const masks = t.constant(std::move(rows), {int64_t(numbers.size()), 1});
    OwedWord part = compiler::Map(strings[s], [&](auto v) { return Mix(v, masks); });
    out = out ? Added(part, *out) : part;
  }
  return *out;
}

// A function by its text. A Suf is compiled with the outputs that are read. A Split reads its two tables.
class FunctionEntry final : public GateEntry {
 public:
  FunctionEntry()
      : GateEntry({.name = "function",
                   .meaning = "the channels of a function of x, and the interval that x lies in",
                   .source = kSource,
                   .parameters = {FinerParameter()},
                   .inputs = {{"x", ValueKind::kNumber, "words of the function's domain"}},
                   .outputs = {{"y", ValueKind::kNumber, "each channel, by its name and width"},
                               {"index", ValueKind::kMask, "the interval's number; up to 128 intervals"},
                               {"hot", ValueKind::kMask, "a bit for each interval; up to 64 intervals"},
                               {"mask", ValueKind::kMask, "all bits, the first channel's lowest; up to 64"}},
                   .takes_function = true}) {}

  std::vector<GatePort> Outputs(const GateUse& u) const override {
    std::vector<GatePort> out;
    for (const FunctionPort& p : PortsOf(*u.function)) {
      const bool number = p.kind == FunctionPort::kNumber, bit = p.kind == FunctionPort::kBit;
      out.push_back({p.name, number ? ValueKind::kNumber : bit ? ValueKind::kBit : ValueKind::kMask, "its channel"});
    }
    return out;
  }
  std::vector<SingleGate> Samples(int bits) const override {
    if (bits < kLeastLibrary) return {};
    if (bits < kLeastFitted)
      return {{.bits = bits, .scale = bits / 4, .function_name = "relu"},
              {.bits = bits, .scale = bits / 4, .function_name = "sign"}};
    const int scale = bits / 4;
    return {{.bits = bits, .scale = scale, .function_name = "gelu"},
            {.bits = bits, .scale = scale, .function_name = "exp"}};
  }
  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    CheckDomain(facts, *u.function, x);
    const std::vector<func::OutputChannel> channels = func::ChannelsOf(*u.function);
    if (PortsOf(*u.function).empty())
      FailUse(facts, func::Name(*u.function), " has no channel, and more than ", kMostIndexed,
              " intervals; add a channel to it");
    std::vector<ValueType> out;
    for (const FunctionPort& p : PortsOf(*u.function))
      if (p.kind == FunctionPort::kNumber) {
        const func::OutputChannel& c = channels[size_t(p.channel)];
        const Split* split = std::get_if<Split>(&*u.function);
        out.push_back(TypeOf(u, facts, c,
                             split ? IntegerRange(*split) : IntegerChannelOf(std::get<Suf>(*u.function), c, x).range));
      } else {
        out.push_back(p.kind == FunctionPort::kBit ? BitOf(x.shape) : MaskOf(p.bits, x.shape));
      }
    return out;
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    const std::optional<FunctionProgram> tables = Tables(u);
    const Split* split = tables ? tables->split : nullptr;
    if (split && u.ring[0] > split->ring && !IntegerRange(*split))
      FailUse(facts, split->name, " has numbers of ", split->ring, " bits that may wrap, and a reader needs ",
              u.ring[0], " bits; read it with clamp or ars first");
    if (!split) (void)Parts(u);  // checks the rings
    return {{GateNeed::kWire, func::DomainBits(*u.function)}};
  }
  std::vector<std::string> Options(const GateUse& u) const override {
    std::vector<std::string> out;
    const std::optional<FunctionProgram> split = Tables(u);
    if (split && split->split) {
      for (Stages stages : kSplitStages)
        if (Applies(*split->split, stages)) out.push_back(gates::NameOf(*split->split, stages));
      return out;
    }
    const FunctionParts parts = Parts(u);
    for (const auto& [name, choice] : ChoicesOf(Compiled(parts.functions), parts.ring)) out.push_back(name);
    return out;
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    const std::vector<FunctionPort> ports = PortsOf(*u.function);
    const int n = func::DomainBits(*u.function);
    const Suf* suf = std::get_if<Suf>(&*u.function);
    std::optional<func::Evaluator> evaluator;
    if (suf) evaluator.emplace(*suf);
    std::vector<func::U128> begins;
    if (suf) begins = IntervalsOf(*suf);
    std::vector<Ints> out(ports.size());
    for (int64_t v : in[0]) {
      const uint64_t word = Word(v, n);
      const std::vector<int64_t> channels = suf ? evaluator->Channels(word) : func::Channels(*u.function, word);
      const auto interval =
          int64_t(std::upper_bound(begins.begin(), begins.end(), func::U128{word}) - begins.begin()) - 1;
      for (size_t i = 0; i < ports.size(); ++i) out[i].push_back(ValueAt(*u.function, ports[i], channels, interval));
    }
    return out;
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const Wire<kPub>& x = *in[0].wire;
    const std::optional<FunctionProgram> split = Tables(u);
    if (split && split->split) return {SharesOperand(BuildSplit(t, u, *split->split, x))};
    const FunctionParts parts = Parts(u);
    const std::vector<CompiledFunction> functions = Compiled(parts.functions);
    const std::vector<std::pair<std::string, Choice>> choices = ChoicesOf(functions, parts.ring);
    const auto choice =
        std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return c.first == u.option; });
    if (choice == choices.end())
      Fail(Cause::kRefused, "'", u.option, "' is no lowering of ", func::Name(*u.function), " that applies");
    std::vector<OwedWord> numbers, strings;
    for (const CompiledFunction& f : functions) {
      compiler::FunctionShares made = compiler::Lower(t, f, choice->second, x, parts.ring);
      if (numbers.empty()) numbers = std::move(made.numbers);
      if (made.bits) strings.push_back(*made.bits);
    }
    std::vector<std::optional<GateOperand>> out(parts.bits.size());
    for (size_t i = 0; i < out.size(); ++i) {
      if (!u.read[i]) continue;
      if (parts.outputs[i] < 0)
        out[i] = SharesOperand(Picked(t, strings, parts.bits[i]));
      else
        out[i] =
            SharesOperand(compiler::Map(numbers[size_t(parts.outputs[i])], [&](auto v) { return Low(v, u.ring[i]); }));
    }
    return out;
  }

 private:
  static constexpr const char* kSource = "docs/mathematics.md#suf, #lowerings, #split";

  // Returns the program of a Split; its number is always read.
  static std::optional<FunctionProgram> Tables(const GateUse& u) {
    if (std::holds_alternative<Suf>(*u.function)) return std::nullopt;
    return FunctionProgram(*u.function);
  }
  // Returns the parts that are read of a Suf. A Split in which one index has no bits is a table, so a Suf.
  FunctionParts Parts(const GateUse& u) const {
    const std::optional<FunctionProgram> split = Tables(u);
    const Suf* f = split ? &*split->table : std::get_if<Suf>(&*u.function);
    std::vector<FunctionPort> ports = PortsOf(*u.function);
    if (!split) return PartsOf(facts, *f, ports, u.in[0], u.read, u.ring);
    Suf table = *f;
    table.channels = split->channels;
    return PartsOf(facts, table, ports, u.in[0], u.read, u.ring);
  }
  static OwedWord BuildSplit(Trace& t, const GateUse& u, const Split& f, const Wire<kPub>& x) {
    for (Stages stages : kSplitStages)
      if (gates::NameOf(f, stages) == u.option) return LowerSplit(t, f, stages, x, u.ring[0]);
    Fail(Cause::kRefused, "'", u.option, "' is no lowering of ", f.name);
  }
  // Returns the value of a port at a word, by its channels and the number of its interval.
  static int64_t ValueAt(const func::Function& f, const FunctionPort& port, const std::vector<int64_t>& channels,
                         int64_t interval) {
    if (port.channel >= 0) return channels[size_t(port.channel)];
    if (port.kind == FunctionPort::kIndex) return interval;
    if (port.kind == FunctionPort::kHot) return int64_t(uint64_t{1} << interval);
    const std::vector<func::OutputChannel> all = func::ChannelsOf(f);
    uint64_t mask = 0;
    int place = 0;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].kind == func::OutputChannel::kBit) mask |= uint64_t(channels[i] != 0) << place++;
    return int64_t(mask);
  }
};

// The first channel of numbers of a spline, as a Cubic.
class CubicEntry final : public GateEntry {
 public:
  CubicEntry()
      : GateEntry({.name = "cubic",
                   .meaning = "a spline of degree 3 by Horner's rule: the first number of a function",
                   .source = "docs/mathematics.md#lowerings",
                   .parameters = {FinerParameter()},
                   .inputs = {{"x", ValueKind::kNumber, "words of the function's domain"}},
                   .outputs = {{"y", ValueKind::kNumber, "its channel"}},
                   .takes_function = true}) {}

  std::vector<SingleGate> Samples(int bits) const override {
    if (bits < kLeastLibrary) return {};
    if (bits < kLeastFitted) return {{.bits = bits, .scale = bits / 4, .function_name = "relu"}};
    return {{.bits = bits, .scale = bits / 4, .function_name = "gelu_spline"}};
  }
  std::vector<ValueType> Infer(const GateUse& u) const override {
    CheckDomain(facts, *u.function, u.in[0]);
    const Suf* f = std::get_if<Suf>(&*u.function);
    if (!f) FailUse(facts, func::Name(*u.function), " is a split; read it with function");
    if (f->degree > 3) FailUse(facts, f->name, " has degree ", f->degree, ", over 3; read it with function");
    if (IntervalsOf(*f).size() < 2) FailUse(facts, f->name, " has one piece; read it with function");
    const func::OutputChannel& c = ChannelOf(*f);
    return {TypeOf(u, facts, c, IntegerChannelOf(*f, c, u.in[0]).range)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override {
    (void)Of(u, u.ring[0]);
    return {{GateNeed::kWire, func::DomainBits(*u.function)}};
  }
  std::vector<std::string> Options(const GateUse& u) const override {
    std::vector<std::string> out;
    const FunctionParts parts = Parts(u, u.ring[0]);
    for (const Lowering& l : NumberLowerings(compiler::Compile(parts.functions[0]), {}, parts.ring))
      if (l.kind == compiler::Kind::kHorner || l.kind == compiler::Kind::kIndex) out.push_back(compiler::Name(l));
    return out;
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    const Suf& f = std::get<Suf>(*u.function);
    const func::OutputChannel& c = ChannelOf(f);
    const bool integers = IntegerChannelOf(f, c, u.in[0]).range.has_value();
    return {Of(u, integers ? 64 : c.bits).Spec(in[0], f.n)};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    Cubic gate = Of(u, u.ring[0]);
    gate.lowering = compiler::NumbersNamed(u.option).value();
    return {SharesOperand(gate.Build(t, *in[0].wire))};
  }

 private:
  const func::OutputChannel& ChannelOf(const Suf& f) const {
    for (const func::OutputChannel& c : f.channels)
      if (c.kind != func::OutputChannel::kBit) return c;
    FailUse(facts, f.name, " has no channel of numbers; add one to it");
  }
  FunctionParts Parts(const GateUse& u, int ring) const {
    const Suf& f = std::get<Suf>(*u.function);
    const std::vector<FunctionPort> ports{{FunctionPort::kNumber, int(&ChannelOf(f) - f.channels.data()), "y", 1}};
    return PartsOf(facts, f, ports, u.in[0], {true}, {ring});
  }
  Cubic Of(const GateUse& u, int ring) const {
    const Suf f = Parts(u, ring).functions[0];
    Cubic gate;
    gate.ring = ring;
    for (const func::Piece& p : f.pieces) {
      Cubic::CubicPiece piece{uint64_t(p.begin), {}};
      for (size_t i = 0; i < p.poly[0].size(); ++i) piece.c[i] = int64_t(p.poly[0][i]);
      gate.pieces.push_back(piece);
    }
    if (f.end < func::U128{1} << f.n) gate.pieces.push_back({uint64_t(f.end), {}});
    return gate;
  }
};

// Returns floor(sqrt(v)).
Bound RootOf(Bound v) {
  Bound root = 0;
  for (int bit = 62; bit >= 0; --bit)
    if (const Bound next = root + (Bound{1} << bit); next * next <= v) root = next;
  return root;
}

class NewtonEntry final : public GateEntry {
 public:
  NewtonEntry()
      : GateEntry({.name = "newton",
                   .meaning = "1/x or 1/sqrt(x), by Newton's steps from a coarse table",
                   .certificate = "the range of x, from 0 on: the table begins at its least number",
                   .source = "docs/mathematics.md#octaves, #rescale",
                   .parameters = {{"of", "the function", 0, 1, std::nullopt, {"recip", "rsqrt"}},
                                  {"scale", "the scale of the result", 1, 30, std::nullopt},
                                  {"one", "the scale inside a step", 6, 30, 14},
                                  {"cut", "bits cut from the first product of rsqrt", 1, 40, 8},
                                  {"steps", "steps", 1, 8, 1},
                                  {"table", "bits of the table: 2^table pieces in an octave", 0, 10, 4}},
                   .inputs = {{"x", ValueKind::kNumber, "from 0 on, at most 60 bits", {kRows}, false}},
                   .outputs = {{"y", ValueKind::kNumber, "holds 1/x or 1/sqrt(x) of the least x"}}}) {}

  std::vector<SingleGate> Samples(int bits) const override {
    return {{.bits = bits, .set = {{"of", "recip"}, {"scale", "16"}}},
            {.bits = bits, .set = {{"of", "rsqrt"}, {"scale", "16"}}}};
  }
  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& x = u.in[0];
    if (x.low < 0)
      Fail(Cause::kRefused, facts.name, ": x may be ", Decimal(x.low), ", below 0; give its input a range, or clamp x");
    if (x.high >= Bound{1} << kMostBits)
      Fail(Cause::kRefused, facts.name, ": x may be ", Decimal(x.high), ", over 2^", kMostBits, "; clamp x first");
    const int top = x.scale + int(u["scale"]) * (u["of"] == int64_t(Newton::Of::kRsqrt) ? 2 : 1);
    if (top < 1 || top > kMostBits)
      Fail(Cause::kRefused, facts.name, ": the scales add up to ", top, ", and 1 to ", kMostBits,
           " are possible; change the scale of x or of the result");
    const int octaves = std::bit_width(uint64_t(x.high));
    if (int64_t{octaves} << u["table"] > kMostEntries)
      FailUse(facts, "its table has ", int64_t{octaves} << u["table"], " entries for x up to ", Decimal(x.high),
              ", and the limit is ", kMostEntries, "; clamp x, or take a smaller table");
    const Newton gate = Of(u, Stages::kTwo, 64);
    (void)gate.KeyBits(Width(u));  // checks the other scales
    Bound first = 0;
    for (const func::Octave& g : gate.groups)
      for (int64_t v : g.values) first = std::max(first, Bound{v});
    // A step at most doubles Y. Above 0 it also stays below the exact value, but for its roundings.
    Bound most = first << gate.steps;
    if (x.low > 0)
      most = std::min(most, Exact(gate, x.low) + (most >> (gate.of == Newton::Of::kRecip ? gate.one : 6)) + 2);
    return {NumberOrRing(u, facts, 0, most, gate.scale, x.shape)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kWire, Width(u)}}; }
  std::vector<std::string> Options(const GateUse& u) const override {
    std::vector<std::string> out;
    for (const std::string& stages : StageNames({1, 2, 3})) {
      try {
        (void)Of(u, StagesOf(stages), u.ring[0]).KeyBits(Width(u));
        out.push_back(stages);
      } catch (const Error& e) {
        if (e.cause() != Cause::kRefused) throw;
      }
    }
    return out;
  }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    return {Of(u, Stages::kTwo, 64).Spec(in[0], Width(u))};
  }
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    return {SharesOperand(Of(u, StagesOf(u.option), u.ring[0]).Build(t, *in[0].wire))};
  }

 private:
  static constexpr int kMostBits = 60;
  static constexpr int64_t kMostEntries = 1 << 13;  // of the table
  // x lies in [0, 2^(k-2)).
  static int Width(const GateUse& u) { return int(std::bit_width(uint64_t(u.in[0].high))) + 2; }
  // Returns 2^top / x, or its root, rounded down. A double of it, or of its square, does not exceed Newton's bound.
  static Bound Exact(const Newton& g, Bound x) {
    const bool root = g.of == Newton::Of::kRsqrt;
    const int top = g.x_scale + g.scale + (root ? g.scale : 0);
    const Bound quotient = (Bound{1} << top) / x;
    return root ? RootOf(quotient) : quotient;
  }
  // Returns the gate with its table. A piece [v 2^w, (v+1) 2^w) has the value of its middle, pieces below x.low that of
  // x.low.
  static Newton Of(const GateUse& u, Stages stages, int ring) {
    const ValueType& x = u.in[0];
    Newton g;
    g.of = Newton::Of(u["of"]);
    g.x_scale = x.scale;
    g.scale = int(u["scale"]);
    g.one = int(u["one"]);
    g.cut = int(u["cut"]);
    g.steps = int(u["steps"]);
    g.ring = ring;
    g.stages = stages;
    g.table.stages = stages;
    // an octave of fewer numbers has no more pieces
    const int64_t pieces = int64_t{1} << std::min<int64_t>(u["table"], Width(u) - 2);
    const Bound least = std::max<Bound>(1, x.low);
    for (int w = 0; w == 0 || Bound{pieces} << w <= x.high; ++w) {
      func::Octave group{w, w == 0 ? 0 : pieces, 2 * pieces, {}};
      for (int64_t v = group.lo; v < group.hi; ++v) {
        const Bound begin = Bound{v} << w, middle = begin + (Bound{1} << w) / 2;
        // a piece around x.low keeps its middle, because the value of x.low may be too large for its end
        const Bound at = begin + (Bound{1} << w) <= least ? least : std::max<Bound>(1, middle);
        group.values.push_back(int64_t(std::min<Bound>(Exact(g, at), INT64_MAX)));
      }
      g.groups.push_back(std::move(group));
    }
    return g;
  }
};

// A table of constants at an opened index.
class TableEntry final : public GateEntry {
 public:
  TableEntry()
      : GateEntry({.name = "table",
                   .meaning = "the constant with the number i; 0 if i is a mask above them",
                   .source = "docs/mathematics.md#one-hot",
                   .parameters = {{"scale", "the scale of the constants", kLeastResultScale, kMostResultScale, 0}},
                   .inputs = {{.name = "i",
                               .kind = ValueKind::kNumber,
                               .rule = "a bit, a mask or a number from 0 on, of at most 10 bits",
                               .is_signed = false,
                               .any = true}},
                   .outputs = {{"y", ValueKind::kNumber, "holds the constants"}},
                   .takes_constants = true}) {}

  std::vector<SingleGate> Samples(int bits) const override {
    if (bits > compiler::kTableBits) return {};
    SingleGate use{.bits = bits};
    for (int64_t i = 0; i < int64_t{1} << bits; ++i) use.constants.push_back((i * 37 + 11) % 101 - 50);
    return {use};
  }
  std::vector<ValueType> Infer(const GateUse& u) const override {
    const ValueType& i = u.in[0];
    if (i.low < 0 || i.high >= kMostPlaces)
      FailUse(facts, "i may be ", Decimal(i.low < 0 ? i.low : i.high), ", and a table has places 0 to ",
              kMostPlaces - 1, "; clamp it, or shift it down first");
    const auto places = Bound(1) << Width(u);
    const auto count = Bound(u.constants.size());
    if (count < 1) FailUse(facts, "the table is empty; give it a constant for each number of i");
    if (count > places)
      FailUse(facts, "the table has ", u.constants.size(), " constants, and i takes ", int64_t(places),
              " values; leave out the rest");
    if (i.kind == ValueKind::kNumber && count <= i.high)
      FailUse(facts, "i may be ", Decimal(i.high), ", and the table has ", u.constants.size(),
              " constants; add the missing ones, or clamp i");
    // a mask may have a number above the constants
    const auto [low, high] = std::minmax_element(u.constants.begin(), u.constants.end());
    const bool missing = count <= i.high;
    return {NumberOrRing(u, facts, missing ? std::min<Bound>(*low, 0) : *low,
                         missing ? std::max<Bound>(*high, 0) : *high, int(u["scale"]), i.shape)};
  }
  std::vector<GateNeed> Needs(const GateUse& u) const override { return {{GateNeed::kWire, Width(u)}}; }
  std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const override {
    Ints y;
    for (int64_t i : in[0]) y.push_back(size_t(i) < u.constants.size() ? u.constants[size_t(i)] : 0);
    return {y};
  }
  // Opens e times the constant. The sign e is the dealer's, so it is multiplied by words of the dealer.
  std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                const std::vector<GateOperand>& in) const override {
    const Wire<kPub>& i = *in[0].wire;
    const int ring = u.ring[0];
    std::vector<uint64_t> places(size_t{1} << Width(u));
    for (size_t n = 0; n < u.constants.size(); ++n) places[n] = uint64_t(u.constants[n]) & ring::Mask(ring);
    const auto count = int64_t(places.size());
    const pfss::Const table = t.constant(std::move(places), {1, count});
    const compiler::Reading read =
        u.in[0].kind == ValueKind::kNumber ? compiler::ReadTables(t, i, table) : ReadAtString(t, i, table);
    const Sh signed_entry = Low(At(read.values, 0), ring);
    const Wire<kPub> opened = t.open(signed_entry, "entry");
    compiler::WordSum y(t, ring);
    y.Add(compiler::Masked(opened), {1, 0, {}, read.sign, {}});
    return {SharesOperand(y.Done(i.shape()))};
  }

 private:
  static constexpr int64_t kMostPlaces = int64_t{1} << compiler::kTableBits;
  // Returns the bits of the index.
  static int Width(const GateUse& u) {
    const ValueType& i = u.in[0];
    return i.kind != ValueKind::kNumber ? i.bits : std::max(1, int(std::bit_width(uint64_t(i.high))));
  }
  // Reads tables at an opened string i xor rho, by a one-hot table at rho. No flight.
  static compiler::Reading ReadAtString(Trace& t, const Wire<kPub>& i, const pfss::Const& tables) {
    const Sec rho = Low(Lift(i.r), i.hat.bits());
    const pfss::Dealt hot = t.deal(Hot(rho));
    const Sh values = ToAdditive(hot, [&](auto half) { return SelectX(half, i.hat, tables); });
    return {values, compiler::SignOf(Point(hot.a, rho))};
  }
};

}  // namespace

void RegisterFunctions() {
  RegisterLibraryGate(std::make_unique<FunctionEntry>());
  RegisterLibraryGate(std::make_unique<CubicEntry>());
  RegisterLibraryGate(std::make_unique<NewtonEntry>());
  RegisterLibraryGate(std::make_unique<TableEntry>());
}

}  // namespace suf::gates
