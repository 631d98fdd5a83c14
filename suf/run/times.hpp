// Where the time of a role went, by operator: for benchmarks and for people.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "suf/pfss/trace.hpp"

namespace suf::run {

// Spent: where time went, in seconds: arithmetic; key sections and PRG words; encrypting, decrypting and moving frames;
// waiting for the peer.
struct Spent {
  double compute = 0, key = 0, wire = 0, wait = 0;
  Spent& operator+=(const Spent& o) {
    compute += o.compute, key += o.key, wire += o.wire, wait += o.wait;
    return *this;
  }
};
// Times: of one role, by scope. total: a party's online part; all of a dealer's work.
struct Times {
  std::map<std::string, Spent> by;
  double total = 0;
};

// Meter: books the time since its last mark to the scope of the node that was computed.
class Meter {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Meter(const pfss::Trace& t) : t_(t) {}
  static double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
  void Mark() { mark_ = Clock::now(); }
  // Reset: forgets what was booked.
  void Reset() { spent_.clear(); }
  // Keys: of the time that the next Done books, this part went into keys and PRG words.
  void Keys(double part) { keys_ = part; }
  void Done(int node) {
    scope_ = t_.node(node).scope;
    double s = Since(mark_), key = s * std::exchange(keys_, 0);
    Mark();
    spent_[scope_] += {s - key, key};
  }
  // Wire: time that a frame or a section cost and that Done is not to book.
  void Wire(double wire, double wait) {
    spent_[scope_] += {0, 0, wire, wait};
    Mark();
  }
  const std::string& scope() const { return t_.name(scope_); }
  void Report(double total, Times* times) const {
    for (auto& [scope, s] : spent_) times->by[t_.name(scope)] += s;
    times->total += total;
  }

 private:
  const pfss::Trace& t_;
  std::map<uint16_t, Spent> spent_;
  uint16_t scope_ = 0;
  double keys_ = 0;
  Clock::time_point mark_;
};

}  // namespace suf::run
