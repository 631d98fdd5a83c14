// The admission of an inference, or of the deal of a bundle: its turn, and the backend's memory for it. P1's sessions
// take turns for their memory alone.
#pragma once
#include <memory>

#include "suf/proto/bundle_plan.hpp"
#include "suf/proto/turns.hpp"

namespace suf::proto {

// The permission of a job to run. Its turn and its memory end with it.
struct JobPass {
  std::shared_ptr<void> memory;         // reserved in the backend
  std::shared_ptr<Turns::Permit> turn;  // ends first
};

// The turns of a process, and the memory that its backend has reserved for them. A job whose turn has come waits until
// running jobs free the memory that it lacks. Meanwhile no other job is given memory, so those that run end.
// Thread-safe.
class Admission {
 public:
  explicit Admission(const Turns::Limits& limits);
  Turns& turns() { return turns_; }

  // A job that requests admission.
  struct Applicant {
    const BundlePlan& plan;
    store::Job job;
    uint64_t window;  // of its keys, as for BundlePlan::needs
    TurnKey key;
    // Called when the turn has come, before anything reads the job's trace. Returns the bytes of whole bundles. Its
    // errors are thrown.
    std::function<uint64_t()> prepare = {};
    int at_once = Turns::kNoLimit;  // the most jobs of the key's owner at the same time
  };
  // Admits the next job of a lane while `current` runs there, of job `current_job`. Never waits. Returns nothing if it
  // must wait for its turn or for memory. An equal job shares the memory of the current one, which ends before it.
  // Throws as Turns::TryTake does.
  std::optional<JobPass> TryAdmit(const Applicant& who, const store::Job& current_job, const JobPass& current);
  // Waits until a lane that runs nothing may run a job. `wait`, `gone` and `report` are those of Turns::Take. Returns
  // nothing if the client is gone or the turns are closed. Throws as Turns::Take does, and Cause::kResource if the
  // backend lacks memory although nothing else runs.
  std::optional<JobPass> Admit(const Applicant& who, const std::function<void(Turns::Wait)>& wait,
                               const std::function<bool()>& gone, net::Millis report = Turns::kWaitReport);

 private:
  // Reserves memory for a job. `ticket` is its place among the jobs that wait for memory; 0: it does not wait. Returns
  // nothing if others wait before it, or hold the memory that is lacking.
  std::optional<std::shared_ptr<void>> Reserve(const Applicant& who, uint64_t ticket);
  struct ReservedJobs;
  Turns turns_;
  const std::shared_ptr<ReservedJobs> reserved_;  // shared with the reservations, which may outlive this object
};

// The frame kWait, 8 bytes: place and milliseconds.
inline constexpr size_t kWaitBytes = 2 * sizeof(uint32_t);
void SendWait(net::Channel& ch, const Turns::Wait& wait);
Turns::Wait ReadWait(View frame);
// Receives a frame before which the peer may let us wait. `waits`, if set, receives each report of that.
Bytes RecvAfterWaits(net::Channel& ch, net::Channel::DueFrame due,
                     const std::function<void(const Turns::Wait&)>& waits = {});
// Returns the interval at which a waiting peer receives kWait. With our time-out it does not give up meanwhile.
net::Millis WaitReportFor(const net::Channel& ch);

}  // namespace suf::proto
