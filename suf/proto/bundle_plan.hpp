// What every role of a session knows of the plan, as proto needs it, and the hello that compares it. proto reads no
// plan file and emits no trace: the application fills this in.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "suf/store/bundle.hpp"

namespace suf::proto {

// The inference of one job, from this role's own emission of the trace.
struct Task {
  Hash trace{};                      // digest
  store::SharedLayout body[2] = {};  // of each party's bundle
  // window: bytes of keys that a party must be able to hold ahead, or the three could wait for each other
  uint64_t window = 0;
};

// What a job's number of tokens counts, for sentences that a person reads.
struct Unit {
  const char *what = "the text has", *name = "tokens", *remedy = "shorten it or compile a longer plan", *job = "text";
};

// Between the two parties: microseconds of a round trip, bits a second of one direction.
struct Link {
  uint64_t trip_us = 0, rate = 0;
  bool operator==(const Link&) const = default;
};

struct BundlePlan {
  uint32_t version = 1;  // of the plan format
  uint32_t prg = 0;      // identity of the generator that expands keys
  uint32_t max_tokens = 0;
  Unit unit = {};
  uint64_t setup_bytes = 0;                    // of W_hat, for all variants
  std::vector<std::string> variants{"plain"};  // names, by number; 32 at most
  Hash hash{};
  // Whether the plan has this graph, variant and cache; the tokens are apart, as a person can mend them.
  bool Knows(const store::Job& j) const { return !j.entry && j.variant < variants.size() && !j.past; }
  bool Covers(const store::Job& j) const { return Knows(j) && j.tokens >= 1 && j.tokens <= max_tokens; }
  // Called with jobs that the plan covers, from several threads. price: microseconds that a job takes over a link: the
  // same on all machines. Of use where there are several variants.
  std::function<Task(const store::Job&)> task;
  std::function<uint64_t(const store::Job&, const Link&)> price = {};
  // reserve: sees that this role will find memory for a job; throws Cause::kResource, with what would fit.
  std::function<void(const store::Job&)> reserve = {};
};

// SendHello, RecvHello: protocol version, plan version, plan hash, PRG. RecvHello ends the session at the first
// difference (Cause::kRefused); no serial is spent. Whose hello is right is accepted (Channel::Reach).
void SendHello(net::Channel& ch, const BundlePlan& plan);
void RecvHello(net::Channel& ch, const BundlePlan& plan);

// Throws Cause::kInput when the plan does not cover the job.
void CheckJob(const BundlePlan& plan, const store::Job& job);
// Ends the session where this role has no memory for a job; before a serial is spent.
void Reserve(net::Channel& ch, const BundlePlan& plan, const store::Job& job);
// Ends the session when the plan does not cover what the peer `did`: "announced", "asked for".
void CheckPeersJob(net::Channel& ch, const BundlePlan& plan, const store::Job& job, const char* did);

}  // namespace suf::proto
