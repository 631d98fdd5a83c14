// The part of a plan that sessions need, and the hello that compares it between two roles. The module reads no plan
// file and emits no trace; the application fills in a BundlePlan.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "suf/store/bundle.hpp"

namespace suf::proto {

// The facts about one job's inference that a session needs, from this role's own emission of the trace.
struct Task {
  Hash trace{};                      // its digest
  store::SharedLayout body[2] = {};  // layout of each party's bundle
  // Bytes of keys that each party must be able to hold in advance. With less, the three roles could wait for each
  // other.
  uint64_t window = 0;
};

// Words for the unit that `tokens` of a job counts, used in error messages.
struct JobUnit {
  const char *what = "the text has", *name = "tokens", *remedy = "shorten it or compile a longer plan", *job = "text";
};

// The network between the two parties: microseconds of a round trip, and bits per second in one direction.
struct Network {
  uint64_t trip_us = 0, rate = 0;
  bool operator==(const Network&) const = default;
};

// The limits of a link: microseconds of a round trip, and bits per second.
inline constexpr uint64_t kLongestTrip = 10'000'000, kLowestRate = 1'000, kHighestRate = 1'000'000'000'000;

// The conditions under which jobs run, for their price. Both parties know the same ones.
struct JobTerms {
  Network link;  // between the parties
  // Bits per second between the dealer and P0, P1. Zeros: keys are there before a run.
  std::array<uint64_t, 2> dealer_rates{};
  uint32_t lanes = 1;     // sessions of the pair, which overlap their waiting times
  bool together = false;  // all on one machine
};

// The sizes that the jobs of an entry may have.
struct JobLimits {
  uint32_t least = 1, most = 0;  // tokens, values, rows or documents
  uint32_t most_texts = 1;
  JobUnit unit = {};
};

struct BundlePlan {
  uint32_t version = 1;  // version of the plan format
  uint32_t prg = 0;      // identity of the generator that expands keys
  uint32_t max_tokens = 0;
  uint32_t most_texts = 1;  // of a job
  JobUnit unit = {};
  // Hashes of index plans: at P0 and the dealer all, in order; at P1 those that it uses.
  std::vector<Hash> indexes = {};
  // Returns the limits of an entry of an index; nothing if there is no such entry. Null: there is no index.
  std::function<std::optional<JobLimits>(uint32_t entry)> entry = {};
  // Returns the rows that an index may have. Needed at the dealer with indexes.
  std::function<int64_t(const Hash& index)> capacity = {};
  // Returns the bytes of W - B for so many rows of an index, or for those rows of its table. 0: it has no table. Needed
  // at parties with indexes.
  std::function<uint64_t(const Hash& index, uint32_t rows, bool table)> part_bytes = {};
  uint64_t setup_bytes = 0;                    // size of W_hat, for all variants
  std::vector<std::string> variants{"plain"};  // names by number; at most 32
  Hash hash{};
  // Returns the limits of an entry; nothing if there is no such entry.
  std::optional<JobLimits> LimitsOf(uint32_t of) const {
    if (of == 0) return JobLimits{1, max_tokens, most_texts, unit};
    return entry ? entry(of) : std::nullopt;
  }
  // Returns whether the plan has this graph, variant and cache. Covers checks the tokens, because a user can correct
  // those.
  bool Knows(const store::Job& j) const { return LimitsOf(j.entry) && j.variant < variants.size() && !j.past; }
  // Returns whether the plan has this job, its numbers of tokens and texts included.
  bool Covers(const store::Job& j) const {
    const auto limits = LimitsOf(j.entry);
    return Knows(j) && j.tokens >= limits->least && j.tokens <= limits->most && CoversTexts(j);
  }
  // Returns whether a job of a known entry has a number of texts that the plan takes.
  bool CoversTexts(const store::Job& j) const { return j.texts >= 1 && j.texts <= LimitsOf(j.entry)->most_texts; }
  // Returns the Task of a job that the plan covers. Called from several threads.
  std::function<Task(const store::Job&)> task;
  // Returns the microseconds that a job takes, the same on all machines. Needed only if there are several variants.
  // Called like `task`.
  std::function<uint64_t(const store::Job&, const JobTerms&)> price = {};
  // Returns the bytes of memory that a job takes while it runs: keys, frames and values, without weights. `window` is
  // that of its keys, store::KeySource::kWhole for a whole bundle. A party's next keys are included. Called like
  // `task`.
  std::function<uint64_t(const store::Job&, uint64_t window)> needs = {};
  // Reserves this role's memory for a job until the result is destroyed. Throws Cause::kResource, saying what would
  // fit. Called from several threads.
  std::function<std::shared_ptr<void>(const store::Job&)> reserve = {};
};

// Sends the protocol version, plan version, PRG, plan hash, and the hashes of index plans.
void SendHello(net::Channel& ch, const BundlePlan& plan, const std::vector<Hash>& indexes);
inline void SendHello(net::Channel& ch, const BundlePlan& plan) { SendHello(ch, plan, plan.indexes); }
// The most bytes of a peer's first frame.
inline constexpr size_t kMostHello = 1024;
// How a peer's list of index plans relates to ours. A data owner uses some of those that P0 serves. The dealer has the
// same ones as P0, in the same order.
enum class ListRule { kSame, kUsesOurs, kServesOurs };
// Receives the peer's hello, and checks it. Returns its list of index plans.
std::vector<Hash> RecvHello(net::Channel& ch, const BundlePlan& plan, ListRule rule, const std::vector<Hash>& ours);
inline void RecvHello(net::Channel& ch, const BundlePlan& plan) { RecvHello(ch, plan, ListRule::kSame, plan.indexes); }
// Checks a hello. Ends the session at the first difference (Cause::kRefused); no serial is spent. A peer whose hello
// matches is accepted (Channel::Advance).
std::vector<Hash> CheckHello(net::Channel& ch, const BundlePlan& plan, View hello, ListRule rule,
                             const std::vector<Hash>& ours);
// Ends the session if the peer speaks another version of the protocol. Its frames cannot be read then.
void CheckWireVersion(net::Channel& ch, uint32_t theirs);

// Throws Cause::kInput if the plan does not cover the job.
void CheckJob(const BundlePlan& plan, const store::Job& job);
// Ends the session if the plan does not cover a job of the peer. `did` is a verb: "announced" or "asked for".
void CheckPeersJob(net::Channel& ch, const BundlePlan& plan, const store::Job& job, const char* did);

}  // namespace suf::proto
