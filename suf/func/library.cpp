#include "suf/func/library.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "suf/func/internal/measure.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {

namespace {

using internal::Round;

// The name, arguments and format of a function to make.
struct Call {
  std::string name;
  std::vector<double> arguments;
  int n = 0, scale = 0;
  int64_t half() const { return int64_t{1} << (n - 1); }
  double one() const { return std::ldexp(1, scale); }
  double least() const { return -std::ldexp(1, n - 1 - scale); }
};

// The line value + slope (x - from), from `from` on, on signed integers.
struct Line {
  int64_t from = 0, value = 0, slope = 0;
};

// Returns lines as a Suf of words in two's complement. They are given by increasing `from`, the first at -2^(n-1).
Suf OfLines(const Call& q, const std::vector<Line>& lines, int ring) {
  const bool slopes = std::any_of(lines.begin(), lines.end(), [](const Line& l) { return l.slope != 0; });
  Suf f{q.name, q.n, ring, 1, slopes ? 1 : 0, {}, U128{1} << q.n, {}, {}};
  for (const bool negative : {false, true})
    for (size_t i = 0; i < lines.size(); ++i) {
      const int64_t last = i + 1 < lines.size() ? lines[i + 1].from : q.half();
      const int64_t from = negative ? lines[i].from : std::max<int64_t>(0, lines[i].from);
      if (from >= (negative ? std::min<int64_t>(0, last) : last)) continue;
      const uint64_t at = uint64_t(lines[i].value) + uint64_t(lines[i].slope) * uint64_t(from - lines[i].from);
      std::vector<uint64_t> c{at & ring::Mask(ring)};
      if (slopes) c.push_back(uint64_t(lines[i].slope) & ring::Mask(ring));
      f.pieces.push_back({uint64_t(from) & ring::Mask(q.n), {c}});
    }
  f.channels = {{OutputChannel::kSigned, ring, 0, "y"}};
  return f;
}

LibraryFunction Exact(const Call& q, const std::vector<Line>& lines, Real exact, int shift = 0) {
  LibraryFunction m;
  m.f = OfLines(q, lines, std::min(64, q.n + shift));
  m.in = {q.n, q.scale, true};
  m.scale = q.scale + shift;
  m.shift = shift;
  m.exact = std::move(exact);
  m.low = q.least();
  m.high = -m.low;
  return m;
}

// Returns argument i as an integer at the scale, and replaces it in `q` by the rounded constant.
int64_t Argument(Call& q, size_t i) {
  const double v = std::floor(q.arguments[i] * q.one() + 0.5);
  if (!(v > double(-q.half()) && v < double(q.half())))
    Fail(Cause::kInput, "the constant ", q.arguments[i], " of ", q.name, " does not fit ", q.n, " bits at scale ",
         q.scale, "; use one between ", q.least(), " and ", -q.least());
  q.arguments[i] = v / q.one();
  return int64_t(v);
}

LibraryFunction Relu(Call& q) {
  return Exact(q, {{-q.half(), 0, 0}, {0, 0, 1}}, [](double x) { return std::max(x, 0.0); });
}

// x has twice the scale, and a later shift rounds. Bit w is x >= 0, and bit t shows whether the shift rounds up.
LibraryFunction Relubits(Call& q) {
  LibraryFunction m = Relu(q);
  Suf& f = std::get<Suf>(m.f);
  f.formulas = {{{Term::kMsb}, {Term::kNot}}, {{Term::kLtLow, q.scale, U128{1} << (q.scale - 1)}, {Term::kNot}}};
  f.channels.push_back({OutputChannel::kBit, 1, 0, "w"});
  f.channels.push_back({OutputChannel::kBit, 1, 1, "t"});
  m.in.scale = m.scale = 2 * q.scale;
  m.shift = q.scale;
  m.low = std::ldexp(m.low, -q.scale);
  m.high = -m.low;
  return m;
}

LibraryFunction Abs(Call& q) {
  LibraryFunction m = Exact(q, {{-q.half(), q.half(), -1}, {0, 0, 1}}, [](double x) { return std::abs(x); });
  m.low += 1 / q.one();
  m.first = 1 - q.half();  // the least number has no opposite
  return m;
}

LibraryFunction Sign(Call& q) {
  const int64_t one = int64_t{1} << q.scale;
  return Exact(q, {{-q.half(), -one, 0}, {0, 0, 0}, {1, one, 0}}, [](double x) { return double((x > 0) - (x < 0)); });
}

LibraryFunction Clamp(Call& q) {
  const int64_t a = Argument(q, 0), b = Argument(q, 1);
  if (a > b) Fail(Cause::kInput, "clamp has the bounds ", q.arguments[0], " and ", q.arguments[1], "; order them");
  return Exact(q, {{-q.half(), a, 0}, {a, a, 1}, {b, b, 0}},
               [low = q.arguments[0], high = q.arguments[1]](double x) { return std::clamp(x, low, high); });
}

LibraryFunction Min(Call& q) {
  const int64_t a = Argument(q, 0);
  return Exact(q, {{-q.half(), -q.half(), 1}, {a, a, 0}}, [c = q.arguments[0]](double x) { return std::min(x, c); });
}

LibraryFunction Max(Call& q) {
  const int64_t a = Argument(q, 0);
  return Exact(q, {{-q.half(), a, 0}, {a, a, 1}}, [c = q.arguments[0]](double x) { return std::max(x, c); });
}

// The arguments are v0, t1, v1, t2, v2, .. with increasing thresholds t.
LibraryFunction Steps(Call& q, bool slopes) {
  std::vector<Line> lines;
  for (size_t i = 0; i < q.arguments.size(); i += 2) {
    const int64_t from = i ? Argument(q, i - 1) : -q.half(), v = Argument(q, i);
    if (i && from <= lines.back().from)
      Fail(Cause::kInput, "the thresholds of ", q.name, " do not increase at ", q.arguments[i - 1], "; order them");
    if (!slopes)
      lines.push_back({from, v, 0});
    else if (i == 0)  // the first rate also holds below 0, and the tariff is 0 at 0
      lines.push_back({from, -v * q.half(), v});
    else
      lines.push_back({from, lines.back().value + lines.back().slope * (from - lines.back().from), v});
  }
  const std::vector<double> c = q.arguments;
  if (!slopes)
    return Exact(q, lines, [c](double x) {
      double y = c[0];
      for (size_t i = 1; i < c.size() && x >= c[i]; i += 2) y = c[i + 1];
      return y;
    });
  auto tariff = [c](double x) {
    double y = c[0] * x;
    for (size_t i = 1; i < c.size() && x >= c[i]; i += 2) y += (c[i + 1] - c[i - 1]) * (x - c[i]);
    return y;
  };
  return Exact(q, lines, tariff, q.scale);
}

double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
// the approximation by tanh of Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016
double GeluNew(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
double Silu(double x) { return x * Logistic(x); }
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Fits a function by pieces with free knots, between tails that are within a quarter of the last place.
LibraryFunction Smooth(const Call& q, Real f, Tail below, Tail above, int degree, int finer) {
  const int shift = std::min(finer, 64 - q.n);
  const double close = std::ldexp(1, -q.scale - 2);
  auto tail = [&](const Tail& t, double x) { return t.kind == Tail::kIdentity ? x : t.value; };
  double reach = 1;
  while (std::abs(f(-reach) - tail(below, -reach)) > close || std::abs(f(reach) - tail(above, reach)) > close) ++reach;
  below.from = -reach;
  above.from = reach;
  FitRequest fit;
  fit.name = q.name;
  fit.what = f;
  fit.in = {q.n, q.scale, true};
  fit.result = {q.n + shift, q.scale, true};
  fit.degree = degree;
  fit.knots = Knots::kFree;
  fit.finer.assign(size_t(degree) + 1, shift);
  fit.below = below;
  fit.above = above;
  fit.error = 0.75 * std::ldexp(1, -q.scale);
  LibraryFunction m;
  FitResult<Function> fitted = Fit(fit);
  m.f = std::move(fitted.f);
  m.in = fit.in;
  m.scale = fitted.scale;
  m.shift = shift;
  m.exact = std::move(f);
  m.low = q.least();
  m.high = -m.low;
  m.error = std::ldexp(1, -q.scale);
  return m;
}

constexpr Tail ConstantTail(double v) { return {Tail::kConstant, 0, v}; }
constexpr Tail kIdentityTail{Tail::kIdentity, 0, 0};
constexpr int kQuadratic = 8, kCubic = 20;  // bits of coefficients beyond twice the scale

template <double (*F)(double)>
LibraryFunction Unit(Call& q) {  // x for large x, and 0 for small x
  return Smooth(q, F, ConstantTail(0), kIdentityTail, 2, q.scale + kQuadratic);
}
template <double (*F)(double), int kLow>
LibraryFunction Saturating(Call& q) {
  return Smooth(q, F, ConstantTail(kLow), ConstantTail(1), 2, q.scale + kQuadratic);
}

// Makes x+ and delta = gelu(x) - x+, of degree 3, as two numbers. Bit w is x >= 0. Bit c shows whether x is in a piece
// of delta, and bit b_i whether it is in piece i.
LibraryFunction GeluSpline(Call& q) {
  LibraryFunction m = Smooth(
      q, [](double x) { return Gelu(x) - std::max(x, 0.0); }, ConstantTail(0), ConstantTail(0), 3, q.scale + kCubic);
  m.exact = Gelu;
  Suf& f = std::get<Suf>(m.f);
  f.outputs = 2;
  f.formulas = {{{Term::kMsb}, {Term::kNot}}, {}};
  f.channels = {{OutputChannel::kSigned, f.ring, 0, "x+"},
                {OutputChannel::kSigned, f.ring, 1, "delta"},
                {OutputChannel::kBit, 1, 0, "w"},
                {OutputChannel::kBit, 1, 1, "c"}};
  for (size_t i = 0; i < f.pieces.size(); ++i) {
    Piece& p = f.pieces[i];
    const U128 end = i + 1 < f.pieces.size() ? f.pieces[i + 1].begin : f.end;
    std::vector<uint64_t> x(4, 0);
    if (p.begin < U128(q.half())) {
      x[0] = (uint64_t(p.begin) << m.shift) & ring::Mask(f.ring);
      x[1] = uint64_t{1} << m.shift;
    }
    const bool delta = std::any_of(p.poly[0].begin(), p.poly[0].end(), [](uint64_t v) { return v != 0; });
    p.poly.insert(p.poly.begin(), std::move(x));
    if (!delta) continue;
    const Term in{Term::kIn, 0, p.begin, end};
    f.formulas[1].push_back(in);
    if (f.formulas[1].size() > 1) f.formulas[1].push_back({Term::kOr});
    f.formulas.push_back({in});
    f.channels.push_back({OutputChannel::kBit, 1, int(f.formulas.size()) - 1, Str("b", f.formulas.size() - 3)});
  }
  if (f.formulas[1].empty()) f.formulas[1] = {{Term::kFalse}};
  return m;
}

// Makes exp(-x) for x in [0, 16). One table is read at the high half of the bits, the other at the low half.
LibraryFunction Exp(Call& q) {
  const int n = q.scale + 4, a = n / 2, places = q.scale + 2;
  Split f{Split::kProduct, q.name, n, 2 * places + 2, a, 0, {}, {}};
  for (int64_t i = 0; i < int64_t{1} << (n - a); ++i)
    f.high.push_back(uint64_t(Round(std::ldexp(std::exp(-std::ldexp(double(i), a - q.scale)), places))));
  for (int64_t i = 0; i < int64_t{1} << a; ++i)
    f.low.push_back(uint64_t(Round(std::ldexp(std::exp(-std::ldexp(double(i), -q.scale)), places))));
  LibraryFunction m;
  m.f = std::move(f);
  m.in = {n, q.scale, false};
  m.scale = 2 * places;
  m.shift = 2 * places - q.scale;
  m.exact = [](double x) { return std::exp(-x); };
  m.low = 0;
  m.high = 16;
  m.error = std::ldexp(1, -q.scale - 1);
  return m;
}

// Makes constants on octaves, with a relative error, for x >= 0. Below 2^floor the value is that at 2^floor.
constexpr int kOctavePieces = 7;
LibraryFunction Octaves(const Call& q, Real f, int floor, int scale) {
  const Real word = [&](double v) { return std::ldexp(f(std::ldexp(v, -q.scale)), scale); };
  const int lo = std::max(0, floor + q.scale);
  auto fit = FitOctaves(word, lo, q.n, kOctavePieces, 1, Measure::kNone);
  for (Octave& g : fit.f)  // pieces of a single point have its value
    for (int64_t v = g.lo; g.w == 0 && v < g.hi; ++v)
      g.values[size_t(v - g.lo)] = Round(word(double(std::max(v, int64_t{1} << lo))));
  const double least = std::ldexp(1, lo - q.scale);
  LibraryFunction m;
  m.f = FromGroups(q.name, fit.f, q.n, 64);
  m.in = {q.n, q.scale, false};
  m.scale = scale;
  m.shift = scale - q.scale;
  std::get<Suf>(m.f).channels[0].kind = OutputChannel::kSigned;
  m.exact = [f = std::move(f), least](double x) { return f(std::max(x, least)); };
  m.first = 1;  // the function is undefined at 0, although the text has a value there
  m.low = 0;
  m.high = -2 * q.least();
  m.relative = std::ldexp(1, -kOctavePieces - 1);
  return m;
}

LibraryFunction Recip(Call& q) {
  return Octaves(
      q, [](double x) { return 1 / x; }, -4, q.n - q.scale + kOctavePieces + 9);
}
LibraryFunction Rsqrt(Call& q) {
  return Octaves(
      q, [](double x) { return 1 / std::sqrt(x); }, -4, (q.n - q.scale + 1) / 2 + kOctavePieces + 9);
}
LibraryFunction Sqrt(Call& q) {
  LibraryFunction m = Octaves(
      q, [](double x) { return std::sqrt(x); }, -q.scale, (q.scale + 1) / 2 + kOctavePieces + 9);
  std::get<Suf>(m.f).pieces[0].poly[0][0] = 0;
  m.first = 0;
  m.exact = [](double x) { return std::sqrt(x); };
  return m;
}

LibraryFunction Log2(Call& q) {
  const double last = std::ldexp(1, -q.scale);  // 0 has the logarithm of the least positive number
  FitRequest fit;
  fit.name = q.name;
  fit.in = {q.n, q.scale, false};
  fit.result = {64, q.scale, true};
  const Real f = [last](double x) { return std::log2(std::max(x, last)); };
  const int shift = q.n + 8 - q.scale;
  fit.what = f;
  fit.degree = 1;
  fit.knots = Knots::kOctaves;
  fit.finer = {shift, shift};
  fit.error = last;
  LibraryFunction m;
  FitResult<Function> fitted = Fit(fit);
  m.f = std::move(fitted.f);
  m.in = fit.in;
  m.scale = fitted.scale;
  m.shift = shift;
  m.exact = f;
  m.first = 1;
  m.low = 0;
  m.high = -2 * q.least();
  m.error = last;
  return m;
}

LibraryFunction Step(Call& q) { return Steps(q, false); }
LibraryFunction Tariff(Call& q) { return Steps(q, true); }

constexpr const char kAll[] = "every x of the ring", kPositive[] = "every x > 0 of the ring, unsigned",
                     kNotNegative[] = "every x >= 0 of the ring, unsigned", kUlp[] = "2^-scale", kNone[] = "0",
                     kPart[] = "2^-8 of the value";

// A function of the library.
struct Row {
  LibraryEntry entry;
  LibraryFunction (*make)(Call&);
  std::vector<double> arguments = {};  // the defaults, which also give the number of arguments
  bool odd = false;                    // whether any odd number of arguments is accepted
};
const std::vector<Row>& Rows() {
  static const std::vector<Row> all{
      {{"relu", "max(x, 0)", kAll, kNone}, Relu},
      {{"relubits", "max(x, 0) at twice the scale, for a rounding shift by scale; bits w (x >= 0), t (rounds up)", kAll,
        kNone},
       Relubits},
      {{"abs", "the size of x", "every x of the ring but the least", kNone}, Abs},
      {{"sign", "-1, 0 or 1", kAll, kNone}, Sign},
      {{"clamp", "x between two bounds: clamp(-1,1)", kAll, kNone}, Clamp, {-1, 1}},
      {{"min", "the smaller of x and a constant: min(1)", kAll, kNone}, Min, {1}},
      {{"max", "the larger of x and a constant: max(1)", kAll, kNone}, Max, {1}},
      {{"gelu", "x times the normal distribution of x", kAll, kUlp}, Unit<Gelu>},
      {{"gelu_spline",
        "gelu as x+ and a cubic delta, whose sum it is; bits w (x >= 0), c (delta is not 0), b_i (piece)", kAll, kUlp},
       GeluSpline},
      {{"gelu_new", "gelu by its approximation with tanh", kAll, kUlp}, Unit<GeluNew>},
      {{"silu", "x sigmoid(x)", kAll, kUlp}, Unit<Silu>},
      {{"sigmoid", "1 / (1 + exp(-x))", kAll, kUlp}, Saturating<Logistic, 0>},
      {{"tanh", "the hyperbolic tangent", kAll, kUlp}, Saturating<std::tanh, -1>},
      {{"erf", "the error function", kAll, kUlp}, Saturating<std::erf, -1>},
      {{"softplus", "log(1 + exp(x))", kAll, kUlp}, Unit<Softplus>},
      {{"exp", "exp(-x), the product of two tables", "0 <= x < 16, of scale + 4 bits", "2^-scale / 2"}, Exp},
      {{"recip", "1 / x; below 1/16 as at 1/16", kPositive, kPart}, Recip},
      {{"rsqrt", "1 / sqrt(x); below 1/16 as at 1/16", kPositive, kPart}, Rsqrt},
      {{"sqrt", "the square root", kNotNegative, kPart}, Sqrt},
      {{"log2", "the logarithm to base 2", kPositive, kUlp}, Log2},
      {{"step", "constants between thresholds: step(v0,t1,v1,t2,v2,..)", kAll, kNone}, Step, {0, 1, 1}, true},
      {{"tariff", "rates between thresholds, 0 at 0: tariff(r0,t1,r1,t2,r2,..)", kAll, kNone},
       Tariff,
       {0, 1, 0.125, 2, 0.25},
       true}};
  return all;
}

// Returns the arguments of `name(a,b,..)`, and cuts the text to the name.
std::vector<double> Arguments(std::string_view& name) {
  std::vector<double> out;
  const std::string_view whole = name;
  const size_t open = name.find('(');
  if (open == std::string_view::npos) return out;
  const char *at = name.data() + open, *end = name.data() + name.size();
  do {
    double v = 0;
    auto [next, code] = std::from_chars(at + 1, end, v);
    if (code != std::errc{} || next == end || (*next != ',' && *next != ')') || (*next == ')' && next + 1 != end))
      Fail(Cause::kInput, "the arguments of ", whole.substr(0, 80), " have a mistake at column ", at + 2 - whole.data(),
           "; write numbers between commas, as in clamp(-1,1)");
    out.push_back(v);
    at = next;
  } while (*at == ',');
  name = name.substr(0, open);
  return out;
}

}  // namespace

std::span<const LibraryEntry> Library() {
  static const std::vector<LibraryEntry> all = [] {
    std::vector<LibraryEntry> out;
    for (const Row& r : Rows()) out.push_back(r.entry);
    return out;
  }();
  return all;
}

LibraryFunction Make(std::string_view name, int n, int scale) {
  Call q{"", Arguments(name), n, scale};
  q.name = name;
  for (const Row& r : Rows()) {
    if (r.entry.name != name) continue;
    if (n < 8 || n > 48) Fail(Cause::kInput, "the ring of ", name, " has ", n, " bits; use 8 to 48");
    if (scale < 2 || scale > std::min(20, n - 6))
      Fail(Cause::kInput, "the scale of ", name, " is ", scale, " in a ring of ", n, " bits; use 2 to ",
           std::min(20, n - 6));
    if (q.arguments.empty()) q.arguments = r.arguments;
    const bool right = r.odd ? q.arguments.size() % 2 == 1 : q.arguments.size() == r.arguments.size();
    if (!right)
      Fail(Cause::kInput, name, " has ", q.arguments.size(), " constants; give it ",
           r.odd ? "an odd number" : Str(r.arguments.size()), ", as the list shows");
    LibraryFunction m = r.make(q);
    const int64_t all = int64_t{1} << m.in.bits;
    if (m.in.is_signed && m.first == 0) m.first = -all / 2;
    m.last = (m.in.is_signed ? all / 2 : all) - 1;
    Verify(m.f);
    return m;
  }
  std::string names;
  for (const Row& r : Rows()) names += (names.empty() ? "" : ", ") + std::string(r.entry.name);
  Fail(Cause::kInput, "there is no library function ", name.substr(0, 40), "; there are ", names);
}

std::optional<ArgumentRange> ArgumentRangeOf(const LibraryFunction& m) {
  if (m.in.is_signed && m.first == -(int64_t{1} << (m.in.bits - 1))) return std::nullopt;
  return ArgumentRange{m.in.is_signed, m.first, m.last, m.in.scale};
}

std::optional<ArgumentRange> ArgumentRangeOf(const Function& f) {
  const std::string& name = Name(f);
  const int bits = DomainBits(f);
  if (bits > 48 ||
      (name != "abs" && name != "exp" && name != "recip" && name != "rsqrt" && name != "sqrt" && name != "log2"))
    return std::nullopt;
  int from = 2, to = 20;
  if (name == "log2") {  // a fine scale takes long to make, so it is read from the value at 2^(bits - 1)
    const double top = std::ldexp(double(Channels(f, uint64_t{1} << (bits - 1))[0]), -bits - 8);
    from = to = int(std::clamp(std::round(bits - 1 - top), 0.0, 20.0));
  }
  std::optional<ArgumentRange> out;
  for (int scale = from; scale <= to; ++scale) {
    const int n = name == "exp" ? std::max(scale + 6, 8) : bits;  // exp chooses its own domain
    if (n < 8 || scale < 2 || scale > n - 6) continue;
    const LibraryFunction m = Make(name, n, scale);
    if (m.f != f) continue;
    if (out)
      out->scale.reset();
    else
      out = ArgumentRangeOf(m);
  }
  return out;
}

}  // namespace suf::func
