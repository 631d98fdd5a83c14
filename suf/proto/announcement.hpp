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
  bool stays = false;  // P1 has no job for now, and the session stays; the other members are empty
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
// Receives an announcement; returns nothing if it has 0 tokens. With `may_stay`, P1 may notify us instead that it
// stays.
std::optional<Announcement> RecvAnnouncement(net::Channel& ch, bool may_stay);

// Sends P0's choice: a serial, 0 for a fresh bundle, or kLater.
void SendChoice(net::Channel& ch, uint64_t serial);
uint64_t RecvChoice(net::Channel& ch);
// Receives the choice for a job that may wait for its turn. `waits`, if set, receives each report of that.
uint64_t AwaitChoice(net::Channel& ch, const std::function<void(const Turns::Wait&)>& waits);

}  // namespace suf::proto
