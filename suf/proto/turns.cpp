#include "suf/proto/turns.hpp"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "suf/base/error.hpp"
#include "suf/proto/internal/turn_line.hpp"

namespace suf::proto {

namespace {

constexpr size_t kTimedTurns = 16;       // the last ones, whose median is the estimate
constexpr uint64_t kUnknownWait = 1024;  // milliseconds, before any inference has ended
constexpr uint64_t kLargest = uint64_t{1} << 31;

uint32_t RoundedUp(uint64_t n) { return uint32_t(std::bit_ceil(std::clamp<uint64_t>(n, 1, kLargest))); }

}  // namespace

struct Turns::State {
  using TimePoint = std::chrono::steady_clock::time_point;
  State(Limits l, Now n, net::Millis p) : limits(l), now(std::move(n)), poll(p), line(l) {}

  void CheckFits(const TurnBytes& bytes) const {
    const auto check = [](uint64_t needed, uint64_t limit, const char* what) {
      if (needed > limit)
        Fail(Cause::kResource, "the inference needs ", needed, " bytes of ", what, ", and ", limit,
             " bytes are allowed for all inferences together; allow more, or bring a smaller job");
    };
    check(bytes.all, limits.memory, "memory");
    check(bytes.whole, limits.whole, "whole bundles");
  }

  // Notes the start of a turn, unless an earlier turn of its lane still runs.
  void Begin(TurnLine::Ticket t) {
    const TurnKey& key = line.KeyOf(t);
    if (line.First(key) == t) begun[key] = {t, now()};
    if (const auto w = waiting.find(t); w != waiting.end()) w->second->notify_one();
  }

  void Leave(TurnLine::Ticket t) {
    if (line.OnlyCounts(t)) {
      for (const TurnLine::Ticket g : line.Leave(t)) Begin(g);
      return;
    }
    const TurnKey key = line.KeyOf(t);
    const auto at = begun.find(key);
    const bool ran = at != begun.end() && at->second.first == t;
    if (ran) {
      times.push_back(uint64_t(std::chrono::duration_cast<net::Millis>(now() - at->second.second).count()));
      if (times.size() > kTimedTurns) times.pop_front();
      begun.erase(at);
    }
    const std::vector<TurnLine::Ticket> granted = line.Leave(t);
    if (const TurnLine::Ticket next = line.First(key); ran && next) begun[key] = {next, now()};
    for (const TurnLine::Ticket g : granted) Begin(g);
  }

  Wait WaitOf(TurnLine::Ticket t) const {
    const uint64_t place = line.Place(t);
    if (times.empty()) return {RoundedUp(place), kUnknownWait};
    std::vector<uint64_t> sorted(times.begin(), times.end());
    const auto middle = sorted.begin() + ssize_t(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    const auto n = uint64_t(limits.at_once);
    return {RoundedUp(place), RoundedUp((std::min(*middle, kLargest) * std::min(place, kLargest) + n - 1) / n)};
  }

  const Limits limits;
  const Now now;
  const net::Millis poll;
  std::mutex m;  // guards the members below
  bool closed = false;
  TurnLine line;
  std::map<TurnLine::Ticket, std::condition_variable*> waiting;     // threads in Take
  std::map<TurnKey, std::pair<TurnLine::Ticket, TimePoint>> begun;  // the turn that runs, and since when
  std::deque<uint64_t> times;                                       // milliseconds of the last turns
};

Turns::Turns(Limits limits, Now now, net::Millis poll) {
  if (limits.at_once < 1) Fail(Cause::kInput, limits.at_once, " inferences may run at the same time; allow at least 1");
  s_ = std::make_unique<State>(limits, std::move(now), poll);
}
Turns::~Turns() = default;

Turns::Permit::~Permit() {
  if (turns_) turns_->End(ticket_);
}

void Turns::End(uint64_t ticket) noexcept {
  std::lock_guard l(s_->m);
  s_->Leave(ticket);
}

const Turns::Limits& Turns::limits() const { return s_->limits; }

std::optional<Turns::Permit> Turns::TryTake(const TurnKey& key, const Needs& needs, int most) {
  {
    std::lock_guard l(s_->m);
    if (s_->closed && !s_->line.First(key)) return std::nullopt;
    if (s_->line.SomeoneWaits(key.owner)) {
      s_->line.NoteReturn(key.owner);
      return std::nullopt;
    }
  }
  const TurnBytes bytes = needs();
  s_->CheckFits(bytes);
  std::lock_guard l(s_->m);
  const TurnLine::Ticket t = s_->line.Try(key, bytes, most);
  if (!t) return std::nullopt;
  s_->Begin(t);
  return Permit(this, t);
}

Turns::Permit Turns::Count(uint64_t bytes) {
  std::lock_guard l(s_->m);
  return Permit(this, s_->line.Count(bytes));
}

std::optional<Turns::Permit> Turns::Take(const TurnKey& key, const Needs& needs, const std::function<void(Wait)>& wait,
                                         const std::function<bool()>& gone, net::Millis report, int most) {
  State& s = *s_;
  std::condition_variable changed;
  std::unique_lock l(s.m);
  if (s.closed) return std::nullopt;
  const TurnLine::Ticket t = s.line.Join(key, {}, most);
  // Ends the turn, granted or not, unless it was handed over.
  struct Leaver {
    State& s;
    std::unique_lock<std::mutex>& l;
    TurnLine::Ticket t;
    ~Leaver() {
      if (!t) return;
      if (!l.owns_lock()) l.lock();
      s.waiting.erase(t);
      s.Leave(t);
    }
  } leaver{s, l, t};
  if (s.line.Granted(t)) s.Begin(t);
  s.waiting[t] = &changed;
  bool known = false;  // whether the line knows the bytes
  for (auto due = s.now();;) {
    if (s.line.Granted(t)) {
      if (std::exchange(known, true)) break;
      l.unlock();
      const TurnBytes bytes = needs();
      s.CheckFits(bytes);
      l.lock();
      const std::vector<TurnLine::Ticket> granted = s.line.SetBytes(t, bytes);
      if (!s.line.Granted(t)) s.begun.erase(key);
      for (const TurnLine::Ticket g : granted) s.Begin(g);
      continue;
    }
    if (s.closed) return std::nullopt;
    const auto at = s.now();
    if (at >= due) {
      const Wait told = s.WaitOf(t);
      due = at + report;
      l.unlock();
      wait(told);
    } else {
      l.unlock();
      if (gone()) return std::nullopt;
    }
    l.lock();
    if (s.closed || s.line.Granted(t)) continue;
    const auto left = std::chrono::duration_cast<net::Millis>(due - s.now());
    changed.wait_for(l, std::clamp(left, net::Millis{0}, s.poll));
  }
  s.waiting.erase(t);
  leaver.t = 0;
  return Permit(this, t);
}

void Turns::Close() {
  std::lock_guard l(s_->m);
  s_->closed = true;
  for (const auto& [ticket, changed] : s_->waiting) changed->notify_one();
}

bool Turns::closed() const {
  std::lock_guard l(s_->m);
  return s_->closed;
}

}  // namespace suf::proto
