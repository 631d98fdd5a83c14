#include "suf/func/internal/target.hpp"

namespace suf::func::internal {

void TargetFunction::CheckFinite() const {
  int64_t first = hi_, last = lo_, many = 0;
  for (size_t i = 0; i < values_.size(); ++i)
    if (!std::isfinite(values_[i])) {
      const int64_t x = first_ + int64_t(i);
      first = std::min(first, x);
      last = x;
      ++many;
    }
  if (many == 0) return;
  const std::string where = many == 1 ? Str("x = ", Argument(first))
                                      : Str(many, " points from x = ", Argument(first), " to ", Argument(last));
  const bool end = first == lo_ || last == hi_ - 1;
  Fail(Cause::kInput, "the function ", q_.name, " is not finite at ", where,
       end         ? "; give it a tail there, or another range"
       : many == 1 ? Str("; give it a value there (x == ", Argument(first), " ? 0 : ..), or another range")
                   : "; give it values there by a case (x < 1 ? 0 : ..), or another range");
}

void RefuseAllFits(const FitRequest& q, const std::string& why) {
  Fail(Cause::kRefused, "a fit of ", q.name, q.error ? Str(" with an error of ", *q.error) : "",
       " is out of reach: ", why, "; allow a larger error, or use a smaller range of x, or tails");
}

void CheckRange(const FitRequest& q, const TargetFunction::ValueRange& reach) {
  const double error = q.error.value_or(0), unit = std::ldexp(1, q.result.scale);
  auto holds = [&](double slack, int bits) {
    const double room = std::ldexp(1, bits - 1);
    return (reach.most - slack) * unit < room && (reach.least + slack) * unit >= -room;
  };
  if (holds(error, q.result.bits)) return;
  int bits = q.result.bits;
  while (!holds(0, bits)) ++bits;
  const double room = std::ldexp(1, q.result.bits - 1 - q.result.scale);
  const bool above = reach.most >= room;
  const int coarser = q.result.scale - (bits - q.result.bits);
  const bool coarse = coarser >= -64 && (!q.error || std::ldexp(1, -coarser - 1) <= *q.error);
  std::string remedy =
      bits <= 64 ? Str("use a result of ", bits, " bits or more") : "use a smaller range of x, or a tail";
  if (coarse) remedy += Str(", or a scale of ", coarser, " or less");
  Fail(Cause::kRefused, "the function ", q.name, " reaches ", above ? reach.most : reach.least,
       " at x = ", above ? reach.most_at : reach.least_at, ", and a result of ", q.result.bits, " bits at scale ",
       q.result.scale, " holds ", -room, " to ", room, "; ", remedy);
}

}  // namespace suf::func::internal
