#include "suf/func/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "suf/func/internal/pieces.hpp"
#include "suf/func/internal/target.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {

namespace {

using internal::CheckRange;
using internal::FitShape;
using internal::kMostFitted;
using internal::Local;
using internal::Pieces;
using internal::RefuseBound;
using internal::Round;
using internal::TargetFunction;
using internal::WithSlope;

constexpr int kMostDomain = 62;

// Adds the pieces of a tail in [from, to), and its error.
void AddTail(const FitRequest& q, const FitShape& s, const Tail& tail, int64_t from, int64_t to, double* error,
             std::vector<Local>* out) {
  const int scale = q.result.scale + s.slope, up = scale - q.in.scale;
  for (auto [a, b] : {std::pair{std::max<int64_t>(from, 0), to}, std::pair{from, std::min<int64_t>(to, 0)}}) {
    if (a >= b) continue;
    Local p{a, b, std::vector<uint64_t>(size_t(s.degree) + 1), 0, true};
    auto real = [&](int64_t x) { return std::ldexp(tail.At(std::ldexp(double(x), -q.in.scale)), scale); };
    const double least = std::min(real(a), real(b - 1)), most = std::max(real(a), real(b - 1)),
                 room = std::ldexp(1, s.ring - 1);
    if (!(least >= -room && most < room))
      Fail(Cause::kRefused, "a tail of ", q.name, " leaves the ring of ", s.ring, " bits at scale ", scale,
           "; use a wider ring");
    if (tail.kind != Tail::kConstant && s.degree < 1)
      Fail(Cause::kInput, "a tail of ", q.name, " that is no constant needs degree 1; it has degree ", s.degree);
    if (tail.kind == Tail::kIdentity) {
      if (up < 0)
        Fail(Cause::kInput, "the identity as a tail of ", q.name, " needs a result of scale ", q.in.scale,
             " at least; it has scale ", scale);
      p.c[0] = uint64_t(a) << up;
      p.c[1] = uint64_t{1} << up;
    } else {
      const int64_t rise = tail.kind == Tail::kLine ? Round(std::ldexp(tail.slope, up)) : 0,
                    // both ends share the error of the rounded slope
          begin = Round((real(a) + real(b - 1) - double(rise) * double(b - 1 - a)) / 2);
      p.c[0] = uint64_t(begin);
      if (rise != 0) p.c[1] = uint64_t(rise);
      for (int64_t x : {a, b - 1}) {
        const double got = double(begin) + double(rise) * double(x - a);
        *error = std::max(*error, std::ldexp(std::abs(got - real(x)), -scale));
      }
    }
    for (uint64_t& c : p.c) c &= ring::Mask(s.ring);
    out->push_back(std::move(p));
  }
}

// Joins pieces and tails in the order of the domain.
FitResult<Function> ToFunction(const FitRequest& q, const TargetFunction& f, const FitShape& s,
                               std::vector<Local> pieces) {
  FitResult<Function> out;
  out.scale = q.result.scale + s.slope;
  if (q.below) AddTail(q, s, *q.below, f.lo(), f.first(), &out.error, &pieces);
  if (q.above) AddTail(q, s, *q.above, f.last(), f.hi(), &out.error, &pieces);
  std::sort(pieces.begin(), pieces.end(),
            [&](const Local& x, const Local& y) { return f.Word(x.begin) < f.Word(y.begin); });
  Suf g{q.name, q.in.bits, s.ring, 1, s.degree, {}, U128{1} << q.in.bits, {}, {}};
  for (Local& p : pieces) {
    out.error = std::max(out.error, p.error);
    out.exact = out.exact && p.exact;
    g.pieces.push_back({f.Word(p.begin), {std::move(p.c)}});
  }
  g.channels = {{OutputChannel::kSigned, s.ring, 0, "y"}};
  if (g.pieces.size() > kMostPieces)
    Fail(Cause::kRefused, g.name, " needs ", g.pieces.size(), " pieces with its tails; at most ", kMostPieces);
  Verify(g);
  out.f = std::move(g);
  return out;
}

// Returns the cost in the requested ring. A wider ring costs in proportion.
double CostOf(const FitRequest& q, const Suf& f) {
  const double cost = q.cost ? q.cost(f) : double(f.pieces.size()) * (f.degree + 2);
  return cost * f.ring / q.result.bits;
}

// Returns the error of a fit from its integers, at every point between the tails or at 2^16 of them.
double ErrorOf(const Suf& fit, int scale, const TargetFunction& f) {
  constexpr int64_t kSampled = int64_t{1} << 16;
  const Evaluator at(fit);
  const int64_t points = f.last() - f.first(), shown = f.every() ? points : kSampled;
  double error = 0;
  for (int64_t i = 0; i < shown; ++i) {
    const int64_t x = f.first() + (f.every() ? i : int64_t(__int128{points - 1} * i / (shown - 1)));
    const auto y = static_cast<long double>(ring::Signed(at.At(f.Word(x)), fit.ring));
    error = std::max(error, double(std::abs(std::ldexp(y, -scale) - static_cast<long double>(f.At(x)))));
  }
  return error;
}

// The best fit so far. With a bound it is the cheapest, otherwise the one with the smallest error. Errors below `close`
// count as equal.
class Best {
 public:
  Best(const FitRequest& q, const TargetFunction& f, double close, std::string* refused)
      : q_(q), f_(f), close_(close), refused_(refused) {}
  // Takes a fit if it is better.
  void Offer(const FitShape& shape, FitResult<Function> next) {
    const Suf& s = std::get<Suf>(next.f);
    const double at = CostOf(q_, s), is = std::max(next.error, close_), was = fit ? std::max(fit->error, close_) : 0;
    bool better = !fit;
    if (fit && !q_.error && is != was)
      better = is < was;
    else if (fit)
      better = at < cost || (at == cost && next.scale < fit->scale);
    if (better) Take(shape, std::move(next), at);
  }
  // Takes a fit, unless its measured error exceeds the bound or the caller refuses it.
  void Take(const FitShape& shape, FitResult<Function> next, double at) {
    const Suf& s = std::get<Suf>(next.f);
    // finds errors that doubles rounded away
    const double seen = ErrorOf(s, next.scale, f_);
    if (next.exact ? seen > next.error : seen > next.error * (1 + 0x1p-30)) next.error = seen;
    if (q_.error && next.error > *q_.error * (1 + 0x1p-30)) return;
    if (std::string why = q_.why_not ? q_.why_not(next.f) : ""; !why.empty()) {
      if (refused_->empty()) *refused_ = std::move(why);
      return;
    }
    fit = std::move(next);
    cost = at;
    of = shape;
  }
  std::optional<FitResult<Function>> fit;
  double cost = INFINITY;
  FitShape of;  // the shape of `fit`

 private:
  const FitRequest& q_;
  const TargetFunction& f_;
  double close_;
  std::string* refused_;  // the first reason of a refusal
};

// Returns the fewest pieces of a shape within `bound`.
std::optional<std::vector<Local>> WithError(const FitRequest& q, const Pieces& pieces, Knots knots, double bound,
                                            size_t most) {
  if (knots == Knots::kFree) return pieces.FitFree(bound, most);
  if (knots == Knots::kGiven) return pieces.FitCuts(bound, most);
  const bool uniform = knots == Knots::kUniform;
  for (int k = 0; k <= std::min(q.in.bits, 17); ++k)
    if (auto found = uniform ? pieces.FitUniform(q.in.bits - k, bound, most) : pieces.FitOctaves(k, bound, most))
      return found;
  return std::nullopt;
}

double ErrorOf(const std::vector<Local>& pieces) {
  double error = 0;
  for (const Local& p : pieces) error = std::max(error, p.error);
  return error;
}

// Returns at most `most` pieces of a shape with the smallest error. For free knots it bisects the logarithm of the
// bound.
std::optional<std::vector<Local>> WithPieces(const FitRequest& q, const Pieces& pieces, Knots knots, size_t most,
                                             int halvings = 24) {
  std::optional<std::vector<Local>> best;
  bool worse = false;  // by a factor of 2, so wider pieces will not be better
  auto offer = [&](std::optional<std::vector<Local>> found) {
    if (!found) return;
    worse = best && ErrorOf(*found) > 2 * ErrorOf(*best);
    if (!best || ErrorOf(*found) < ErrorOf(*best)) best = std::move(found);
  };
  if (knots == Knots::kFree) {
    double low = -q.result.scale - 20, high = q.result.bits - q.result.scale;
    for (int i = 0; i < halvings; ++i) {
      const double middle = (low + high) / 2;
      auto found = pieces.FitFree(std::exp2(middle), most);
      (found ? high : low) = middle;
      offer(std::move(found));
    }
    return best;
  }
  if (knots == Knots::kGiven) return pieces.FitCuts(HUGE_VAL, most);
  for (int k = std::min(q.in.bits, 17); k >= 0 && !worse; --k)
    offer(knots == Knots::kUniform ? pieces.FitUniform(q.in.bits - k, HUGE_VAL, most)
                                   : pieces.FitOctaves(k, HUGE_VAL, most));
  return best;
}

// Returns the shapes of every degree and kind of knots, with the finest requested slope.
std::vector<FitShape> Shapes(const FitRequest& q) {
  auto lines = [](const std::optional<Tail>& tail) { return tail && tail->kind != Tail::kConstant; };
  std::vector<FitShape> out;
  for (int d = q.degree.value_or(lines(q.below) || lines(q.above)); d <= q.degree.value_or(kMostFitted); ++d)
    for (Knots k : {Knots::kUniform, Knots::kOctaves, Knots::kFree, Knots::kGiven})
      if (q.knots ? *q.knots == k : k != Knots::kGiven) {
        FitShape s{k, d, q.result.bits, {}, 0};
        if (q.finer.empty()) {
          s = WithSlope(s, d > 0 ? q.slope.value_or(0) : 0);
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
  range("input's scale", q.in.scale, -64, 64);
  range("result's scale", q.result.scale, -64, 64);
  range("slope", q.slope.value_or(0), 0, 64);
  if (q.degree) range("degree", *q.degree, 0, kMostFitted);
  if (q.pieces) range("number of pieces", *q.pieces, 1, int(kMostPieces));
  if (!q.finer.empty() && !q.degree)
    Fail(Cause::kInput, "the fit of ", q.name, " has scales of its coefficients and no degree; give the degree, too");
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

// The search for one request with FitForm::kPieces.
class Search {
 public:
  explicit Search(const FitRequest& q) : q_(q), f_(q), reach_(f_.FindRange()), shapes_(Shapes(q)) {
    CheckRange(q, reach_);
    most_ = q.pieces ? size_t(*q.pieces) : kMostPieces;
  }

  FitResult<Function> Run() {
    Best plain(q_, f_, 0, &refused_), fine(q_, f_, Half(), &refused_);
    if (ChoosesSlopes() && q_.error) FitAllFine(&fine);
    // a finer fit replaces a plain one that costs more than this
    dearest_ = std::max(kCheap, kSaved * fine.cost);
    for (const FitShape& s : shapes_) {
      FitPlain(s, &plain);
      begun_ += 0.5;
    }
    if (ChoosesSlopes() && !q_.error && !(plain.fit && plain.fit->error <= Half())) FitAllFine(&fine);
    Best& best = fine.fit && Saves(plain, fine) ? fine : plain;
    if (!best.fit) Refuse();
    if (ChoosesSlopes()) Sharpen(&best);
    return std::move(*best.fit);
  }

 private:
  static constexpr double kSaved = 2.25;  // the least gain of a finer result, in cost or error
  static constexpr double kCheap = 12;    // a fit that costs no more is not made finer
  static constexpr double kSharp = 64;    // the least gain in error if pieces begin exactly at kinks
  static constexpr double kNothing = 0x1p-60;
  static constexpr int kMostSize = 61;  // most bits of a fitted value

  bool ChoosesSlopes() const { return !q_.slope && q_.finer.empty(); }
  double Half() const { return std::ldexp(1, -q_.result.scale - 1); }
  bool Saves(const Best& plain, const Best& fine) const {
    if (!plain.fit) return true;
    if (!q_.error) return std::max(fine.fit->error, Half()) * kSaved <= plain.fit->error;
    return plain.cost > kCheap && fine.cost * kSaved <= plain.cost;
  }

  // Returns a fitter of a shape that reports progress. Progress never decreases.
  Pieces FitterOf(const FitShape& s) {
    if (!q_.progress) return Pieces(q_, f_, s);
    const char* const kinds[] = {"uniform", "octave", "free", "given"};
    const std::string what = Str(kinds[int(s.knots)], " pieces of degree ", s.degree);
    return Pieces(q_, f_, s, [this, what](double part) {
      done_ = std::max(done_, (begun_ + part / 2) / double(shapes_.size()));
      q_.progress(std::min(done_, 1.0), what);
    });
  }

  // Fits one shape, by at most `limit` pieces, within `bound` if there is one.
  std::optional<FitResult<Function>> Try(const FitShape& s, size_t limit, std::optional<double> bound) {
    if (limit == 0) return std::nullopt;
    const Pieces pieces = FitterOf(s);
    auto found = bound ? WithError(q_, pieces, s.knots, *bound, limit) : WithPieces(q_, pieces, s.knots, limit);
    if (!found) return std::nullopt;
    return ToFunction(q_, f_, s, std::move(*found));
  }
  // Offers the fit of one shape to `best`. Returns the number of its pieces, or 0.
  size_t Offer(const FitShape& s, size_t limit, Best* best) {
    auto found = Try(s, limit, q_.error);
    const size_t many = found ? std::get<Suf>(found->f).pieces.size() : 0;
    if (found) best->Offer(s, std::move(*found));
    return many;
  }

  // Fits a shape in the ring of the result, with the requested slopes.
  void FitPlain(const FitShape& shape, Best* best) {
    // bits that are left for slopes
    const double room = q_.result.bits - 1 - q_.result.scale - std::log2(std::max(reach_.size(), 1e-300));
    const int finest = q_.finer.empty() ? std::clamp(int(std::floor(std::min(room, 64.0))), 0, shape.slope) : 0;
    const FitShape s = q_.finer.empty() ? WithSlope(shape, finest) : shape;
    if (q_.cost || !q_.error) {  // every slope, because cost and errors need not fall with finer slopes
      Offer(s, most_, best);
      for (int slope = finest - 1; slope >= 0; --slope) Offer(WithSlope(s, slope), most_, best);
      return;
    }
    // the finest slope has the fewest pieces; with more pieces than this the fit costs more than the best one
    const size_t limit = size_t(std::min(double(most_), std::min(best->cost, dearest_) / (s.degree + 2)));
    int fine = finest;
    size_t many = Offer(s, limit, best);
    if (many == 0 && fine > 0) many = Offer(WithSlope(s, --fine), limit, best);  // a value may just exceed the ring
    for (int coarse = -1; many > 0 && fine - coarse > 1;) {  // the coarsest slope with the same number
      const int slope = (coarse + fine) / 2;
      (Offer(WithSlope(s, slope), many, best) > 0 ? fine : coarse) = slope;
    }
  }

  // Returns a shape with a slope, and with the ring that its values then need.
  FitShape Widened(const FitShape& shape, int slope) const {
    FitShape s = WithSlope(shape, slope);
    const double error = q_.error.value_or(Half());
    while (s.ring < 64 && std::ldexp(reach_.size() + error, q_.result.scale + slope) >= std::ldexp(1, s.ring - 1))
      ++s.ring;
    return s;
  }

  // Fits all shapes with finer slopes, if the request has no slope. Only free knots are tried unless others are
  // requested, because others never take fewer pieces. Constants, whose slope only rounds them finer, come last.
  void FitAllFine(Best* best) {
    for (const bool constants : {false, true})
      for (const FitShape& s : shapes_)
        if ((s.degree == 0) == constants && (q_.knots || s.knots == Knots::kFree)) {
          FitFine(s, best);
          begun_ += 0.5;
        }
  }

  // Fits a shape with the coarsest slope that is good enough. It may take an eighth more pieces than the finest slope,
  // or have an error that is a quarter larger.
  void FitFine(const FitShape& shape, Best* best) {
    const double size = std::log2(std::max(reach_.size() + q_.error.value_or(Half()), 1e-300));
    int fine = std::clamp(int(std::floor(kMostSize - size)) - q_.result.scale, 0, 64);
    if (fine == 0) return;
    const double most_pieces = best->cost / (shape.degree + 2);
    const size_t limit = q_.error && most_pieces < double(most_) ? size_t(most_pieces) : most_;
    auto good = Try(Widened(shape, fine), limit, q_.error);
    if (!good) return;
    const size_t many = std::get<Suf>(good->f).pieces.size(),
                 most = q_.error ? std::min(limit, many + many / 8) : most_;
    const double error = std::max(good->error, Half()) * 1.25;
    for (int coarse = 0; fine - coarse > 1;) {
      const int slope = (coarse + fine) / 2;
      auto found = Try(Widened(shape, slope), most, q_.error);
      if (found && (q_.error || found->error <= error)) {
        good = std::move(found);
        fine = slope;
      } else
        coarse = slope;
    }
    best->Offer(Widened(shape, fine), std::move(*good));
  }

  // Searches for the same number of pieces with far smaller error, as they have if they begin at kinks.
  void Sharpen(Best* best) {
    while (best->of.knots == Knots::kFree && best->fit->error > kNothing) {
      const double error = best->fit->error;
      auto found = Try(best->of, std::get<Suf>(best->fit->f).pieces.size(), error / kSharp);
      if (!found) return;
      best->Take(best->of, std::move(*found), best->cost);
      if (best->fit->error >= error) return;
    }
  }

  [[noreturn]] void Refuse() {
    if (!refused_.empty()) internal::RefuseAllFits(q_, refused_);
    if (!q_.error)
      Fail(Cause::kRefused, "no fit of ", q_.name, " with ", most_, " pieces stays in its ring of ", q_.result.bits,
           " bits; use ", q_.result.bits < 64 ? "a wider ring, " : "", "a coarser scale or more pieces");
    constexpr int kRough = 14;  // halvings, for the error within a percent
    std::optional<double> reached;
    const bool small = f_.last() - f_.first() <= int64_t{1} << 20;  // larger domains take minutes
    for (const FitShape& s : shapes_) {
      const Knots knots = s.knots == Knots::kFree && !small ? Knots::kUniform : s.knots;
      if (auto found = WithPieces(q_, FitterOf(s), knots, most_, kRough))
        reached = std::min(reached.value_or(INFINITY), ErrorOf(*found));
    }
    RefuseBound(q_, most_, "pieces", reached);
  }

  const FitRequest& q_;
  const TargetFunction f_;
  const TargetFunction::ValueRange reach_;
  const std::vector<FitShape> shapes_;
  size_t most_;
  std::string refused_;
  double dearest_ = INFINITY;    // largest cost of a plain fit
  double begun_ = 0, done_ = 0;  // shapes that were begun; the part that was reported last
};

}  // namespace

FitResult<Function> Fit(const FitRequest& request) {
  if (!IsWord(request.name)) Fail(Cause::kInput, "a function to fit needs a name that is one word");
  Check(request);
  return request.form == FitForm::kBipartite ? internal::FitBipartite(request) : Search(request).Run();
}

}  // namespace suf::func
