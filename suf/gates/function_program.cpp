#include "suf/gates/function_program.hpp"

#include <algorithm>

#include "suf/ring/modular.hpp"

namespace suf::gates {

using compiler::Cut;
using pfss::Sec;

namespace {

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
func::Suf TableOf(const func::Split& f) {
  std::vector<int64_t> values;
  for (uint64_t x = 0; x < uint64_t{1} << f.n; ++x) values.push_back(ring::Signed(func::Evaluate(f, x), f.ring));
  return func::Uniform(f.name, 0, values, {}, f.ring);
}

// The wires of x >> a and of the index of the low table.
struct SplitIndices {
  Wire<kPub> high, low;
};

// Returns c, which is n in a product.
int LowEnd(const func::Split& f) { return f.kind == func::Split::kSum ? f.c : f.n; }

// Returns the cuts of x at which both indices begin.
std::vector<Cut> CutsOf(const func::Split& f) {
  const int n = f.n, a = f.a, c = LowEnd(f), top = n - c;
  std::vector<Cut> cuts;
  if (a > 0) cuts.push_back({a, std::max(n - a, top + a)});
  if (c > a && c < n) cuts.push_back({c, top});
  return cuts;
}

SplitIndices IndicesOf(Trace& t, const func::Split& f, const Wire<kPub>& x, Stages stages) {
  const int n = f.n, a = f.a, c = LowEnd(f), top = n - c;
  const std::vector<Cut> cuts = CutsOf(f);
  if (cuts.empty()) return {x, x};
  compiler::OpenedDigits d(t, x, t.constant(0), PlanDigits(cuts, stages));
  if (a == 0) {  // a sum whose low table is read at x >> c
    compiler::Borrow at_c(d, c, stages);
    return {x, OpenDefined(t, compiler::Slice(d, c, n, top, &at_c, nullptr), "low index")};
  }
  compiler::Borrow at_a(d, a, stages);
  SplitIndices out;
  out.high = OpenDefined(t, compiler::Slice(d, a, n, n - a, &at_a, nullptr), "high index");
  if (top == 0) {
    out.low = pfss::Map(x, [&](auto v) { return Low(v, a); });
    return out;
  }
  std::optional<compiler::Borrow> at_c;
  if (c > a) at_c.emplace(d, c, stages);
  OwedWord slope = compiler::Slice(d, c, n, top, at_c ? &*at_c : &at_a, nullptr);
  OwedWord place = compiler::Slice(d, 0, a, top + a, nullptr, &at_a);
  OwedWord low = place;
  low.y = Low(place.y + (slope.y << a), top + a);
  if (slope.owed) {
    Sec shifted = *slope.owed << a;
    low.owed = low.owed ? *low.owed + shifted : shifted;
  }
  out.low = OpenDefined(t, low, "low index");
  return out;
}

// Returns whether the digits of a lowering's comparisons and cuts have a plan.
bool HasDigits(const compiler::CompiledFunction& c, const compiler::Lowering& l, const compiler::CutReading& entry,
               int ring) {
  try {
    return compiler::NumbersKeyBits(c, l, entry, ring) >= 0;
  } catch (const Error& e) {
    if (e.cause() != Cause::kRefused) throw;
    return false;
  }
}

}  // namespace

FunctionProgram::FunctionProgram(const func::Function& f) {
  func::Verify(f);
  split = std::get_if<func::Split>(&f);
  channels = func::ChannelsOf(f);
  if (channels.empty())
    Fail(Cause::kInput, func::Name(f), " has no channel, so nobody would learn a thing; add a line such as ",
         "'channel signed 32 0 y'");
  if (split &&
      (split->a == split->n || (split->a == 0 && (split->kind == func::Split::kProduct || split->c == split->n)))) {
    table = TableOf(*split);
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

std::string NameOf(const func::Split& f, Stages stages) {
  return Str(f.kind == func::Split::kSum ? "Bipartite/" : "Product/", int(stages));
}

bool Applies(const func::Split& f, Stages stages) {
  const std::vector<Cut> cuts = CutsOf(f);
  return cuts.empty() || compiler::FindDigits(cuts, stages).has_value();
}

OwedWord LowerSplit(Trace& t, const func::Split& f, Stages stages, const Wire<kPub>& x, int ring) {
  const std::string outer = t.scope();
  if (outer.empty()) t.scope(f.name + "/index");
  SplitIndices at = IndicesOf(t, f, x, stages);
  if (outer.empty()) t.scope(f.name + "/tables");
  return SplitGate{f, ring}.Build(t, at.high, at.low);
}

std::vector<compiler::Lowering> NumberLowerings(const compiler::CompiledFunction& c, const compiler::CutReading& entry,
                                                int ring) {
  using compiler::Kind;
  constexpr Kind kOrder[] = {Kind::kConstant,  Kind::kOpenSteps, Kind::kRowLut,  Kind::kWindowBoth, Kind::kIndex,
                             Kind::kWindowLut, Kind::kHorner,    Kind::kStepDcf, Kind::kDense};
  std::vector<compiler::Lowering> out;
  for (Kind kind : kOrder)
    for (const compiler::Lowering& l : compiler::AllForNumbers())
      if (l.kind == kind && compiler::WhyNotNumbers(c, l).empty() && HasDigits(c, l, entry, ring)) out.push_back(l);
  return out;
}

}  // namespace suf::gates
