#include "suf/func/suf.hpp"

#include <algorithm>
#include <bit>

#include "suf/base/printable.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {

namespace {

U128 Power(int n) { return U128{1} << n; }

// Checks the limits. It runs first, so that other checks only see parts of limited size.
void VerifySize(const Suf& f) {
  auto most = [&](size_t has, size_t limit, const char* what) {
    if (has > limit)
      Fail(Cause::kInput, "the function ", f.name, " has ", has, " ", what, "; at most ", limit,
           " are read, so split it");
  };
  if (f.outputs < 0 || f.degree < 0)
    Fail(Cause::kInput, "the shape of ", f.name, " is ", f.outputs, " outputs of degree ", f.degree,
         "; neither may be negative");
  most(size_t(f.outputs), kMostOutputs, "outputs");
  most(size_t(f.degree), kMostDegree, "as degree");
  most(f.pieces.size(), kMostPieces, "pieces");
  most(f.pieces.size() * size_t(f.outputs) * size_t(f.degree + 1), kMostCoefficients, "coefficients");
  most(f.formulas.size(), kMostFormulas, "formulas");
  for (const Formula& g : f.formulas) most(g.size(), kMostTerms, "terms in one formula");
  most(f.channels.size(), kMostChannels, "channels");
}

void VerifyFormula(const Suf& f, size_t i) {
  int depth = 0;
  for (const Term& t : f.formulas[i]) {
    switch (t.kind) {
      case Term::kLt:
        if (t.value > Power(f.n))
          Fail(Cause::kInput, "formula ", i, " of ", f.name, " compares with a threshold over 2^", f.n,
               "; use at most 2^", f.n);
        ++depth;
        break;
      case Term::kLtLow:
        if (t.f < 1 || t.f > f.n)
          Fail(Cause::kInput, "formula ", i, " of ", f.name, " reads ", t.f, " low bits of ", f.n, "; use 1 to ", f.n);
        if (t.value > Power(t.f))
          Fail(Cause::kInput, "formula ", i, " of ", f.name, " compares ", t.f, " low bits with a threshold over 2^",
               t.f, "; use at most 2^", t.f);
        ++depth;
        break;
      case Term::kMsb:
        if (t.value >= Power(f.n))
          Fail(Cause::kInput, "formula ", i, " of ", f.name, " adds a constant of more than ", f.n,
               " bits; reduce it modulo 2^", f.n);
        ++depth;
        break;
      case Term::kIn:
        if (t.value > t.upper || t.upper > Power(f.n))
          Fail(Cause::kInput, "formula ", i, " of ", f.name, " has an interval that falls or ends after 2^", f.n,
               "; use 0 <= a <= b <= 2^", f.n);
        ++depth;
        break;
      case Term::kTrue:
      case Term::kFalse:
        ++depth;
        break;
      default: {
        int takes = t.kind == Term::kNot ? 1 : 2;
        if (depth < takes)
          Fail(Cause::kInput, "formula ", i, " of ", f.name, " has an operator without ", takes,
               " operand(s); write it in postfix order");
        depth -= takes - 1;
      }
    }
  }
  if (depth != 1) Fail(Cause::kInput, "formula ", i, " of ", f.name, " leaves ", depth, " values; it must leave one");
}

bool EvaluateFormula(const Formula& f, uint64_t x, int n) {
  std::vector<bool> stack;
  auto pop = [&] {
    bool b = stack.back();
    stack.pop_back();
    return b;
  };
  for (const Term& t : f) {
    switch (t.kind) {
      case Term::kLt:
        stack.push_back(x < t.value);
        break;
      case Term::kLtLow:
        stack.push_back((x & ring::Mask(t.f)) < t.value);
        break;
      case Term::kMsb:
        stack.push_back((x + uint64_t(t.value)) >> (n - 1) & 1);
        break;
      case Term::kIn:
        stack.push_back(t.value <= x && x < t.upper);
        break;
      case Term::kTrue:
      case Term::kFalse:
        stack.push_back(t.kind == Term::kTrue);
        break;
      case Term::kNot:
        stack.push_back(!pop());
        break;
      default: {
        bool b = pop(), a = pop();
        stack.push_back(t.kind == Term::kAnd ? a && b : t.kind == Term::kOr ? a || b : a != b);
      }
    }
  }
  return stack.back();
}

// Checks that names are words and differ, and that sources and widths exist.
void VerifyChannels(const Suf& f) {
  std::vector<std::string_view> names;
  for (const OutputChannel& c : f.channels) {
    if (!IsWord(c.name))
      Fail(Cause::kInput, "channel ", &c - f.channels.data(), " of ", f.name,
           " needs a name without spaces, control characters and a # in front, of 1 to ", kMostName, " bytes; its has ",
           c.name.size());
    names.push_back(c.name);
    bool bit = c.kind == OutputChannel::kBit;
    int sources = bit ? int(f.formulas.size()) : f.outputs, most = bit ? 1 : f.ring;
    if (c.source < 0 || c.source >= sources)
      Fail(Cause::kInput, "channel ", c.name, " of ", f.name, " reads source ", c.source, " of ", sources,
           "; sources count from 0");
    if (c.bits < 1 || c.bits > most)
      Fail(Cause::kInput, "channel ", c.name, " of ", f.name, " has ", c.bits, " bits; use 1 to ", most);
  }
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    Fail(Cause::kInput, "two channels of ", f.name, " have the name ", *twice, "; give each its own");
}

}  // namespace

bool IsWord(std::string_view s) {
  return !s.empty() && s.size() <= size_t(kMostName) && s[0] != '#' && s.find(' ') == s.npos && IsPrintable(s);
}

void Verify(const Suf& f) {
  if (!IsWord(f.name))
    Fail(Cause::kInput, "a function needs a name without spaces, control characters and a # in front, of 1 to ",
         kMostName, " bytes; this one's has ", f.name.size());
  if (f.n < 1 || f.n > 64) Fail(Cause::kInput, "the domain of ", f.name, " has ", f.n, " bits; use 1 to 64");
  if (f.ring < 1 || f.ring > 64) Fail(Cause::kInput, "the ring of ", f.name, " has ", f.ring, " bits; use 1 to 64");
  VerifySize(f);
  if (f.outputs > 0 && (f.pieces.empty() || f.pieces[0].begin != 0))
    Fail(Cause::kInput, "the first piece of ", f.name, " must begin at 0");
  if (f.end > Power(f.n)) Fail(Cause::kInput, "the last piece of ", f.name, " ends after 2^", f.n, "; cut it there");
  for (size_t i = 0; i < f.pieces.size(); ++i) {
    const Piece& p = f.pieces[i];
    if (p.begin >= (i + 1 < f.pieces.size() ? f.pieces[i + 1].begin : f.end))
      Fail(Cause::kInput, "piece ", i, " of ", f.name, " is empty; cutpoints must increase");
    if (int(p.poly.size()) != f.outputs)
      Fail(Cause::kInput, "piece ", i, " of ", f.name, " has ", p.poly.size(), " polynomials; give ", f.outputs);
    for (auto& c : p.poly) {
      if (int(c.size()) != f.degree + 1)
        Fail(Cause::kInput, "a polynomial of piece ", i, " of ", f.name, " has ", c.size(), " coefficients; give ",
             f.degree + 1);
      for (uint64_t v : c)
        if (v > ring::Mask(f.ring))
          Fail(Cause::kInput, "a coefficient of piece ", i, " of ", f.name, " has more than ", f.ring,
               " bits; reduce it modulo 2^", f.ring);
    }
  }
  for (size_t i = 0; i < f.formulas.size(); ++i) VerifyFormula(f, i);
  VerifyChannels(f);
}

Value Evaluate(const Suf& f, uint64_t x) {
  SUF_CHECK(x <= ring::Mask(f.n));
  Value v;
  v.poly.assign(size_t(f.outputs), 0);
  if (f.outputs > 0 && x < f.end) {
    auto next = std::upper_bound(f.pieces.begin(), f.pieces.end(), U128{x},
                                 [](U128 at, const Piece& p) { return at < p.begin; });
    const Piece& p = next[-1];
    uint64_t t = uint64_t(x - p.begin);
    for (int j = 0; j < f.outputs; ++j) {
      uint64_t y = 0;
      for (size_t i = p.poly[size_t(j)].size(); i-- > 0;) y = y * t + p.poly[size_t(j)][i];
      v.poly[size_t(j)] = y & ring::Mask(f.ring);
    }
  }
  for (auto& g : f.formulas) v.bits.push_back(EvaluateFormula(g, x, f.n));
  return v;
}

std::vector<int64_t> Channels(const Suf& f, uint64_t x) {
  Value v = Evaluate(f, x);
  std::vector<int64_t> out;
  for (const OutputChannel& c : f.channels) {
    if (c.kind == OutputChannel::kBit) {
      out.push_back(v.bits[size_t(c.source)]);
      continue;
    }
    uint64_t w = v.poly[size_t(c.source)] & ring::Mask(c.bits);
    out.push_back(c.kind == OutputChannel::kSigned ? ring::Signed(w, c.bits) : int64_t(w));
  }
  return out;
}

std::vector<ChannelSlot> Layout(std::span<const OutputChannel> channels) {
  std::vector<ChannelSlot> out;
  std::vector<int> used;  // used bits of each word
  for (const OutputChannel& c : channels) {
    size_t w = 0;
    while (w < used.size() && used[w] + c.bits > 64) ++w;
    if (w == used.size()) used.push_back(0);
    out.push_back({int(w), used[w]});
    used[w] += c.bits;
  }
  return out;
}

std::vector<uint64_t> PackWords(std::span<const OutputChannel> channels, std::span<const int64_t> values) {
  SUF_CHECK(channels.size() == values.size());
  const std::vector<ChannelSlot> slots = Layout(channels);
  std::vector<uint64_t> words;
  for (size_t i = 0; i < slots.size(); ++i) {
    words.resize(std::max(words.size(), size_t(slots[i].word) + 1));
    words[size_t(slots[i].word)] |= (uint64_t(values[i]) & ring::Mask(channels[i].bits)) << slots[i].offset;
  }
  return words;
}

std::vector<uint64_t> Pack(const Suf& f, uint64_t x) { return PackWords(f.channels, Channels(f, x)); }

std::vector<int64_t> Unpack(std::span<const OutputChannel> channels, std::span<const uint64_t> words) {
  std::vector<ChannelSlot> slots = Layout(channels);
  std::vector<int64_t> out;
  for (size_t i = 0; i < slots.size(); ++i) {
    SUF_CHECK(size_t(slots[i].word) < words.size());
    const OutputChannel& c = channels[i];
    const uint64_t w = words[size_t(slots[i].word)] >> slots[i].offset & ring::Mask(c.bits);
    out.push_back(c.kind == OutputChannel::kSigned ? ring::Signed(w, c.bits) : int64_t(w));
  }
  return out;
}

std::optional<int> UniformBits(const Suf& f) {
  if (f.end != Power(f.n) || !std::has_single_bit(f.pieces.size())) return std::nullopt;
  int a = f.n - std::countr_zero(f.pieces.size());
  for (size_t i = 0; i < f.pieces.size(); ++i)
    if (a < 0 || f.pieces[i].begin != U128{i} << a) return std::nullopt;
  return a;
}

Suf FromGroups(std::string name, std::span<const Octave> groups, int n, int ring) {
  Suf f{std::move(name), n, ring, 1, 0, {}, 0, {}, {}};
  for (const Octave& g : groups) {
    if (f.end != U128(g.lo) << g.w || int64_t(g.values.size()) != g.hi - g.lo)
      Fail(Cause::kInput, "a group of ", f.name, " with pieces of 2^", g.w,
           " does not begin where the last one ends, or has ", g.values.size(), " values for ", g.hi - g.lo, " pieces");
    for (int64_t v = g.lo; v < g.hi; ++v) {
      Piece& p = f.pieces.emplace_back();
      p.begin = U128(v) << g.w;
      p.poly.emplace_back(1, uint64_t(g.values[size_t(v - g.lo)]) & ring::Mask(ring));
    }
    f.end = U128(g.hi) << g.w;
  }
  f.channels = {{OutputChannel::kUnsigned, ring, 0, "y"}};
  Verify(f);
  return f;
}

std::vector<Octave> ToGroups(const Suf& f) {
  auto refuse = [&](const auto&... why) { Fail(Cause::kInput, f.name, " is no function on octaves: ", why...); };
  if (f.outputs != 1 || f.degree != 0 || f.pieces.empty() || !f.formulas.empty())
    refuse("it needs one output of constants and no formula, and has ", f.outputs, " of degree ", f.degree, " and ",
           f.formulas.size());
  const bool two = !f.channels.empty() && f.channels[0].kind == OutputChannel::kSigned;
  std::vector<Octave> out;
  for (size_t i = 0; i < f.pieces.size(); ++i) {
    const U128 begin = f.pieces[i].begin, width = (i + 1 < f.pieces.size() ? f.pieces[i + 1].begin : f.end) - begin;
    // bounds must fit the signed 64-bit numbers of a Group
    if (width == 0 || width > U128{1} << 62 || !std::has_single_bit(uint64_t(width)))
      refuse("the width of piece ", i, " is no power of two up to 2^62");
    const int w = std::countr_zero(uint64_t(width));
    if ((begin & (width - 1)) != 0 || begin >> w >= U128{1} << 62)
      refuse("piece ", i, " does not begin at a multiple of its width, 2^", w, ", below 2^62 of them");
    if (out.empty() || w != out.back().w) out.push_back({w, int64_t(begin >> w), int64_t(begin >> w), {}});
    const uint64_t v = f.pieces[i].poly[0][0];
    ++out.back().hi;
    out.back().values.push_back(two ? ring::Signed(v, f.ring) : int64_t(v));
  }
  return out;
}

Suf Uniform(std::string name, int a, std::span<const int64_t> a0, std::span<const int64_t> b0, int ring) {
  SUF_CHECK(std::has_single_bit(a0.size()) && (b0.empty() || b0.size() == a0.size()));
  Suf f{std::move(name), a + std::countr_zero(a0.size()), ring, 1, b0.empty() ? 0 : 1, {}, 0, {}, {}};
  f.end = Power(f.n);
  for (size_t i = 0; i < a0.size(); ++i) {
    std::vector<uint64_t> c{uint64_t(a0[i]) & ring::Mask(ring)};
    if (!b0.empty()) c.push_back(uint64_t(b0[i]) & ring::Mask(ring));
    f.pieces.push_back({U128{i} << a, {c}});
  }
  f.channels = {{OutputChannel::kSigned, ring, 0, "y"}};
  Verify(f);
  return f;
}

}  // namespace suf::func
