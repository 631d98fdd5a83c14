// Names of lowerings, and the conditions under which they apply.
#include <algorithm>
#include <bit>

#include "suf/compiler/limits.hpp"
#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/place.hpp"
#include "suf/ring/modular.hpp"

namespace suf::compiler {

namespace {

constexpr size_t kMostOpened = 63;   // most step bits in one string, beside 1[x_hat < r]
constexpr size_t kMostReads = 4096;  // most places at which one DPF key is read

const char* Name(StepSource s) {
  return s == StepSource::kParity ? "parity" : s == StepSource::kDigits ? "digits" : "blocks";
}

// Returns why the function's comparisons cannot be read by s; empty if they can.
std::string WhyNotSteps(const CompiledFunction& c, StepSource s) {
  const size_t most = s == StepSource::kParity ? kMostReads : 64;
  if (c.compares.size() > most)
    return Str("it has ", c.compares.size(), " comparisons, and ", most, " are the most that ", Name(s), " read");
  return "";
}

std::string More(size_t has, const char* what, size_t most) {
  return Str("it has ", has, " ", what, ", and ", most, " are the most");
}
std::string WhyNotDense(const CompiledFunction& c) {
  return c.f.n > kMostDense ? Str("its domain has ", c.f.n, " bits, and ", kMostDense, " are the most") : "";
}

// Returns why openings cannot be narrower than the function's ring; empty if they can, or if they need not be.
std::string WhyNotNarrow(const CompiledFunction& c, const Lowering& l) {
  if (l.openings == Openings::kWide) return "";
  bool narrower;
  if (l.kind == Kind::kRowLut) {
    narrower = std::any_of(c.groups.begin(), c.groups.end(), [&](const func::Octave& g) {
      return internal::ReadRingsOf(g, c.f.n, c.f.ring, l.openings).here < c.f.ring;
    });
  } else {
    const internal::PieceGrid g = internal::GridOf(c, c.f.ring);
    narrower = *std::min_element(g.bits.begin(), g.bits.end()) < c.f.ring;
  }
  return narrower ? "" : "its entries are as wide as its ring";
}

std::string NameOf(const Lowering& l, bool constants) {
  const std::string steps = Name(l.steps), narrow = l.openings == Openings::kNarrow ? "/narrow" : "";
  switch (l.kind) {
    case Kind::kConstant:
      return "Constant";
    case Kind::kStepDcf:
      return constants ? "IntervalLut" : "StepDcf";
    case Kind::kOpenSteps:
      return l.steps == StepSource::kParity   ? "Parity+Open"
             : l.steps == StepSource::kDigits ? "Digits+Open"
                                              : "Blocks+Open";
    case Kind::kIndex:
      return "Index/" + steps;
    case Kind::kWindowLut:
      return "WindowLut/" + std::to_string(int(l.stages));
    case Kind::kWindowBoth:
      return "WindowBoth/" + std::to_string(int(l.stages)) + narrow;
    case Kind::kRowLut:
      return Str(l.steps == StepSource::kParity ? "RowLut/tree" : "RowLut",
                 l.stages == Stages::kOne   ? ""
                 : l.stages == Stages::kTwo ? "/2"
                                            : "/3",
                 narrow);
    case Kind::kHorner:
      return "Horner/" + steps;
    case Kind::kDense:
      return "DenseTable";
    case Kind::kPacked:
      return l.steps == StepSource::kParity ? "PackedCompare" : l.steps == StepSource::kDigits ? "Digits" : "Blocks";
  }
  return "";
}

std::optional<Lowering> Named(const std::vector<Lowering>& all, std::string_view name) {
  for (const Lowering& l : all)
    if (NameOf(l, false) == name || NameOf(l, true) == name) return l;
  return std::nullopt;
}

}  // namespace

std::string Name(const CompiledFunction& c, const Lowering& l) { return NameOf(l, c.f.degree == 0); }
std::string Name(const Lowering& l) { return NameOf(l, false); }
std::optional<Lowering> NumbersNamed(std::string_view name) { return Named(AllForNumbers(), name); }
std::optional<Lowering> BitsNamed(std::string_view name) { return Named(AllForBits(), name); }

std::string Name(const CompiledFunction& c, const Choice& choice) {
  std::string s;
  if (c.f.outputs > 0) s = Name(c, choice.numbers);
  if (!c.f.formulas.empty()) s += (s.empty() ? "" : ", ") + Name(c, choice.bits);
  return s;
}

std::string WhyNotNumbers(const CompiledFunction& c, const Lowering& l) {
  if (c.f.pieces.empty() && l.kind != Kind::kRowLut) return "it is prepared as a function on octaves alone";
  const bool constant = c.pieces() == 1 && c.f.degree == 0;
  if (constant != (l.kind == Kind::kConstant)) return constant ? "it is a constant" : "it is no constant";
  if (c.f.outputs == 0) return "it has no number";
  switch (l.kind) {
    case Kind::kStepDcf:
      if (c.pieces() > kMostSteps) return More(c.pieces(), "pieces", kMostSteps);
      return "";
    case Kind::kOpenSteps:
      if (c.steps.size() > kMostOpened) return More(c.steps.size(), "cutpoints", kMostOpened);
      return WhyNotSteps(c, l.steps);
    case Kind::kIndex:
    case Kind::kHorner:
      if (c.pieces() == 1) return "it has one piece";
      if (c.index_bits() > kTableBits) return More(c.pieces(), "pieces", size_t{1} << kTableBits);
      if (l.kind == Kind::kHorner && c.f.degree < 1) return "its pieces are constants";
      return WhyNotSteps(c, l.steps);
    case Kind::kWindowLut:
    case Kind::kWindowBoth: {
      if (l.kind == Kind::kWindowBoth && c.grid() == 0) return "its pieces have one place each, which WindowLut reads";
      const int p = c.f.n - c.grid();
      if (p == 0) return "it has one piece";
      if (p > kTableBits) return Str("its grid has 2^", p, " pieces, and 2^", kTableBits, " are the most");
      return WhyNotNarrow(c, l);
    }
    case Kind::kRowLut:
      if (c.groups.empty()) return "it is no function of constants on octaves alone";
      if (c.groups.back().w > 56) return Str("its pieces are 2^", c.groups.back().w, " wide, and 2^56 are the most");
      for (const func::Octave& g : c.groups)
        if (g.hi - g.lo > 65535) return More(size_t(g.hi - g.lo), "pieces of one width", 65535);
      return WhyNotNarrow(c, l);
    case Kind::kDense:
      return WhyNotDense(c);
    case Kind::kConstant:
      return "";
    case Kind::kPacked:
      break;
  }
  return "it makes bits";
}

std::string WhyNotBits(const CompiledFunction& c, const Lowering& l) {
  if (c.f.formulas.empty()) return "it has no bit";
  if (l.kind == Kind::kDense) return WhyNotDense(c);
  return l.kind == Kind::kPacked ? WhyNotSteps(c, l.steps) : "it makes numbers";
}

std::vector<Lowering> AllForNumbers() {
  std::vector<Lowering> out{{Kind::kConstant}, {Kind::kStepDcf}, {Kind::kDense}};
  for (Kind k : {Kind::kOpenSteps, Kind::kIndex, Kind::kHorner})
    for (StepSource s : {StepSource::kParity, StepSource::kDigits, StepSource::kBlocks})
      out.push_back({k, s, Stages::kOne});
  constexpr Stages kAll[] = {Stages::kOne, Stages::kTwo, Stages::kThree};
  for (Kind k : {Kind::kWindowLut, Kind::kWindowBoth})
    for (Stages s : kAll) out.push_back({k, StepSource::kDigits, s});
  for (StepSource trees : {StepSource::kDigits, StepSource::kParity})
    for (Stages s : kAll) out.push_back({Kind::kRowLut, trees, s});
  for (size_t i = 0, n = out.size(); i < n; ++i)
    if (out[i].kind == Kind::kWindowBoth || out[i].kind == Kind::kRowLut) {
      out.push_back(out[i]);
      out.back().openings = Openings::kNarrow;
    }
  return out;
}

std::vector<Lowering> AllForBits() {
  return {{Kind::kPacked, StepSource::kParity},
          {Kind::kPacked, StepSource::kDigits},
          {Kind::kPacked, StepSource::kBlocks},
          {Kind::kDense}};
}

}  // namespace suf::compiler
