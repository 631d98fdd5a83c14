// P0's rules about data owners: which of them open sessions, and which of their jobs run. A session calls them before
// anything is spent on either side. The rules are a program's; without any, every certified data owner is served.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "suf/net/refusal.hpp"
#include "suf/proto/receipt.hpp"
#include "suf/store/job.hpp"
#include "suf/store/lane_id.hpp"

namespace suf::proto {

// The error of a session or a job that P0's rules forbid. The data owner receives the code and the seconds alone.
class DenialError : public Error {
 public:
  // `retry_s` is the number of seconds after which it may return; 0 if that does not help.
  DenialError(net::Refusal code, uint32_t retry_s, const std::string& sentence)
      : Error(Cause::kRefused, sentence), code_(code), retry_s_(retry_s) {}
  net::Refusal code() const { return code_; }
  uint32_t retry_s() const { return retry_s_; }

 private:
  net::Refusal code_;
  uint32_t retry_s_;
};

// A data owner's job whose turn has come. Nothing is spent on it.
struct JobNotice {
  Hash owner{};  // SHA-256 of P1's public key
  store::LaneId lane{};
  store::Job job;
  double waited_ms = 0;  // for its turn
};

// A job that P0 has finished. Nothing here depends on its result.
struct JobEnd {
  double ms = 0;  // from the claim to P1's goodbye
  uint64_t bytes_sent = 0, bytes_received = 0;
  const Receipt* receipt = nullptr;  // null: P1 requested none, or it was an audit
};

// The data owners with this id take turns as one. At most `at_once` of their jobs run at the same time, at least 1.
struct TurnGroup {
  Hash id{};
  int at_once = 1;
};

// P0's record of one job, from its turn to its end. If it is destroyed before Claim, the job did not begin and counts
// nothing. If it is destroyed between Claim and Done, the job broke, and counts.
class JobTicket {
 public:
  virtual ~JobTicket() = default;
  // Called before P0's ledger marks the serial as used. The job counts durably when this returns. Throws Cause::kPeer
  // or Cause::kResource if that fails; P0 then spends nothing, and the session ends.
  virtual void Claim(uint64_t serial, bool audit) = 0;
  // Called when the job is done: P1 has said goodbye, or both bundles of an audit are right.
  virtual void Done(const JobEnd& end) noexcept = 0;
};

// Thread-safe. A session calls it from its own thread.
class OwnerPolicy {
 public:
  virtual ~OwnerPolicy() = default;
  // Throws DenialError if this data owner may have no session, or none any more. Called at each greeting and before
  // each run.
  virtual void Check(const Hash& owner) = 0;
  // Counts a session of this data owner until the returned object is destroyed. Throws DenialError.
  virtual std::shared_ptr<void> Admit(const Hash& owner) = 0;
  // Returns how this data owner takes turns, listed or not. Never throws, because one of its jobs may run.
  virtual TurnGroup GroupOf(const Hash& owner) noexcept = 0;
  // Reserves what the job counts, and returns its ticket. Throws DenialError. Throws Cause::kResource if nothing can be
  // counted.
  virtual std::unique_ptr<JobTicket> Begin(const JobNotice& notice) = 0;
  // Called when a job of this data owner is announced; the returned object is destroyed at its turn.
  virtual std::shared_ptr<void> Wait(const Hash& owner) noexcept = 0;
  // Called when the rules have refused a session, or a job of one.
  virtual void Refused(const Hash& owner, const std::optional<store::Job>& job, net::Refusal reason) noexcept = 0;
};

}  // namespace suf::proto
