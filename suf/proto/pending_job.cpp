#include "suf/proto/pending_job.hpp"

#include <thread>

namespace suf::proto {
namespace {

constexpr net::Millis kGrace{1000};  // the wait for an error or an end that is probably on its way

// Returns whether the peer hangs up or refuses within that time.
bool GoneWithin(net::Channel& ch, net::Millis wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (!ch.PeerGone()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(net::kPeerPoll);
  }
  return true;
}

// Returns whether the dealer only reports that the other party left. The other party then knows the reason better.
bool IsPartnerGone(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const net::RefusalError& e) {
    return e.code() == net::Refusal::kPartnerGone;
  } catch (...) {
    return false;
  }
}

}  // namespace

bool IsFor(const store::BundleHeader& h, const PendingJob& what, const store::LaneId& lane, const BundlePlan& plan,
           const Hash& weights, const net::Channel& ch) {
  uint32_t party = uint32_t(PartyOf(ch.self().role));
  const bool of_list = what.lists ? SegmentsOf(*what.lists, h.list).has_value() : h.list == Hash{};
  return of_list && h.job == what.job && h.lane == lane && h.party == party && h.prg == plan.prg &&
         h.trace == what.task.trace && h.plan == plan.hash && h.weights == weights &&
         h.body_bytes == what.task.body[party]->bytes() && h.public_key[party] == ch.self().key &&
         h.public_key[1 - party] == ch.peer().key;
}

void BurnOldLists(store::Lane& lane, const SessionIndex& index) {
  for (const store::BundleHeader& h : lane.Bundles())
    if (store::IndexOf(h.job) == index.offer.number && !SegmentsOf(*index.lists, h.list)) lane.Burn(h.serial);
}

uint64_t WindowOf(const KeyPolicy& keys, bool whole) {
  return whole || keys.ahead > 1 ? store::KeySource::kWhole : keys.window;
}

uint64_t AwaitDelivery(net::Channel& ch, PendingJob& what) {
  while (!what.delivery->ReadyWithin(net::kPeerPoll))
    // the cause that ended the peer may be about to end our delivery as well, and that error says more
    if (ch.PeerGone() && !what.delivery->ReadyWithin(kGrace)) ch.Recv(net::kRefuse, 0);  // throws the reason
  try {
    return what.serial = what.delivery->Serial();
  } catch (...) {
    if (IsPartnerGone(std::current_exception()) && GoneWithin(ch, kGrace)) ch.Recv(net::kRefuse, 0);
    throw;
  }
}

double BookDelivery(const PendingJob& what, net::Traffic* traffic) {
  if (!what.delivery->OverWithin(kGrace)) return 0;
  if (traffic) *traffic += what.delivery->traffic();
  return what.delivery->dealt_ms();
}

void ReadAhead(store::Lane& lane, const std::optional<PendingJob>& next, int party, const KeyPolicy& keys) {
  if (next && next->serial) lane.ReadAhead(next->serial, next->task.body[party], keys.window);
}

std::exception_ptr FailureReason(net::Channel& ch, const PendingJob& what, const store::KeySource& keys) {
  (void)what.delivery->OverWithin(kGrace);
  const std::exception_ptr error = keys.failed();
  if (!error || IsPartnerGone(error)) return std::current_exception();
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    if (e.cause() == Cause::kRefused) ch.Refuse(net::Refusal::kBundle);
  } catch (...) {
  }
  return error;
}

}  // namespace suf::proto
