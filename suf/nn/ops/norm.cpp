#include "suf/nn/ops/norm.hpp"

#include <algorithm>
#include <cmath>

#include "suf/gates/function.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/nn/ops/cover.hpp"
#include "suf/nn/plan/octave_tables.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

using compiler::Borrow;
using compiler::Factors;
using compiler::OpenedDigits;
using compiler::OwedWord;
using compiler::WordSum;
using pfss::Pub;
using pfss::Sec;
using pfss::Trace;

namespace {

constexpr int kVarianceBelow = 2;                     // bits under the smallest sum of squares seen
constexpr double kVarianceAbove = 0.6;                // bits over the largest
constexpr int kLargestSquare = 60, kLargestOfZ = 56;  // of the number a table reads; of z, pieces are 2^56 wide at most
const char* const kSquareOf[] = {"x", "z"};

double One(int bits) { return std::ldexp(1.0, bits); }

}  // namespace

RealArray Norm::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  RealArray y = *x[0];
  const size_t d = size_t(dim);
  for (size_t r = 0; r < y.at.size(); r += d) {
    double sum = 0, squares = 0;
    if (centre)
      for (size_t j = 0; j < d; ++j) sum += y.at[r + j];
    for (size_t j = 0; j < d; ++j) {
      y.at[r + j] -= sum / double(d);
      squares += y.at[r + j] * y.at[r + j];
    }
    const double by = std::sqrt((unit ? squares : squares / double(d)) + eps);
    for (size_t j = 0; j < d; ++j) y.at[r + j] /= by;
  }
  if (gamma) {
    const Reals& g = c.value(gamma);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] *= g[i % g.size()];
  }
  if (beta) {
    const Reals& b = c.value(beta);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] += b[i % b.size()];
  }
  return y;
}

// Records the standard deviation of every part. For x / |x|, records the length of the mean row or of the row.
void Norm::See(const RealCall& c, std::span<const RealArray* const> x, Seen* seen) const {
  std::vector<SeenRange>& size = (*seen)["size"];
  std::vector<SeenRange>& rows_seen = (*seen)["rows"];  // row by row, for narrow pieces
  size.resize(1);
  const size_t d = size_t(dim);
  for (size_t r = 0; r < x[0]->at.size(); r += d) {
    double sum = 0;
    for (size_t j = 0; j < d; ++j) sum += x[0]->at[r + j] * x[0]->at[r + j];
    const double of = unit ? std::sqrt(sum) / (by_length ? c.n : 1) : std::sqrt(sum / double(d));
    size[0].See(of);
    if (!unit) rows_seen.push_back({of, of});
  }
}

void Norm::Attributes(Visitor& v) {
  v.Int("dim", dim, 1, 1 << 20);
  if (groups != 1 || v.Has("groups")) v.Int("groups", groups, 2, 1 << 10);
  v.Real("eps", &eps, 0, 1);
  v.Flag("unit", &unit);
  v.Flag("by_length", &by_length);
  v.Text("key", &key, 40);
}

void Norm::Choose(const Facts& c, const Edges& in) {
  const Options& o = c.options;
  const Edge& z = in[0];
  const double d = double(dim), of = unit ? 1 : d;  // y has norm sqrt(of)
  const int out = unit ? o.Result("unit") : o.activation;
  int at = std::min(z.scale, o.Norm(key));
  square_of = SquareOf::kX;
  under = 0;
  if (o.square == 1 && RingOf(z.reach.most(), z.scale - at) < kRing) {
    square_of = SquareOf::kZ;
    cut = z.scale - at;
    epsilon = 0;
    for (under = std::max(0, SquareBits(z.reach) - kLargestOfZ);; ++under) {
      epsilon = unit ? 0 : std::llround(eps * d * One(2 * z.scale - under));
      square = SquareBits(z.reach);
      if (square <= kLargestOfZ) break;
    }
    if (square + under > compiler::kMostWide) {
      square_of = SquareOf::kX;
      under = 0;
    }
  }
  for (; square_of == SquareOf::kX; --at) {  // a long residual stream gets fewer fractional bits in the sum of squares
    cut = z.scale - at;
    epsilon = unit ? 0 : std::llround(eps * d * One(2 * at));
    square = SquareBits(z.reach);
    if (square <= kLargestSquare) break;
  }
  if (!c.seen) return;
  const SeenRange& seen = c.seen->at("size").at(0);
  const double low = seen.low * (by_length ? c.least : 1), high = seen.high * (by_length ? c.n : 1);
  if (high == 0)
    Fail(Cause::kRefused, "every calibrated row is all zeros and has no direction; check the weights before it, ",
         "which give zeros alone");
  const double extra = unit ? 0 : std::log2(d);
  const double scale_of = square_of == SquareOf::kZ ? z.scale - under / 2.0 : at;  // half that of the sum
  top = std::min(square, int(std::ceil(2 * (scale_of + std::log2(high)) + extra + kVarianceAbove)));
  floor = int(std::max(1.0, std::floor(2 * (scale_of + std::log2(low)) + extra) - kVarianceBelow));
  if (floor >= top)
    Fail(Cause::kRefused, "the calibrated sum of squares is below 2^", top, " and leaves no precision; raise `norm.",
         key, "`");
  const int largest = square_of == SquareOf::kZ ? top + under - 2 * cut : top;  // bits of the sum of x's squares
  const int bits = (unit ? o.unit_bits : o.rsqrt_bits) + int(std::ceil((largest - std::log2(of)) / 2));
  const int fine = std::max(out + 2, bits);
  auto root = [&](double v) { return One(fine) * Root(v); };
  windows = Octaves(root, floor, top, square, unit ? o.unit_pieces : o.rsqrt_pieces, o.span);
  rsqrt = windows;
  if (unit) {
    steps = windows;
  } else {
    Reals rows_seen;
    if (auto found = c.seen->find("rows"); found != c.seen->end())
      for (const SeenRange& r : found->second)
        rows_seen.push_back(std::exp2(2 * (scale_of + std::log2(r.low)) + extra));
    steps = Steps(root, floor, top, square, o.rsqrt_steps, std::move(rows_seen));
  }
  shift = fine - out;
  scale = out;
  ring = unit ? out + 4 : 0;
  // one row: a flight is worth more than the words of the one-stage rescale
  stages = z.one_row && square_of == SquareOf::kX ? compiler::kOnPath : compiler::kBeside;
}

// Returns the largest length of a part.
double Norm::LongestPart(const RowBound& z) const {
  if (groups == 1 || z.each.empty()) return z.length;
  SUF_CHECK(int64_t(z.each.size()) == groups * dim);
  double longest = 0;
  for (auto at = z.each.begin(); at != z.each.end(); at += dim)
    longest = std::max(longest, Length(Reals(at, at + dim)));
  return std::min(longest, z.length);
}

// Returns the bits of the hard bound of the sum, less `under`.
int Norm::SquareBits(const RowBound& z) const {
  double length = LongestPart(z);
  if (square_of == SquareOf::kX) length = length * One(-cut) + (cut > 0 ? 0.5 : 0) * std::sqrt(double(dim));
  return BitLength(length * length * One(-under) + double(epsilon));
}

// Returns sqrt(d / sum of x^2), with 1 instead of d for `unit`, at a number that the table reads.
double Norm::Root(double v) const {
  const double of = unit ? 1 : double(dim);
  return std::sqrt(of / (square_of == SquareOf::kZ ? v * One(under - 2 * cut) : v));
}

// Returns the largest product of the length of x and the table's value, for any row.
double Norm::MostProduct(const std::vector<func::Octave>& table) const {
  if (square_of == SquareOf::kX) {
    const double above = 1 + Excess(table, [&](double v) { return One(shift + scale) * Root(v); });
    return One(shift + scale) * std::sqrt(unit ? 1 : double(dim)) * above;
  }
  double most = 0;
  for (const func::Octave& g : table)
    for (int64_t v = g.lo; v < g.hi; ++v) {
      // The length of z / 2^cut at the piece's end. In each coordinate x is within half a place of it, and at most
      // twice it.
      const double length = std::sqrt(std::ldexp(double(v + 1), g.w + under)) * One(-cut);
      const double rounded = cut > 0 ? std::min(length, 0.5 * std::sqrt(double(dim))) : 0;
      most = std::max(most, (length + rounded) * double(g.values[size_t(v - g.lo)]));
    }
  return most;
}

double Norm::HardLength() const { return MostProduct(rsqrt) * One(-shift) + 0.5 * std::sqrt(double(dim)); }

RowBound Norm::Bound(const Facts&, const Edges& in, std::vector<Width>* widths) {
  const Edge& z = in[0];
  const double most = std::max(MostProduct(rsqrt), MostProduct(steps));
  widths->push_back({"square", SquareBits(z.reach), &square, kLargestSquare});
  widths->push_back(
      {"product", std::max(RingOf(most, shift), RingOf(z.reach.most(), cut) - cut + 1), &product, 64, false, 2});
  widths->push_back({"input", RingOf(z.reach.most(), cut), &kz, 64, false, 2});
  RowBound r{groups * dim, most * std::sqrt(double(groups)), {}, {}, {}};
  if (groups > 1) r.each.assign(size_t(r.dim), most);
  return r.Scaled(One(-shift), 0.5);
}

void Norm::Fields(Visitor& v) {
  v.Int("kz", kz, 3, kRing);
  v.Int("cut", cut, 0, kRing);
  v.Choice("square_of", &square_of, kSquareOf, "has a sum of squares of ");
  v.Int("under", under, 0, compiler::kMostWide);
  v.Int("square", square, 1, 61);
  v.Int("epsilon", epsilon, 0, kBig);
  v.Int("floor", floor, 0, kRing);
  v.Int("top", top, 0, kRing);
  v.Octaves("rsqrt", &rsqrt, square);
  v.Int("product", product, 3, kRing);
  v.Int("shift", shift, 1, kRing);
  v.Stages("stages", &stages);
  v.Stages("last", &last, compiler::Stages::kNone);
  v.Lowering("rows", &rows);
}

std::vector<Knob> Norm::Knobs() {
  // named by cut, so that norms behind other operators are chosen separately
  std::vector<Knob> out{StagesKnob(Str(shift, " bits after ", cut), &last, compiler::Stages::kNone)};
  out.push_back(RowsKnob(&rows, windows.empty() ? rsqrt : windows, steps.empty() ? rsqrt : steps, square));
  if (!steps.empty())
    out.back().set = [this, set = std::move(out.back().set)](size_t i) {
      set(i);
      rsqrt = rows.kind == compiler::Kind::kStepDcf ? steps : windows;
    };
  if (under > 0) out.back().name += Str(", ", shift, " bits after ", cut);
  if (cut > 0) out.push_back(StagesKnob(Str(cut, " bits before"), &stages));
  return out;
}

void Norm::Check(const Edges& in, int, const std::string& where) const {
  Wanted(in[0].dim == groups * dim, where, "its input has another width");
  Wanted(in[0].ring >= kz, where, "it reads more bits than its input has");
  Wanted(cut < kz - 2, where, "its cut leaves no bits");
  Wanted(square > 1 || square_of == SquareOf::kZ, where, "its sum of squares has one bit");
  Wanted(floor < top && top <= square, where, "floor < top <= square does not hold");
  Wanted(shift < product - 2, where, "its shift leaves no bits");
  Wanted(product >= kz - cut, where, "the product's ring is narrower than x");
  WantCover(rsqrt, square, product, where);
  WantRows(rows, rsqrt, square, where);
  if (under == 0) return;
  Wanted(square_of == SquareOf::kZ, where, "only a sum of squares of z has bits under its table");
  Wanted(square + under <= compiler::kMostWide, where, "its sum of squares has more than 128 bits");
  Wanted(kz < kRing && kz < square + under, where, "its input is too wide for its sum of squares");
}

IntArray Norm::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  IntArray y = *x[0];
  const size_t d = size_t(dim);
  const bool of_z = square_of == SquareOf::kZ;
  for (int64_t& v : y.at) v = ring::RoundShift(v, cut);
  Ints squares;
  for (size_t r = 0; r < y.at.size(); r += d) {
    unsigned __int128 sum = 0;
    for (size_t j = r; j < r + d; ++j) {
      const __int128 v = of_z ? x[0]->at[j] : y.at[j];
      sum += static_cast<unsigned __int128>(v * v);
    }
    squares.push_back(WrapAdd(int64_t(uint64_t(sum >> under)), epsilon));
  }
  const Ints roots = RowOf(rsqrt, square, 64).Spec(squares, square);
  for (size_t i = 0; i < y.at.size(); ++i) y.at[i] = WrapMul(y.at[i], roots[i / d]);
  c.watch.See("square", squares);
  c.watch.See("product", y.at);
  auto [low, high] = std::minmax_element(squares.begin(), squares.end());
  if (*low < WrapShl(1, floor)) c.watch.Leave("square", *low, WrapShl(1, floor));
  if (top < 63 && *high >= WrapShl(1, top)) c.watch.Leave("square", *high, WrapShl(1, top));
  for (int64_t& v : y.at) v = ring::RoundShift(v, shift);
  return y;
}

namespace {

std::vector<compiler::Cut> CutsOf(const Norm& n) {
  return {{n.cut, n.square_of == SquareOf::kZ ? n.product : std::max(n.square, n.product)}};
}

// Returns x^2 in Z_{2^square}, for x = T - R + 2^k g b - c. Adds every summand of the expansion, with c^2 = c and b^2 =
// b.
OwedWord Square(Trace& t, const Factors& x, const Borrow* c, int k, int square) {
  Pub top = *x[0].p, g = *x[2].p;
  Sec r = *x[1].u, b = *x[2].u;
  WordSum v(t, square);
  v.Add({1, 0, top * top, {}, {}});
  v.Add({-1, 1, top, r, {}});
  v.Add({1, 0, {}, r * r, {}});
  v.Add({1, k + 1, g * top, b, {}});
  v.Add({-1, k + 1, g, r * b, {}});
  v.Add({1, 2 * k, g, b, {}});
  if (!c) return v.Done();
  Pub slope = top * 2;
  slope = 1 - slope;
  v.Add(c->Share(square), slope);
  v.Add(c->Times(r, square - 1), std::nullopt, 1, 1);
  if (square > k + 1) v.Add(c->Times(b, square - k - 1), g, -1, k + 1);
  return v.Done();
}

}  // namespace

AnyWire Norm::Build(const Emission& e, std::span<const AnyWire> in) const {
  Trace& t = e.t;
  Wire<kPub> z = AsOpen(in[0]);
  const Shape shape = z.shape();
  if (groups > 1) z = pfss::Map(z, [&](auto v) { return Reshape(v, {shape[0] * groups, dim}); });
  if (z.k() > kz) z = pfss::Map(z, [&](auto v) { return Low(v, kz); });
  const int k = kz - cut;
  int64_t bias = int64_t{1} << (kz - 2);
  std::optional<OpenedDigits> digits;
  std::optional<Borrow> c;
  Pub h;
  if (cut > 0) {
    bias += int64_t{1} << (cut - 1);
    digits.emplace(t, z, t.constant(bias), compiler::PlanDigits(CutsOf(*this), stages));
    c.emplace(*digits, cut, stages);
    h = digits->hat();
  } else {
    h = z.hat + bias;
  }
  Factors x = compiler::Lifted(h, z.r, bias, cut);  // x + c
  gates::FunctionGate root_of = RowOf(rsqrt, square, product, rows);
  OwedWord root_at;
  if (under > 0) {
    const compiler::SumOfSquares sum{compiler::SumOfSquares::Radix(dim, kz), square + under, epsilon, under};
    compiler::WideWire v = sum.Open(t, h, z.r, bias, "sum of squares");  // (rows)
    root_at = compiler::LowerRow(t, root_of.f, root_of.lowering, v, under, product);
  } else {
    const bool of_z = square_of == SquareOf::kZ;
    OwedWord sum = of_z ? Square(t, compiler::Lifted(h, z.r, bias), nullptr, kz, square)
                        : Square(t, x, c ? &*c : nullptr, k, square);
    sum = compiler::Map(sum, [](auto v) { return Sum(v); });
    sum.y = sum.y + epsilon;
    Wire<kPub> v = compiler::OpenDefined(t, sum, "sum of squares");  // (rows)
    root_at = root_of.Build(t, v);
  }
  SharedWire<kPub> root = compiler::OpenShared(t, root_at, "rsqrt");
  root = pfss::Map(root, [](auto w) { return Column(w); });
  WordSum y(t, product);
  y.Add(x, compiler::Masked(root));
  if (c) {
    y.Add(c->Share(product), root.hat, -1);
    y.Add(c->Times(root.r, product, pfss::Sh(root.s)));
  }
  Wire<kPub> scaled = compiler::OpenDefined(t, y.Done(), "x*rsqrt");
  if (groups > 1) scaled = pfss::Map(scaled, [&](auto v) { return Reshape(v, shape); });
  return e.Open(gates::Trunc{shift, ring, last}.Build(t, scaled));
}

int64_t Norm::KeyBits(int64_t count, bool shared) const {
  const int k = kz - cut;
  const bool of_z = square_of == SquareOf::kZ;
  auto word = [](int bits) { return int64_t(std::max(0, bits)); };
  const int64_t high = word(square + under - (of_z ? kz : k) - 1);
  int64_t bits = 0;
  // R; if the square is z's, the product has another one
  if (of_z && (cut > 0 || under > 0))
    bits = word(square + under - 1) + product;
  else
    bits = word(std::max(square - 1, product));
  // b, which limbs do not share; R b; b r'
  bits += high <= kRing ? std::max(high, word(product - k)) : high + word(product - k);
  bits += high + word(product - k);
  if (cut > 0) {
    compiler::DigitPlan widths = compiler::PlanDigits(CutsOf(*this), stages);
    int words = compiler::BorrowWords(int(widths.widths.size()), stages);
    bits += compiler::DigitsKeyBits(widths, {{cut, 0}}, stages);
    // borrow alone and times r'; for the square of x also times R and b
    bits += words * (of_z ? 2 * int64_t(product) : std::max(square, product) + word(square - 1) + high + product);
  }
  const gates::FunctionGate root = RowOf(rsqrt, square, product, rows);
  const int64_t row = under > 0 ? compiler::RowKeyBits(root.f, root.lowering, under, product) : root.KeyBits(true);
  return count * groups * (dim * (bits + gates::Trunc{shift, ring, last}.KeyBits(product, shared)) + row);
}

}  // namespace suf::nn
