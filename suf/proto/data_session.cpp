// P1's side of a session.
#include <bit>
#include <set>

#include "suf/net/refusal.hpp"
#include "suf/proto/announcement.hpp"
#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/bond.hpp"
#include "suf/proto/pending_job.hpp"

namespace suf::proto {

void CheckPin(net::Channel& p0, store::Home& home) {
  if (!home.Pin(p0.peer()))
    net::EndSession(p0, net::Refusal::kPin, Cause::kRefused, p0.peer_title(),
                    " shows another key than the one this store knows; if it was replaced on purpose, start with a new "
                    "store");
}

DataSession::DataSession(net::Channel& p0, const BundlePlan& plan, std::shared_ptr<store::Lane> lane,
                         DealerContact dealer, KeyPolicy keys, uint32_t variants, const PairInfo& info,
                         Admission* memory)
    : ch_(p0),
      plan_(plan),
      lane_(std::move(lane)),
      dealer_(std::move(dealer)),
      keys_(std::move(keys)),
      alone_(Turns::Limits{}),
      memory_(memory ? *memory : alone_) {
  net::Guarded(ch_, [&] {
    CheckPin(ch_, lane_->home());
    SendHello(ch_, plan_);
    served_ = RecvHello(ch_, plan_, ListRule::kServesOurs, plan_.indexes);
    WelcomeFrame welcome = RecvWelcome(ch_, plan_.indexes.size());
    weights_ = welcome.weights;
    setup_hash_ = welcome.setup;
    brought_ = welcome.brings;
    common_ = {CommonOf(ch_, plan_, variants, welcome.variants), {}, welcome.report, info};
    if (brought_ > plan_.max_tokens)  // P0 checks its own values before it listens
      net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(), " brings ", brought_, " ",
                      plan_.unit.name, ", the plan covers at most ", plan_.max_tokens,
                      "; install the same suf on both sides");
    TakeOffers(std::move(welcome.indexes));
    const bool have = LoadSetup();
    const std::vector<bool> wants = LoadIndexes();
    if (keys_.receipts) certificate_.emplace(ch_.peer_certificates(), Str("the certificate of ", ch_.peer_title()));
    const bool bound = dealer_.key != Hash{} && store::BelongsTo(lane_->id(), dealer_.key);
    SUF_CHECK(bound || !dealer_.listed);
    SendLaneRequest(ch_,
                    {have, variants, lane_->id(), info, certificate_.has_value(), bound ? dealer_.key : Hash{}, wants});
    FetchSetup(have, wants);
    if (!std::has_single_bit(common_.variants)) common_.link = info.link ? info.link : MeasureLink(ch_);
  });
}

// Closes a delivery on its way and wipes unclaimed bundles.
DataSession::~DataSession() {
  next_.reset();
  last_.reset();
  lane_->DropUnclaimed();
}

// Takes on the indexes that P0 offers. They must be those that we named, with numbers of P0's list.
void DataSession::TakeOffers(std::vector<IndexOffer> offers) {
  bool ours = offers.size() == plan_.indexes.size();
  for (size_t i = 0; ours && i < offers.size(); ++i) {
    const uint32_t number = offers[i].number;
    ours = offers[i].plan == plan_.indexes[i] && number >= 1 && number <= served_.size() &&
           served_[number - 1] == offers[i].plan;
  }
  if (!ours)
    net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(),
                    " offers other indexes than we named; install the same suf on both sides");
  for (IndexOffer& o : offers) indexes_.emplace_back(std::move(o));
  parts_ = PartsOf(plan_, indexes_);
  part_bytes_.resize(parts_.size());
  digest_ = SetupDigest(setup_hash_, indexes_);
}

// A file that differs stays until another replaces it. A peer with P0's key but without a MAC may name a false hash. It
// must not destroy the right file.
std::optional<Bytes> DataSession::LoadPart(const SetupPart& part) {
  store::Home& home = lane_->home();
  if (!home.HasSetup(part.name())) return std::nullopt;
  auto kept = home.LoadSetup(part.plan, part.name(), part.bytes);
  if (kept && Equal(HashOf({*kept}), part.hash)) return kept;
  notices_.push_back(Str("the masked weights in ", home.SetupFile(part.name()),
                         kept ? " are not those of this session" : " were altered", "; they are fetched again"));
  return std::nullopt;
}

// Returns whether memory or the store has the W_hat that P0 named.
bool DataSession::LoadSetup() {
  if (keys_.has_setup && keys_.has_setup(weights_, setup_hash_)) return true;
  auto kept = LoadPart(WeightsPart());
  if (kept) setup_ = std::move(*kept);
  return kept.has_value();
}

// Returns which parts of the indexes we lack, and reads the others from the store.
std::vector<bool> DataSession::LoadIndexes() {
  std::set<uint32_t> in_memory;
  for (const SessionIndex& index : indexes_)
    if (keys_.has_index && keys_.has_index(index)) in_memory.insert(index.offer.number);
  std::vector<bool> wants(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (in_memory.contains(parts_[i].index) || (parts_[i].table && !keys_.tables)) continue;
    auto kept = LoadPart(parts_[i]);
    wants[i] = !kept;
    if (kept) part_bytes_[i] = std::move(*kept);
  }
  return wants;
}

// Fetches a part. `before` bytes of `all` that come in this session came before. Ends the session if it differs from
// the one that P0 named.
Bytes DataSession::FetchPart(const SetupPart& part, uint64_t before, uint64_t all) {
  store::ChunkVerifier verifier(store::ChunkKey(part.plan, part.id), store::EvenBody(part.bytes));
  store::ChunkFile& file = unverified_.emplace_back(*lane_, unverified_.size(), part.name()).file;
  Bytes bytes;
  bytes.reserve(part.bytes);
  for (Bytes chunk; verifier.left();) {
    chunk.resize(verifier.bytes());
    ch_.RecvInto(net::kChunk, chunk);
    View data = verifier.Verify(chunk, "the stream of masked weights");
    file.Add(chunk);
    Append(&bytes, data);
    if (keys_.setup) keys_.setup(before + bytes.size(), all);
  }
  file.Close();
  if (!Equal(HashOf({bytes}), part.hash))
    net::EndSession(
        ch_, net::Refusal::kSetup, Cause::kRefused, ch_.peer_title(),
        " sent other masked weights than its welcome names; they are dropped, start again, and if this stays, have "
        "its process started again");
  return bytes;
}

// Fetches W_hat, unless we have it, and the parts that we want.
void DataSession::FetchSetup(bool have, const std::vector<bool>& wants) {
  uint64_t all = have ? 0 : plan_.setup_bytes, came = 0;
  for (size_t i = 0; i < parts_.size(); ++i) all += wants[i] ? parts_[i].bytes : 0;
  if (!all && have) return;
  ch_.set_phase(net::Phase::kSetup);
  if (!have) setup_ = FetchPart(WeightsPart(), 0, all);
  came += setup_.size();
  for (size_t i = 0; i < parts_.size(); ++i)
    if (wants[i]) {
      part_bytes_[i] = FetchPart(parts_[i], came, all);
      came += parts_[i].bytes;
    }
  ch_.set_phase(net::Phase::kControl);
}

// Stores what was fetched, because P0's MAC was verified, and drops what belongs to older lists.
void DataSession::KeepSetup() {
  if (std::exchange(kept_, true)) return;
  for (UnverifiedWeights& u : unverified_) lane_->home().CommitSetup(std::move(u.file), u.name);
  unverified_.clear();
  for (const SessionIndex& index : indexes_) {
    std::vector<Hash> ids;
    for (const SetupPart& part : parts_)
      if (part.index == index.offer.number) ids.push_back(part.id);
    lane_->home().KeepParts(index.offer.plan, ids);
    BurnOldLists(*lane_, index);
  }
}

// Returns the index of a job. Throws Bug if the session has none of this number.
const SessionIndex* DataSession::IndexFor(const store::Job& job) const {
  for (const SessionIndex& index : indexes_)
    if (index.offer.number == store::IndexOf(job)) return &index;
  SUF_CHECK(!job.entry);
  return nullptr;
}

Admission::Applicant DataSession::ApplicantOf(const store::Job& job) const {
  return {plan_, job, WindowOf(keys_, keys_.whole), {ch_.peer().key, lane_->id()}};
}

// A session waits before it announces. So it holds no turn at P0 meanwhile, and a session that holds one has its
// memory.
bool DataSession::Admit(const store::Job& job, const std::function<bool()>& leave) {
  return net::Guarded(ch_, [&] {
    CheckJob(plan_, job);
    if (next_) return true;  // it was admitted during the job before
    bool left = false;
    const auto gone = [&] { return (left = leave && leave()) || ch_.PeerGone(0); };
    std::optional<JobPass> pass;
    try {
      pass = memory_.Admit(
          ApplicantOf(job), [&](const Turns::Wait&) { Stay(); }, gone);
    } catch (const Error& e) {
      if (e.cause() == Cause::kResource) {
        ch_.Refuse(net::Refusal::kMemory);
        stays_ = false;  // P0 is not the cause
      }
      throw;
    }
    if (pass) admitted_.emplace(job, std::move(*pass));
    if (!pass && !left) ch_.Recv(net::kRefuse, 0);  // throws why P0 has left
    return !left;
  });
}

double DataSession::Infer(const store::Job& job, const RunHook& run, const store::Job& next) {
  return net::Guarded(ch_, [&] { return RunOne(BeginJob(job, next), run, next); });
}

void DataSession::Audit(const store::Job& job, const store::Job& next) {
  net::Guarded(ch_, [&] {
    SUF_CHECK(keys_.whole);
    PendingJob what = BeginJob(job, next);
    (void)BookDelivery(what, &dealer_traffic_);
    unspent_ = false;
    OpenBundle(ch_, *lane_, what.serial, what.task, digest_,
               {[&] {
                  KeepSetup();
                  AnnounceNext(next);
                },
                [&] {
                  next_.reset();
                  audit_failed_ = true;
                }});
    unspent_ = true;
  });
}

// Returns the job that is due, announced before or here, with its bundle in the store.
PendingJob DataSession::BeginJob(const store::Job& job, const store::Job& next) {
  CheckJob(plan_, job);
  if (next.tokens) CheckJob(plan_, next);
  SUF_CHECK(job == JobOf(job.tokens, job.texts, job.entry) &&
            (!next.tokens || next == JobOf(next.tokens, next.texts, next.entry)));
  if (!next_ && !admitted_) (void)Admit(job);
  auto admitted = std::exchange(admitted_, std::nullopt);
  PendingJob what =
      next_ ? *std::exchange(next_, std::nullopt) : Announce(admitted->first, std::move(admitted->second), false);
  SUF_CHECK(what.job == job);
  AdmitNext(next, what);
  try {
    (void)AwaitDelivery(ch_, what);
  } catch (...) {
    unspent_ = !what.delivery->unreachable();
    throw;
  }
  last_ = what.delivery;
  CheckChoice(what);
  ch_.set_phase(net::Phase::kControl);
  return what;
}

// Admits the job after the one that is due. If memory is lacking, that job is announced after this one.
void DataSession::AdmitNext(const store::Job& next, const PendingJob& current) {
  next_pass_.reset();
  if (!next.tokens) return;
  try {
    next_pass_ = memory_.TryAdmit(ApplicantOf(next), current.job, current.pass);
  } catch (const Error& e) {
    if (e.cause() != Cause::kResource) throw;  // Admit throws that again when the job is due
  }
}

void DataSession::CheckChoice(const PendingJob& what) {
  if (!IsFor(lane_->Header(what.serial), what, lane_->id(), plan_, weights_, ch_))
    net::EndSession(ch_, net::Refusal::kSerial, Cause::kRefused, ch_.peer_title(), " chose bundle ", what.serial,
                    ", which is not for this inference");
}

void DataSession::AnnounceNext(const store::Job& next) {
  auto pass = std::exchange(next_pass_, std::nullopt);
  if (!pass) return AnnounceNone(ch_);
  next_ = Announce(next, std::move(*pass), true);
  if (next_->serial == kLater) next_.reset();
}

// Announces the job and the bundles that fit. P0 chooses one of them, or both parties fetch one. If a job runs
// meanwhile, P0 may choose kLater instead; if none runs, it may let us wait.
PendingJob DataSession::Announce(const store::Job& job, JobPass pass, bool runs) {
  ch_.set_phase(net::Phase::kControl);
  const SessionIndex* const index = IndexFor(job);
  PendingJob what{job, plan_.task(job), 0, keys_.whole, index ? index->lists : nullptr, nullptr, std::move(pass)};
  std::vector<BundleOffer> offers;
  for (const store::BundleHeader& h : lane_->Bundles(job))
    if (IsFor(h, what, lane_->id(), plan_, weights_, ch_)) offers.push_back({h.serial, h.rho});
  SendAnnouncement(ch_, what, offers);
  what.serial = runs ? RecvChoice(ch_) : AwaitChoice(ch_, keys_.waits);
  stays_ = false;
  if (runs && what.serial == kLater) return what;
  if (what.serial == kLater)
    net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(),
                    " puts a job off that nothing runs before; install the same suf on both sides");
  if (what.serial) CheckChoice(what);
  FetchArgs args{.job = job,
                 .count = CountOf(keys_),
                 .weights = weights_,
                 .partner = ch_.peer().key,
                 .listed = dealer_.listed,
                 .indexes = served_,
                 .list = what.lists ? what.lists->back() : Hash{},
                 .index = {},
                 .window = WindowOf(keys_, what.whole),
                 .delivered = keys_.delivered};
  what.delivery = std::make_shared<Delivery>(dealer_, plan_, *lane_, args, what.serial, keys_.witness_always, last_);
  return what;
}

double DataSession::RunOne(PendingJob what, const RunHook& run, const store::Job& next) {
  unspent_ = false;
  store::Bundle bundle = TakeBundle(ch_, *lane_, what.serial, store::RecordKind::kClaimed, what.task, keys_.window);
  const KeysCloser closer{bundle.keys};
  BurnIfThrows(ch_, what, *lane_, *closer.keys, [&] {
    Bond bond(ch_, bundle.header, digest_);
    std::optional<ReceiptMaker> receipt;
    if (certificate_) receipt.emplace(ch_, bundle.header, *certificate_);
    bond.Send(net::kClaim);
    bond.Recv(net::kAck);
    KeepSetup();
    bond.Send(net::kGo);
    AnnounceNext(next);
    ch_.set_phase(net::Phase::kOffline);
    Inference inference(ch_, std::move(bundle), bond);
    inference.fetch_ms_ = what.delivery->fetch_ms();
    inference.receipt_ = receipt ? &*receipt : nullptr;
    try {
      run(inference);
    } catch (...) {
      if (!inference.online_ended_) throw;
      // the result may be the cause, so P0 must not notice: the session goes on and End throws the error
      if (!pending_) pending_ = std::current_exception();
    }
    SUF_CHECK(inference.online_ended_);
    if (receipt) keys_.receipts(receipt->receipt());
    ReadAhead(*lane_, next_, 1, keys_);
    lane_->Finish(what.serial);
  });
  unspent_ = true;
  return BookDelivery(what, &dealer_traffic_);
}

void DataSession::Stay() {
  net::Guarded(ch_, [&] {
    SUF_CHECK(!next_);
    if (std::exchange(stays_, true)) return;
    ch_.set_phase(net::Phase::kControl);
    ch_.Send(net::kStay, {});
    ch_.Advance(net::PeerState::kAccepted);
  });
}

void DataSession::GiveUp() {
  if (!next_) return End();
  next_.reset();
  ch_.Refuse(net::Refusal::kGaveUp);
  if (pending_) std::rethrow_exception(std::exchange(pending_, nullptr));
}

void DataSession::End() {
  net::Guarded(ch_, [&] {
    SUF_CHECK(!next_);
    ch_.set_phase(net::Phase::kControl);
    AnnounceNone(ch_);
    ch_.RecvExact(net::kEnd, 0);
  });
  if (pending_) std::rethrow_exception(std::exchange(pending_, nullptr));
}

}  // namespace suf::proto
