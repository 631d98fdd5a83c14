// Where the time of a role went, by operator: for benchmarks and for people.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "suf/pfss/backend.hpp"

namespace suf::run {

using pfss::Spent;

// From when to when, by the machine's clock, in seconds since 1970; 0: never.
struct Span {
  double begin = 0, end = 0;
};
// Of a time of that clock; Stamp: of now.
inline double Seconds(std::chrono::system_clock::time_point t) {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}
inline double Stamp() { return Seconds(std::chrono::system_clock::now()); }

// Of one role, by scope. total: a party's online part; all of a dealer's work.
struct Times {
  std::map<std::string, Spent> by;
  double total = 0;
  pfss::Peak peak;  // of the process
  // deal: a dealer's work. keys: from a party's first chunk of keys to its last one; ahead: its steps before the
  // inference; online: the rest.
  Span deal, keys, ahead, online;
};

// Books what an executor took, scope by scope, less what its host kept it waiting therein.
class Meter {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Meter(const pfss::Trace& t) : t_(t) {}
  static double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
  // Forgets what was booked.
  void Reset() { spent_.clear(); }
  // Time that the host took within what Took is told of next.
  void Within(const Spent& s) { within_ += s; }
  void Took(uint16_t scope, Spent s) {
    double& with = s.host > 0 ? s.host : s.compute;
    with = std::max(0.0, with - within_.wire - within_.wait);
    spent_[scope_ = scope] += s, spent_[scope] += std::exchange(within_, {});
  }
  // Time between programs.
  void Beside(const Spent& s) { spent_[scope_] += s; }
  const std::string& scope() const { return t_.name(scope_); }
  void Report(double total, Times* times) const {
    for (auto& [scope, s] : spent_) times->by[t_.name(scope)] += s;
    times->total += total;
  }

 private:
  const pfss::Trace& t_;
  std::map<uint16_t, Spent> spent_;
  uint16_t scope_ = 0;
  Spent within_;
};

}  // namespace suf::run
