#include "suf/proto/admission.hpp"

#include <algorithm>
#include <thread>

#include "suf/base/error.hpp"

namespace suf::proto {
namespace {

uint64_t BytesOf(const Admission::Applicant& who) { return who.plan.needs ? who.plan.needs(who.job, who.window) : 0; }

}  // namespace

std::optional<std::shared_ptr<void>> Admission::Reserve(const Applicant& who) {
  if (!who.plan.reserve) return nullptr;
  struct Held {
    std::shared_ptr<int> count;  // released after the memory
    std::shared_ptr<void> memory;
  };
  const std::lock_guard l(m_);
  const bool alone = held_.use_count() == 1;  // jobs that have ended by now have freed their memory
  auto held = std::make_shared<Held>();
  held->count = held_;
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
  auto turn = turns_.TryTake(who.key, BytesOf(who));
  if (!turn) return std::nullopt;
  JobPass out{current.memory, std::make_shared<Turns::Permit>(std::move(*turn))};
  if (who.job == current_job) return out;
  const auto memory = Reserve(who);
  if (!memory) return std::nullopt;
  out.memory = *memory;
  return out;
}

std::optional<JobPass> Admission::Admit(const Applicant& who, const std::function<void(Turns::Wait)>& wait,
                                        const std::function<bool()>& gone, net::Millis report) {
  using Clock = std::chrono::steady_clock;
  auto turn = turns_.Take(who.key, BytesOf(who), wait, gone, report);
  if (!turn) return std::nullopt;
  JobPass out{nullptr, std::make_shared<Turns::Permit>(std::move(*turn))};
  for (auto due = Clock::now();;) {
    if (const auto memory = Reserve(who)) {
      out.memory = *memory;
      return out;
    }
    if (turns_.closed() || gone()) return std::nullopt;
    if (Clock::now() >= due) {
      wait(Turns::kNext);
      due = Clock::now() + report;
    }
    std::this_thread::sleep_for(net::kPeerPoll);
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

net::Millis WaitReportFor(const net::Channel& ch) { return std::min(Turns::kWaitReport, ch.timeout() / 3); }

}  // namespace suf::proto
