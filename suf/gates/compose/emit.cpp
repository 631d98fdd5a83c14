// The emission and the meaning of a composition.
#include <algorithm>

#include "suf/gates/compose/composition.hpp"
#include "suf/gates/compose/entries.hpp"

namespace suf::gates {

namespace {

// The values of a composition in a trace.
class Emission {
 public:
  Emission(Trace& t, const Composition& c, int64_t rows) : t_(t), c_(c), rows_(rows), live_(c.values().size()) {}

  void Give(size_t i) {
    const Composition::ComposedValue& v = c_.values()[i];
    const InputStatement& s = c_.text().inputs[i];
    const pfss::Shape shape = SetRows(v.type.shape, rows_);
    const char* const name = v.name.c_str();
    const bool number = v.type.kind == ValueKind::kNumber;
    auto take = [&](auto own) {
      if (number) return own;
      return Bits(own, v.type.bits);
    };
    SharedWire<kPub> wire;
    if (s.from == Origin::kShared) {
      pfss::Own<0> a = take(t_.input<pfss::kP0>(name, shape, v.type.bits, 0));
      pfss::Own<1> b = take(t_.input<pfss::kP1>(name, shape, v.type.bits, 0));
      wire = t_.open(Sh{a, b}, name);
    } else if (!number) {
      // a string has one owner: the other party's share is zero
      Sh mine = compiler::ZeroString(t_, shape, v.type.bits);
      if (s.from == Origin::kP0) {
        mine.a = take(t_.input<pfss::kP0>(name, shape, v.type.bits, 0));
      } else {
        mine.b = take(t_.input<pfss::kP1>(name, shape, v.type.bits, 0));
      }
      wire = t_.open(mine, name);
    } else if (s.from == Origin::kP0) {
      wire = t_.give<0>(t_.input<pfss::kP0>(name, shape, 64, 0), v.ring, name);
    } else {
      wire = t_.give<1>(t_.input<pfss::kP1>(name, shape, 64, 0), v.ring, name);
    }
    GateOperand& x = live_[i];
    x.wire = wire;
    x.mask = wire.s;
  }

  void Build(size_t i, const std::string& option) {
    const Composition::ComposedGate& g = c_.gates()[i];
    GateUse use = g.use;
    use.option = option;
    for (ValueType& type : use.in) type.shape = SetRows(type.shape, rows_);
    for (ValueType& type : use.out) type.shape = SetRows(type.shape, rows_);
    std::vector<GateOperand> in;
    for (size_t a = 0; a < g.arguments.size(); ++a) in.push_back(Read(g.arguments[a], g.needs[a], use.in[a].shape));
    const std::string scope = NameOf(g);
    t_.scope(scope);
    std::vector<std::optional<GateOperand>> made = g.gate->Build(t_, use, in);
    SUF_CHECK(made.size() == g.results.size());
    for (size_t r = 0; r < made.size(); ++r)
      if (g.results[r] >= 0) live_[size_t(g.results[r])] = made[r].value();
  }

  void Output(const OutputStatement& o) {
    const int v = c_.value(o.name.name);
    const ValueType type = OutputType(c_, o);
    GateOperand x = Read(v, {GateNeed::kShares, type.bits}, SetRows(type.shape, rows_));
    Sh y = compiler::DealOwed(t_, x.AsShares(t_));
    y = type.kind == ValueKind::kNumber ? Low(y, type.bits) : pfss::Map(y, [](auto half) { return Unbits(half); });
    if (o.to == To::kShared) return t_.keep(y);
    if (o.to != To::kP1) t_.reveal<0>(y);
    if (o.to != To::kP0) t_.reveal<1>(y);
  }

 private:
  std::string NameOf(const Composition::ComposedGate& g) const {
    for (int r : g.results)
      if (r >= 0) return c_.values()[size_t(r)].name + "/" + g.gate->facts.name;
    SUF_CHECK(false);
  }

  // Returns a value as a gate needs it. It is opened if it must be and is not yet.
  GateOperand Read(int value, const GateNeed& need, const pfss::Shape& shape) {
    const Composition::ComposedValue& v = c_.values()[size_t(value)];
    GateOperand& x = live_[size_t(value)];
    if (need.form != GateNeed::kShares) Open(v, &x);
    GateOperand out = x;
    if (v.type.kind == ValueKind::kNumber && need.ring < v.ring)
      out = Mapped(out, [&](auto a) { return Low(a, need.ring); });
    const pfss::Shape& has = out.wire ? out.wire->shape() : out.shares->y.shape();
    if (has != shape) out = Mapped(out, [&](auto a) { return Broadcast(a, shape); });
    return out;
  }

  void Open(const Composition::ComposedValue& v, GateOperand* x) {
    const bool shared = v.form == GateNeed::kSharedWire;
    if (x->wire && (x->mask || !shared)) return;
    if (x->wire) {  // it is opened already: the parties only lack shares of its mask
      const bool string = x->wire->hat.ring().kind == pfss::Ring::kXor;
      x->mask = string ? t_.deal(x->wire->r) : t_.deal(x->wire->r, x->wire->k());
      return;
    }
    t_.scope(v.name + "/open");
    const OwedWord y = x->AsShares(t_);
    if (shared) {
      SharedWire<kPub> w = compiler::OpenShared(t_, y, v.name.c_str());
      x->wire = w;
      x->mask = w.s;
    } else {
      x->wire = compiler::OpenDefined(t_, y, v.name.c_str());
    }
  }

  Trace& t_;
  const Composition& c_;
  int64_t rows_;
  std::vector<GateOperand> live_;
};

// Repeats the elements of a broadcast.
Ints Spread(const Ints& x, const pfss::Shape& from, const pfss::Shape& to) {
  if (from == to) return x;
  const auto count = size_t(pfss::Size(to));
  Ints out(count);
  for (size_t i = 0; i < count; ++i) {
    size_t at = 0, rest = i, stride = 1;
    for (size_t axis = 0; axis < to.size(); ++axis) {
      const auto dim = size_t(to[to.size() - 1 - axis]);
      const size_t index = rest % dim;
      rest /= dim;
      if (axis >= from.size()) continue;
      const auto own = size_t(from[from.size() - 1 - axis]);
      at += (own == 1 ? 0 : index) * stride;
      stride *= own;
    }
    out[i] = x[at];
  }
  return out;
}

}  // namespace

void Emit(Trace& t, const Composition& c, const GateChoices& choices, int64_t rows) {
  SUF_CHECK(choices.size() == c.gates().size() && rows >= 1);
  Emission e(t, c, rows);
  t.scope("input");
  for (size_t i = 0; i < c.text().inputs.size(); ++i) e.Give(i);
  for (size_t i = 0; i < c.gates().size(); ++i) e.Build(i, choices[i]);
  t.scope("output");
  for (const OutputStatement& o : c.text().outputs) e.Output(o);
  t.close();
}

std::vector<Ints> Evaluate(const Composition& c, const std::vector<Ints>& inputs, int64_t rows) {
  std::vector<Ints> live(c.values().size());
  SUF_CHECK(inputs.size() == c.text().inputs.size());
  std::copy(inputs.begin(), inputs.end(), live.begin());
  for (const Composition::ComposedGate& g : c.gates()) {
    GateUse use = g.use;
    std::vector<Ints> in;
    for (size_t a = 0; a < g.arguments.size(); ++a) {
      const auto v = size_t(g.arguments[a]);
      use.in[a].shape = SetRows(use.in[a].shape, rows);
      in.push_back(Spread(live[v], SetRows(c.values()[v].type.shape, rows), use.in[a].shape));
    }
    for (ValueType& type : use.out) type.shape = SetRows(type.shape, rows);
    std::vector<Ints> made = g.gate->Spec(use, in);
    for (size_t r = 0; r < made.size(); ++r) {
      const ValueType& type = g.use.out[r];
      for (int64_t& x : made[r]) x = type.is_signed ? Number(uint64_t(x), type.bits) : int64_t(Word(x, type.bits));
      if (g.results[r] >= 0) live[size_t(g.results[r])] = std::move(made[r]);
    }
  }
  return live;
}

}  // namespace suf::gates
