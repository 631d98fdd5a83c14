// What the searches share: the function that a request asks for, at the integers of its domain, and the last refusal.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "suf/func/internal/measure.hpp"
#include "suf/func/search.hpp"
#include "suf/ring/words.hpp"

namespace suf::func::internal {

// Target: the function at the integers x of the domain, lo <= x < hi; values are kept where every point is measured.
class Target {
 public:
  explicit Target(const FitRequest& q) : q_(q), n_(q.in.bits), lo_(q.in.is_signed ? -(int64_t{1} << (n_ - 1)) : 0) {
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
    first_ = q.below ? Cut(q.below->from) : lo_, last_ = q.above ? Cut(q.above->from) : hi_;
    if (first_ > last_)
      Fail(Cause::kInput, "the lower tail of ", q.name, " ends at ", q.below->from, ", after the upper one's begin at ",
           q.above->from);
    if (!every()) return;
    values_.reserve(size_t(last_ - first_));
    for (int64_t x = first_; x < last_; ++x) values_.push_back(Asked(x));
  }
  int64_t lo() const { return lo_; }
  int64_t hi() const { return hi_; }
  // first, last: between the tails.
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }
  // every: whether every point between the tails is measured.
  bool every() const { return last_ - first_ <= int64_t{1} << internal::kEveryPoint; }
  double At(int64_t x) const { return values_.empty() ? Asked(x) : values_[size_t(x - first_)]; }
  // Size: the largest size of the function, as 1,025 points between the tails and the tails show it.
  double Size() const {
    double most = 0;
    for (int64_t i = 0; i <= 1024 && first_ < last_; ++i)
      most = std::max(most, std::abs(At(first_ + int64_t(__int128{last_ - 1 - first_} * i / 1024))));
    auto see = [&](const std::optional<Tail>& tail, int64_t end) {
      if (tail) most = std::max(most, std::abs(tail->At(std::ldexp(double(end), -q_.in.scale))));
    };
    see(q_.below, lo_), see(q_.above, hi_);
    return most;
  }
  // Cut: the first x of at least v.
  int64_t Cut(double v) const {
    return int64_t(std::clamp(std::ceil(std::ldexp(v, q_.in.scale)), double(lo_), double(hi_)));
  }
  // Word: where x lies in the domain.
  uint64_t Word(int64_t x) const { return uint64_t(x) & ring::Mask(n_); }

 private:
  double Asked(int64_t x) const {
    const double v = std::ldexp(double(x), -q_.in.scale), y = f_(v);
    if (!std::isfinite(y))
      Fail(Cause::kInput, "the function ", q_.name, " is not finite at x = ", v,
           "; give it a tail there, or another range");
    return y;
  }

  const FitRequest& q_;
  int n_;
  int64_t lo_, hi_, first_ = 0, last_ = 0;
  Real f_;
  std::vector<double> values_;
};

// OutOfReach: no fit of at most `most` pieces or values keeps the request's error.
[[noreturn]] void OutOfReach(const FitRequest& q, size_t most, const char* what, std::optional<double> reached);

// FitBipartite: of a request of that form, which has been checked.
Fitted<Function> FitBipartite(const FitRequest& q);

}  // namespace suf::func::internal
