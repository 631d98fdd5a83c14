// The rules and records of a model owner's process about its data owners. The rules are the owners' file, quotas, and
// limits of sessions. The records are the log of jobs and the metrics. docs/security.md#quotas,
// docs/design/owners.md#counters.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "suf/proto/owner_policy.hpp"
#include "suf/service/counts.hpp"
#include "suf/service/job_log.hpp"
#include "suf/service/metrics.hpp"
#include "suf/service/owners.hpp"
#include "suf/store/home.hpp"

namespace suf::service {

// Thread-safe. A job counts by AmountOf. A fetch needs no count.
class OwnerDesk : public proto::OwnerPolicy {
 public:
  // A null pointer leaves its part out. The others outlive the desk.
  struct Options {
    std::shared_ptr<const OwnerList> owners = nullptr;  // null: every certified data owner is served, without limits
    Counts* counts = nullptr;                           // set if there are owners
    JobLog* log = nullptr;
    Metrics* metrics = nullptr;
    Hash plan{};  // for the log
    // Receives sentences of the counters for the operator. Any session's thread may call it.
    std::function<void(const std::string& sentence)> notice = {};
    WallClock clock = std::chrono::system_clock::now;
  };
  explicit OwnerDesk(Options options);
  // Replaces the list. Jobs that run go on. Call Server::CheckOwners for idle sessions then.
  void SetOwners(std::shared_ptr<const OwnerList> owners);
  // Sets the weights id for the log, before the first session.
  void SetWeights(const Hash& weights) { weights_ = weights; }
  // Adds a broken job to the log for each claim that this start burnt. The ledger knows neither its job nor its plan.
  void AddBurnt(const std::vector<store::BurntClaim>& claims) noexcept;

  void Check(const Hash& owner) override;
  std::shared_ptr<void> Admit(const Hash& owner) override;
  proto::TurnGroup GroupOf(const Hash& owner) noexcept override;
  std::unique_ptr<proto::JobTicket> Begin(const proto::JobNotice& notice) override;
  std::shared_ptr<void> Wait(const Hash& owner) noexcept override;
  void Refused(const Hash& owner, const std::optional<store::Job>& job, net::Refusal reason) noexcept override;

 private:
  class Ticket;
  std::shared_ptr<const OwnerList> owners() const;
  // The list, which stays while it is used, and a key's owner in it. Both are null without a list.
  using ListedOwner = std::pair<std::shared_ptr<const OwnerList>, const Owner*>;
  ListedOwner Lookup(const Hash& key) const;
  // Does the same, but throws DenialError if the key has no owner, or one that has expired.
  ListedOwner Find(const Hash& key) const;
  // Returns the name of a key's owner; kUnlistedName if there is none.
  std::string NameOf(const Hash& key) const;
  JobRecord RecordOf(const Hash& owner, JobOutcome outcome) const;
  const Options options_;
  Hash weights_{};
  mutable std::mutex m_;  // guards the members below
  std::shared_ptr<const OwnerList> owners_;
  std::map<std::string, int> sessions_;  // by the name of an owner that has some
};

}  // namespace suf::service
