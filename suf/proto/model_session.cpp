// P0's side of a session.
#include <bit>

#include "suf/net/refusal.hpp"
#include "suf/proto/announcement.hpp"
#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/bond.hpp"
#include "suf/proto/pending_job.hpp"

namespace suf::proto {

class ModelSession {
 public:
  ModelSession(net::Channel& ch, const ModelHost& host) : ch_(ch), host_(host) {}

  void Greet() {
    SendHello(ch_, host_.plan);
    SendWelcome(ch_,
                {host_.weights, host_.setup, host_.brings, host_.variants & AllVariants(host_.plan), host_.report});
    const LaneRequest ask = RecvLaneRequest(ch_);
    common_ = {CommonOf(ch_, host_.plan, host_.variants, ask.variants), {}, host_.report, ask.report};
    OpenLane(ask.lane);
    if (!ask.have) SendSetup();
    if (!std::has_single_bit(common_.variants)) common_.link = ask.report.link ? ask.report.link : MeasureLink(ch_);
  }

  // Opens the lane that P1 named. Ends the session if another one has it open, or if P1 has too many lanes.
  void OpenLane(const store::LaneId& id) {
    try {
      lane_ = host_.home.Open(ch_.peer().key, id);
    } catch (const store::LaneInUse&) {
      ch_.Refuse(net::Refusal::kLaneBusy);
      throw;
    } catch (const store::TooManyLanes&) {
      ch_.Refuse(net::Refusal::kLanes);
      throw;
    }
    lane_->DropUnclaimed();
  }

  void SendSetup() {
    ch_.set_phase(net::Phase::kSetup);
    store::Sink sink(store::ChunkKey(host_.plan.hash, host_.weights), store::EvenBody(host_.plan.setup_bytes),
                     [&](View chunk) { ch_.Send(net::kChunk, chunk); });
    host_.w_hat(sink);
    sink.Finish();
    ch_.set_phase(net::Phase::kControl);
  }

  // Runs one inference or audit; returns false if P1 ended the session.
  bool Next() {
    auto what = next_ ? std::exchange(next_, std::nullopt) : ReceiveJob();
    if (what) RunOne(std::move(*what));
    if (!what) ch_.Send(net::kEnd, {});
    return what.has_value();
  }
  // Closes a delivery on its way and wipes unclaimed bundles.
  ~ModelSession() {
    next_.reset();
    last_.reset();
    if (lane_) lane_->DropUnclaimed();
  }

 private:
  // Receives P1's announcement and chooses a bundle; returns nothing if it has 0 tokens. `current`, if set,
  // is a job that runs meanwhile. It must not be burnt if there is no memory for this one.
  std::optional<PendingJob> ReceiveJob(const PendingJob* current = nullptr) {
    ch_.set_phase(net::Phase::kControl);
    const auto announced = RecvAnnouncement(ch_);
    if (!announced) return std::nullopt;
    const store::Job job = announced->job;
    CheckPeersJob(ch_, host_.plan, job, "announced");
    PendingJob what{job, host_.plan.task(job), 0, announced->whole, nullptr};
    if (announced->trace != what.task.trace)
      net::EndSession(ch_, net::Refusal::kTrace, Cause::kRefused, ch_.peer_title(), " derives another trace for ",
                      job.tokens, " ", host_.plan.unit.name, " from the plan; install the same suf on both sides");
    if (const store::Job ours = JobFor(host_.plan, common_, job.tokens); job != ours)
      net::EndSession(ch_, net::Refusal::kVariant, Cause::kRefused, ch_.peer_title(), " announced variant ",
                      job.variant, " of the plan where both agreed on ", ours.variant,
                      "; install the same suf on both sides");
    if (current)
      ReserveNext(what, *current);
    else
      what.memory = Reserve(ch_, host_.plan, job);
    if (what.whole) CheckAuditMemory(what, current != nullptr);
    if (host_.brings && job.tokens != host_.brings)
      net::EndSession(ch_, net::Refusal::kCount, Cause::kInput, ch_.peer_title(), " announced ", job.tokens, " ",
                      host_.plan.unit.name, ", we bring ", host_.brings, "; give both parties as many");
    ChooseBundle(what, *announced);
    return what;
  }

  // Refuses an audit that needs too much memory, before anything is fetched or spent. If another job runs, that one
  // ends normally.
  void CheckAuditMemory(PendingJob& what, bool next) {
    const uint64_t bytes = kWholeAtOnce * what.task.body[0]->bytes();
    if (what.lack || bytes <= host_.audit_memory) return;
    const Error lack(Cause::kResource,
                     Str(ch_.peer_title(), " requests audits at ", what.job.tokens, " ", host_.plan.unit.name,
                         ", for which ", kWholeAtOnce, " whole bundles of keys take ", bytes, " bytes, and ",
                         host_.audit_memory, " bytes are allowed; allow more, or let it connect without audits"));
    if (!next) net::EndSession(ch_, net::Refusal::kAuditMemory, lack.cause(), lack.what());
    what.lack = std::make_exception_ptr(lack);
    what.refusal = net::Refusal::kAuditMemory;
  }

  // Reserves memory for the job after `current`, or sets `what.lack`. An equal job begins when `current` has ended, so
  // both share a reservation.
  void ReserveNext(PendingJob& what, const PendingJob& current) const {
    try {
      if (what.job == current.job)
        what.memory = current.memory;
      else if (host_.plan.reserve)
        what.memory = host_.plan.reserve(what.job);
    } catch (const Error& e) {
      if (e.cause() != Cause::kResource) throw;
      what.lack = std::current_exception();
    }
  }

  // Chooses the lowest bundle that both stores hold, or a fresh one from the dealer.
  void ChooseBundle(PendingJob& what, const Announcement& announced) {
    if (what.lack) return SendChoice(ch_, kNoMemory);
    const auto mine = lane_->Bundles(what.job);
    for (const BundleOffer& offer : announced.Offers())
      for (const store::BundleHeader& h : mine)
        if (h.serial == offer.serial && h.rho == offer.rho &&
            IsFor(h, what, lane_->id(), host_.plan, host_.weights, ch_) && (!what.serial || h.serial < what.serial))
          what.serial = h.serial;
    SendChoice(ch_, what.serial);
    FetchArgs args{.job = what.job,
                   .count = CountOf(host_.keys),
                   .weights = host_.weights,
                   .partner = ch_.peer().key,
                   .b_seed = host_.b_seed,
                   .window = WindowOf(host_.keys, what.whole)};
    what.delivery = std::make_shared<Delivery>(host_.dealer, host_.plan, *lane_, args, what.serial,
                                               host_.keys.witness_always, last_);
  }

  void RunOne(PendingJob what) {
    if (what.lack) {
      ch_.Refuse(what.refusal);
      std::rethrow_exception(what.lack);
    }
    uint64_t serial = AwaitDelivery(ch_, what);
    last_ = what.delivery;
    store::BundleHeader header = lane_->Header(serial);
    SUF_CHECK(IsFor(header, what, lane_->id(), host_.plan, host_.weights, ch_));
    ch_.set_phase(net::Phase::kControl);
    Bond bond(ch_, header, host_.setup);
    // P1 has claimed this very bundle or marked it for the audit
    const bool audit = bond.RecvEither(net::kClaim, net::kAudit) == net::kAudit;
    if (audit && !what.whole)
      net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(), " opens bundle ", serial,
                      ", which it had announced for use alone; install the same suf on both sides");
    if (audit) {
      (void)BookDelivery(what, host_.dealer_traffic);
      return AuditBundle(ch_, *lane_, bond, what.task, host_.b_seed, host_.auditor,
                         {[&] { next_ = ReceiveJob(&what); }, [&] { next_.reset(); }});
    }
    store::Bundle bundle = TakeBundle(ch_, *lane_, serial, store::RecordKind::kClaimed, what.task, host_.keys.window);
    const KeysCloser closer{bundle.keys};
    std::function<void()> finished;
    BurnIfThrows(ch_, what, *lane_, *closer.keys, [&] {
      bond.Send(net::kAck);
      bond.Recv(net::kGo);
      next_ = ReceiveJob(&what);
      ch_.set_phase(net::Phase::kOffline);
      Inference inference(ch_, std::move(bundle), bond);
      finished = host_.run(inference);
      inference.keys().AwaitAll();
      ReadAhead(*lane_, next_, 0, host_.keys);
      SUF_CHECK(inference.offline_ended_);
      ch_.set_phase(net::Phase::kControl);
      bond.Send(net::kOnlineEnd);
      bond.Recv(net::kBye);
      lane_->Finish(serial);
    });
    (void)BookDelivery(what, host_.dealer_traffic);
    if (finished) finished();
  }

  net::Channel& ch_;
  const ModelHost& host_;
  Common common_;
  std::shared_ptr<store::Lane> lane_;
  std::shared_ptr<Delivery> last_;  // of the bundle claimed last
  std::optional<PendingJob> next_;
};

void ServeSession(net::Channel& p1, const ModelHost& host) {
  net::Guarded(p1, [&] { RecvHello(p1, host.plan); });
  ServeGreeted(p1, host);
}

void ServeGreeted(net::Channel& p1, const ModelHost& host) {
  net::Guarded(p1, [&] {
    ModelSession session(p1, host);
    session.Greet();
    while (session.Next()) {
    }
  });
}

}  // namespace suf::proto
