// P1's announcement of a job, and the choice by which P0 answers. An announcement is the job, the digest of its trace,
// whether its bundle must arrive whole, and offers.
#pragma once
#include <optional>
#include <vector>

#include "suf/proto/session.hpp"

namespace suf::proto {

// A bundle in P1's store that fits the announced job.
struct BundleOffer {
  uint64_t serial = 0;
  Hash rho{};
};

// An announcement as P0 received it.
struct Announcement {
  store::Job job;
  Hash trace{};
  bool whole = false;  // the bundle arrives whole before it is claimed
  Bytes frame;
  // Decodes the offers. Throws Cause::kRefused if they are cut short.
  std::vector<BundleOffer> Offers() const;
};

// Sends the announcement of a job with its first offers, at most 4096.
void SendAnnouncement(net::Channel& ch, const PendingJob& what, const std::vector<BundleOffer>& offers);
// Sends the announcement of a job of 0 tokens. During a run or an audit it means that the next job is not known yet.
// Between jobs it means the end of the session.
void AnnounceNone(net::Channel& ch);
// Receives an announcement; returns nothing if it has 0 tokens.
std::optional<Announcement> RecvAnnouncement(net::Channel& ch);

// Sends P0's choice: a serial, 0 for a fresh bundle, kNoMemory or kLater.
void SendChoice(net::Channel& ch, uint64_t serial);
uint64_t RecvChoice(net::Channel& ch);

}  // namespace suf::proto
