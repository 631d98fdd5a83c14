// Parts of all searches: the function of a request at the integers of its domain, and refusals.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "suf/func/internal/measure.hpp"
#include "suf/func/search.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func::internal {

// The function at the integers x of the domain, lo <= x < hi. If every point is measured, values are stored.
class TargetFunction {
 public:
  explicit TargetFunction(const FitRequest& q)
      : q_(q), n_(q.in.bits), lo_(q.in.is_signed ? -(int64_t{1} << (n_ - 1)) : 0) {
    hi_ = lo_ + (int64_t{1} << n_);
    if (auto* text = std::get_if<std::string>(&q.what)) f_ = RealOf(*text);
    if (auto* f = std::get_if<Real>(&q.what)) f_ = *f;
    if (auto* table = std::get_if<std::vector<double>>(&q.what)) {
      if (n_ > internal::kEveryPoint || table->size() != size_t{1} << n_)
        Fail(Cause::kInput, "the table of ", q.name, " has ", table->size(), " values for a domain of ", n_,
             " bits; give one a word, of at most 2^", internal::kEveryPoint);
      f_ = [table, this](double v) { return (*table)[uint64_t(int64_t(std::ldexp(v, q_.in.scale))) & ring::Mask(n_)]; };
    }
    if (!f_) Fail(Cause::kInput, "the function ", q.name, " to fit is empty; give a callable, a formula or a table");
    first_ = q.below ? Cut(q.below->from) : lo_;
    last_ = q.above ? Cut(q.above->from) : hi_;
    if (first_ > last_)
      Fail(Cause::kInput, "the lower tail of ", q.name, " ends at ", q.below->from, ", after the upper one's begin at ",
           q.above->from);
    if (!every()) return;
    values_.reserve(size_t(last_ - first_));
    for (int64_t x = first_; x < last_; ++x) values_.push_back(f_(Argument(x)));
    CheckFinite();
  }
  int64_t lo() const { return lo_; }
  int64_t hi() const { return hi_; }
  // Returns the begin of the range between the tails.
  int64_t first() const { return first_; }
  // Returns the end of the range between the tails.
  int64_t last() const { return last_; }
  // Returns whether every point between the tails is measured.
  bool every() const { return last_ - first_ <= int64_t{1} << internal::kEveryPoint; }
  double At(int64_t x) const { return values_.empty() ? Evaluate(x) : values_[size_t(x - first_)]; }
  // The least and the largest value, and their places.
  struct ValueRange {
    double least = INFINITY, most = -INFINITY, least_at = 0, most_at = 0;
    double size() const { return std::max(most, -least); }
  };
  // Returns the extremes of the ends of the tails and of all points between the tails, or of 1,025 of them.
  ValueRange FindRange() const {
    ValueRange out;
    auto see = [&](double x, double y) {
      if (y < out.least) {
        out.least = y;
        out.least_at = x;
      }
      if (y > out.most) {
        out.most = y;
        out.most_at = x;
      }
    };
    const int64_t points = last_ - first_, shown = every() ? points : 1025;
    for (int64_t i = 0; i < shown; ++i) {
      const int64_t x = first_ + (every() ? i : int64_t(__int128{points - 1} * i / (shown - 1)));
      see(Argument(x), At(x));
    }
    for (const auto& [tail, from, to] : {std::tuple{&q_.below, lo_, first_}, std::tuple{&q_.above, last_, hi_}})
      for (int64_t x : {from, to - 1})
        if (*tail && from < to) see(Argument(x), (*tail)->At(Argument(x)));
    return out;
  }
  // Returns x as a real number.
  double Argument(int64_t x) const { return std::ldexp(double(x), -q_.in.scale); }
  // Returns the least x that is at least v.
  int64_t Cut(double v) const {
    return int64_t(std::clamp(std::ceil(std::ldexp(v, q_.in.scale)), double(lo_), double(hi_)));
  }
  // Returns x as a word of the domain.
  uint64_t Word(int64_t x) const { return uint64_t(x) & ring::Mask(n_); }

 private:
  double Evaluate(int64_t x) const {
    const double v = Argument(x), y = f_(v);
    if (!std::isfinite(y))
      Fail(Cause::kInput, "the function ", q_.name, " is not finite at x = ", v,
           "; give it a value or a tail there, or another range");
    return y;
  }
  // Throws Cause::kInput, with the places, if some values_ are not finite.
  void CheckFinite() const;

  const FitRequest& q_;
  int n_;
  int64_t lo_, hi_, first_ = 0, last_ = 0;
  Real f_;
  std::vector<double> values_;
};

// Throws Cause::kRefused if no fit within the request's error stays in the ring of the result. The error message has
// the bits or the scale that would suffice.
void CheckRange(const FitRequest& q, const TargetFunction::ValueRange& reach);

// Throws Cause::kRefused: the caller cannot use any fit.
[[noreturn]] void RefuseAllFits(const FitRequest& q, const std::string& why);

// Throws Cause::kRefused: no fit of at most `most` pieces or values (`what`) keeps the request's error.
[[noreturn]] void RefuseBound(const FitRequest& q, size_t most, const char* what, std::optional<double> reached);

// Fits a Split to a checked request with FitForm::kBipartite.
FitResult<Function> FitBipartite(const FitRequest& q);

}  // namespace suf::func::internal
