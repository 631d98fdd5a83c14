// The part of a plan that sessions need, and the hello that compares it between two roles. The module reads no plan
// file and emits no trace; the application fills in a BundlePlan.
#pragma once
#include <array>
#include <functional>
#include <memory>
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

struct BundlePlan {
  uint32_t version = 1;  // version of the plan format
  uint32_t prg = 0;      // identity of the generator that expands keys
  uint32_t max_tokens = 0;
  uint32_t most_texts = 1;  // of a job
  JobUnit unit = {};
  uint64_t setup_bytes = 0;                    // size of W_hat, for all variants
  std::vector<std::string> variants{"plain"};  // names by number; at most 32
  Hash hash{};
  // Returns whether the plan has this graph, variant and cache. Covers checks the tokens, because a user can correct
  // those.
  bool Knows(const store::Job& j) const { return !j.entry && j.variant < variants.size() && !j.past; }
  // Returns whether the plan has this job, its numbers of tokens and texts included.
  bool Covers(const store::Job& j) const {
    return Knows(j) && j.tokens >= 1 && j.tokens <= max_tokens && CoversTexts(j);
  }
  bool CoversTexts(const store::Job& j) const { return j.texts >= 1 && j.texts <= most_texts; }
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

// Sends the protocol version, plan version, PRG and plan hash.
void SendHello(net::Channel& ch, const BundlePlan& plan);
// The most bytes of a peer's first frame.
inline constexpr size_t kMostHello = 256;
// Receives the peer's hello, and checks it.
void RecvHello(net::Channel& ch, const BundlePlan& plan);
// Checks a hello. Ends the session at the first difference (Cause::kRefused); no serial is spent. A peer whose hello
// matches is accepted (Channel::Advance).
void CheckHello(net::Channel& ch, const BundlePlan& plan, View hello);
// Ends the session if the peer speaks another version of the protocol. Its frames cannot be read then.
void CheckWireVersion(net::Channel& ch, uint32_t theirs);

// Throws Cause::kInput if the plan does not cover the job.
void CheckJob(const BundlePlan& plan, const store::Job& job);
// Ends the session if the plan does not cover a job of the peer. `did` is a verb: "announced" or "asked for".
void CheckPeersJob(net::Channel& ch, const BundlePlan& plan, const store::Job& job, const char* did);

}  // namespace suf::proto
