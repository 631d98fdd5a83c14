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
  ch.Send(net::kWelcome, out.bytes());
}

WelcomeFrame RecvWelcome(net::Channel& ch) {
  const Bytes frame = ch.RecvExact(net::kWelcome, kWelcomeBytes);
  Reader r(frame, "a welcome");
  WelcomeFrame w;
  w.weights = r.GetHash();
  w.setup = r.GetHash();
  w.brings = r.Get<uint32_t>();
  w.variants = r.Get<uint32_t>();
  w.report.dealer_rate = r.Get<uint64_t>();
  w.report.loopback = r.Get<uint8_t>() != 0;
  return w;
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
  ch.Send(net::kSetupAsk, out.bytes());
}

LaneRequest RecvLaneRequest(net::Channel& ch) {
  const Bytes frame = ch.RecvExact(net::kSetupAsk, kLaneRequestBytes);
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
