#include "suf/compiler/lower.hpp"

#include <algorithm>

#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/place.hpp"
#include "suf/compiler/taylor.hpp"
#include "suf/ring/modular.hpp"

namespace suf::compiler {

namespace internal {

std::span<const uint64_t> Coefficients(const CompiledFunction& c, size_t piece, int output) {
  const size_t width = size_t(c.f.degree) + 1;
  return {c.coefficients.data() + (piece * size_t(c.f.outputs) + size_t(output)) * width, width};
}

bool NeedsWrap(const CompiledFunction& c, int ring) { return c.f.degree > 0 && ring > c.f.n; }

std::vector<OwedWord> OpenSteps(Trace& t, const CompiledFunction& c, StepSource from, const Wire<kPub>& x, int ring) {
  const bool wrap = NeedsWrap(c, ring);
  std::vector<OpenedBit> steps;
  if (wrap || !c.steps.empty()) {
    WireBits reader(t, x, c, from, c.steps, wrap);
    OwedWord string = reader.ReadString(c.steps, wrap);
    steps = SplitBits(OpenDefined(t, string, "steps"));
  }
  std::optional<OpenedBit> borrow;
  if (wrap) {
    borrow = steps.back();
    steps.pop_back();
  }
  Taylor taylor(t, x, ring, c.f.degree, borrow);
  std::vector<OwedWord> out;
  for (int o = 0; o < c.f.outputs; ++o) {
    WordSum y(t, ring);
    for (int k = 0; k <= c.f.degree; ++k) {
      // the coefficient of d^k: that of the first piece, plus the change at every step that is opened as 1
      std::optional<Pub> whole = taylor.At(k, Coefficients(c, 0, o));
      for (size_t j = 0; j < steps.size(); ++j) {
        std::vector<uint64_t> change;
        for (int i = 0; i <= c.f.degree; ++i) change.push_back(c.coefficient(j + 1, o, i) - c.coefficient(j, o, i));
        std::optional<Pub> at = taylor.At(k, change);
        if (!at) continue;
        Pub here = *at * steps[j].hat;
        whole = whole ? *whole + here : here;
        Pub scaled = *at * steps[j].sign;
        y.Add(taylor.d()[size_t(k)], {1, 0, scaled, steps[j].rho, {}});
      }
      if (whole) y.Add(taylor.d()[size_t(k)], {1, 0, *whole, {}, {}});
    }
    out.push_back(y.Done(x.shape()));
  }
  return out;
}

// The bits of the number are linear over XOR in the steps.
std::vector<Bit> PieceNumber(const CompiledFunction& c) {
  std::vector<Bit> number(size_t(c.index_bits()));
  for (size_t j = 0; j < c.steps.size(); ++j)
    for (size_t i = 0; i < number.size(); ++i)
      if (((j + 1) ^ j) >> i & 1) number[i] = number[i] ^ c.steps[j];
  return number;
}

// The piece at x.
struct SelectedPiece {
  std::vector<std::vector<Sh>> coefficients;  // (outputs, degree + 1), times e
  Sec sign;                                   // e
  std::optional<OpenedBit> wrap;              // 1[x_hat < r], if the ring needs it
};

SelectedPiece SelectPiece(Trace& t, const CompiledFunction& c, StepSource from, const Wire<kPub>& x, int ring) {
  const int p = c.index_bits(), width = c.f.degree + 1;
  const std::vector<Bit> number = PieceNumber(c);
  const bool wrap = NeedsWrap(c, ring);
  WireBits reader(t, x, c, from, number, wrap);
  Wire<kPub> i = OpenDefined(t, reader.ReadString(number), "piece");
  SelectedPiece out;
  if (wrap) out.wrap = SplitBits(OpenDefined(t, reader.ReadString({}, true), "wrap"))[0];
  std::vector<uint64_t> tables;  // (outputs x width, 2^p)
  for (int o = 0; o < c.f.outputs; ++o)
    for (int q = 0; q < width; ++q)
      for (size_t v = 0; v < size_t{1} << p; ++v)
        tables.push_back(v < c.pieces() ? c.coefficient(v, o, q) & ring::Mask(ring) : 0);
  Const columns = t.constant(std::move(tables), {int64_t(c.f.outputs) * width, int64_t{1} << p});
  Sec rho = Low(Lift(i.r), p);
  Dealt table = t.deal(Hot(rho));
  Sh values = ToAdditive(table, [&](auto half) { return SelectX(half, i.hat, columns); });
  out.sign = SignOf(Point(table.a, rho));
  for (int o = 0; o < c.f.outputs; ++o) {
    out.coefficients.emplace_back();
    for (int q = 0; q < width; ++q) out.coefficients.back().push_back(Low(At(values, int64_t(o) * width + q), ring));
  }
  return out;
}

// Returns y = sum_k e (T_k^ - mu_k) d^k. Terms without a public factor are one word, and so are those with the factor
// of a wrap.
OwedWord EndSelected(Trace& t, const Taylor& taylor, std::span<const Wire<kPub>> at, Sec e, const Wire<kPub>& x,
                     int ring) {
  WordSum y(t, ring);
  std::vector<Factor> rest;  // sum_k e mu_k times the factors of d^k, factor by factor
  for (size_t k = 0; k < at.size(); ++k) {
    Factor sign{1, 0, {}, e, {}};
    Factor open{1, 0, at[k].hat, {}, {}};
    y.Add(taylor.d()[k], sign * open);
    Sec word = e * at[k].r;
    for (size_t j = 0; j < taylor.d()[k].size(); ++j) {
      Factor f = taylor.d()[k][j] * Factor{-1, 0, {}, word, {}};
      Sec u = f.sign < 0 ? -*f.u : *f.u;
      f.sign = 1;
      if (j == rest.size()) {
        f.u = u;
        rest.push_back(f);
      } else
        rest[j].u = *rest[j].u + u;
    }
  }
  for (const Factor& f : rest) y.Add(f);
  return y.Done(x.shape());
}

std::vector<OwedWord> Index(Trace& t, const CompiledFunction& c, StepSource from, const Wire<kPub>& x, int ring) {
  SelectedPiece s = SelectPiece(t, c, from, x, ring);
  Taylor taylor(t, x, ring, c.f.degree, s.wrap);
  std::vector<OwedWord> out;
  for (auto& coefficients : s.coefficients) {
    std::vector<Wire<kPub>> at;
    for (int k = 0; k <= c.f.degree; ++k) {
      Sh v = taylor.At(k, std::span<const Sh>(coefficients));
      at.push_back(t.open(v, "T"));
    }
    out.push_back(EndSelected(t, taylor, at, s.sign, x, ring));
  }
  return out;
}

std::vector<OwedWord> Horner(Trace& t, const CompiledFunction& c, StepSource from, const Wire<kPub>& x, int ring) {
  SelectedPiece s = SelectPiece(t, c, from, x, ring);
  Taylor taylor(t, x, ring, std::min(1, c.f.degree), s.wrap);
  std::vector<OwedWord> out;
  for (auto& coefficients : s.coefficients) {
    std::vector<OwedWord> word;
    for (const Sh& v : coefficients) {
      Wire<kPub> w = t.open(v, "coefficient");
      WordSum y(t, ring);
      y.Add({1, 0, w.hat, s.sign, {}});
      y.Add({-1, 0, {}, w.r * s.sign, {}});
      word.push_back(y.Done(x.shape()));
    }
    OwedWord sum = word.back();
    for (size_t q = word.size() - 1; q-- > 0;) {
      Wire<kPub> w = OpenDefined(t, sum, "Horner");
      WordSum y(t, ring);
      Factors value = Masked(w);
      Factors place = taylor.d()[1];
      place.push_back({1, 0, Lift(x.hat), {}, {}});
      y.Add(value, place);
      y.Add(DealOwed(t, word[q]));
      sum = y.Done();
    }
    out.push_back(sum);
  }
  return out;
}

std::vector<OwedWord> Constant(Trace& t, const CompiledFunction& c, const Wire<kPub>& x, int ring) {
  std::vector<OwedWord> out;
  for (int o = 0; o < c.f.outputs; ++o) {
    Pub value = t.constant(int64_t(c.coefficient(0, o, 0)));
    out.push_back({Zeros(t, x.shape(), ring) + value, std::nullopt});
  }
  return out;
}

}  // namespace internal

using namespace internal;  // NOLINT: the parts of this file's one function

// Sets the scope of one part of a function, unless the trace is in the scope of an operator.
struct PartScope {
  PartScope(Trace& trace, const std::string& name) : t(trace), outer(trace.scope()) {
    if (outer.empty()) t.scope(name);
  }
  ~PartScope() { t.scope(outer); }
  Trace& t;
  const std::string outer;
};

// Throws Cause::kRefused if `why`, the reason against a lowering, is not empty.
void Refuse(const CompiledFunction& c, const Lowering& l, const char* part, const std::string& why) {
  if (!why.empty()) Fail(Cause::kRefused, Name(c, l), " does not make the ", part, " of ", c.f.name, ": ", why);
}

FunctionShares Lower(Trace& t, const CompiledFunction& c, const Choice& choice, const Wire<kPub>& x, int ring) {
  SUF_CHECK(x.k() == c.f.n && ring >= 1 && ring <= c.f.ring);
  FunctionShares out;
  const Lowering &n = choice.numbers, &b = choice.bits;
  if (c.f.outputs > 0) {
    Refuse(c, n, "numbers", WhyNotNumbers(c, n));
    const PartScope part(t, c.f.name + "/Coeff");
    switch (n.kind) {
      case Kind::kConstant:
        out.numbers = Constant(t, c, x, ring);
        break;
      case Kind::kStepDcf:
        out.numbers = StepDcf(t, c, x, ring);
        break;
      case Kind::kOpenSteps:
        out.numbers = OpenSteps(t, c, n.steps, x, ring);
        break;
      case Kind::kIndex:
        out.numbers = Index(t, c, n.steps, x, ring);
        break;
      case Kind::kWindowLut:
        out.numbers = WindowLut(t, c, {0, 0, n.stages}, x, ring);
        break;
      case Kind::kWindowBoth:
        out.numbers = WindowBoth(t, c, {0, 0, n.stages}, x, ring, n.openings);
        break;
      case Kind::kRowLut:
        out.numbers = {RowLut(t, c.groups, x, 0, ring, n)};
        break;
      case Kind::kHorner:
        out.numbers = Horner(t, c, n.steps, x, ring);
        break;
      case Kind::kDense:
        out.numbers = DenseNumbers(t, c, x, ring);
        break;
      case Kind::kPacked:
        SUF_CHECK(false);
    }
  }
  if (!c.f.formulas.empty()) {
    Refuse(c, b, "bits", WhyNotBits(c, b));
    const PartScope part(t, c.f.name + "/Pred");
    if (b.kind == Kind::kDense) {
      out.bits = OwedWord{DenseBits(t, c, x), std::nullopt};
    } else {
      WireBits reader(t, x, c, b.steps, c.bits);
      out.bits = reader.ReadString(c.bits);
    }
  }
  return out;
}

OwedWord LowerRow(Trace& t, const CompiledFunction& c, const Lowering& l, const WideWire& x, int shift, int ring) {
  SUF_CHECK(l.kind == Kind::kRowLut || (l.kind == Kind::kStepDcf && c.f.degree == 0 && c.f.outputs == 1));
  SUF_CHECK(x.k() - shift == c.f.n && shift >= 0 && ring >= 1 && ring <= c.f.ring);
  Refuse(c, l, "numbers", WhyNotNumbers(c, l));
  const PartScope part(t, c.f.name + "/Coeff");
  if (l.kind == Kind::kStepDcf) return StepDcfOfWide(t, c, x, shift, ring);
  return RowLut(t, c.groups, x, shift, ring, l);
}

FunctionShares Lower(Trace& t, const CompiledFunction& c, const Choice& choice, const CutReading& entry,
                     const Wire<kPub>& z, int ring) {
  const int k = z.k();
  SUF_CHECK(k - entry.shift == c.f.n && entry.shift >= 0);
  if (ReadsOwnDigits(c, choice.numbers) && c.f.formulas.empty() && entry.shift > 0) {
    const Lowering& l = choice.numbers;
    Refuse(c, l, "numbers", WhyNotNumbers(c, l));
    const PartScope part(t, c.f.name + "/Coeff");
    const CutReading own{entry.shift, entry.offset, l.stages};
    if (l.kind == Kind::kWindowLut) return {WindowLut(t, c, own, z, ring), std::nullopt};
    return {WindowBoth(t, c, own, z, ring, l.openings), std::nullopt};
  }
  Const offset = t.constant(int64_t(entry.offset));
  Wire<kPub> x;
  if (entry.shift == 0) {
    x = {z.hat + offset, z.r};
  } else {
    std::vector<Cut> cuts{{entry.shift, c.f.n}};
    OpenedDigits d(t, z, offset, PlanDigits(cuts, entry.stages));
    Borrow low(d, entry.shift, entry.stages);
    x = OpenDefined(t, Slice(d, entry.shift, k, c.f.n, &low, nullptr), "x");
  }
  return Lower(t, c, choice, x, ring);
}

}  // namespace suf::compiler
