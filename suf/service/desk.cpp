#include "suf/service/desk.hpp"

#include <utility>

#include "suf/base/plural.hpp"
#include "suf/net/credentials.hpp"
#include "suf/proto/turns.hpp"

namespace suf::service {

namespace {

// Returns the limits of an owner in parentheses, for error messages. At least one is set.
std::string LimitsText(const Owner& owner) {
  std::string text;
  const auto add = [&](const std::optional<uint64_t>& most, const char* one, const char* many) {
    if (most) text += Str(text.empty() ? "(" : ", ", Plural(*most, one, many));
  };
  add(owner.texts, "text", "texts");
  add(owner.tokens, "token", "tokens");
  add(owner.searches, "search", "searches");
  return text + " a day)";
}

}  // namespace

// One job, from its turn to its end.
class OwnerDesk::Ticket : public proto::JobTicket {
 public:
  Ticket(OwnerDesk& desk, std::string owner, const proto::JobNotice& notice, std::optional<uint64_t> reservation)
      : desk_(desk), owner_(std::move(owner)), notice_(notice), reservation_(reservation) {}
  ~Ticket() override {
    if (!serial_ && reservation_) desk_.options_.counts->Release(*reservation_);
    if (serial_ && !done_) Record(JobOutcome::kBroken, {});
  }
  void Claim(uint64_t serial, bool audit) override {
    if (reservation_) desk_.options_.counts->Confirm(*reservation_);
    serial_ = serial;
    audit_ = audit;
    if (Metrics* const metrics = desk_.options_.metrics) runs_.emplace(metrics->Enter(InferenceState::kRunning));
  }
  void Done(const proto::JobEnd& end) noexcept override {
    done_ = true;
    Record(JobOutcome::kDone, end);
  }

 private:
  void Record(JobOutcome outcome, const proto::JobEnd& end) noexcept {
    runs_.reset();
    const store::Job& job = notice_.job;
    const bool done = outcome == JobOutcome::kDone;
    const Amount amount = AmountOf(job);
    if (Metrics* const metrics = desk_.options_.metrics) {
      metrics->Ended(owner_, {.outcome = outcome,
                              .texts = amount.texts,
                              .tokens = amount.tokens,
                              .searches = amount.searches,
                              .waited_s = notice_.waited_ms / 1e3,
                              .duration_s = end.ms / 1e3,
                              .bytes_sent = end.bytes_sent,
                              .bytes_received = end.bytes_received});
      metrics->CountBundles(done ? BundleFate::kUsed : BundleFate::kBurnt);
    }
    if (JobLog* const log = desk_.options_.log) {
      JobRecord record = desk_.RecordOf(notice_.owner, outcome);
      record.job = job;
      record.lane = notice_.lane;
      record.serial = serial_;
      record.audit = audit_;
      if (end.receipt) {
        const proto::SignedTime& part = end.receipt->part[PartyOf(Role::kData)];
        record.receipt = {{"begin", proto::TimeStamp(part.time.begin_ms)},
                          {"end", proto::TimeStamp(part.time.end_ms)},
                          {"transcript", Hex(end.receipt->facts.transcript)},
                          {"signature", Hex(part.signature)}};
      }
      log->Add(record);
    }
  }
  OwnerDesk& desk_;
  const std::string owner_;
  const proto::JobNotice notice_;
  const std::optional<uint64_t> reservation_;
  std::optional<uint64_t> serial_;  // since the claim
  bool audit_ = false, done_ = false;
  std::optional<StateMark> runs_;
};

OwnerDesk::OwnerDesk(Options options) : options_(std::move(options)), owners_(options_.owners) {
  SUF_CHECK(!owners_ || options_.counts);
}

void OwnerDesk::SetOwners(std::shared_ptr<const OwnerList> owners) {
  const std::lock_guard l(m_);
  owners_.swap(owners);
}

std::shared_ptr<const OwnerList> OwnerDesk::owners() const {
  const std::lock_guard l(m_);
  return owners_;
}

OwnerDesk::ListedOwner OwnerDesk::Lookup(const Hash& key) const {
  std::shared_ptr<const OwnerList> list = owners();
  const Owner* const owner = list ? list->Find(key) : nullptr;
  return {std::move(list), owner};
}

OwnerDesk::ListedOwner OwnerDesk::Find(const Hash& key) const {
  ListedOwner found = Lookup(key);
  const auto& [list, owner] = found;
  if (!list) return found;
  if (!owner)
    throw proto::DenialError(net::Refusal::kUnlisted, 0,
                             Str("the data owner ", net::Fingerprint({Role::kData, key}),
                                 " is not listed; list this key, or have the data owner use a listed one"));
  if (owner->HasExpired(options_.clock()))
    throw proto::DenialError(net::Refusal::kExpired, 0,
                             Str("the last day on which the data owner ", owner->name, " is served was ",
                                 DayText(*owner->until), "; list a later one, or remove the owner"));
  return found;
}

std::string OwnerDesk::NameOf(const Hash& key) const {
  const auto [list, owner] = Lookup(key);
  return owner ? owner->name : kUnlistedName;
}

JobRecord OwnerDesk::RecordOf(const Hash& owner, JobOutcome outcome) const {
  JobRecord record;
  record.owner = NameOf(owner);
  record.data_owner = owner;
  record.plan = options_.plan;
  record.weights = weights_;
  record.outcome = outcome;
  return record;
}

void OwnerDesk::AddBurnt(const std::vector<store::BurntClaim>& claims) noexcept {
  if (!options_.log) return;
  for (const store::BurntClaim& claim : claims) {
    JobRecord record;
    record.owner = NameOf(claim.owner);
    record.data_owner = claim.owner;
    record.lane = claim.lane;
    record.serial = claim.serial;
    record.outcome = JobOutcome::kBroken;
    options_.log->Add(record);
  }
}

void OwnerDesk::Check(const Hash& owner) { (void)Find(owner); }

std::shared_ptr<void> OwnerDesk::Admit(const Hash& key) {
  const auto [list, owner] = Find(key);
  if (!owner) return nullptr;
  const std::string name = owner->name;
  const std::lock_guard l(m_);
  const auto at = sessions_.find(name);
  const int sessions = at == sessions_.end() ? 0 : at->second;
  if (owner->lanes && sessions >= *owner->lanes)
    throw proto::DenialError(net::Refusal::kSessions, 0,
                             Str("the data owner ", name, " has ", sessions, " sessions, and its limit of lanes is ",
                                 *owner->lanes, "; let one end, or list a higher limit"));
  ++sessions_[name];
  return {nullptr, [this, name](void*) {
            const std::lock_guard lock(m_);
            if (!--sessions_.at(name)) sessions_.erase(name);
          }};
}

proto::TurnGroup OwnerDesk::GroupOf(const Hash& key) noexcept {
  const auto [list, owner] = Lookup(key);
  if (!owner) return {key, list ? 1 : proto::Turns::kNoLimit};
  return {HashOf({AsView("suf owner"), AsView(owner->name)}), owner->at_once.value_or(proto::Turns::kNoLimit)};
}

std::unique_ptr<proto::JobTicket> OwnerDesk::Begin(const proto::JobNotice& notice) {
  const auto [list, owner] = Find(notice.owner);
  if (options_.log && !options_.log->writable())
    Fail(Cause::kResource, "the log of jobs cannot be written, so no further job begins; see to its disk");
  if (!owner) return std::make_unique<Ticket>(*this, kUnlistedName, notice, std::nullopt);
  const Amount amount = AmountOf(notice.job);
  if (amount == Amount{}) return std::make_unique<Ticket>(*this, owner->name, notice, std::nullopt);
  const auto answer = options_.counts->Reserve(owner->name, amount, {owner->texts, owner->tokens, owner->searches});
  if (options_.notice)
    for (const std::string& sentence : options_.counts->TakeNotices()) options_.notice(sentence);
  if (const auto* full = std::get_if<RetryAfter>(&answer))
    throw proto::DenialError(
        net::Refusal::kQuota, full->seconds,
        Str("the quota of the data owner ", owner->name, " ", LimitsText(*owner), " does not admit ",
            amount.searches ? Plural(amount.searches, "further search", "further searches")
                            : Plural(amount.texts, "further text"),
            " of ", notice.job.tokens, " tokens today; list a higher one, or let it ",
            full->seconds ? Str("wait ", full->seconds, " s for the next day") : "bring fewer at once"));
  return std::make_unique<Ticket>(*this, owner->name, notice, std::get<uint64_t>(answer));
}

std::shared_ptr<void> OwnerDesk::Wait(const Hash&) noexcept {
  if (!options_.metrics) return nullptr;
  return std::make_shared<StateMark>(options_.metrics->Enter(InferenceState::kWaiting));
}

void OwnerDesk::Refused(const Hash& owner, const std::optional<store::Job>& job, net::Refusal reason) noexcept {
  if (Metrics* const metrics = options_.metrics; metrics && job)
    metrics->Ended(NameOf(owner), {.outcome = JobOutcome::kRefused});
  if (JobLog* const log = options_.log) {
    JobRecord record = RecordOf(owner, JobOutcome::kRefused);
    record.job = job;
    record.reason = reason;
    log->Add(record);
  }
}

}  // namespace suf::service
