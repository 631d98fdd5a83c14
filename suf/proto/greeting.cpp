#include "suf/proto/greeting.hpp"

#include "suf/store/home.hpp"

namespace suf::proto {
namespace {

constexpr size_t kWelcomeBytes = 2 * sizeof(Hash) + 2 * sizeof(uint32_t) + sizeof(uint64_t) + 1;
constexpr size_t kLaneRequestBytes =
    1 + 2 * sizeof(uint32_t) + sizeof(store::LaneId) + 3 * sizeof(uint64_t) + 2 + sizeof(Hash);

}  // namespace

void SendWelcome(net::Channel& ch, const WelcomeFrame& w) {
  Writer out;
  out.Raw(w.weights);
  out.Raw(w.setup);
  out.Put(w.brings);
  out.Put(w.variants);
  out.Put(w.report.dealer_rate);
  out.Put(uint8_t(w.report.loopback));
  Put(out, w.indexes);
  ch.Send(net::kWelcome, out.bytes());
}

WelcomeFrame RecvWelcome(net::Channel& ch, size_t indexes) {
  constexpr size_t kAlone = kWelcomeBytes + sizeof(uint32_t);  // without an offer
  const Bytes frame =
      indexes ? ch.Recv(net::kWelcome, kWelcomeBytes + kMostOfferBytes) : ch.RecvExact(net::kWelcome, kAlone);
  try {
    Reader r(frame, "a welcome");
    WelcomeFrame w;
    w.weights = r.GetHash();
    w.setup = r.GetHash();
    w.brings = r.Get<uint32_t>();
    w.variants = r.Get<uint32_t>();
    w.report.dealer_rate = r.Get<uint64_t>();
    w.report.loopback = r.Get<uint8_t>() != 0;
    w.indexes = GetOffers(r);
    r.ExpectEnd();
    return w;
  } catch (const Error& e) {
    net::EndSession(ch, net::Refusal::kProtocol, Cause::kPeer, ch.peer_title(), " sent a faulty welcome: ", e.what());
  }
}

void SendLaneRequest(net::Channel& ch, const LaneRequest& q) {
  Writer out;
  out.Put(uint8_t(q.have));
  out.Put(q.variants);
  out.Raw(q.lane);
  out.Put(q.report.lanes);
  out.Put(q.report.dealer_rate);
  out.Put(uint8_t(q.report.loopback));
  const Network link = q.report.link.value_or(Network{});
  out.Put(link.trip_us);
  out.Put(link.rate);
  out.Put(uint8_t(q.receipts));
  out.Raw(q.dealer);
  Bytes wants((q.wants.size() + 7) / 8);
  for (size_t i = 0; i < q.wants.size(); ++i) wants[i / 8] |= uint8_t(q.wants[i] << i % 8);
  out.Raw(wants);
  ch.Send(net::kSetupAsk, out.bytes());
}

LaneRequest RecvLaneRequest(net::Channel& ch, size_t parts) {
  const Bytes frame = ch.RecvExact(net::kSetupAsk, kLaneRequestBytes + (parts + 7) / 8);
  Reader r(frame, "a data owner's request for a lane");
  LaneRequest q;
  q.have = r.Get<uint8_t>() != 0;
  q.variants = r.Get<uint32_t>();
  q.lane = store::GetLaneId(r);
  q.report.lanes = r.Get<uint32_t>();
  q.report.dealer_rate = r.Get<uint64_t>();
  q.report.loopback = r.Get<uint8_t>() != 0;
  Network link;
  link.trip_us = r.Get<uint64_t>();
  link.rate = r.Get<uint64_t>();
  q.receipts = r.Get<uint8_t>() != 0;
  q.dealer = r.GetHash();
  const View wants = r.Raw((parts + 7) / 8);
  for (size_t i = 0; i < parts; ++i) q.wants.push_back(wants[i / 8] >> i % 8 & 1);
  if (q.report.lanes < 1 || q.report.lanes > store::kMostLanes)
    net::EndSession(ch, net::Refusal::kProtocol, Cause::kPeer, ch.peer_title(), " reports ", q.report.lanes,
                    " lanes; the limits are 1 and ", store::kMostLanes, "; install the same suf on all sides");
  if (link != Network{}) {
    CheckNetwork(ch, link);
    q.report.link = link;
  }
  return q;
}

}  // namespace suf::proto
