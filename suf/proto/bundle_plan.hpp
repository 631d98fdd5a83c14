// What every role of a session knows of the plan, as proto needs it, and the hello that compares it. proto reads no
// plan file and emits no trace: the application fills this in.
#pragma once
#include <functional>

#include "suf/store/bundle.hpp"

namespace suf::proto {

// Task: the inference of one job, from this role's own emission of the trace.
struct Task {
  Hash trace{};                 // digest
  uint64_t body_bytes[2] = {};  // key bytes in each party's bundle
};

// Unit: what a job's number of tokens counts, for sentences that a person reads.
struct Unit {
  const char *what = "the text has", *name = "tokens", *remedy = "shorten it or compile a longer plan";
};

struct BundlePlan {
  uint32_t version = 1;  // of the plan format
  uint32_t prg = 0;      // identity of the generator that expands keys
  uint32_t max_tokens = 0;
  Unit unit = {};
  uint64_t setup_bytes = 0;  // of W_hat
  Hash hash{};
  // Knows: whether the plan has this graph, variant and cache; the tokens are apart, as a person can mend them.
  bool Knows(const store::Job& j) const { return !j.entry && !j.variant && !j.past; }
  bool Covers(const store::Job& j) const { return Knows(j) && j.tokens >= 1 && j.tokens <= max_tokens; }
  std::function<Task(const store::Job&)> task;  // called with jobs that the plan covers, from several threads
};

// SendHello, RecvHello: protocol version, plan version, plan hash, PRG. RecvHello ends the session at the first
// difference (Cause::kRefused); no serial is spent. Whose hello is right is accepted (Channel::Reach).
void SendHello(net::Channel& ch, const BundlePlan& plan);
void RecvHello(net::Channel& ch, const BundlePlan& plan);

// CheckJob: throws Cause::kInput when the plan does not cover the job.
void CheckJob(const BundlePlan& plan, const store::Job& job);
// CheckPeersJob: ends the session when the plan does not cover what the peer `did`: "announced", "asked for".
void CheckPeersJob(net::Channel& ch, const BundlePlan& plan, const store::Job& job, const char* did);

}  // namespace suf::proto
