// The time that a role spent, by operator, for benchmarks and for users.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "suf/pfss/backend.hpp"

namespace suf::run {

using pfss::TimeUse;

// A begin and an end by the machine's clock, in seconds since 1970; 0: never.
struct Span {
  double begin = 0, end = 0;
};
// Converts a time of that clock to seconds since 1970.
inline double Seconds(std::chrono::system_clock::time_point t) {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}
// Returns the present time.
inline double Stamp() { return Seconds(std::chrono::system_clock::now()); }

// The times of one role, by scope. The total is a party's online part, or all of a dealer's work.
struct Times {
  std::map<std::string, TimeUse> by;
  double total = 0;
  // Peak memory of the process.
  pfss::Peak peak;
  // A dealer's work; a party's keys from first to last chunk; its steps before the inference; the rest.
  Span deal, keys, ahead, online;
};

// A meter that books the time of an executor by scope, without the time that its host kept it waiting.
class Meter {
 public:
  using SteadyClock = std::chrono::steady_clock;
  explicit Meter(const pfss::Trace& t) : t_(t) {}
  static double Since(SteadyClock::time_point t) {
    return std::chrono::duration<double>(SteadyClock::now() - t).count();
  }
  // Forgets all booked time.
  void Reset() { spent_.clear(); }
  // Books time of the host that the next call of Add includes.
  void Within(const TimeUse& s) { within_ += s; }
  void Add(uint16_t scope, TimeUse s) {
    double& with = s.host > 0 ? s.host : s.compute;
    with = std::max(0.0, with - within_.wire - within_.wait);
    spent_[scope_ = scope] += s;
    spent_[scope] += std::exchange(within_, {});
  }
  // Books time between programs.
  void Beside(const TimeUse& s) { spent_[scope_] += s; }
  const std::string& scope() const { return t_.name(scope_); }
  void Report(double total, Times* times) const {
    for (auto& [scope, s] : spent_) times->by[t_.name(scope)] += s;
    times->total += total;
  }

 private:
  const pfss::Trace& t_;
  std::map<uint16_t, TimeUse> spent_;
  uint16_t scope_ = 0;
  TimeUse within_;
};

}  // namespace suf::run
