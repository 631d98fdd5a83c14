// P0's side of a session.
#include <bit>
#include <thread>

#include "suf/net/refusal.hpp"
#include "suf/proto/announcement.hpp"
#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/bond.hpp"
#include "suf/proto/internal/permitted.hpp"
#include "suf/proto/pending_job.hpp"

namespace suf::proto {

namespace {

constexpr net::Millis kTakeOver{2000};  // the longest wait for another session to end

double MillisSince(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t).count();
}

}  // namespace

class ModelSession {
 public:
  ModelSession(net::Channel& ch, const ModelHost& host)
      : ch_(ch),
        host_(host),
        alone_(Turns::Limits{.whole = kAuditMemory}),
        sessions_(host.sessions ? *host.sessions : alone_) {}

  void Greet() {
    if (host_.policy) Permitted(ch_, *host_.policy, {}, [&] { host_.policy->Check(ch_.peer().key); });
    SendHello(ch_, host_.plan);
    std::vector<IndexOffer> offers;
    for (const SessionIndex& index : host_.indexes) offers.push_back(index.offer);
    SendWelcome(ch_, {host_.weights, host_.setup, host_.brings, host_.variants & AllVariants(host_.plan), host_.report,
                      std::move(offers)});
    const std::vector<SetupPart> parts = PartsOf(host_.plan, host_.indexes);
    const LaneRequest ask = RecvLaneRequest(ch_, parts.size());
    common_ = {CommonOf(ch_, host_.plan, host_.variants, ask.variants), {}, host_.report, ask.report};
    if (ask.receipts) AllowReceipts();
    FindDealer(ask);
    OpenLane(ask.lane);
    for (const SessionIndex& index : host_.indexes) BurnOldLists(*lane_, index);
    SendSetup(ask, parts);
    if (!std::has_single_bit(common_.variants)) common_.link = ask.report.link ? ask.report.link : MeasureLink(ch_);
    if (common_.link && host_.linked) host_.linked(*common_.link);
  }

  // Prepares to sign receipts, which P1 requests.
  void AllowReceipts() {
    if (!ch_.signer())
      net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(),
                      " requests receipts, and this connection has no certificates; connect by TLS");
    certificate_.emplace(ch_.peer_certificates(), Str("the certificate of ", ch_.peer_title()));
  }

  // Finds the dealer that P1 named. A lane of a list keeps its dealer, which alone knows what it dealt and witnessed.
  void FindDealer(const LaneRequest& ask) {
    dealer_ = host_.dealers.For(ask.dealer);
    if (!dealer_)
      net::EndSession(ch_, net::Refusal::kDealer, Cause::kRefused, ch_.peer_title(),
                      ask.dealer == Hash{} ? Str(" names no dealer, and we list ", host_.dealers.size())
                                           : Str(" names dealer=", Hex(ask.dealer), ", which is none of ours"),
                      "; list and pin the same dealers on both sides");
    if (ask.dealer != Hash{} && !store::BelongsTo(ask.lane, ask.dealer))
      net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(),
                      " names a dealer of which its lane is none; install the same suf on both sides");
  }

  // Opens the lane that P1 named. A session that has it open may idle, and ends then. Or it has ended at P1 already. If
  // it goes on, or if P1 has too many lanes, ends this session.
  void OpenLane(const store::LaneId& id) {
    const TurnKey key{ch_.peer().key, id};
    const auto until = std::chrono::steady_clock::now() + kTakeOver;
    while (!lane_) try {
        lane_ = host_.home.Open(key.owner, id);
      } catch (const store::LaneInUse&) {
        sessions_.HangUpIdle(key);
        if (std::chrono::steady_clock::now() >= until) {
          ch_.Refuse(net::Refusal::kLaneBusy);
          throw;
        }
        std::this_thread::sleep_for(net::kPeerPoll);
      } catch (const store::TooManyLanes&) {
        ch_.Refuse(net::Refusal::kLanes);
        throw;
      }
    if (host_.policy) seat_ = Permitted(ch_, *host_.policy, {}, [&] { return host_.policy->Admit(key.owner); });
    entry_.emplace(sessions_, key, ch_);
    lane_->DropUnclaimed();
  }

  // Sends W_hat and the parts of indexes that P1 requests.
  void SendSetup(const LaneRequest& ask, const std::vector<SetupPart>& parts) {
    const auto send = [&](const Hash& plan, const Hash& id, uint64_t bytes, const auto& write) {
      ch_.set_phase(net::Phase::kSetup);
      store::Sink sink(
          store::ChunkKey(plan, id), store::EvenBody(bytes), [&](View chunk) { ch_.Send(net::kChunk, chunk); },
          kSetupWindow);
      write(sink);
      sink.Finish();
      ch_.set_phase(net::Phase::kControl);
    };
    if (!ask.have) send(host_.plan.hash, host_.weights, host_.plan.setup_bytes, host_.w_hat);
    for (size_t i = 0; i < parts.size(); ++i)
      if (ask.wants[i])
        send(parts[i].plan, parts[i].id, parts[i].bytes, [&](store::Sink& sink) { host_.part(parts[i], sink); });
  }

  // Returns the place of a job's index among those that P1 uses; nothing if the job has no index. Ends the session if
  // P1 does not use it.
  std::optional<size_t> PlaceOf(const store::Job& job) {
    if (!job.entry) return std::nullopt;
    for (size_t i = 0; i < host_.indexes.size(); ++i)
      if (host_.indexes[i].offer.number == store::IndexOf(job)) return i;
    net::EndSession(ch_, net::Refusal::kIndex, Cause::kRefused, ch_.peer_title(), " announced a job of index ",
                    store::IndexOf(job), ", which it did not name; install the same suf on both sides");
  }

  // Ends the session if the index of a job was compacted since it began. Rows have other numbers then, and deletions
  // since then would not be obeyed.
  void CheckList(const store::Job& job) {
    const auto place = PlaceOf(job);
    if (place && !host_.has_list(host_.indexes[*place]))
      net::EndSession(ch_, net::Refusal::kCompacted, Cause::kPeer, "the index was compacted since the session of ",
                      ch_.peer_title(), " began; it must start again");
  }

  // Refuses a fetch that does not follow its search, or follows it again. So P1 receives k documents a search at most.
  void CheckFetch(const store::Job& job) {
    if (store::IsFetch(job) && (!store::IsSearch(ran_) || store::IndexOf(ran_) != store::IndexOf(job)))
      net::EndSession(ch_, net::Refusal::kFetch, Cause::kRefused, ch_.peer_title(), " announced a fetch ",
                      store::IsFetch(ran_) ? "after another one" : "without a search before it", "; it was refused");
  }

  // Runs one inference or audit; returns false if P1 ended the session.
  bool Next() {
    auto what = next_ ? std::exchange(next_, std::nullopt) : ReceiveJob();
    if (what) RunOne(std::move(*what));
    if (!what) ch_.Send(net::kEnd, {});
    return what.has_value();
  }
  // Closes a delivery on its way and wipes unclaimed bundles. Their memory counts until then.
  ~ModelSession() {
    DropNext();
    last_.reset();
    entry_.reset();
    if (lane_) lane_->DropUnclaimed();
  }

 private:
  // Receives P1's announcement, waits for its turn and chooses a bundle. Returns nothing if there is no job. The job's
  // trace is made when its turn has come, because that takes time and memory. `current`, if set, is a job that runs
  // meanwhile. It must not be burnt for this one's sake, which P1 then announces later.
  std::optional<PendingJob> ReceiveJob(const PendingJob* current = nullptr) {
    ch_.set_phase(net::Phase::kControl);
    const auto announced = current ? RecvAnnouncement(ch_, false) : AwaitAnnouncement();
    if (!announced) return std::nullopt;
    const store::Job job = announced->job;
    CheckPeersJob(ch_, host_.plan, job, "announced");
    const auto place = PlaceOf(job);
    CheckFetch(job);
    if (!current) CheckList(job);
    if (host_.brings && job.tokens != host_.brings)
      net::EndSession(ch_, net::Refusal::kCount, Cause::kInput, ch_.peer_title(), " announced ", job.tokens, " ",
                      host_.plan.unit.name, ", we bring ", host_.brings, "; give both parties as many");
    PendingJob what{job, {}, 0, announced->whole, place ? host_.indexes[*place].lists : nullptr, nullptr};
    TurnGroup group{ch_.peer().key, Turns::kNoLimit};
    if (host_.policy) group = host_.policy->GroupOf(group.id);
    const auto prepare = [&] {
      MakeTask(what, announced->trace);
      if (!current) CheckAuditMemory(what);
      return AuditBytes(what);
    };
    const Admission::Applicant who{host_.plan, job,          WindowOf(host_.keys, what.whole), {group.id, lane_->id()},
                                   prepare,    group.at_once};
    const auto begun = std::chrono::steady_clock::now();
    std::shared_ptr<void> waits = host_.policy && !current ? host_.policy->Wait(ch_.peer().key) : nullptr;
    const bool admitted = current ? TryAdmit(who, what, *current) : (Admit(who, what), true);
    waits.reset();
    if (!admitted || !TakeTicket(what, begun, current)) {
      SendChoice(ch_, kLater);
      return std::nullopt;
    }
    ChooseBundle(what, *announced);
    return what;
  }

  // Receives the announcement of a job between two jobs; nothing if the session ends. P1 may say first that it stays.
  std::optional<Announcement> AwaitAnnouncement() {
    auto announced = RecvAnnouncement(ch_, true);
    if (!announced || !announced->stays) return announced;
    const net::Millis timeout = ch_.timeout();
    const auto until = std::chrono::steady_clock::now() + host_.idle;
    ch_.Advance(net::PeerState::kAccepted);
    ch_.set_timeout(host_.idle);
    entry_->Idle(true);
    try {
      announced = RecvAnnouncement(ch_, false);
    } catch (...) {
      entry_->Idle(false);
      if (std::chrono::steady_clock::now() >= until) ch_.Refuse(net::Refusal::kIdle);
      throw;
    }
    entry_->Idle(false);
    ch_.set_timeout(timeout);
    return announced;
  }

  // Makes the job's trace. Ends the session if P1 derives another one or another variant.
  void MakeTask(PendingJob& what, const Hash& trace) {
    const store::Job& job = what.job;
    what.task = host_.plan.task(job);
    if (trace != what.task.trace)
      net::EndSession(ch_, net::Refusal::kTrace, Cause::kRefused, ch_.peer_title(), " derives another trace for ",
                      job.tokens, " ", host_.plan.unit.name, " from the plan; install the same suf on both sides");
    if (const store::Job ours = JobFor(host_.plan, common_, job.tokens, job.texts, job.entry); job != ours)
      net::EndSession(ch_, net::Refusal::kVariant, Cause::kRefused, ch_.peer_title(), " announced variant ",
                      job.variant, " of the plan where both agreed on ", ours.variant,
                      "; install the same suf on both sides");
  }

  // Returns the bytes of whole bundles that an announced job needs.
  static uint64_t AuditBytes(const PendingJob& what) {
    return what.whole ? kWholeAtOnce * what.task.body[0]->bytes() : 0;
  }
  // Refuses an audit that needs too much memory, before anything is fetched or spent.
  void CheckAuditMemory(const PendingJob& what) {
    const uint64_t bytes = AuditBytes(what), allowed = sessions_.admission().turns().limits().whole;
    if (bytes > allowed)
      net::EndSession(ch_, net::Refusal::kAuditMemory, Cause::kResource, ch_.peer_title(), " requests audits at ",
                      what.job.tokens, " ", host_.plan.unit.name, ", for which ", kWholeAtOnce,
                      " whole bundles of keys take ", bytes, " bytes, and ", allowed,
                      " bytes are allowed; allow more, or let it connect without audits");
  }

  // Admits the job after `current`, if its turn and the memory allow that now.
  bool TryAdmit(const Admission::Applicant& who, PendingJob& what, const PendingJob& current) {
    try {
      auto admitted = sessions_.admission().TryAdmit(who, current.job, runs_);
      if (admitted) what.pass = std::move(*admitted);
      return admitted.has_value();
    } catch (const Error& e) {
      if (e.cause() != Cause::kResource) throw;
      return false;  // P1 announces it again when nothing runs, and is refused then
    }
  }
  // Waits until the job is admitted. Ends the session if it never will be, or if this process stops.
  void Admit(const Admission::Applicant& who, PendingJob& what) {
    try {
      auto admitted = sessions_.admission().Admit(
          who, [&](const Turns::Wait& w) { SendWait(ch_, w); }, [&] { return ch_.PeerGone(0); }, WaitReportFor(ch_));
      if (admitted) {
        what.pass = std::move(*admitted);
        return;
      }
    } catch (const Error& e) {
      if (e.cause() == Cause::kResource) ch_.Refuse(net::Refusal::kMemory);
      throw;
    }
    if (!sessions_.admission().turns().closed()) ch_.Recv(net::kRefuse, 0);  // throws why P1 has left
    net::EndSession(ch_, net::Refusal::kStopping, Cause::kPeer, ch_.peer_title(),
                    " waited for its turn when we stopped; nothing was spent on its ", host_.plan.unit.job);
  }

  // Reserves what the job counts. Returns false if the policy denies that while another job runs, which must not be
  // burnt. P1 announces the job again after that one, and is refused then.
  bool TakeTicket(PendingJob& what, std::chrono::steady_clock::time_point begun, const PendingJob* current) {
    if (!host_.policy) return true;
    const auto begin = [&] {
      what.ticket = host_.policy->Begin({ch_.peer().key, lane_->id(), what.job, MillisSince(begun)});
    };
    if (!current) {
      Permitted(ch_, *host_.policy, what.job, begin);
      return true;
    }
    try {
      begin();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // Chooses the lowest bundle that both stores hold, or a fresh one from the dealer.
  void ChooseBundle(PendingJob& what, const Announcement& announced) {
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
                   .listed = dealer_->listed,
                   .indexes = host_.plan.indexes,
                   .list = what.lists ? what.lists->back() : Hash{},
                   .b_seed = host_.b_seed,
                   .index = MaskOf(what.job, what.lists ? what.lists->size() - 1 : 0),
                   .window = WindowOf(host_.keys, what.whole),
                   .delivered = host_.keys.delivered};
    what.delivery =
        std::make_shared<Delivery>(*dealer_, host_.plan, *lane_, args, what.serial, host_.keys.witness_always, last_);
  }

  // Returns B of a job's index, for the first `segments` segments of the list.
  IndexMask MaskOf(const store::Job& job, size_t segments) {
    const auto place = PlaceOf(job);
    if (!place) return {};
    const SessionIndex& index = host_.indexes[*place];
    return {host_.index_seeds[*place],
            index.offer.plan,
            {index.segments.begin(), index.segments.begin() + ssize_t(segments)}};
  }

  // Drops the next job. Its memory counts until the session has wiped its bundle.
  void DropNext() {
    if (next_) dropped_ = std::move(next_->pass);
    next_.reset();
  }

  void RunOne(PendingJob what) {
    runs_ = std::move(what.pass);
    if (host_.policy)  // the rules may have changed
      Permitted(ch_, *host_.policy, what.job, [&] { host_.policy->Check(ch_.peer().key); });
    CheckList(what.job);
    uint64_t serial = AwaitDelivery(ch_, what);
    last_ = what.delivery;
    store::BundleHeader header = lane_->Header(serial);
    SUF_CHECK(IsFor(header, what, lane_->id(), host_.plan, host_.weights, ch_));
    ch_.set_phase(net::Phase::kControl);
    Bond bond(ch_, header, digest_);
    // P1 has claimed this very bundle or marked it for the audit
    const bool audit = bond.RecvEither(net::kClaim, net::kAudit) == net::kAudit;
    ran_ = audit ? store::Job{} : what.job;
    if (audit && !what.whole)
      net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(), " opens bundle ", serial,
                      ", which it had announced for use alone; install the same suf on both sides");
    const auto begun = std::chrono::steady_clock::now();
    const net::Traffic before = AllTraffic();
    if (what.ticket) Permitted(ch_, *host_.policy, what.job, [&] { what.ticket->Claim(serial, audit); });
    std::optional<ReceiptMaker> receipt;
    const auto done = [&] {
      if (!what.ticket) return;
      const net::Traffic after = AllTraffic();
      what.ticket->Done({MillisSince(begun), after.bytes_sent - before.bytes_sent,
                         after.bytes_received - before.bytes_received, receipt ? &receipt->receipt() : nullptr});
      what.ticket.reset();
    };
    if (audit) {
      (void)BookDelivery(what, host_.dealer_traffic);
      AuditBundle(ch_, *lane_, bond, what.task,
                  {host_.b_seed, MaskOf(what.job, what.lists ? *SegmentsOf(*what.lists, header.list) : 0)},
                  host_.auditor,
                  {[&] { next_ = ReceiveJob(&what); },
                   [&] {
                     DropNext();
                     sessions_.HangUpOthers(ch_.peer().key, ch_);
                   }});
      done();
      runs_ = {};
      return;
    }
    const std::function<void()> finished = RunInference(what, serial, bond, receipt);
    done();
    runs_ = {};  // nothing runs any more, and its keys are wiped
    (void)BookDelivery(what, host_.dealer_traffic);
    if (finished) finished();
  }

  // Returns the traffic with P1 in all phases.
  net::Traffic AllTraffic() const {
    net::Traffic sum;
    for (int p = 0; p < net::kPhases; ++p) sum += ch_.traffic(net::Phase(p));
    return sum;
  }

  // Returns what P0 does when the serial is done. Makes the receipt if P1 requests one.
  std::function<void()> RunInference(const PendingJob& what, uint64_t serial, Bond& bond,
                                     std::optional<ReceiptMaker>& receipt) {
    store::Bundle bundle = TakeBundle(ch_, *lane_, serial, store::RecordKind::kClaimed, what.task, host_.keys.window);
    const KeysCloser closer{bundle.keys};
    std::function<void()> finished;
    BurnIfThrows(ch_, what, *lane_, *closer.keys, [&] {
      if (certificate_) receipt.emplace(ch_, bundle.header, *certificate_);
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
      if (receipt) receipt->Close();
      bond.Send(net::kOnlineEnd, receipt ? receipt->Sign() : Bytes());
      const Bytes theirs = bond.Recv(net::kBye, receipt ? kSignedTimeBytes : 0);
      if (receipt) receipt->Take(theirs);
      lane_->Finish(serial);
    });
    return finished;
  }

  net::Channel& ch_;
  const ModelHost& host_;
  SessionTable alone_;  // of this session, if it shares none
  SessionTable& sessions_;
  Common common_;
  std::optional<net::RoleCertificate> certificate_;  // of P1, if it requests receipts
  std::optional<DealerContact> dealer_;              // of the lane
  std::shared_ptr<store::Lane> lane_;
  std::shared_ptr<void> seat_;  // of the policy
  std::optional<SessionTable::SessionEntry> entry_;
  const Hash digest_ = SetupDigest(host_.setup, host_.indexes);
  store::Job ran_;                  // the last inference that began
  JobPass runs_, dropped_;          // of the job that runs, and of a next one that was dropped
  std::shared_ptr<Delivery> last_;  // of the bundle claimed last
  std::optional<PendingJob> next_;
};

void ServeSession(net::Channel& p1, const ModelHost& host) {
  if (const auto used = BeginSession(p1, host)) {
    SUF_CHECK(used->size() == host.indexes.size());
    ServeGreeted(p1, host);
  }
}

std::optional<std::vector<Hash>> BeginSession(net::Channel& p1, const ModelHost& host) {
  return net::Guarded(p1, [&]() -> std::optional<std::vector<Hash>> {
    const auto [kind, first] = p1.RecvEitherUpTo(net::kHello, net::kPull, kMostHello);
    if (kind == net::kPull) {
      ServePull(p1, first, host.files, host.policy);
      return std::nullopt;
    }
    return CheckHello(p1, host.plan, first, ListRule::kUsesOurs, host.plan.indexes);
  });
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
