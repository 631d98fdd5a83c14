#include "suf/gates/function_plan.hpp"

#include <algorithm>
#include <array>

#include "suf/gates/function.hpp"
#include "suf/ring/modular.hpp"

namespace suf::gates {

using compiler::Candidate;
using compiler::Choice;
using compiler::CompiledFunction;
using compiler::Cut;
using compiler::Lowering;
using pfss::Sec;

namespace {

// The channels of one ring. A source that several channels read occurs once.
struct Block {
  int bits = 1;
  bool formulas = false;
  std::vector<int> sources;
  size_t Row(int source) const { return size_t(std::find(sources.begin(), sources.end(), source) - sources.begin()); }
};

std::vector<Block> BlocksOf(const std::vector<func::OutputChannel>& channels) {
  std::vector<Block> out;
  for (const func::OutputChannel& c : channels) {
    const bool bit = c.kind == func::OutputChannel::kBit;
    auto at =
        std::find_if(out.begin(), out.end(), [&](const Block& b) { return b.formulas == bit && b.bits == c.bits; });
    if (at == out.end()) at = out.insert(out.end(), {c.bits, bit, {}});
    if (at->Row(c.source) == at->sources.size()) at->sources.push_back(c.source);
  }
  return out;
}

// Returns f without the polynomials and formulas that no channel reads.
func::Suf Pruned(const func::Suf& f) {
  func::Suf g = f;
  g.outputs = 0;
  g.formulas.clear();
  for (func::Piece& p : g.pieces) p.poly.clear();
  std::vector<int> outputs, formulas;
  for (func::OutputChannel& c : g.channels) {
    const bool bit = c.kind == func::OutputChannel::kBit;
    std::vector<int>& list = bit ? formulas : outputs;
    auto at = std::find(list.begin(), list.end(), c.source);
    if (at == list.end()) {
      list.push_back(c.source);
      at = list.end() - 1;
      if (bit) g.formulas.push_back(f.formulas[size_t(c.source)]);
      if (!bit)
        for (size_t i = 0; i < f.pieces.size(); ++i) g.pieces[i].poly.push_back(f.pieces[i].poly[size_t(c.source)]);
    }
    c.source = int(at - list.begin());
  }
  g.outputs = int(outputs.size());
  return g;
}

// Returns all values of a Split with a single index, which has at most 16 bits.
func::Suf Table(const func::Split& f) {
  std::vector<int64_t> values;
  for (uint64_t x = 0; x < uint64_t{1} << f.n; ++x) values.push_back(ring::Signed(func::Evaluate(f, x), f.ring));
  return func::Uniform(f.name, 0, values, {}, f.ring);
}

// The function of a plan, prepared for several emissions.
struct Program {
  explicit Program(const func::Function& f) {
    func::Verify(f);
    split = std::get_if<func::Split>(&f);
    channels = func::ChannelsOf(f);
    if (channels.empty())
      Fail(Cause::kInput, func::Name(f), " has no channel, so nobody would learn a thing; add a line such as ",
           "'channel signed 32 0 y'");
    if (split &&
        (split->a == split->n || (split->a == 0 && (split->kind == func::Split::kProduct || split->c == split->n)))) {
      table = Table(*split);
      split = nullptr;
    }
    if (split) {
      ring = split->ring;
      return;
    }
    const func::Suf used = table ? *table : Pruned(std::get<func::Suf>(f));
    channels = used.channels;
    compiled = compiler::Compile(used);
    for (const func::OutputChannel& c : channels)
      if (c.kind != func::OutputChannel::kBit) ring = std::max(ring, c.bits);
  }
  const func::Split* split = nullptr;
  std::optional<func::Suf> table;  // of a Split in which one index has no bits
  CompiledFunction compiled;
  std::vector<func::OutputChannel> channels;
  int ring = 1;  // of all numbers
};

// ---- a Split, whose two tables are read at two index wires

constexpr Stages kStages[] = {Stages::kOne, Stages::kTwo, Stages::kThree};

std::string NameOf(const func::Split& f, Stages stages) {
  return Str(f.kind == func::Split::kSum ? "Bipartite/" : "Product/", int(stages));
}

// The wires of x >> a and of the index of the low table.
struct Indices {
  Wire<kPub> high, low;
};
Indices IndicesOf(Trace& t, const func::Split& f, const Wire<kPub>& x, Stages stages) {
  const int n = f.n, a = f.a, c = f.kind == func::Split::kSum ? f.c : n, top = n - c;
  if (a == 0) {  // a sum whose low table is read at x >> c
    if (c == 0) return {x, x};
    compiler::OpenedDigits d(t, x, t.constant(0), PlanDigits({{c, top}}, stages));
    compiler::Borrow at_c(d, c, stages);
    return {x, OpenDefined(t, Slice(d, c, n, top, &at_c, nullptr), "low index")};
  }
  std::vector<Cut> cuts{{a, std::max(n - a, top + a)}};
  if (c > a && c < n) cuts.push_back({c, top});
  compiler::OpenedDigits d(t, x, t.constant(0), PlanDigits(cuts, stages));
  compiler::Borrow at_a(d, a, stages);
  Indices out;
  out.high = OpenDefined(t, Slice(d, a, n, n - a, &at_a, nullptr), "high index");
  if (top == 0) {
    out.low = pfss::Map(x, [&](auto v) { return Low(v, a); });
    return out;
  }
  std::optional<compiler::Borrow> at_c;
  if (c > a) at_c.emplace(d, c, stages);
  OwedWord slope = Slice(d, c, n, top, at_c ? &*at_c : &at_a, nullptr), place = Slice(d, 0, a, top + a, nullptr, &at_a);
  OwedWord low = place;
  low.y = Low(place.y + (slope.y << a), top + a);
  if (slope.owed) {
    Sec shifted = *slope.owed << a;
    low.owed = low.owed ? *low.owed + shifted : shifted;
  }
  out.low = OpenDefined(t, low, "low index");
  return out;
}

OwedWord LowerSplit(Trace& t, const func::Split& f, Stages stages, const Wire<kPub>& x) {
  t.scope(f.name + "/index");
  Indices at = IndicesOf(t, f, x, stages);
  t.scope(f.name + "/tables");
  return SplitGate{f, f.ring}.Build(t, at.high, at.low);
}

// ---- both ends

Wire<kPub> Begin(Trace& t, Origin from, int n, int64_t count) {
  t.scope("input");
  const char* const name = InputOf(from);
  switch (from) {
    case Origin::kP0:
      return t.give<0>(t.input<pfss::kP0>(name, {count}, n, 0), n, name);
    case Origin::kP1:
      return t.give<1>(t.input<pfss::kP1>(name, {count}, n, 0), n, name);
    case Origin::kShared:
      break;
  }
  pfss::Own<0> a = t.input<pfss::kP0>(name, {count}, n, 0);
  pfss::Own<1> b = t.input<pfss::kP1>(name, {count}, n, 0);
  return t.open(Sh{a, b}, name);
}

void End(Trace& t, To to, const Sh& y) {
  if (to == To::kShared) return t.keep(y);
  if (to != To::kP1) t.reveal<0>(y);
  if (to != To::kP0) t.reveal<1>(y);
}

void EmitProgram(Trace& t, const Program& p, const Choice& choice, Origin from, To to, int64_t count) {
  const int n = p.split ? p.split->n : p.compiled.f.n;
  Wire<kPub> x = Begin(t, from, n, count);
  t.scope("");  // so that Lower sets its own scopes
  compiler::FunctionShares y;
  if (p.split)
    y.numbers = {LowerSplit(t, *p.split, choice.numbers.stages, x)};
  else
    y = Lower(t, p.compiled, choice, x, p.ring);
  t.scope("result");
  std::vector<Sh> numbers;
  for (const OwedWord& o : y.numbers) numbers.push_back(DealOwed(t, o));
  for (const Block& b : BlocksOf(p.channels)) {
    if (b.formulas) {
      Sh string = DealOwed(t, *y.bits);
      End(t, to, pfss::Map(string, [](auto half) { return Unbits(half); }));
      continue;
    }
    std::vector<pfss::Own<0>> mine;
    std::vector<pfss::Own<1>> theirs;
    for (int source : b.sources) {
      Sh v = Low(numbers[size_t(source)], b.bits);
      mine.push_back(v.a);
      theirs.push_back(v.b);
    }
    pfss::Own<0> stacked = Stack(mine);
    pfss::Own<1> other = Stack(theirs);
    End(t, to, {stacked, other});
  }
  t.close();
}

}  // namespace

void Emit(Trace& t, const FunctionPlan& plan, int64_t count) {
  EmitProgram(t, Program(plan.f), plan.choice, plan.from, plan.to, count);
}

std::vector<std::vector<uint64_t>> ChannelWords(const FunctionPlan& plan, std::span<const uint64_t> results,
                                                int64_t count) {
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(plan.f);
  std::vector<std::vector<uint64_t>> out(channels.size());
  size_t at = 0;
  for (const Block& b : BlocksOf(channels)) {
    for (size_t c = 0; c < channels.size(); ++c)
      if ((channels[c].kind == func::OutputChannel::kBit) == b.formulas && channels[c].bits == b.bits) {
        auto row = results.subspan(at + b.Row(channels[c].source) * size_t(count), size_t(count));
        out[c].assign(row.begin(), row.end());
      }
    at += b.sources.size() * size_t(count);
  }
  SUF_CHECK(at == results.size());
  return out;
}

std::string Name(const FunctionPlan& plan) {
  const Program p(plan.f);
  return p.split ? NameOf(*p.split, plan.choice.numbers.stages) : compiler::Name(p.compiled, plan.choice);
}

pfss::Ending EndingOf(const FunctionPlan& plan) {
  const auto results = int(BlocksOf(func::ChannelsOf(plan.f)).size());
  pfss::Ending e;
  if (plan.to == To::kShared) e.kept = {results, results};
  if (plan.to == To::kP0 || plan.to == To::kBoth) e.learned[0] = results;
  if (plan.to == To::kP1 || plan.to == To::kBoth) e.learned[1] = results;
  return e;
}

Choice ChoiceOf(const func::Function& f, const std::string& name) {
  const Program p(f);
  Choice choice;
  std::string why;
  if (p.split) {
    for (Stages stages : kStages)
      if (NameOf(*p.split, stages) == name) choice.numbers.stages = stages;
    if (NameOf(*p.split, choice.numbers.stages) == name) return choice;
  } else {
    const bool numbers = p.compiled.f.outputs > 0, bits = !p.compiled.f.formulas.empty();
    const size_t comma = numbers && bits ? name.find(", ") : std::string::npos;
    if (numbers) choice.numbers = compiler::NumbersNamed(name.substr(0, comma)).value_or(compiler::Lowering{});
    if (bits)
      choice.bits =
          compiler::BitsNamed(comma == name.npos ? name : name.substr(comma + 2)).value_or(compiler::Lowering{});
    if (numbers) why = compiler::WhyNotNumbers(p.compiled, choice.numbers);
    if (bits && why.empty()) why = compiler::WhyNotBits(p.compiled, choice.bits);
    if (compiler::Name(p.compiled, choice) == name && why.empty()) return choice;
  }
  Fail(Cause::kRefused, "'", name, "' is no lowering of ", func::Name(f), why.empty() ? "" : ": " + why,
       "; price the function to see them");
}

std::vector<Candidate> Price(const FunctionPlan& plan, const compiler::Prices& prices, int64_t count,
                             const pfss::Capabilities& can) {
  const Program p(plan.f);
  auto emit = [&](Trace& t, const Choice& choice) { EmitProgram(t, p, choice, plan.from, plan.to, count); };
  if (!p.split) return compiler::Price(p.compiled, prices, can, emit);
  std::vector<Candidate> out;
  for (Stages stages : kStages) {
    Choice choice;
    choice.numbers.stages = stages;
    out.push_back(
        {compiler::PriceOf(prices, can, [&](Trace& t) { emit(t, choice); }), choice, NameOf(*p.split, stages)});
  }
  return out;
}

bool RevealsToP0(const FunctionPlan& plan) {
  return plan.from != Origin::kP0 && (plan.to == To::kP0 || plan.to == To::kBoth);
}

namespace {

// Joins the names, each once.
std::string List(const std::vector<std::string>& names, const char* between = ", ") {
  std::string s;
  for (auto it = names.begin(); it != names.end(); ++it)
    if (std::find(names.begin(), it, *it) == it) s += (s.empty() ? "" : between) + *it;
  return s;
}

// Splits the name of a choice into the names of its lowerings.
std::vector<std::string> PartsOf(const std::string& name) {
  const size_t comma = name.find(", ");
  if (comma == name.npos) return {name};
  return {name.substr(0, comma), name.substr(comma + 2)};
}

}  // namespace

const Candidate& Pick(const FunctionPlan& plan, const std::vector<Candidate>& all, const std::string& name,
                      bool semi_honest) {
  const bool avoid = RevealsToP0(plan) && !semi_honest;
  auto before = [&](const Candidate& a, const Candidate& b) {
    if (a.why_not.empty() != b.why_not.empty()) return a.why_not.empty();
    if (avoid && a.steering.empty() != b.steering.empty()) return a.steering.empty();
    return a.why_not.empty() && a.seconds < b.seconds;
  };
  const Candidate* best = nullptr;
  std::vector<std::string> known, apply;
  for (const Candidate& c : all) {
    const std::vector<std::string> parts = PartsOf(c.name);
    const bool meant = name == "auto" || c.name == name || std::find(parts.begin(), parts.end(), name) != parts.end();
    if (meant && (!best || before(c, *best))) best = &c;
    known.insert(known.end(), parts.begin(), parts.end());
    if (c.why_not.empty()) apply.insert(apply.end(), parts.begin(), parts.end());
  }
  if (!best) Fail(Cause::kInput, name, " is no lowering; for ", func::Name(plan.f), " there are auto, ", List(known));
  if (!best->why_not.empty() && name == "auto") return compiler::Best(all);  // throws, as none applies
  if (!best->why_not.empty())
    Fail(Cause::kRefused, name, " does not apply to ", func::Name(plan.f), ": ", best->why_not,
         "; these do: ", List(apply));
  return *best;
}

void RefuseSteering(const FunctionPlan& plan, const Candidate& picked, const std::vector<Candidate>& all) {
  if (!RevealsToP0(plan) || picked.steering.empty()) return;
  std::vector<std::string> others;
  for (const Candidate& c : all)
    if (c.why_not.empty() && c.steering.empty()) others.push_back(c.name);
  const std::string f = func::Name(plan.f);
  Fail(Cause::kRefused, others.empty() ? "every lowering of " + f : "the lowering " + picked.name + " of " + f,
       " lets a P0 that alters its messages learn more of x than the result (", picked.name, ": ", picked.steering,
       "); ",
       others.empty() ? "let P1 alone learn the result, or change the function" : "take " + List(others, " or "));
}

}  // namespace suf::gates
