#include "suf/proto/session.hpp"

#include <bit>
#include <thread>

#include "suf/net/refusal.hpp"
#include "suf/proto/internal/bond.hpp"

namespace suf::proto {

void Inference::OfflineEnd() {
  SUF_CHECK(!std::exchange(offline_ended_, true));
  ch_.set_phase(net::Phase::kControl);
  bool p1 = ch_.self().role == Role::kData;
  if (p1) bond_.Send(net::kOfflineEnd);
  bond_.Recv(net::kOfflineEnd);
  if (!p1) bond_.Send(net::kOfflineEnd);
  ch_.set_phase(net::Phase::kOnline);
}

void Inference::OnlineEnd() {
  SUF_CHECK(offline_ended_ && ch_.self().role == Role::kData && !online_ended_);
  bundle_.keys->Whole();  // notices altered keys, even unread ones
  ch_.set_phase(net::Phase::kControl);
  bond_.Recv(net::kOnlineEnd);
  bond_.Send(net::kBye);
  online_ended_ = true;
}

namespace {

// Bytes of an offer (a bundle that P1 could use), most offers of an announcement, and its bytes without them.
constexpr size_t kOfferBytes = 8 + 32, kMaxOffers = 4096, kAnnounceBytes = store::kJobBytes + 32 + 1;

bool Fits(const store::BundleHeader& h, const store::Job& job, const Task& task, const BundlePlan& plan,
          const Hash& weights, const net::Channel& ch) {
  uint32_t party = uint32_t(PartyOf(ch.self().role));
  return h.job == job && h.party == party && h.prg == plan.prg && h.trace == task.trace && h.plan == plan.hash &&
         h.weights == weights && h.body_bytes == task.body[party]->bytes() && h.public_key[party] == ch.self().key &&
         h.public_key[1 - party] == ch.peer().key;
}

constexpr net::Millis kGrace{1000};
constexpr net::Millis kLook{
    50};  // interval at which a party that waits for a delivery polls whether the other one is still there

// Returns whether the peer hangs up or refuses within that time.
bool GoneWithin(net::Channel& ch, net::Millis wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (!ch.PeerGone()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
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

// Waits for the delivery of an announced job; returns the serial of its bundle.
uint64_t Arrive(net::Channel& ch, PendingJob& what) {
  while (!what.delivery->Ready(kLook))
    // the cause that ended the peer may be about to end our delivery as well, and that error says more
    if (ch.PeerGone() && !what.delivery->Ready(kGrace)) ch.Recv(net::kRefuse, 0);  // throws the reason
  try {
    return what.serial = what.delivery->Serial();
  } catch (...) {
    if (IsPartnerGone(std::current_exception()) && GoneWithin(ch, kGrace)) ch.Recv(net::kRefuse, 0);
    throw;
  }
}

// Books the traffic of a delivery whose bundle is used; returns the dealer's milliseconds. Nothing depends on its end
// any more, so this waits no longer than the dealer's goodbye may take.
double Depart(const PendingJob& what, net::Traffic* traffic) {
  if (!what.delivery->Over(kGrace)) return 0;
  if (traffic) *traffic += what.delivery->traffic();
  return what.delivery->dealt_ms();
}

// Returns the window for the keys of a bundle.
uint64_t Window(const KeyPolicy& keys, bool whole) {
  return whole || keys.ahead > 1 ? store::KeySource::kWhole : keys.window;
}

uint32_t CountOf(const KeyPolicy& keys) { return std::max(keys.ahead, 1u); }

// Returns the announcement of a job of 0 tokens. During a run or an audit it means that the next job is not known yet.
// Between jobs it means the end of the session.
Bytes NothingFollows() { return Bytes(kAnnounceBytes); }

// Reads the next job's bundle ahead if it is in the store, while memory of the previous run is released.
void ReadAhead(store::Store& store, const std::optional<PendingJob>& next, int party, const KeyPolicy& keys) {
  if (next && next->serial && next->serial != kNoMemory)
    store.ReadAhead(next->serial, next->task.body[party], keys.window);
}

// A guard that closes the keys at the end of a run, because unread ones are not wanted any more.
struct Closing {
  std::shared_ptr<store::KeySource> keys;
  ~Closing() { keys->Close(); }
};

// Returns why a step after a claim failed, from the exception that is being handled. If the keys failed, or are about
// to, one cause took both and the keys' error says why. A party with altered keys notifies the peer.
std::exception_ptr Reason(net::Channel& ch, const PendingJob& what, const store::KeySource& keys) {
  (void)what.delivery->Over(kGrace);
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

// Runs f and burns the claimed serial if it throws. The peer may end the session for an error that our keys have not
// met yet; see Reason.
template <class F>
void Burning(net::Channel& ch, const PendingJob& what, store::Store& store, const store::KeySource& keys, F&& f) {
  try {
    f();
  } catch (...) {
    const std::exception_ptr reason = Reason(ch, what, keys);
    store.Burn(what.serial);
    std::rethrow_exception(reason);
  }
}

}  // namespace

DataSession::DataSession(net::Channel& p0, const BundlePlan& plan, store::Store& store, DialDealer dealer,
                         KeyPolicy keys, uint32_t variants)
    : ch_(p0), plan_(plan), store_(store), dealer_(std::move(dealer)), keys_(keys) {
  net::Guarded(ch_, [&] {
    if (!store_.Pin(ch_.peer()))
      net::EndSession(ch_, net::Refusal::kPin, Cause::kRefused, ch_.peer_title(),
                      " shows another key than the one this store knows; if it was "
                      "replaced on purpose, start with a new store");
    SendHello(ch_, plan_);
    RecvHello(ch_, plan_);
    Bytes welcome = ch_.RecvExact(net::kWelcome, 2 * sizeof(Hash) + 2 * sizeof(uint32_t));
    Reader r(welcome, "a welcome");
    weights_ = r.GetHash();
    setup_hash_ = r.GetHash();
    brought_ = r.Get<uint32_t>();
    common_.variants = CommonOf(ch_, plan_, variants, r.Get<uint32_t>());
    if (brought_ > plan_.max_tokens)  // P0 checks its own values before it listens
      net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(), " brings ", brought_, " ",
                      plan_.unit.name, ", the plan covers at most ", plan_.max_tokens,
                      "; install the same suf on both sides");
    const uint8_t have = LoadSetup();
    Writer ask;
    ask.Put(have);
    ask.Put(variants);
    ch_.Send(net::kSetupAsk, ask.bytes());
    if (!have) FetchSetup();
    if (!std::has_single_bit(common_.variants)) common_.link = MeasureLink(ch_);
  });
}

// Closes a delivery on its way and wipes unclaimed bundles.
DataSession::~DataSession() {
  next_.reset();
  last_.reset();
  store_.Forget();
}

// Returns whether the store has the W_hat that P0 named. A file that differs stays until another replaces it. A peer
// with P0's key but without a MAC may name a false hash. It must not destroy the right file.
bool DataSession::LoadSetup() {
  if (!store_.HasSetup(weights_)) return false;
  auto kept = store_.LoadSetup(plan_.hash, weights_, plan_.setup_bytes);
  if (kept && Equal(HashOf({*kept}), setup_hash_)) {
    setup_ = std::move(*kept);
    return true;
  }
  notices_.push_back(Str("the masked weights in ", store_.SetupFile(weights_),
                         kept ? " are not those of this session" : " were altered", "; they are fetched again"));
  return false;
}

// Fetches W_hat. Ends the session if it differs from the one that P0 named.
void DataSession::FetchSetup() {
  ch_.set_phase(net::Phase::kSetup);
  store::Chain chain(store::ChunkKey(plan_.hash, weights_), store::EvenBody(plan_.setup_bytes));
  unverified_.emplace(store_, store_.NewSetup());
  setup_.reserve(plan_.setup_bytes);
  for (Bytes chunk; chain.left();) {
    chunk.resize(chain.bytes());
    ch_.RecvInto(net::kChunk, chunk);
    View data = chain.Next(chunk, "the stream of masked weights");
    unverified_->file.Add(chunk);
    Append(&setup_, data);
    if (keys_.setup) keys_.setup(setup_.size(), plan_.setup_bytes);
  }
  if (!Equal(HashOf({setup_}), setup_hash_))
    net::EndSession(
        ch_, net::Refusal::kSetup, Cause::kRefused, ch_.peer_title(),
        " sent other masked weights than its welcome names; they are dropped, start again, and if this stays, have "
        "its process started again");
  ch_.set_phase(net::Phase::kControl);
}

// Stores W_hat; P0's MAC was verified.
void DataSession::KeepSetup() {
  if (!unverified_) return;
  store_.CommitSetup(std::move(unverified_->file), weights_);
  unverified_.reset();
}

double DataSession::Infer(const store::Job& job, const RunHook& run, const store::Job& next) {
  return net::Guarded(ch_, [&] { return RunOne(Due(job, next), run, next); });
}

void DataSession::Audit(const store::Job& job, const store::Job& next) {
  net::Guarded(ch_, [&] {
    SUF_CHECK(keys_.whole);
    PendingJob what = Due(job, next);
    (void)Depart(what, &dealer_traffic_);
    OpenBundle(ch_, store_, what.serial, what.task, setup_hash_,
               {[&] {
                  KeepSetup();
                  AnnounceNext(next);
                },
                [&] { next_.reset(); }});
  });
}

// Returns the job that is due, announced before or here, with its bundle in the store.
PendingJob DataSession::Due(const store::Job& job, const store::Job& next) {
  CheckJob(plan_, job);
  if (next.tokens) CheckJob(plan_, next);
  SUF_CHECK(job == JobOf(job.tokens) && (!next.tokens || next == JobOf(next.tokens)));
  if (next.tokens) Reserve(ch_, plan_, next);
  Reserve(ch_, plan_, job);
  PendingJob what = next_ ? *std::exchange(next_, std::nullopt) : Announce(job);
  SUF_CHECK(what.job == job);
  if (what.serial == kNoMemory) {
    (void)ch_.RecvExact(net::kAck, 0);  // throws the refusal that arrives instead
    net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(), " goes on with a text of ",
                    job.tokens, " ", plan_.unit.name,
                    ", which it had no memory for; install the same suf on both sides");
  }
  (void)Arrive(ch_, what);
  last_ = what.delivery;
  CheckChoice(what);
  ch_.set_phase(net::Phase::kControl);
  return what;
}

void DataSession::CheckChoice(const PendingJob& what) {
  if (!Fits(store_.Header(what.serial), what.job, what.task, plan_, weights_, ch_))
    net::EndSession(ch_, net::Refusal::kSerial, Cause::kRefused, ch_.peer_title(), " chose bundle ", what.serial,
                    ", which is not for this inference");
}

void DataSession::AnnounceNext(const store::Job& next) {
  if (next.tokens)
    next_ = Announce(next);
  else
    ch_.Send(net::kAnnounce, NothingFollows());
}

// Announces the job and the bundles that fit. P0 chooses one of them, or both parties fetch one.
PendingJob DataSession::Announce(const store::Job& job) {
  ch_.set_phase(net::Phase::kControl);
  PendingJob what{job, plan_.task(job), 0, keys_.whole, nullptr};
  Writer w;
  store::Put(w, job);
  w.Raw(what.task.trace);
  w.Put(uint8_t(what.whole));
  size_t offers = 0;
  for (const store::BundleHeader& h : store_.Bundles(job))
    if (Fits(h, job, what.task, plan_, weights_, ch_) && offers++ < kMaxOffers) {
      w.Put(h.serial);
      w.Raw(h.rho);
    }
  ch_.Send(net::kAnnounce, w.bytes());
  Bytes choice = ch_.RecvExact(net::kChoice, sizeof(uint64_t));
  what.serial = Reader(choice, "a choice").Get<uint64_t>();
  if (what.serial == kNoMemory) return what;
  if (what.serial) CheckChoice(what);
  FetchArgs args{.job = job,
                 .count = CountOf(keys_),
                 .weights = weights_,
                 .partner = ch_.peer().key,
                 .window = Window(keys_, what.whole)};
  what.delivery = std::make_shared<Delivery>(dealer_, plan_, store_, args, what.serial, keys_.witness_always, last_);
  return what;
}

double DataSession::RunOne(PendingJob what, const RunHook& run, const store::Job& next) {
  store::Bundle bundle = Take(ch_, store_, what.serial, store::Fate::kClaimed, what.task, keys_.window);
  const Closing closing{bundle.keys};
  Burning(ch_, what, store_, *closing.keys, [&] {
    Bond bond(ch_, bundle.header, setup_hash_);
    bond.Send(net::kClaim);
    bond.Recv(net::kAck);
    KeepSetup();
    bond.Send(net::kGo);
    AnnounceNext(next);
    ch_.set_phase(net::Phase::kOffline);
    Inference inference(ch_, std::move(bundle), bond);
    inference.fetch_ms_ = what.delivery->fetch_ms();
    try {
      run(inference);
    } catch (...) {
      if (!inference.online_ended_) throw;
      // the result may be the cause, so P0 must not notice: the session goes on and End throws the error
      if (!pending_) pending_ = std::current_exception();
    }
    SUF_CHECK(inference.online_ended_);
    ReadAhead(store_, next_, 1, keys_);
    store_.Finish(what.serial);
  });
  return Depart(what, &dealer_traffic_);
}

void DataSession::Leave() {
  if (!next_) return End();
  next_.reset();
  ch_.Refuse(net::Refusal::kGaveUp);
  if (pending_) std::rethrow_exception(std::exchange(pending_, nullptr));
}

void DataSession::End() {
  net::Guarded(ch_, [&] {
    SUF_CHECK(!next_);
    ch_.set_phase(net::Phase::kControl);
    ch_.Send(net::kAnnounce, NothingFollows());
    ch_.RecvExact(net::kEnd, 0);
  });
  if (pending_) std::rethrow_exception(std::exchange(pending_, nullptr));
}

class ModelSession {
 public:
  ModelSession(net::Channel& ch, const ModelHost& host) : ch_(ch), host_(host) {}

  void Open() {
    host_.store.Forget();
    SendHello(ch_, host_.plan);
    Writer welcome;
    welcome.Raw(host_.weights);
    welcome.Raw(host_.setup);
    welcome.Put(host_.brings);
    welcome.Put(host_.variants & AllVariants(host_.plan));
    ch_.Send(net::kWelcome, welcome.bytes());
    const Bytes ask = ch_.RecvExact(net::kSetupAsk, 1 + sizeof(uint32_t));
    Reader r(ask, "a data owner's ask");
    const bool has = r.Get<uint8_t>() != 0;
    common_.variants = CommonOf(ch_, host_.plan, host_.variants, r.Get<uint32_t>());
    if (!has) SendSetup();
    if (!std::has_single_bit(common_.variants)) common_.link = MeasureLink(ch_);
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
    auto what = next_ ? std::exchange(next_, std::nullopt) : Announced();
    if (what) RunOne(std::move(*what));
    if (!what) ch_.Send(net::kEnd, {});
    return what.has_value();
  }
  // Closes a delivery on its way and wipes unclaimed bundles.
  ~ModelSession() {
    next_.reset();
    last_.reset();
    host_.store.Forget();
  }

 private:
  // Receives P1's announcement and chooses a bundle; returns nothing if it has 0 tokens. `next`: another job runs
  // meanwhile, and must not be burnt if there is no memory for this one.
  std::optional<PendingJob> Announced(bool next = false) {
    ch_.set_phase(net::Phase::kControl);
    Bytes announce = ch_.Recv(net::kAnnounce, kAnnounceBytes + kMaxOffers * kOfferBytes);
    Reader r(announce, "an announcement");
    const store::Job job = store::GetJob(r);
    Hash trace = r.GetHash();
    const bool whole = r.Get<uint8_t>() != 0;
    if (!job.tokens && announce == NothingFollows()) return std::nullopt;
    CheckPeersJob(ch_, host_.plan, job, "announced");
    PendingJob what{job, host_.plan.task(job), 0, whole, nullptr};
    if (trace != what.task.trace)
      net::EndSession(ch_, net::Refusal::kTrace, Cause::kRefused, ch_.peer_title(), " derives another trace for ",
                      job.tokens, " ", host_.plan.unit.name, " from the plan; install the same suf on both sides");
    if (const store::Job ours = JobFor(host_.plan, common_, job.tokens); job != ours)
      net::EndSession(ch_, net::Refusal::kVariant, Cause::kRefused, ch_.peer_title(), " announced variant ",
                      job.variant, " of the plan where both agreed on ", ours.variant,
                      "; install the same suf on both sides");
    if (!next)
      Reserve(ch_, host_.plan, job);
    else
      Lacks(what);
    if (whole) CheckAuditMemory(what, next);
    if (host_.brings && job.tokens != host_.brings)
      net::EndSession(ch_, net::Refusal::kCount, Cause::kInput, ch_.peer_title(), " announced ", job.tokens, " ",
                      host_.plan.unit.name, ", we bring ", host_.brings, "; give both parties as many");
    Choose(what, r);
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

  void Lacks(PendingJob& what) const {
    try {
      if (host_.plan.reserve) host_.plan.reserve(what.job);
    } catch (const Error& e) {
      if (e.cause() != Cause::kResource) throw;
      what.lack = std::current_exception();
    }
  }

  // Chooses the lowest bundle that both stores hold, or a fresh one from the dealer.
  void Choose(PendingJob& what, Reader& offers) {
    if (what.lack) {
      Writer w;
      w.Put(kNoMemory);
      return ch_.Send(net::kChoice, w.bytes());
    }
    auto mine = host_.store.Bundles(what.job);
    while (offers.left()) {
      uint64_t s = offers.Get<uint64_t>();
      Hash rho = offers.GetHash();
      for (const store::BundleHeader& h : mine)
        if (h.serial == s && h.rho == rho && Fits(h, what.job, what.task, host_.plan, host_.weights, ch_) &&
            (!what.serial || s < what.serial))
          what.serial = s;
    }
    Writer w;
    w.Put(what.serial);
    ch_.Send(net::kChoice, w.bytes());
    FetchArgs args{.job = what.job,
                   .count = CountOf(host_.keys),
                   .weights = host_.weights,
                   .partner = ch_.peer().key,
                   .b_seed = host_.b_seed,
                   .window = Window(host_.keys, what.whole)};
    what.delivery = std::make_shared<Delivery>(host_.dealer, host_.plan, host_.store, args, what.serial,
                                               host_.keys.witness_always, last_);
  }

  void RunOne(PendingJob what) {
    if (what.lack) {
      ch_.Refuse(what.refusal);
      std::rethrow_exception(what.lack);
    }
    uint64_t serial = Arrive(ch_, what);
    last_ = what.delivery;
    store::BundleHeader header = host_.store.Header(serial);
    SUF_CHECK(Fits(header, what.job, what.task, host_.plan, host_.weights, ch_));
    ch_.set_phase(net::Phase::kControl);
    Bond bond(ch_, header, host_.setup);
    // P1 has claimed this very bundle or marked it for the audit
    const bool audit = bond.RecvEither(net::kClaim, net::kAudit) == net::kAudit;
    if (audit && !what.whole)
      net::EndSession(ch_, net::Refusal::kProtocol, Cause::kPeer, ch_.peer_title(), " opens bundle ", serial,
                      ", which it had announced for use alone; install the same suf on both sides");
    if (audit) {
      (void)Depart(what, host_.dealer_traffic);
      return AuditBundle(ch_, host_.store, bond, what.task, host_.b_seed, host_.auditor,
                         {[&] { next_ = Announced(true); }, [&] { next_.reset(); }});
    }
    store::Bundle bundle = Take(ch_, host_.store, serial, store::Fate::kClaimed, what.task, host_.keys.window);
    const Closing closing{bundle.keys};
    Burning(ch_, what, host_.store, *closing.keys, [&] {
      bond.Send(net::kAck);
      bond.Recv(net::kGo);
      next_ = Announced(true);
      ch_.set_phase(net::Phase::kOffline);
      Inference inference(ch_, std::move(bundle), bond);
      host_.run(inference);
      inference.keys().Whole();
      ReadAhead(host_.store, next_, 0, host_.keys);
      SUF_CHECK(inference.offline_ended_);
      ch_.set_phase(net::Phase::kControl);
      bond.Send(net::kOnlineEnd);
      bond.Recv(net::kBye);
      host_.store.Finish(serial);
    });
    (void)Depart(what, host_.dealer_traffic);
    if (host_.finished) host_.finished();
  }

  net::Channel& ch_;
  const ModelHost& host_;
  Common common_;
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
    session.Open();
    while (session.Next()) {
    }
  });
}

void Turnstile::Pass(net::Channel& ch, const std::function<void()>& session) {
  std::unique_lock lock(m_, net::Millis{500});
  if (!lock)
    net::EndSession(ch, net::Refusal::kBusy, Cause::kPeer, ch.peer_title(),
                    " came while another session is running; it must try again later");
  session();
}

}  // namespace suf::proto
