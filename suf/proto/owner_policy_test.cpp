// P0's rules about data owners: the times of their calls, and that a denial spends nothing.
#include "suf/proto/owner_policy.hpp"

#include <gmock/gmock.h>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

using store::JobOf;
using testing::ElementsAre;
using testing::IsEmpty;

// Rules that a test sets, and the events that they saw.
class ScriptedPolicy : public OwnerPolicy {
 public:
  std::atomic<bool> listed{true}, seats{true};
  std::atomic<int> texts{100};  // that may still begin
  // Called by Claim; may throw.
  std::function<void(uint64_t serial)> on_claim = [](uint64_t) {};

  void Check(const Hash& owner) override {
    EXPECT_EQ(owner, kId[1].key);
    if (!listed) throw DenialError(net::Refusal::kUnlisted, 0, "this data owner is not listed");
  }
  std::shared_ptr<void> Admit(const Hash&) override {
    if (!seats) throw DenialError(net::Refusal::kSessions, 0, "this data owner has a session");
    Note("admit");
    return {nullptr, [this](void*) { Note("leave"); }};
  }
  TurnGroup GroupOf(const Hash& owner) noexcept override { return {owner, 1}; }
  std::unique_ptr<JobTicket> Begin(const JobNotice& notice) override {
    EXPECT_EQ(notice.owner, kId[1].key);
    EXPECT_EQ(notice.lane, store::kLane);
    EXPECT_GE(notice.waited_ms, 0);
    EXPECT_EQ(waiting, 0);
    if (!texts) throw DenialError(net::Refusal::kQuota, 90, "this data owner has used its quota");
    --texts;
    Note(Str("begin ", notice.job.tokens));
    return std::make_unique<Ticket>(*this);
  }
  std::shared_ptr<void> Wait(const Hash&) noexcept override {
    ++waiting;
    return {nullptr, [this](void*) { --waiting; }};
  }
  void Refused(const Hash& owner, const std::optional<store::Job>& job, net::Refusal reason) noexcept override {
    EXPECT_EQ(owner, kId[1].key);
    Note(Str("refused ", job ? Str("job ", job->tokens, " ") : "", int(reason)));
  }
  std::atomic<int> waiting{0};
  // Returns the events since the last call.
  std::vector<std::string> Events() {
    const std::lock_guard l(m_);
    return std::exchange(events_, {});
  }

 private:
  struct Ticket : JobTicket {
    explicit Ticket(ScriptedPolicy& p) : policy(p) {}
    ~Ticket() override {
      if (!done) policy.Note(claimed ? "broken" : "release");
    }
    void Claim(uint64_t serial, bool audit) override {
      policy.on_claim(serial);
      claimed = true;
      policy.Note(Str(audit ? "audit " : "claim ", serial));
    }
    void Done(const JobEnd& end) noexcept override {
      EXPECT_GE(end.ms, 0);
      EXPECT_GT(end.bytes_sent, 0u);
      EXPECT_GT(end.bytes_received, 0u);
      done = true;
      policy.Note("done");
    }
    ScriptedPolicy& policy;
    bool claimed = false, done = false;
  };
  void Note(std::string event) {
    const std::lock_guard l(m_);
    events_.push_back(std::move(event));
  }
  std::mutex m_;
  std::vector<std::string> events_;
};

struct PolicyWorld : World {
  ScriptedPolicy policy;
  // Runs a session; returns P1's error.
  std::exception_ptr Serve(const std::function<void(DataSession&)>& use, RunHook model = TestRun) {
    ModelHost host = Host(std::move(model));
    host.policy = &policy;
    try {
      Session(host, [&](net::Channel& ch) {
        DataSession s(ch, plan, lane[1], Dial(), keys);
        use(s);
      });
    } catch (const Error&) {
      return std::current_exception();
    }
    return nullptr;
  }
};

// Returns the code and the seconds that P1 received.
std::pair<net::Refusal, uint32_t> RefusalOf(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const net::RefusalError& e) {
    return {e.code(), e.retry_s()};
  } catch (const Error& e) {
    ADD_FAILURE() << e.what();
  }
  return {net::Refusal::kGaveUp, 0};
}

void TwoTexts(DataSession& s) {
  s.Infer(JobOf(4), TestRun, JobOf(5));
  s.Infer(JobOf(5), TestRun);
  s.End();
}

TEST(OwnerPolicy, SeesEachJobFromItsTurnToItsEnd) {
  PolicyWorld w;
  EXPECT_FALSE(w.Serve(TwoTexts));
  EXPECT_THAT(w.policy.Events(),
              ElementsAre("admit", "begin 4", "claim 1", "begin 5", "done", "claim 2", "done", "leave"));
}

TEST(OwnerPolicy, AnUnlistedOwnerIsRefusedBeforeAnythingIsSpent) {
  PolicyWorld w;
  w.policy.listed = false;
  EXPECT_EQ(RefusalOf(w.Serve(TwoTexts)), std::pair(net::Refusal::kUnlisted, 0u));
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "is not listed"));
  w.policy.listed = true;
  w.policy.seats = false;
  EXPECT_EQ(RefusalOf(w.Serve(TwoTexts)).first, net::Refusal::kSessions);
  EXPECT_THAT(w.policy.Events(), ElementsAre("refused 31", "refused 34"));
  EXPECT_THAT(w.dealt, IsEmpty());
  for (int p : {0, 1}) EXPECT_THAT(w.lane[p]->ledger().LastRecords(), IsEmpty());
}

TEST(OwnerPolicy, APullCountsAsASession) {
  PolicyWorld w;
  const PublicFiles files{.plan = "plan", .tokenizer = {}};
  ModelHost host = w.Host();
  host.policy = &w.policy;
  host.files = &files;
  const auto pull = [&]() -> std::exception_ptr {
    try {
      w.Session(host, [&](net::Channel& ch) { EXPECT_EQ(Pull(ch).plan, "plan"); });
    } catch (const Error&) {
      return std::current_exception();
    }
    return nullptr;
  };
  EXPECT_FALSE(pull());
  EXPECT_THAT(w.policy.Events(), ElementsAre("admit", "leave"));
  w.policy.seats = false;
  EXPECT_EQ(RefusalOf(pull()).first, net::Refusal::kSessions);
  w.policy.listed = false;
  EXPECT_EQ(RefusalOf(pull()).first, net::Refusal::kUnlisted);
  EXPECT_THAT(w.policy.Events(), ElementsAre("refused 34", "refused 31"));
}

// The second text is announced while the first one runs, which ends well. P1 then receives the seconds.
TEST(OwnerPolicy, AQuotaEndsBehindTheRunningText) {
  PolicyWorld w;
  w.policy.texts = 1;
  int done = 0;
  const auto error = w.Serve([&](DataSession& s) {
    s.Infer(JobOf(4), TestRun, JobOf(5));
    ++done;
    s.Infer(JobOf(5), TestRun);
    ++done;
  });
  EXPECT_EQ(done, 1);
  EXPECT_EQ(RefusalOf(error), std::pair(net::Refusal::kQuota, 90u));
  EXPECT_THAT(w.policy.Events(), ElementsAre("admit", "begin 4", "claim 1", "done", "refused job 5 33", "leave"));
  EXPECT_THAT(w.dealt, ElementsAre(1u)) << "nothing is dealt for the refused text";
  for (int p : {0, 1}) {
    EXPECT_EQ(w.lane[p]->ledger().LastRecords().size(), 1u);
    EXPECT_EQ(w.LastRecord(p, 1), store::RecordKind::kDone);
  }
}

// The owner leaves the list while its first text runs and its second one is reserved.
TEST(OwnerPolicy, ARemovedOwnersSessionEndsBehindTheRunningText) {
  PolicyWorld w;
  const auto error = w.Serve([&](DataSession& s) {
    s.Infer(
        JobOf(4),
        [&](Inference& inference) {
          w.policy.listed = false;
          TestRun(inference);
        },
        JobOf(5));
    s.Infer(JobOf(5), TestRun);
    ADD_FAILURE() << "the second text ran";
  });
  EXPECT_EQ(RefusalOf(error).first, net::Refusal::kUnlisted);
  EXPECT_THAT(w.policy.Events(),
              ElementsAre("admit", "begin 4", "claim 1", "begin 5", "done", "refused job 5 31", "release", "leave"));
}

// A count that fails at the claim spends nothing at P0. P1 has claimed by then, and burns its serial.
TEST(OwnerPolicy, ACountGoesBeforeTheClaim) {
  PolicyWorld w;
  bool fails = false;
  w.policy.on_claim = [&](uint64_t serial) {
    const auto records = w.lane[0]->ledger().LastRecords();
    EXPECT_EQ(records.count(serial), 0u) << "P0 has claimed before the count";
    EXPECT_EQ(w.LastRecord(1, serial), store::RecordKind::kClaimed);
    if (fails) Fail(Cause::kResource, "the counters cannot be written");
  };
  EXPECT_FALSE(w.Serve(TwoTexts));
  fails = true;
  EXPECT_EQ(RefusalOf(w.Serve(TwoTexts)).first, net::Refusal::kCounts);
  EXPECT_TRUE(w.ModelFails(Cause::kResource, "cannot be written"));
  EXPECT_EQ(w.lane[0]->ledger().LastRecords().count(3), 0u);
  EXPECT_EQ(w.LastRecord(1, 3), store::RecordKind::kBurnt);
  EXPECT_EQ(w.policy.Events().back(), "leave");
}

TEST(OwnerPolicy, ABrokenRunCountsAndOneThatDidNotBeginDoesNot) {
  PolicyWorld w;
  const auto breaks = [](Inference&) { Fail(Cause::kResource, "the run breaks"); };
  EXPECT_TRUE(w.Serve(TwoTexts, breaks));
  EXPECT_THAT(w.policy.Events(), ElementsAre("admit", "begin 4", "claim 1", "begin 5", "broken", "release", "leave"));
  // P1 gives up behind the announcement of its next text
  EXPECT_FALSE(w.Serve([](DataSession& s) {
    s.Infer(JobOf(4), TestRun, JobOf(5));
    s.GiveUp();
  }));
  // the broken session may have fetched the bundle of its second text
  const auto claim = testing::AnyOf("claim 2", "claim 3");
  EXPECT_THAT(w.policy.Events(), ElementsAre("admit", "begin 4", claim, "begin 5", "done", "release", "leave"));
}

TEST(OwnerPolicy, AnAuditCountsLikeAText) {
  PolicyWorld w;
  w.keys.whole = true;
  EXPECT_FALSE(w.Serve([](DataSession& s) {
    s.Audit(JobOf(4), JobOf(4));
    s.Infer(JobOf(4), TestRun);
    s.End();
  }));
  EXPECT_THAT(w.policy.Events(),
              ElementsAre("admit", "begin 4", "audit 1", "begin 4", "done", "claim 2", "done", "leave"));
}

}  // namespace
}  // namespace suf::proto
