#include "suf/gates/compose/composition.hpp"

#include <algorithm>
#include <charconv>

#include "suf/base/plural.hpp"
#include "suf/gates/compose/place.hpp"

namespace suf::gates {

namespace {

// Returns the index of a gate's output. Throws Cause::kInput, with the names, if there is none.
size_t PortNamed(const std::string& gate, const std::vector<GatePort>& outputs, const PlacedName& name) {
  std::string all;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == name.name) return i;
    all += (i ? ", " : "") + outputs[i].name;
  }
  Fail(Cause::kInput, Where(name.place), Quoted(name.name), " is no output of ", gate, "; it gives ", all);
}

// Returns the parameters of a statement, with the fallbacks of those that it does not set.
std::map<std::string, int64_t> ParametersOf(const GateFacts& gate, const GateStatement& s) {
  std::map<std::string, int64_t> out;
  for (const GateParameter& p : gate.parameters)
    if (p.fallback) out[p.name] = *p.fallback;
  for (const auto& [name, text] : s.set) out[name.name] = ParameterValue(gate, name.name, text);
  for (const GateParameter& p : gate.parameters)
    if (!out.count(p.name)) Fail(Cause::kInput, gate.name, " needs the parameter ", p.name, ": ", p.meaning);
  return out;
}

// Gives a statement its function, and `finer` if the statement does not set it.
void TakeFunction(ScaledFunction read, GateStatement* s) {
  const bool given = std::any_of(s->set.begin(), s->set.end(), [](auto& p) { return p.first.name == "finer"; });
  if (!given && read.finer) s->set.push_back({{"finer", s->gate.place}, Str(read.finer)});
  s->function = std::move(read.f);
}

}  // namespace

int64_t ParameterValue(const GateFacts& gate, const std::string& name, const std::string& text) {
  static const GateParameter kRing{"ring", "bits of the result's ring", 1, 64, std::nullopt};
  const bool numbers = std::any_of(gate.outputs.begin(), gate.outputs.end(),
                                   [](const GatePort& p) { return p.kind == ValueKind::kNumber; });
  const GateParameter* p = name == "ring" && numbers ? &kRing : nullptr;
  std::string known = numbers ? "ring" : "";
  for (const GateParameter& own : gate.parameters) {
    if (own.name == name) p = &own;
    known = own.name + (known.empty() ? "" : ", ") + known;
  }
  if (!p)
    Fail(Cause::kInput, Quoted(name), " is no parameter of ", gate.name, "; ",
         known.empty() ? "it has none" : "it has " + known);
  std::string choices;
  for (size_t i = 0; i < p->choices.size(); ++i) {
    if (p->choices[i] == text) return int64_t(i);
    choices += (i ? ", " : "") + p->choices[i];
  }
  if (!choices.empty()) Fail(Cause::kInput, name, "=", Quoted(text), " is none of ", choices);
  int64_t v = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size() || v < p->low || v > p->high)
    Fail(Cause::kInput, name, "=", Quoted(text), " is no whole number from ", p->low, " to ", p->high);
  return v;
}

Composition::Composition(CompositionText text, const FunctionReader& functions) : text_(std::move(text)) {
  for (const InputStatement& s : text_.inputs) {
    ComposedValue v;
    v.name = s.name.name;
    v.type = s.type;
    Declare(s.name, v);
  }
  for (GateStatement& s : text_.gates) Infer(s, functions);
  if (text_.outputs.empty())
    Fail(Cause::kInput, "the composition has no output, so no party would learn a value; add a line such as 'output ",
         values_.empty() ? "y" : values_.back().name, " -> p1'");
  if (text_.outputs.size() > kMostOutputs)
    Fail(Cause::kInput, "the composition has ", text_.outputs.size(), " outputs, and the limit is ", kMostOutputs,
         "; stack them along an axis, or make two compositions");
  SetRings();
}

CompositionText TextOf(const GateEntry& gate, const SingleGate& use, const FunctionReader& functions) {
  const GateFacts& facts = gate.facts;
  CompositionText out;
  GateStatement s;
  GateUse asked;  // read by Outputs alone
  s.gate.name = facts.name;
  s.function_name = use.function_name;
  s.constants = use.constants;
  for (const auto& [name, value] : use.set) s.set.push_back({{name, {}}, value});
  for (const GatePort& port : facts.inputs) {
    InputStatement in;
    in.name.name = port.name;
    in.type = port.kind == ValueKind::kBit    ? BitOf(port.shape)
              : port.kind == ValueKind::kMask ? MaskOf(std::clamp(use.bits, 2, 64), port.shape)
                                              : WholeNumber(use.bits, use.scale, port.is_signed, port.shape);
    if (port.kind == ValueKind::kNumber && !facts.certificate.empty()) {
      in.type.low /= 4;
      in.type.high /= 4;
    }
    s.arguments.push_back(in.name);
    asked.in.push_back(in.type);
    out.inputs.push_back(std::move(in));
  }
  if (facts.takes_function && functions) {
    TakeFunction(functions(use.function_name, false, asked.in[0]), &s);
    asked.function = s.function;
    // some functions have a domain of fewer bits
    out.inputs[0].type = WholeNumber(func::DomainBits(*s.function), use.scale, asked.in[0].is_signed, {kRows});
    asked.in[0] = out.inputs[0].type;
  }
  std::vector<std::string> names = use.outputs;
  if (names.empty())
    for (const GatePort& port : asked.function ? gate.Outputs(asked) : facts.outputs) names.push_back(port.name);
  for (const std::string& name : names) {
    s.outputs.push_back({name, {}});
    const bool taken = std::any_of(facts.inputs.begin(), facts.inputs.end(), [&](auto& i) { return i.name == name; });
    s.names.push_back({taken ? name + "_out" : name, {}});
    out.outputs.push_back({s.names.back(), To::kP1});
  }
  out.gates.push_back(std::move(s));
  return out;
}

int Composition::value(const std::string& name) const {
  const auto it = numbers_.find(name);
  return it == numbers_.end() ? -1 : it->second;
}

int Composition::Used(const PlacedName& name) const {
  const int v = value(name.name);
  if (v < 0) Fail(Cause::kInput, Where(name.place), Quoted(name.name), " is no value yet; a line above must make it");
  return v;
}

void Composition::Declare(const PlacedName& name, ComposedValue v) {
  if (value(name.name) >= 0)
    Fail(Cause::kInput, Where(name.place), Quoted(name.name), " has a value already; take another name");
  numbers_.emplace(v.name, int(values_.size()));
  values_.push_back(std::move(v));
}

void Composition::TakeArguments(const GateStatement& s, ComposedGate* g) const {
  const GateFacts& facts = g->gate->facts;
  if (s.arguments.size() != facts.inputs.size())
    Fail(Cause::kInput, Where(g->place), facts.name, " takes ", Plural(facts.inputs.size(), "input"), ", and ",
         s.arguments.size(), " are given");
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int v = Used(s.arguments[i]);
    const ValueType& type = values_[size_t(v)].type;
    const bool string = facts.inputs[i].kind == ValueKind::kMask && type.kind == ValueKind::kBit;  // of one bit
    if (type.kind != facts.inputs[i].kind && !string && !facts.inputs[i].any)
      Fail(Cause::kInput, Where(s.arguments[i].place), s.arguments[i].name, " is a ", gates::Name(type), ", and ",
           facts.name, " takes a ", NameOf(facts.inputs[i].kind), " as ", facts.inputs[i].name);
    g->arguments.push_back(v);
    g->use.in.push_back(type);
  }
}

void Composition::NameResults(const GateStatement& s, ComposedGate* g) {
  const std::vector<GatePort> outputs = g->gate->Outputs(g->use);
  SUF_CHECK(g->use.out.size() == outputs.size() && !outputs.empty());
  g->results.assign(outputs.size(), -1);
  g->use.read.assign(outputs.size(), false);
  g->use.ring.assign(outputs.size(), 1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    ValueType& t = g->use.out[i];
    if (t.kind == ValueKind::kNumber && g->use.set.count("ring")) t = Reduced(t, int(g->use["ring"]));
  }
  const size_t named = s.outputs.empty() ? 1 : s.outputs.size();
  if (s.names.size() != named)
    Fail(Cause::kInput, Where(g->place), Plural(s.names.size(), "name"), " on the left and ", Plural(named, "output"),
         s.outputs.empty() ? "; without the word outputs a statement gives the first output" : " on the right");
  for (size_t i = 0; i < s.names.size(); ++i) {
    const size_t port = s.outputs.empty() ? 0 : PortNamed(g->gate->facts.name, outputs, s.outputs[i]);
    if (g->results[port] >= 0)
      Fail(Cause::kInput, Where(s.outputs[i].place), "the output ", s.outputs[i].name, " is named twice; name it once");
    ComposedValue v;
    v.name = s.names[i].name;
    v.type = g->use.out[port];
    Declare(s.names[i], v);
    g->results[port] = int(values_.size()) - 1;
    g->use.read[port] = true;
  }
}

void Composition::Infer(GateStatement& s, const FunctionReader& functions) {
  ComposedGate g;
  g.gate = AtPlace(s.gate.place, [&] { return &GateNamed(s.gate.name); });
  g.place = s.gate.place;
  const GateFacts& facts = g.gate->facts;
  TakeArguments(s, &g);
  if (facts.takes_function && !s.function) {
    if (!functions || g.use.in.empty()) Fail(Cause::kInput, Where(g.place), "no function is given; name one");
    TakeFunction(AtPlace(g.place, [&] { return functions(s.function_name, s.quoted, g.use.in[0]); }), &s);
  }
  g.use.function = s.function;
  g.use.constants = s.constants;
  AtPlace(g.place, [&] {
    g.use.set = ParametersOf(facts, s);
    if (facts.elementwise && !g.use.in.empty()) {
      pfss::Shape all = g.use.in[0].shape;
      for (const ValueType& t : g.use.in) all = Broadcast(all, t.shape);
      for (ValueType& t : g.use.in) t.shape = all;
    }
    g.use.out = g.gate->Infer(g.use);
  });
  NameResults(s, &g);
  gates_.push_back(std::move(g));
}

void Composition::SetRings() {
  std::vector<bool> read(values_.size(), false);
  std::vector<int> need(values_.size(), 1);
  for (const OutputStatement& o : text_.outputs) {
    const int v = Used(o.name);
    for (const OutputStatement& before : text_.outputs)
      if (&before < &o && before.name.name == o.name.name)
        Fail(Cause::kInput, Where(o.name.place), o.name.name,
             " is an output already; name it once, with both for p0 and p1");
    read[size_t(v)] = true;
    need[size_t(v)] = std::max(need[size_t(v)], values_[size_t(v)].type.bits);
  }
  for (size_t at = gates_.size(); at-- > 0;) {
    ComposedGate& g = gates_[at];
    bool any = false;
    for (size_t i = 0; i < g.results.size(); ++i) {
      const int v = g.results[i];
      if (v < 0 || g.use.out[i].kind != ValueKind::kNumber) {
        g.use.ring[i] = g.use.out[i].bits;
        if (v >= 0) values_[size_t(v)].ring = g.use.ring[i];
        any |= v >= 0 && read[size_t(v)];
        continue;
      }
      any |= read[size_t(v)];
      int ring = need[size_t(v)];
      if (g.use.set.count("ring")) {
        const int set = int(g.use["ring"]);
        if (set < ring)
          Fail(Cause::kInput, Where(g.place), "ring=", set, " is too narrow, because a reader of ",
               values_[size_t(v)].name, " needs a ring of ", ring, " bits; leave ring out");
        ring = set;
      }
      g.use.ring[i] = values_[size_t(v)].ring = ring;
    }
    if (!any)
      Fail(Cause::kInput, Where(g.place), "nothing reads a result of this statement; remove it, or add an output");
    g.needs = AtPlace(g.place, [&] { return g.gate->Needs(g.use); });
    for (size_t i = 0; i < g.needs.size(); ++i) {
      const auto v = size_t(g.arguments[i]);
      if (values_[v].type.kind == ValueKind::kNumber && g.needs[i].ring > 64)
        Fail(Cause::kInput, Where(g.place), g.gate->facts.name, " needs ", values_[v].name, " in a ring of ",
             g.needs[i].ring, " bits, over 64; narrow it first");
      read[v] = true;
      need[v] = std::max(need[v], g.needs[i].ring);
      values_[v].form = std::max(values_[v].form, g.needs[i].form);
    }
  }
  for (size_t i = 0; i < text_.inputs.size(); ++i) {
    const InputStatement& s = text_.inputs[i];
    ComposedValue& v = values_[i];
    if (!read[i]) Fail(Cause::kInput, Where(s.name.place), "nothing reads the input ", v.name, "; remove it");
    v.ring = v.type.kind == ValueKind::kNumber ? std::max(need[i], v.type.bits) : v.type.bits;
    if (s.from == Origin::kShared && v.ring > v.type.bits)
      Fail(Cause::kInput, Where(s.name.place), "shares of ", v.name, " have ", v.type.bits,
           " bits, and a reader needs ", v.ring, "; make the shares with ring=", v.ring, " and declare them so wide");
  }
}

}  // namespace suf::gates
