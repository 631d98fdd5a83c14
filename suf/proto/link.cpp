#include "suf/proto/link.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

namespace suf::proto {

namespace {

using Clock = std::chrono::steady_clock;

// One exchange: P1 sends a frame of `up` bytes, P0 answers with one of `down` bytes.
struct Step {
  size_t up, down;
};
constexpr Step kSteps[] = {{1, 1},           {1, 1},           {1, 1},           {1, 1},
                           {kLargeProbe, 1}, {kLargeProbe, 1}, {1, kLargeProbe}, {1, kLargeProbe}};

// The measurements of one side, in microseconds: the shortest round trip, and the time of its last large frame.
struct ProbeTimes {
  uint64_t trip = kLongestTrip, large = 0;
  void Add(size_t bytes, Clock::duration took) {
    const auto us = uint64_t(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    if (bytes == kLargeProbe)
      large = us;
    else
      trip = std::min(trip, us);
  }
  Network link() const {
    const uint64_t us = large > trip ? large - trip : 1;  // the time of the frame without the round trip
    return {std::max<uint64_t>(trip, 1),
            std::clamp<uint64_t>(uint64_t{8} * kLargeProbe * 1'000'000 / us, kLowestRate, kHighestRate)};
  }
};

// Exchanges the frames of all steps. Each received frame is timed from the frame that was sent before it.
ProbeTimes ExchangeProbes(net::Channel& ch) {
  const bool begins = ch.self().role == Role::kData;
  const Bytes zeros(kLargeProbe);
  ProbeTimes times;
  Clock::time_point sent{};
  bool any = false;
  auto send = [&](size_t bytes) {
    sent = Clock::now();
    any = true;
    ch.Send(net::kProbe, View(zeros).first(bytes));
  };
  auto receive = [&](size_t bytes) {
    (void)ch.RecvExact(net::kProbe, bytes);
    if (any) times.Add(bytes, Clock::now() - sent);
  };
  for (const Step& s : kSteps) {
    if (begins) send(s.up);
    receive(begins ? s.down : s.up);
    if (!begins) send(s.down);
  }
  return times;
}

}  // namespace

Network MeasureLink(net::Channel& ch) {
  const Network own = ExchangeProbes(ch).link();
  Writer w;
  w.Put(own.trip_us);
  w.Put(own.rate);
  const bool begins = ch.self().role == Role::kData;
  if (begins) ch.Send(net::kLink, w.bytes());
  const Bytes said = ch.RecvExact(net::kLink, 16);
  if (!begins) ch.Send(net::kLink, w.bytes());
  Reader r(said, "a link's figures");
  Network link;
  link.trip_us = r.Get<uint64_t>();
  link.rate = r.Get<uint64_t>();
  CheckNetwork(ch, link);
  return {std::max(own.trip_us, link.trip_us), std::min(own.rate, link.rate)};
}

void CheckNetwork(net::Channel& ch, const Network& link) {
  if (link.trip_us < 1 || link.trip_us > kLongestTrip || link.rate < kLowestRate || link.rate > kHighestRate)
    net::EndSession(ch, net::Refusal::kProtocol, Cause::kPeer, ch.peer_title(), " reports a round trip of ",
                    link.trip_us, " us and ", link.rate, " bits a second; the limits are 1 to ", kLongestTrip,
                    " us and ", kLowestRate, " to ", kHighestRate, " bits a second; install the same suf on all sides");
}

PairInfo ReportOf(const net::Channel& ch, bool keys_ahead, uint64_t dealer_rate) {
  return {.dealer_rate = keys_ahead ? kHighestRate : dealer_rate, .loopback = ch.IsLocal()};
}

uint32_t AllVariants(const BundlePlan& plan) { return uint32_t((uint64_t{1} << plan.variants.size()) - 1); }

uint32_t CommonOf(net::Channel& ch, const BundlePlan& plan, uint32_t ours, uint32_t theirs) {
  auto names = [&](uint32_t bits) {
    std::string s;
    for (size_t v = 0; v < plan.variants.size(); ++v)
      if (bits >> v & 1) s += (s.empty() ? "" : ", ") + plan.variants[v];
    return s.empty() ? std::string("none") : s;
  };
  const uint32_t common = ours & theirs & AllVariants(plan);
  if (!common)
    net::EndSession(ch, net::Refusal::kVariant, Cause::kRefused, ch.peer_title(),
                    " allows other variants of the plan (", names(theirs), ") than we do (", names(ours),
                    "); let both allow one in common");
  return common;
}

namespace {

// Returns the terms of a pair's jobs. A party without a delivery so far counts the link between the parties.
JobTerms TermsOf(const Common& common) {
  const auto rate = [&](const PairInfo& info) { return info.dealer_rate ? info.dealer_rate : common.link->rate; };
  JobTerms terms{*common.link,
                 {rate(common.model), rate(common.data)},
                 common.data.lanes,
                 common.model.loopback && common.data.loopback};
  if (terms.dealer_rates == std::array{kHighestRate, kHighestRate}) terms.dealer_rates = {};
  return terms;
}

}  // namespace

store::Job JobFor(const BundlePlan& plan, const Common& common, uint32_t tokens, uint32_t texts, uint32_t entry) {
  store::Job best = store::JobOf(tokens, uint32_t(std::countr_zero(common.variants)), texts);
  best.entry = entry;
  if (store::IsFetch(best)) return best;  // it is the same in all variants
  if (!common.link || !plan.price || !plan.Covers(best)) return best;
  const JobTerms terms = TermsOf(common);
  uint64_t least = plan.price(best, terms);
  for (uint32_t v = best.variant + 1; v < plan.variants.size(); ++v) {
    if (!(common.variants >> v & 1)) continue;
    store::Job job = best;
    job.variant = v;
    if (const uint64_t us = plan.price(job, terms); us < least) {
      least = us;
      best = job;
    }
  }
  return best;
}

}  // namespace suf::proto
