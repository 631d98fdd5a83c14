#include "suf/proto/announcement.hpp"

#include <algorithm>

namespace suf::proto {
namespace {

constexpr size_t kOfferBytes = 8 + 32, kMaxOffers = 4096;
constexpr size_t kAnnounceBytes = store::kJobBytes + 32 + 1;  // without offers

// Returns the announcement of a job of 0 tokens.
Bytes EmptyAnnouncement() { return Bytes(kAnnounceBytes); }

}  // namespace

std::vector<BundleOffer> Announcement::Offers() const {
  Reader r(frame, "an announcement");
  (void)r.Raw(kAnnounceBytes);
  std::vector<BundleOffer> offers;
  while (r.left()) {
    BundleOffer& offer = offers.emplace_back();
    offer.serial = r.Get<uint64_t>();
    offer.rho = r.GetHash();
  }
  return offers;
}

void SendAnnouncement(net::Channel& ch, const PendingJob& what, const std::vector<BundleOffer>& offers) {
  Writer w;
  store::Put(w, what.job);
  w.Raw(what.task.trace);
  w.Put(uint8_t(what.whole));
  for (size_t i = 0; i < std::min(offers.size(), kMaxOffers); ++i) {
    w.Put(offers[i].serial);
    w.Raw(offers[i].rho);
  }
  ch.Send(net::kAnnounce, w.bytes());
}

void AnnounceNone(net::Channel& ch) { ch.Send(net::kAnnounce, EmptyAnnouncement()); }

std::optional<Announcement> RecvAnnouncement(net::Channel& ch, bool may_stay) {
  constexpr size_t kMost = kAnnounceBytes + kMaxOffers * kOfferBytes;
  Announcement a;
  auto [kind, frame] = ch.RecvEitherUpTo(net::kAnnounce, may_stay ? net::kStay : net::kAnnounce, kMost);
  if (kind == net::kStay) {
    Reader(frame, "a notice that a session stays").ExpectEnd();
    a.stays = true;
    return a;
  }
  a.frame = std::move(frame);
  Reader r(a.frame, "an announcement");
  a.job = store::GetJob(r);
  a.trace = r.GetHash();
  a.whole = r.Get<uint8_t>() != 0;
  if (!a.job.tokens && a.frame == EmptyAnnouncement()) return std::nullopt;
  return a;
}

void SendChoice(net::Channel& ch, uint64_t serial) {
  Writer w;
  w.Put(serial);
  ch.Send(net::kChoice, w.bytes());
}

uint64_t RecvChoice(net::Channel& ch) {
  const Bytes choice = ch.RecvExact(net::kChoice, sizeof(uint64_t));
  return Reader(choice, "a choice").Get<uint64_t>();
}

uint64_t AwaitChoice(net::Channel& ch, const std::function<void(const Turns::Wait&)>& waits) {
  const Bytes choice = RecvAfterWaits(ch, {net::kChoice, sizeof(uint64_t)}, waits);
  return Reader(choice, "a choice").Get<uint64_t>();
}

}  // namespace suf::proto
