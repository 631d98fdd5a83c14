#include "suf/gates/function_plan.hpp"

#include <algorithm>
#include <array>

#include "suf/gates/function_program.hpp"
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

void EmitProgram(Trace& t, const FunctionProgram& p, const Choice& choice, Origin from, To to, int64_t count) {
  const int n = p.split ? p.split->n : p.compiled.f.n;
  Wire<kPub> x = Begin(t, from, n, count);
  t.scope("");  // so that Lower sets its own scopes
  compiler::FunctionShares y;
  if (p.split)
    y.numbers = {LowerSplit(t, *p.split, choice.numbers.stages, x, p.split->ring)};
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
  EmitProgram(t, FunctionProgram(plan.f), plan.choice, plan.from, plan.to, count);
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
  const FunctionProgram p(plan.f);
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
  const FunctionProgram p(f);
  Choice choice;
  std::string why;
  if (p.split) {
    for (Stages stages : kSplitStages)
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
  const FunctionProgram p(plan.f);
  auto emit = [&](Trace& t, const Choice& choice) { EmitProgram(t, p, choice, plan.from, plan.to, count); };
  if (!p.split) return compiler::Price(p.compiled, prices, can, emit);
  std::vector<Candidate> out;
  for (Stages stages : kSplitStages) {
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
