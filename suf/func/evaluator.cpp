// The prepared evaluator. It must equal Evaluate (suf.cpp), which is the definition.
#include "suf/func/suf.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {

// Turns each comparison into (x + add) & mask <= last, or into a constant if it is never or always true.
Evaluator::FormulaStep Evaluator::Compiled(const Term& t, int n) {
  const uint64_t all = ~uint64_t{0};
  // (x + add) & mask < count
  auto below = [](uint64_t add, uint64_t mask, U128 count) {
    if (count == 0 || count > mask) return FormulaStep{FormulaStep::kConstant, count != 0, 0, 0, 0};
    return FormulaStep{FormulaStep::kLeaf, false, add, mask, uint64_t(count - 1)};
  };
  const uint64_t half = uint64_t{1} << (n - 1);
  switch (t.kind) {
    case Term::kLt:
      return below(0, all, t.value);
    case Term::kLtLow:
      return below(0, ring::Mask(t.f), t.value);
    case Term::kMsb:  // x + c >= 2^(n-1) mod 2^n if x + c + 2^(n-1) mod 2^n is below 2^(n-1)
      return below(uint64_t(t.value) + half, ring::Mask(n), half);
    case Term::kIn:
      return below(0 - uint64_t(t.value), all, t.upper - t.value);
    case Term::kTrue:
    case Term::kFalse:
      return {FormulaStep::kConstant, t.kind == Term::kTrue, 0, 0, 0};
    case Term::kNot:
      return {FormulaStep::kNot, false, 0, 0, 0};
    case Term::kAnd:
      return {FormulaStep::kAnd, false, 0, 0, 0};
    case Term::kOr:
      return {FormulaStep::kOr, false, 0, 0, 0};
    case Term::kXor:
      break;
  }
  return {FormulaStep::kXor, false, 0, 0, 0};
}

Evaluator::Evaluator(const Suf& f)
    : n_(f.n), ring_(f.ring), outputs_(f.outputs), width_(f.degree + 1), end_(f.end), uniform_(UniformBits(f)) {
  begin_.reserve(f.pieces.size());
  coefficients_.reserve(f.pieces.size() * size_t(outputs_ * width_));
  for (const Piece& p : f.pieces) {
    begin_.push_back(uint64_t(p.begin));
    for (auto& c : p.poly) coefficients_.insert(coefficients_.end(), c.begin(), c.end());
  }
  for (const Formula& g : f.formulas) {
    for (const Term& t : g) steps_.push_back(Compiled(t, n_));
    formula_.push_back(uint32_t(steps_.size()));
  }
  for (const OutputChannel& c : f.channels) channels_.push_back({c.kind, c.bits, c.source});
}

Evaluator::Evaluator(std::span<const Octave> groups, int n, int ring)
    : n_(n), ring_(ring), outputs_(1), width_(1), end_(0) {
  for (const Octave& g : groups) {
    SUF_CHECK(end_ == U128(g.lo) << g.w && int64_t(g.values.size()) == g.hi - g.lo);
    for (int64_t v = g.lo; v < g.hi; ++v) begin_.push_back(uint64_t(v) << g.w);
    coefficients_.insert(coefficients_.end(), g.values.begin(), g.values.end());
    end_ = U128(g.hi) << g.w;
  }
}

size_t Evaluator::Find(uint64_t x) const {
  if (uniform_) return *uniform_ == 64 ? 0 : x >> *uniform_;
  const uint64_t* at = begin_.data();  // *at <= x, and the result is one of the next `many`
  for (size_t many = begin_.size(), half; many > 1; many -= half) {
    half = many / 2;
    at = at[half] <= x ? at + half : at;
  }
  return size_t(at - begin_.data());
}

uint64_t Evaluator::In(size_t piece, uint64_t x, int output) const {
  const size_t width = size_t(width_);
  const uint64_t* c = coefficients_.data() + (piece * size_t(outputs_) + size_t(output)) * width;
  const uint64_t t = x - begin_[piece];
  uint64_t y = c[width - 1];
  for (size_t i = width - 1; i-- > 0;) y = y * t + c[i];
  return y & ring::Mask(ring_);
}

bool Evaluator::Run(uint64_t x, size_t formula) const {
  bool stack[kMostTerms];
  size_t depth = 0;
  for (size_t i = formula_[formula]; i < formula_[formula + 1]; ++i) {
    const FormulaStep& s = steps_[i];
    switch (s.kind) {
      case FormulaStep::kLeaf:
        stack[depth++] = ((x + s.add) & s.mask) <= s.last;
        break;
      case FormulaStep::kConstant:
        stack[depth++] = s.value;
        break;
      case FormulaStep::kNot:
        stack[depth - 1] = !stack[depth - 1];
        break;
      default: {
        const bool b = stack[--depth], a = stack[depth - 1];
        stack[depth - 1] = s.kind == FormulaStep::kAnd ? a & b : s.kind == FormulaStep::kOr ? a | b : a != b;
      }
    }
  }
  return stack[0];
}

uint64_t Evaluator::At(uint64_t x, int output) const {
  SUF_CHECK(x <= ring::Mask(n_) && output >= 0 && output < outputs_);
  return x >= end_ ? 0 : In(Find(x), x, output);
}

bool Evaluator::Bit(uint64_t x, int formula) const {
  SUF_CHECK(x <= ring::Mask(n_) && formula >= 0 && size_t(formula) + 1 < formula_.size());
  return Run(x, size_t(formula));
}

uint64_t Evaluator::Bits(uint64_t x) const {
  SUF_CHECK(x <= ring::Mask(n_));
  uint64_t bits = 0;
  for (size_t i = 0; i + 1 < formula_.size(); ++i) bits |= uint64_t{Run(x, i)} << i;
  return bits;
}

void Evaluator::Channels(uint64_t x, std::span<int64_t> out) const {
  SUF_CHECK(x <= ring::Mask(n_) && out.size() == channels_.size());
  const bool inside = x < end_ && outputs_ > 0;
  const size_t piece = inside ? Find(x) : 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const FormulaOutput& c = channels_[i];
    if (c.kind == OutputChannel::kBit) {
      out[i] = Run(x, size_t(c.source));
      continue;
    }
    const uint64_t v = (inside ? In(piece, x, c.source) : 0) & ring::Mask(c.bits);
    out[i] = c.kind == OutputChannel::kSigned ? ring::Signed(v, c.bits) : int64_t(v);
  }
}

std::vector<int64_t> Evaluator::Channels(uint64_t x) const {
  std::vector<int64_t> out(channels_.size());
  Channels(x, out);
  return out;
}

}  // namespace suf::func
