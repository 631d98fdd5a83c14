#include "suf/proto/admission.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

#include "suf/base/error.hpp"

namespace suf::proto {
namespace {

// Returns a function that makes the job's trace, and reads its bytes from it.
Turns::Needs NeedsOf(const Admission::Applicant& who) {
  return [&who] {
    const uint64_t whole = who.prepare ? who.prepare() : 0;
    return TurnBytes(who.plan.needs ? who.plan.needs(who.job, who.window) : 0, whole);
  };
}

}  // namespace

struct Admission::ReservedJobs {
  std::mutex m;  // guards the members below
  std::condition_variable changed;
  int held = 0;        // reservations
  uint64_t ended = 0;  // reservations that have ended so far
  uint64_t tickets = 0;
  std::set<uint64_t> waiting;  // tickets of jobs that wait for memory
  std::mutex reserve;          // held while the backend reserves, before m

  // A reservation, counted once it has `jobs`. Its memory is free before it stops counting.
  struct Held {
    std::shared_ptr<ReservedJobs> jobs;
    std::shared_ptr<void> memory;
    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      if (!jobs) return;
      memory.reset();
      const std::lock_guard l(jobs->m);
      --jobs->held;
      ++jobs->ended;
      jobs->changed.notify_all();
    }
  };
};

Admission::Admission(const Turns::Limits& limits) : turns_(limits), reserved_(std::make_shared<ReservedJobs>()) {}

std::optional<std::shared_ptr<void>> Admission::Reserve(const Applicant& who, uint64_t ticket) {
  if (!who.plan.reserve) return nullptr;
  ReservedJobs& jobs = *reserved_;
  const std::lock_guard one(jobs.reserve);
  auto held = std::make_shared<ReservedJobs::Held>();
  bool alone = false;  // nothing else holds memory, so none will be freed
  {
    const std::lock_guard l(jobs.m);
    if (!jobs.waiting.empty() && *jobs.waiting.begin() != ticket) return std::nullopt;
    alone = jobs.held == 0;
    ++jobs.held;
    held->jobs = reserved_;
  }
  try {
    held->memory = who.plan.reserve(who.job);
  } catch (const Error& e) {
    if (e.cause() != Cause::kResource || alone) throw;
    return std::nullopt;
  }
  return held;
}

std::optional<JobPass> Admission::TryAdmit(const Applicant& who, const store::Job& current_job,
                                           const JobPass& current) {
  {
    const std::lock_guard l(reserved_->m);
    if (!reserved_->waiting.empty()) return std::nullopt;  // its memory is waited for
  }
  auto turn = turns_.TryTake(who.key, NeedsOf(who), who.at_once);
  if (!turn) return std::nullopt;
  JobPass out{current.memory, std::make_shared<Turns::Permit>(std::move(*turn))};
  if (who.job == current_job) return out;
  const auto memory = Reserve(who, 0);
  if (!memory) return std::nullopt;
  out.memory = *memory;
  return out;
}

std::optional<JobPass> Admission::Admit(const Applicant& who, const std::function<void(Turns::Wait)>& wait,
                                        const std::function<bool()>& gone, net::Millis report) {
  using Clock = std::chrono::steady_clock;
  auto turn = turns_.Take(who.key, NeedsOf(who), wait, gone, report, who.at_once);
  if (!turn) return std::nullopt;
  JobPass out{nullptr, std::make_shared<Turns::Permit>(std::move(*turn))};
  ReservedJobs& jobs = *reserved_;
  // The place among the jobs that wait for memory.
  struct MemoryPlace {
    ReservedJobs& jobs;
    uint64_t ticket = 0;
    ~MemoryPlace() {
      const std::lock_guard l(jobs.m);
      jobs.waiting.erase(ticket);
      jobs.changed.notify_all();
    }
  } place{jobs};
  for (auto due = Clock::now();;) {
    uint64_t seen = 0;
    {
      const std::lock_guard l(jobs.m);
      seen = jobs.ended;
    }
    if (const auto memory = Reserve(who, place.ticket)) {
      out.memory = *memory;
      return out;
    }
    {
      const std::lock_guard l(jobs.m);
      if (!place.ticket) jobs.waiting.insert(place.ticket = ++jobs.tickets);
    }
    // again when a reservation has ended, or when the jobs before it have left
    for (bool again = false; !again;) {
      if (turns_.closed() || gone()) return std::nullopt;
      if (Clock::now() >= due) {
        wait(Turns::kNext);
        due = Clock::now() + report;
      }
      std::unique_lock l(jobs.m);
      again = jobs.changed.wait_for(l, net::kPeerPoll, [&] {
        return *jobs.waiting.begin() == place.ticket && (jobs.ended != seen || jobs.held == 0);
      });
    }
  }
}

void SendWait(net::Channel& ch, const Turns::Wait& wait) {
  Writer w;
  w.Put(wait.place);
  w.Put(wait.ms);
  ch.Send(net::kWait, w.bytes());
}

Turns::Wait ReadWait(View frame) {
  Reader r(frame, "a wait");
  const auto place = r.Get<uint32_t>();
  return {place, r.Get<uint32_t>()};
}

Bytes RecvAfterWaits(net::Channel& ch, net::Channel::DueFrame due,
                     const std::function<void(const Turns::Wait&)>& waits) {
  for (;;) {
    auto [kind, frame] = ch.RecvEither({net::kWait, kWaitBytes}, due);
    if (kind == due.kind) return std::move(frame);
    if (waits) waits(ReadWait(frame));
  }
}

net::Millis WaitReportFor(const net::Channel& ch) { return std::min(Turns::kWaitReport, ch.timeout() / 3); }

}  // namespace suf::proto
