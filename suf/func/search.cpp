#include "suf/func/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "suf/func/internal/pieces.hpp"
#include "suf/func/internal/target.hpp"
#include "suf/ring/words.hpp"

namespace suf::func {

namespace {

using internal::kMostFitted;
using internal::Local;
using internal::OutOfReach;
using internal::Pieces;
using internal::Round;
using internal::Shape;
using internal::Target;
using internal::WithSlope;

constexpr int kMostDomain = 62;

// Tails: the exact pieces.
void AddTail(const FitRequest& q, const Shape& s, const Tail& tail, int64_t from, int64_t to, double* error,
             std::vector<Local>* out) {
  const int scale = q.result.scale + s.slope, up = scale - q.in.scale;
  for (auto [a, b] : {std::pair{std::max<int64_t>(from, 0), to}, std::pair{from, std::min<int64_t>(to, 0)}}) {
    if (a >= b) continue;
    Local p{a, b, std::vector<uint64_t>(size_t(s.degree) + 1), 0, true};
    auto real = [&](int64_t x) { return std::ldexp(tail.At(std::ldexp(double(x), -q.in.scale)), scale); };
    const double least = std::min(real(a), real(b - 1)), most = std::max(real(a), real(b - 1)),
                 room = std::ldexp(1, q.result.bits - 1);
    if (!(least >= -room && most < room))
      Fail(Cause::kRefused, "a tail of ", q.name, " leaves the ring of ", q.result.bits, " bits at scale ", scale,
           "; use a wider ring");
    if (tail.kind != Tail::kConstant && s.degree < 1)
      Fail(Cause::kInput, "a tail of ", q.name, " that is no constant needs degree 1; it has degree ", s.degree);
    if (tail.kind == Tail::kIdentity) {
      if (up < 0)
        Fail(Cause::kInput, "the identity as a tail of ", q.name, " needs a result of scale ", q.in.scale,
             " at least; it has scale ", scale);
      p.c[0] = uint64_t(a) << up, p.c[1] = uint64_t{1} << up;
    } else {
      const int64_t rise = tail.kind == Tail::kLine ? Round(std::ldexp(tail.slope, up)) : 0,
                    // what the slope's rounding adds from end to end is shared by both ends
          begin = Round((real(a) + real(b - 1) - double(rise) * double(b - 1 - a)) / 2);
      p.c[0] = uint64_t(begin);
      if (rise != 0) p.c[1] = uint64_t(rise);
      for (int64_t x : {a, b - 1}) {
        const double got = double(begin) + double(rise) * double(x - a);
        *error = std::max(*error, std::ldexp(std::abs(got - real(x)), -scale));
      }
    }
    for (uint64_t& c : p.c) c &= ring::Mask(q.result.bits);
    out->push_back(std::move(p));
  }
}

// ToSuf: pieces and tails in the domain's order, equal neighbours of degree 0 as one.
Fitted<Function> ToFunction(const FitRequest& q, const Target& f, const Shape& s, std::vector<Local> pieces) {
  Fitted<Function> out;
  out.scale = q.result.scale + s.slope;
  if (q.below) AddTail(q, s, *q.below, f.lo(), f.first(), &out.error, &pieces);
  if (q.above) AddTail(q, s, *q.above, f.last(), f.hi(), &out.error, &pieces);
  std::sort(pieces.begin(), pieces.end(),
            [&](const Local& x, const Local& y) { return f.Word(x.begin) < f.Word(y.begin); });
  Suf g{q.name, q.in.bits, q.result.bits, 1, s.degree, {}, U128{1} << q.in.bits, {}, {}};
  for (Local& p : pieces) {
    out.error = std::max(out.error, p.error), out.exact = out.exact && p.exact;
    g.pieces.push_back({f.Word(p.begin), {std::move(p.c)}});
  }
  g.channels = {{Channel::kSigned, q.result.bits, 0, "y"}};
  if (g.pieces.size() > kMostPieces)
    Fail(Cause::kRefused, g.name, " needs ", g.pieces.size(), " pieces with its tails; at most ", kMostPieces);
  Verify(g);
  out.f = std::move(g);
  return out;
}

double CostOf(const FitRequest& q, const Suf& f) {
  return q.cost ? q.cost(f) : double(f.pieces.size()) * (f.degree + 2);
}

// Best: the choice so far: within the bound, the cheapest; else the smallest error.
struct Best {
  std::optional<Fitted<Function>> fit;
  double cost = INFINITY;
  void Offer(const FitRequest& q, Fitted<Function> next) {
    const double at = CostOf(q, std::get<Suf>(next.f));
    bool better = !fit;
    if (fit && !q.error && next.error != fit->error)
      better = next.error < fit->error;
    else if (fit)
      better = at < cost || (at == cost && next.scale < fit->scale);
    if (better) fit = std::move(next), cost = at;
  }
};

// WithError: the fewest pieces of a shape within `bound`.
std::optional<std::vector<Local>> WithError(const FitRequest& q, const Pieces& pieces, Knots knots, double bound,
                                            size_t most) {
  if (knots == Knots::kFree) return pieces.Free(bound, most);
  if (knots == Knots::kGiven) return pieces.Cuts(bound, most);
  const bool uniform = knots == Knots::kUniform;
  for (int k = 0; k <= std::min(q.in.bits, 17); ++k)
    if (auto found = uniform ? pieces.Uniform(q.in.bits - k, bound, most) : pieces.Octaves(k, bound, most))
      return found;
  return std::nullopt;
}

double ErrorOf(const std::vector<Local>& pieces) {
  double error = 0;
  for (const Local& p : pieces) error = std::max(error, p.error);
  return error;
}

// WithPieces: the smallest error of at most `most` pieces of a shape; free knots by halving the bound's logarithm.
std::optional<std::vector<Local>> WithPieces(const FitRequest& q, const Pieces& pieces, Knots knots, size_t most) {
  std::optional<std::vector<Local>> best;
  bool worse = false;  // much: wider pieces will not be better than what there is
  auto offer = [&](std::optional<std::vector<Local>> found) {
    if (!found) return;
    worse = best && ErrorOf(*found) > 2 * ErrorOf(*best);
    if (!best || ErrorOf(*found) < ErrorOf(*best)) best = std::move(found);
  };
  if (knots == Knots::kFree) {
    double low = -q.result.scale - 20, high = q.result.bits - q.result.scale;
    for (int i = 0; i < 24; ++i) {
      const double middle = (low + high) / 2;
      auto found = pieces.Free(std::exp2(middle), most);
      (found ? high : low) = middle;
      offer(std::move(found));
    }
    return best;
  }
  if (knots == Knots::kGiven) return pieces.Cuts(HUGE_VAL, most);
  for (int k = std::min(q.in.bits, 17); k >= 0 && !worse; --k)
    offer(knots == Knots::kUniform ? pieces.Uniform(q.in.bits - k, HUGE_VAL, most) : pieces.Octaves(k, HUGE_VAL, most));
  return best;
}

// Shapes: every degree and kind of knots, with the finest slope.
std::vector<Shape> Shapes(const FitRequest& q) {
  auto lines = [](const std::optional<Tail>& tail) { return tail && tail->kind != Tail::kConstant; };
  std::vector<Shape> out;
  for (int d = q.degree.value_or(lines(q.below) || lines(q.above)); d <= q.degree.value_or(kMostFitted); ++d)
    for (Knots k : {Knots::kUniform, Knots::kOctaves, Knots::kFree, Knots::kGiven})
      if (q.knots ? *q.knots == k : k != Knots::kGiven) {
        Shape s{k, d, {}, 0};
        if (q.finer.empty()) {
          s = WithSlope(s, d > 0 ? q.slope : 0);
        } else {
          std::copy(q.finer.begin(), q.finer.end(), s.finer.begin());
          s.slope = *std::max_element(q.finer.begin(), q.finer.end());
        }
        out.push_back(s);
      }
  return out;
}

void Check(const FitRequest& q) {
  auto range = [&](const char* what, int v, int lo, int hi) {
    if (v < lo || v > hi)
      Fail(Cause::kInput, "the ", what, " of the fit of ", q.name, " is ", v, "; use ", lo, " to ", hi);
  };
  range("domain's bits", q.in.bits, 1, kMostDomain);
  range("result's ring", q.result.bits, 1, 64);
  range("input's scale", q.in.scale, -64, 64), range("result's scale", q.result.scale, -64, 64);
  range("slope", q.slope, 0, 64);
  if (q.degree) range("degree", *q.degree, 0, kMostFitted);
  if (q.pieces) range("number of pieces", *q.pieces, 1, int(kMostPieces));
  range("number of scales", int(q.finer.size()), 0, q.degree ? *q.degree + 1 : 0);
  for (int x : q.finer) range("finer scale", x, 0, 64);
  if (!q.finer.empty()) range("number of scales", int(q.finer.size()), *q.degree + 1, *q.degree + 1);
  for (const auto& tail : {q.below, q.above})
    if (tail && (std::isnan(tail->from) || !std::isfinite(tail->value) || !std::isfinite(tail->slope)))
      Fail(Cause::kInput, "a tail of ", q.name, " is ", tail->value, " with slope ", tail->slope, " from ", tail->from,
           " on; use numbers");
  if ((q.knots == Knots::kGiven) != !q.cuts.empty())
    Fail(Cause::kInput, "the fit of ", q.name, " has ", q.cuts.size(),
         " cuts; give some with given knots, and none else");
  const double one = std::ldexp(1, -q.in.scale), low = q.in.is_signed ? -std::ldexp(one, q.in.bits - 1) : 0,
               high = std::ldexp(one, q.in.bits - q.in.is_signed);
  for (size_t i = 0; i < q.cuts.size(); ++i)
    if (!(q.cuts[i] > low && q.cuts[i] < high) || (i && q.cuts[i] <= q.cuts[i - 1]))
      Fail(Cause::kInput, "cut ", i + 1, " of the fit of ", q.name, " is ", q.cuts[i],
           "; use increasing numbers between ", low, " and ", high);
  if (!q.error && !q.pieces)
    Fail(Cause::kInput, "the fit of ", q.name, " has no bound; give an error or a number of pieces");
  if (q.error && !(*q.error > 0))
    Fail(Cause::kInput, "the error allowed for ", q.name, " is ", *q.error, "; use a number over 0");
}

Fitted<Function> FitPieces(const FitRequest& q) {
  const Target f(q);
  const size_t most = q.pieces ? size_t(*q.pieces) : kMostPieces;
  Best best;
  auto tried = [&](const Shape& s, size_t limit) {
    const Pieces pieces(q, f, s);
    auto found = q.error ? WithError(q, pieces, s.knots, *q.error, limit) : WithPieces(q, pieces, s.knots, limit);
    const size_t many = found ? found->size() : 0;
    if (found) best.Offer(q, ToFunction(q, f, s, std::move(*found)));
    return many;
  };
  const std::vector<Shape> shapes = Shapes(q);
  const double room = q.result.bits - 1 - q.result.scale - std::log2(std::max(f.Size(), 1e-300));  // bits for slopes
  for (const Shape& shape : shapes) {
    const int finest = q.finer.empty() ? std::clamp(int(std::floor(std::min(room, 64.0))), 0, shape.slope) : 0;
    const Shape s = q.finer.empty() ? WithSlope(shape, finest) : shape;
    if (q.cost || !q.error) {  // every slope: what is dear is the caller's to say, and errors need not fall with it
      tried(s, most);
      for (int slope = finest - 1; slope >= 0; --slope) tried(WithSlope(s, slope), most);
      continue;
    }
    // the fewest pieces are those of the finest slope; more than this are dearer than what is there
    const size_t limit = size_t(std::min(double(most), best.cost / (s.degree + 2)));
    int fine = finest;
    size_t many = tried(s, limit);
    if (many == 0 && fine > 0) many = tried(WithSlope(s, --fine), limit);  // a value may be just over the room
    for (int coarse = -1; many > 0 && fine - coarse > 1;) {                // the coarsest with as many
      const int slope = (coarse + fine) / 2;
      (tried(WithSlope(s, slope), many) > 0 ? fine : coarse) = slope;
    }
  }
  if (best.fit) return std::move(*best.fit);
  if (!q.error)
    Fail(Cause::kRefused, "no fit of ", q.name, " with ", most, " pieces stays in its ring of ", q.result.bits,
         " bits; use a wider ring or a coarser scale");
  std::optional<double> reached;
  const bool small = f.last() - f.first() <= int64_t{1} << 20;  // else free knots with so many pieces take minutes
  for (const Shape& s : shapes) {
    const Knots knots = s.knots == Knots::kFree && !small ? Knots::kUniform : s.knots;
    if (auto found = WithPieces(q, Pieces(q, f, s), knots, most))
      reached = std::min(reached.value_or(INFINITY), ErrorOf(*found));
  }
  OutOfReach(q, most, "pieces", reached);
}

}  // namespace

Fitted<Function> Fit(const FitRequest& request) {
  if (!IsWord(request.name)) Fail(Cause::kInput, "a function to fit needs a name that is one word");
  Check(request);
  return request.form == Form::kBipartite ? internal::FitBipartite(request) : FitPieces(request);
}

}  // namespace suf::func
