#include "suf/gates/compose/function_parts.hpp"

#include <algorithm>
#include <bit>

#include "suf/gates/compose/ranges.hpp"

namespace suf::gates {

using func::Formula;
using func::OutputChannel;
using func::Suf;
using func::Term;
using func::U128;

namespace {

// Returns the bits of a string whose values are below `count`. A mask has at least two.
int MaskBits(size_t count) { return std::max(2, int(std::bit_width(count - 1))); }

// Returns C(n, k), n <= kMostDegree.
int64_t Choose(int n, int k) {
  int64_t c = 1;
  for (int i = 0; i < k; ++i) c = c * (n - i) / (i + 1);
  return c;
}

Bound FloorOf(Bound v, int64_t d) { return v / d - (v % d < 0); }

// Returns bounds of the sum of c_i t^i for 0 <= t <= last: its coefficients in Bernstein's basis on this interval.
// Returns nothing if they do not fit.
std::optional<std::pair<Bound, Bound>> BoundsOf(const std::vector<Bound>& c, U128 last) {
  constexpr Bound kMost = Bound{1} << 110;
  int d = int(c.size()) - 1;
  while (d > 0 && c[size_t(d)] == 0) --d;
  std::vector<Bound> terms;  // c_i last^i
  for (int i = 0; i <= d; ++i) {
    Bound v = c[size_t(i)];
    for (int j = 0; j < i; ++j) v = BoundedProduct(v, Bound(last));
    if (v > kMost || v < -kMost) return std::nullopt;
    terms.push_back(v);
  }
  std::optional<std::pair<Bound, Bound>> out;
  for (int i = 0; i <= d; ++i) {
    Bound low = 0, high = 0;
    for (int j = 0; j <= i; ++j) {
      const Bound v = terms[size_t(j)] * Choose(i, j);
      const int64_t over = Choose(d, j);
      low += FloorOf(v, over);
      high -= FloorOf(-v, over);
    }
    out = out ? std::pair{std::min(out->first, low), std::max(out->second, high)} : std::pair{low, high};
  }
  return out;
}

// Returns whether a number of the type has its word of n bits in [begin, end).
bool Reaches(const ValueType& x, int n, U128 begin, U128 end) {
  const Bound whole = Bound{1} << n, first = Bound(begin), last = Bound(end) - 1;
  const bool plain = x.high >= first && x.low <= last;
  return plain || (x.low < 0 && last - whole >= x.low && first - whole <= x.high);
}

// Returns the numbers that a channel can have.
std::pair<Bound, Bound> NumbersOf(const OutputChannel& c) {
  const ValueType t = WholeNumber(c.bits, 0, c.kind == OutputChannel::kSigned, {});
  return {t.low, t.high};
}

Term Operator(Term::Kind kind) {
  Term t;
  t.kind = kind;
  return t;
}

// Returns bit i of the number of x's interval. It changes at some begins, and the exclusive or counts those below x.
Formula IndexBit(const std::vector<U128>& begins, int i) {
  Formula out;
  int count = 0;
  for (size_t j = 1; j < begins.size(); ++j) {
    if (!(((j - 1) ^ j) >> i & 1)) continue;
    Term below;
    below.kind = Term::kLt;
    below.value = begins[j];
    out.push_back(below);
    if (count++ > 0) out.push_back(Operator(Term::kXor));
  }
  if (count == 0) return {Operator(Term::kFalse)};
  if (count % 2 == 1) out.push_back(Operator(Term::kNot));  // 1[x >= begin] is the complement of 1[x < begin]
  return out;
}

// Returns the formulas of a port.
std::vector<Formula> FormulasOf(const Suf& f, const FunctionPort& port) {
  std::vector<Formula> out;
  if (port.kind == FunctionPort::kBit) out.push_back(f.formulas[size_t(f.channels[size_t(port.channel)].source)]);
  if (port.kind == FunctionPort::kMask)
    for (const OutputChannel& c : f.channels)
      if (c.kind == OutputChannel::kBit) out.push_back(f.formulas[size_t(c.source)]);
  const std::vector<U128> begins = IntervalsOf(f);
  if (port.kind == FunctionPort::kIndex)
    for (int i = 0; i < port.bits; ++i) out.push_back(IndexBit(begins, i));
  if (port.kind == FunctionPort::kHot)
    for (size_t i = 0; i < begins.size(); ++i) {
      Term in;
      in.kind = Term::kIn;
      in.value = begins[i];
      in.upper = i + 1 < begins.size() ? begins[i + 1] : U128{1} << f.n;
      out.push_back({in});
    }
  while (int(out.size()) < port.bits) out.push_back({Operator(Term::kFalse)});
  return out;
}

}  // namespace

std::vector<U128> IntervalsOf(const Suf& f) {
  std::vector<U128> out;
  for (const func::Piece& p : f.pieces) out.push_back(p.begin);
  if (f.end < U128{1} << f.n) out.push_back(f.end);
  return out;
}

std::vector<FunctionPort> PortsOf(const func::Function& f) {
  std::vector<FunctionPort> out;
  const std::vector<OutputChannel> channels = func::ChannelsOf(f);
  size_t bits = 0;
  for (size_t i = 0; i < channels.size(); ++i) {
    const bool bit = channels[i].kind == OutputChannel::kBit;
    out.push_back({bit ? FunctionPort::kBit : FunctionPort::kNumber, int(i), channels[i].name, 1});
    bits += bit;
  }
  const Suf* suf = std::get_if<Suf>(&f);
  if (!suf) return out;
  auto add = [&](FunctionPort::FunctionPortKind kind, const char* name, int width) {
    if (std::none_of(out.begin(), out.end(), [&](const FunctionPort& p) { return p.name == name; }))
      out.push_back({kind, -1, name, width});
  };
  const size_t intervals = IntervalsOf(*suf).size();
  if (intervals <= kMostIndexed) add(FunctionPort::kIndex, "index", MaskBits(intervals));
  if (intervals <= kMostHot) add(FunctionPort::kHot, "hot", std::max(2, int(intervals)));
  if (bits >= 1 && bits <= 64) add(FunctionPort::kMask, "mask", std::max(2, int(bits)));
  return out;
}

bool FitsWord(const ValueType& x, int n) {
  const Bound whole = Bound{1} << n;
  return x.low < 0 ? x.low >= -whole / 2 && x.high < whole / 2 : x.high < whole;
}

IntegerChannel IntegerChannelOf(const Suf& f, const OutputChannel& channel, const ValueType& x) {
  const auto [least, most] = NumbersOf(channel);
  IntegerChannel out;
  std::optional<std::pair<Bound, Bound>> all;
  bool proven = true;
  for (size_t p = 0; p < f.pieces.size(); ++p) {
    const U128 begin = f.pieces[p].begin, end = p + 1 < f.pieces.size() ? f.pieces[p + 1].begin : f.end;
    std::vector<Bound> c;
    for (uint64_t v : f.pieces[p].poly[size_t(channel.source)]) c.push_back(ring::Signed(v, channel.bits));
    // the constant may stand for an unsigned number
    std::optional<std::pair<Bound, Bound>> range;
    for (const Bound wrap : {Bound{0}, Bound{1} << channel.bits}) {
      if (wrap && c[0] >= 0) break;
      std::vector<Bound> shifted = c;
      shifted[0] += wrap;
      const auto here = BoundsOf(shifted, end - begin - 1);
      if (!here || here->first < least || here->second > most) continue;
      range = here;
      c = shifted;
      break;
    }
    std::vector<uint64_t> words;
    for (Bound v : c) words.push_back(uint64_t(v));
    out.coefficients.push_back(std::move(words));
    if (!Reaches(x, f.n, begin, end)) continue;
    proven &= range.has_value();
    if (range) all = all ? std::pair{std::min(all->first, range->first), std::max(all->second, range->second)} : *range;
  }
  if (f.end < U128{1} << f.n && Reaches(x, f.n, f.end, U128{1} << f.n))
    all = all ? std::pair{std::min<Bound>(all->first, 0), std::max<Bound>(all->second, 0)} : std::pair<Bound, Bound>{};
  if (proven) out.range = all;
  return out;
}

std::optional<std::pair<Bound, Bound>> IntegerRange(const func::Split& f) {
  const Bound high = *std::max_element(f.high.begin(), f.high.end()),
              low = *std::max_element(f.low.begin(), f.low.end());
  const Bound most = f.kind == func::Split::kProduct ? BoundedProduct(high, low) : high + low;
  if (most >= Bound{1} << (f.ring - 1)) return std::nullopt;
  return std::pair{Bound{0}, most};
}

FunctionParts PartsOf(const GateFacts& gate, const Suf& f, const std::vector<FunctionPort>& ports, const ValueType& x,
                      const std::vector<bool>& read, const std::vector<int>& rings) {
  FunctionParts out;
  out.outputs.assign(ports.size(), -1);
  out.bits.resize(ports.size());
  Suf numbers = f;
  numbers.channels.clear();
  numbers.formulas.clear();
  numbers.outputs = 0;
  for (func::Piece& p : numbers.pieces) p.poly.clear();
  for (size_t i = 0; i < ports.size(); ++i)
    if (read[i] && ports[i].kind == FunctionPort::kNumber) out.ring = std::max(out.ring, rings[i]);
  std::vector<std::vector<std::vector<uint64_t>>> polynomials;  // by output and piece
  std::vector<Formula> formulas;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!read[i]) continue;
    if (ports[i].kind != FunctionPort::kNumber) {
      for (Formula& g : FormulasOf(f, ports[i])) {
        auto at = std::find(formulas.begin(), formulas.end(), g);
        if (at == formulas.end()) at = formulas.insert(formulas.end(), std::move(g));
        out.bits[i].push_back(int(at - formulas.begin()));
      }
      continue;
    }
    const OutputChannel& channel = f.channels[size_t(ports[i].channel)];
    IntegerChannel integers = IntegerChannelOf(f, channel, x);
    if (rings[i] > channel.bits && !integers.range)
      FailUse(gate, channel.name, " has ", channel.bits, " bits and its pieces may wrap, and a reader needs ", rings[i],
              " bits; read it with clamp or ars first");
    for (auto& c : integers.coefficients)
      for (uint64_t& v : c) v &= ring::Mask(out.ring);
    auto at = std::find(polynomials.begin(), polynomials.end(), integers.coefficients);
    if (at == polynomials.end()) at = polynomials.insert(polynomials.end(), std::move(integers.coefficients));
    out.outputs[i] = int(at - polynomials.begin());
  }
  numbers.ring = out.ring;
  numbers.outputs = int(polynomials.size());
  for (auto& polynomial : polynomials)
    for (size_t p = 0; p < polynomial.size(); ++p) numbers.pieces[p].poly.push_back(std::move(polynomial[p]));
  Suf bits = numbers;  // without numbers, for formulas beyond the limit
  bits.outputs = 0;
  for (func::Piece& p : bits.pieces) p.poly.clear();
  out.functions.push_back(std::move(numbers));
  for (size_t i = 0; i < formulas.size(); ++i) {
    if (i > 0 && i % size_t(func::kMostFormulas) == 0) out.functions.push_back(bits);
    out.functions.back().formulas.push_back(std::move(formulas[i]));
  }
  return out;
}

}  // namespace suf::gates
