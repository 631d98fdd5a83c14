#include "suf/func/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "suf/func/internal/target.hpp"
#include "suf/ring/words.hpp"

namespace suf::func {

namespace {

using internal::Extremes;
using internal::ExtremesOf;
using internal::OutOfReach;
using internal::Round;
using internal::Target;

constexpr int kMostFitted = 3, kMostDomain = 62;

// Shape: what is tried: degree, and how many bits each coefficient is finer than the result asked for.
struct Shape {
  Knots knots = Knots::kFree;
  int degree = 1;
  std::array<int, kMostFitted + 1> finer{};
  int slope = 0;  // the largest
};

Shape WithSlope(Shape s, int slope) {
  s.finer.fill(slope), s.slope = slope;
  return s;
}

struct Local {
  int64_t begin = 0, end = 0;
  std::vector<uint64_t> c;
  double error = INFINITY;
  bool exact = true;
};

// Pieces: fits one shape.
class Pieces {
 public:
  Pieces(const FitRequest& q, const Target& f, const Shape& s)
      : q_(q), f_(f), s_(s), unit_(std::ldexp(1, q.result.scale + s.slope)), room_(std::ldexp(1, q.result.bits - 1)) {}

  // Fit: the piece [a, b); its error is infinite where it is over `bound` or the ring.
  // `quick`: by samples alone where that is not all points.
  Local Fit(int64_t a, int64_t b, double bound, bool quick = false) const {
    Local out{a, b, std::vector<uint64_t>(size_t(s_.degree) + 1), INFINITY, true};
    const int64_t m = b - a;
    std::array<double, kMostFitted + 1> c{};
    auto rest = [&](int64_t t) {
      const double x = double(t);
      return f_.At(a + t) * unit_ - ((c[3] * x + c[2]) * x + c[1]) * x;
    };
    for (int d = int(std::min<int64_t>(s_.degree, m - 1)); d > 0; --d) {
      const double q = Leading(rest, d, m), step = std::ldexp(1, s_.slope - s_.finer[size_t(d)]);
      c[size_t(d)] = std::floor(q / step + 0.5) * step;
      if (!(std::abs(c[size_t(d)]) < 0x1p62)) return out;
      out.c[size_t(d)] = uint64_t(int64_t(c[size_t(d)])) & ring::Mask(q_.result.bits);
    }
    const double step = std::ldexp(1, s_.slope - s_.finer[0]), most = 2 * (bound * unit_ + step);
    if (Extremes few = Few<16>(rest, m); few.most - few.least > most) return out;
    const Extremes all =
        quick && f_.every() && m > kQuick ? Few<kQuick>(rest, m) : ExtremesOf(rest, 0, m - 1, f_.every());
    const double constant = std::floor(all.centre() / step + 0.5) * step;
    if (!(std::abs(constant) < 0x1p62)) return out;
    const double error = std::max(all.most - constant, constant - all.least) / unit_;
    const Extremes value = ExtremesOf([&](int64_t t) { return f_.At(a + t) * unit_; }, 0, m - 1, false);
    if (!(std::max(value.most, -value.least) + error * unit_ < room_) || !(error <= bound)) return out;
    out.c[0] = uint64_t(int64_t(constant)) & ring::Mask(q_.result.bits);
    out.error = error, out.exact = all.exact;
    return out;
  }

  // Uniform: pieces of 2^w, of at most `most`.
  std::optional<std::vector<Local>> Uniform(int w, double bound, size_t most) const {
    return Given(bound, most, [&](int64_t x, int64_t) { return ((x >> w) + 1) << w; });
  }
  // Octaves: of 2^p pieces each on both sides of 0, single points below 2^p.
  std::optional<std::vector<Local>> Octaves(int p, double bound, size_t most) const {
    return Given(bound, most, [&](int64_t x, int64_t) {
      const uint64_t size = x < 0 ? uint64_t(-x) - 1 : uint64_t(x);  // x < 0: the octaves of -x - 1
      const int w = std::max(0, int(std::bit_width(size)) - 1 - p);
      return ((x >> w) + 1) << w;
    });
  }
  // Cuts: at the request's.
  std::optional<std::vector<Local>> Cuts(double bound, size_t most) const {
    std::vector<int64_t> cuts;
    for (double v : q_.cuts) cuts.push_back(f_.Cut(v));
    return Given(bound, most, [&](int64_t x, int64_t last) {
      const auto next = std::upper_bound(cuts.begin(), cuts.end(), x);
      return next == cuts.end() ? last : *next;
    });
  }
  // Free: each piece as long as its bound lets it be: first by samples, then, where those missed something, by every
  // point.
  std::optional<std::vector<Local>> Free(double bound, size_t most) const {
    int64_t guess = 1;
    return Along(bound, most, [&](int64_t x, int64_t last) {
      auto fits = [&](int64_t width) { return std::isfinite(Fit(x, x + width, bound).error); };
      auto looks = [&](int64_t width) {
        return std::isfinite(Fit(x, x + width, bound * (1 - 1.0 / 2048), true).error);
      };
      int64_t width = Longest(guess, last - x, looks);
      if (f_.every() && width > 0 && !fits(width)) width = Longest(guess, width, fits);
      guess = std::max<int64_t>(1, width);
      return x + guess;
    });
  }

 private:
  static constexpr int kQuick = 256;
  // Few: of Many + 1 points of [0, m).
  template <int Many, class F>
  static Extremes Few(const F& rest, int64_t m) {
    Extremes few;
    for (int i = 0; i <= Many; ++i) few.See(rest(int64_t(__int128{m - 1} * i / Many)));
    return few;
  }
  // Longest: the largest width up to `most` that fits, by doubling from `guess` and halving what is between; 0: none.
  template <class F>
  static int64_t Longest(int64_t guess, int64_t most, const F& fits) {
    int64_t good = 0, bad = most + 1;
    for (int64_t w = std::min(guess, most); w > good && w < bad;) {
      if (fits(w))
        good = w, w = std::min(2 * w, most);
      else
        bad = w, w = good ? 0 : w / 2;
    }
    while (bad - good > 1) {
      const int64_t w = good + (bad - good) / 2;
      (fits(w) ? good : bad) = w;
    }
    return good;
  }
  // Leading: the divided difference at d + 1 of Chebyshev's points of [0, m).
  template <class F>
  static double Leading(const F& rest, int d, int64_t m) {
    double t[kMostFitted + 1], y[kMostFitted + 1];
    for (int i = 0; i <= d; ++i) {
      const double at = m <= 4 * (d + 1) ? double(m - 1) * i / d
                                         : double(m - 1) / 2 * (1 - std::cos((2 * i + 1) * M_PI / (2 * d + 2)));
      t[i] = std::floor(at), y[i] = rest(int64_t(t[i]));
    }
    for (int k = 1; k <= d; ++k)
      for (int i = 0; i + k <= d; ++i) y[i] = (y[i + 1] - y[i]) / (t[i + k] - t[i]);
    return y[0];
  }

  // Given: Along for knots that do not depend on the function: too many of them are found out by counting.
  template <class F>
  std::optional<std::vector<Local>> Given(double bound, size_t most, const F& next) const {
    size_t many = 0;
    for (auto [from, to] : {std::pair{int64_t{0}, f_.hi()}, std::pair{f_.lo(), int64_t{0}}})
      for (int64_t x = std::max(from, f_.first()); x < std::min(to, f_.last()); x = next(x, to))
        if (++many > most) return std::nullopt;
    return Along(bound, most, next);
  }
  // Along: pieces in the domain's order; next(x, last) is where the one that begins at x ends, at most.
  template <class F>
  std::optional<std::vector<Local>> Along(double bound, size_t most, const F& next) const {
    std::vector<Local> out;
    auto part = [&](int64_t from, int64_t to) {
      from = std::max(from, f_.first()), to = std::min(to, f_.last());
      for (int64_t x = from; x < to; x = out.back().end) {
        if (out.size() == most) return false;
        out.push_back(Fit(x, std::min(next(x, to), to), bound));
        if (!std::isfinite(out.back().error)) return false;
      }
      return true;
    };
    if (!part(0, f_.hi()) || !part(f_.lo(), 0)) return std::nullopt;
    return out;
  }

  const FitRequest& q_;
  const Target& f_;
  Shape s_;
  double unit_, room_;
};

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
