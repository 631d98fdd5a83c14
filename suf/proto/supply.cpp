#include "suf/proto/supply.hpp"

#include <algorithm>

namespace suf::proto {
namespace {

constexpr net::Millis kSeatWait{500};  // for the previous session to free its seat

constexpr size_t kRequestBytes = store::kJobBytes + 4 + sizeof(store::LaneId) + 7 * 32 + 4,
                 kWitnessBytes = 8 + store::kJobBytes + sizeof(store::LaneId) + 32;

store::PairId Shortened(const Hash& h) {
  store::PairId id;
  std::copy_n(h.begin(), id.size(), id.begin());
  return id;
}

Bytes EncodeRequest(const FetchArgs& a, const store::LaneId& lane, const Hash& trace, const Secret& seed) {
  Writer w;
  store::Put(w, a.job);
  w.Put(a.count);
  w.Raw(lane);
  w.Raw(trace);
  w.Raw(a.weights);
  w.Raw(a.partner);
  w.Raw(a.list);
  w.Put(uint32_t(a.index.segments.size()));
  Bytes b = w.Take();
  b.reserve(kRequestBytes);  // the seeds are written once, into memory that the caller wipes
  for (const Secret* s : {&seed, a.b_seed.get(), a.index.seed.get()}) Append(&b, s->view());
  return b;
}

// Sends the segments of the list in a request, if there are any.
void SendSegments(net::Channel& dealer, const store::SegmentList& segments) {
  if (segments.empty()) return;
  Writer w;
  for (const store::SealedSegment& s : segments) store::Put(w, s);
  dealer.Send(net::kSegments, w.bytes());
}

// Notifies a client that it waits; returns whether it is still there.
bool SentWait(net::Channel& ch) {
  try {
    SendWait(ch, Turns::kNext);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Hashes the seeds of a party, so that it notices if the dealer used another seed of B.
Hash SeedHash(const Secret& seed, const Secret& b_seed, const Secret& index_seed) {
  return HashOf({seed.view(), b_seed.view(), index_seed.view()});
}

}  // namespace

store::PairId PairOf(const net::Identity& one, const Hash& partner) {
  const bool model = one.role == Role::kModel;
  return Shortened(HashOf({AsView("suf pair"), model ? one.key : partner, model ? partner : one.key}));
}

store::PairId LaneOf(const net::Identity& one, const Hash& partner, const store::LaneId& id) {
  const bool model = one.role == Role::kModel;
  return Shortened(HashOf({AsView("suf lane"), model ? one.key : partner, model ? partner : one.key, id}));
}

void BundleDealer::Handle(net::Channel& ch) {
  ch.set_transcript(false);
  const int party = PartyOf(ch.peer().role);
  net::Guarded(ch, [&] {
    RecvHello(ch, plan_);
    SendHello(ch, plan_);
    auto [kind, payload] = ch.RecvEither({net::kRequest, kRequestBytes}, {net::kWitness, kWitnessBytes});
    if (kind == net::kWitness) return AnswerWitness(ch, party, payload);
    const auto work_us = Supply(ch, party, ReadRequest(ch, std::move(payload)));
    if (!work_us) return;
    Writer end;
    end.Put(*work_us);
    ch.Send(net::kEnd, end.bytes());
  });
}

// Records the serial that a party is about to use; answers with the last one that it used.
void BundleDealer::AnswerWitness(net::Channel& ch, int party, View request) {
  Reader r(request, "a witness");
  const uint64_t serial = r.Get<uint64_t>();
  CheckPeersJob(ch, plan_, store::GetJob(r), "is about to use a bundle for");
  const store::LaneId lane = store::GetLaneId(r);
  const Hash partner = r.GetHash();
  uint64_t before = 0;
  try {
    before = state_.RecordUse(PairOf(ch.peer(), partner), LaneOf(ch.peer(), partner, lane), party, serial);
  } catch (const store::TooManyLanes&) {
    ch.Refuse(net::Refusal::kLanes);
    throw;
  } catch (const Error& e) {
    if (e.cause() == Cause::kRefused) ch.Refuse(net::Refusal::kWitness);
    throw;
  }
  Writer w;
  w.Put(before);
  ch.Send(net::kWitness, w.bytes());
}

// A party's seat in a lane, from the time that it is free.
class BundleDealer::SeatHold {
 public:
  // Ends the session if another link keeps the seat.
  SeatHold(BundleDealer& dealer, net::Channel& ch, const store::LaneId& lane, int party)
      : dealer_(dealer), lane_(lane), party_(party) {
    std::unique_lock lock(dealer_.m_);
    LaneSeats& seats = dealer_.lanes_[lane_];
    ++seats.links;
    has_ = dealer_.changed_.wait_for(lock, kSeatWait, [&] { return !seats.taken[party_]; });
    if (has_) {
      seats.taken[party_] = true;
      return;
    }
    Leave();
    lock.unlock();
    net::EndSession(ch, net::Refusal::kBusy, Cause::kPeer, ch.peer_title(),
                    " came while another link of its lane is being served; it must try again later");
  }
  ~SeatHold() {
    const std::lock_guard lock(dealer_.m_);
    Leave();
  }
  LaneSeats& seats() const { return dealer_.lanes_.at(lane_); }

 private:
  void Leave() {
    LaneSeats& seats = dealer_.lanes_.at(lane_);
    if (has_) seats.taken[party_] = false;
    if (!--seats.links) dealer_.lanes_.erase(lane_);
    dealer_.changed_.notify_all();
  }
  BundleDealer& dealer_;
  const store::LaneId lane_;
  const int party_;
  bool has_ = false;
};

// Deals bundles for one party and its partner. Returns the generator's microseconds, or nothing if the partner's thread
// reports the error.
std::optional<uint64_t> BundleDealer::Supply(net::Channel& ch, int party, Request request) {
  const SeatHold hold(*this, ch, request.lane, party);
  DeliverySeat seat{.channel = &ch, .request = std::move(request), .sink = nullptr};
  if (!DealWithPartner(hold.seats(), party, seat)) return std::nullopt;
  // dealt chunks are sent at this party's own pace
  seat.sink->Finish();
  seat.sink.reset();
  seat.waiting.reset();
  ch.RecvExact(net::kEnd, 0);
  return seat.work_us;
}

BundleDealer::Request BundleDealer::ReadRequest(net::Channel& ch, Bytes b) {
  Reader r(b, "a request for bundles");
  Request q;
  q.job = store::GetJob(r);
  q.count = r.Get<uint32_t>();
  q.lane = store::GetLaneId(r);
  q.trace = r.GetHash();
  q.weights = r.GetHash();
  q.partner = r.GetHash();
  q.list = r.GetHash();
  const auto segments = r.Get<uint32_t>();
  q.seed = Secret(r.Raw(32));
  q.b_seed = Share(Secret(r.Raw(32)));
  q.index.seed = Share(Secret(r.Raw(32)));
  CheckPeersJob(ch, plan_, q.job, "requested bundles of");
  ReadSegments(ch, segments, &q);
  if (q.count < 1)
    net::EndSession(ch, net::Refusal::kProtocol, Cause::kPeer, ch.peer_title(),
                    " requested 0 bundles; at least 1 is dealt; install the same suf on all three sides");
  return q;
}

// Receives the list of an index's segments, which P0 alone sends. Checks that it has the hash of the request.
void BundleDealer::ReadSegments(net::Channel& ch, uint32_t segments, Request* q) {
  const bool due = q->job.entry && PartyOf(ch.peer().role) == 0;
  if (segments > (due ? store::kMostSegments : 0))
    net::EndSession(ch, net::Refusal::kProtocol, Cause::kPeer, ch.peer_title(), " names ", segments,
                    " segments of an index with its request; at most ", due ? store::kMostSegments : 0,
                    " are possible; install the same suf on all three sides");
  if (!due) return;
  q->index.plan = plan_.indexes.at(store::IndexOf(q->job) - 1);
  if (segments) {
    const Bytes frame = ch.RecvExact(net::kSegments, segments * store::kSegmentBytes);
    Reader r(frame, "a list of segments");
    for (uint32_t i = 0; i < segments; ++i) q->index.segments.push_back(store::GetSegment(r));
  }
  const bool possible = store::RowsOf(q->index.segments) <= plan_.capacity(q->index.plan);
  if (!possible || store::ListHashes(q->index.plan, q->index.segments).back() != q->list)
    net::EndSession(ch, net::Refusal::kList, Cause::kRefused, ch.peer_title(), " requests bundles of an index with ",
                    segments, " segments, which ", possible ? "are not those of its list" : "have more rows than it",
                    "; install the same suf on all three sides");
}

// Waits for the other party. A partner that still receives its last bundle may be slow, and is waited for. Our client
// receives kWait meanwhile, but not at once, because that partner is usually about to come. Returns true if this thread
// must deal for both, false if the other one did. Each thread polls its own client outside the lock, and again when the
// partner has come. A client that hung up meanwhile is dealt nothing. The thread that polled last deals.
bool BundleDealer::AwaitPartner(LaneSeats& seats, int party, DeliverySeat& mine) {
  using Clock = std::chrono::steady_clock;
  const net::Millis report = ReportFor(*mine.channel);
  auto limit = Clock::now() + options_.partner_wait, due = Clock::now() + report;
  std::unique_lock lock(m_);
  DeliverySeat* const& other = seats.waiting[1 - party];
  seats.waiting[party] = &mine;
  changed_.notify_all();
  while (mine.progress == DeliveryState::kWaiting) {
    const DeliverySeat* seen = other;
    const auto now = Clock::now();
    const bool receives = !seen && seats.taken[1 - party];
    if (receives) limit = now + options_.partner_wait;
    const bool late = now >= limit;
    if (receives) mine.ready = nullptr;  // nobody deals for us while we send
    lock.unlock();
    bool gone = mine.channel->PeerGone();
    if (receives && !gone && now >= due) {
      gone = !SentWait(*mine.channel);
      due = now + report;
    }
    lock.lock();
    if (mine.progress != DeliveryState::kWaiting) break;
    if (gone || (late && !other)) {
      seats.waiting[party] = nullptr;
      lock.unlock();
      if (gone)
        Fail(Cause::kPeer, mine.channel->peer_title(),
             " hung up before the request of the other party; nothing was dealt");
      net::EndSession(*mine.channel, net::Refusal::kNoPartner, Cause::kPeer, Title(party ? Role::kModel : Role::kData),
                      " did not request bundles within ", double(options_.partner_wait.count()) / 1000, " s of ",
                      mine.channel->peer_title(), "; start both again");
    }
    if (std::exchange(mine.ready, seen) != seen) changed_.notify_all();
    if (other && mine.ready == other && other->ready == &mine) {
      mine.progress = other->progress = DeliveryState::kTaken;
      return true;
    }
    if (mine.ready == other) changed_.wait_for(lock, net::kPeerPoll);
  }
  changed_.wait(lock, [&] { return mine.progress != DeliveryState::kTaken; });
  return false;
}

// Deals for both parties in one of the two threads, while the other one waits. Returns false if it failed; the thread
// that dealt reports the error.
bool BundleDealer::DealWithPartner(LaneSeats& seats, int party, DeliverySeat& mine) {
  if (!AwaitPartner(seats, party, mine)) return mine.progress == DeliveryState::kDone;
  JobPass pass;  // ends after the sinks, which have its memory
  DeliverySeat& other = *seats.waiting[1 - party];
  auto settle = [&](DeliveryState p) {
    std::lock_guard lock(m_);
    seats.waiting[0] = seats.waiting[1] = nullptr;
    other.progress = mine.progress = p;
    changed_.notify_all();
  };
  try {
    DealPairs(party ? other : mine, party ? mine : other, &pass);
  } catch (const std::exception& e) {
    auto* error = dynamic_cast<const Error*>(&e);
    net::Refusal code = error && error->cause() == Cause::kPeer ? net::Refusal::kPartnerGone : net::Refusal::kGaveUp;
    for (DeliverySeat* s : {&mine, &other}) {
      s->sink.reset();
      s->channel->Refuse(code);
    }
    settle(DeliveryState::kFailed);
    throw;
  }
  pass = {};
  settle(DeliveryState::kDone);
  return true;
}

// Whether several bundles are dealt for a request. Searches of the same texts count as these do.
bool BundleDealer::IsAhead(const store::Job& job) const {
  store::Job alike = job;
  alike.entry = 0;
  return !store::IsFetch(job) && alike == options_.ahead;
}

void BundleDealer::DealPairs(DeliverySeat& model, DeliverySeat& data, JobPass* pass) {
  const Request &a = model.request, &b = data.request;
  auto refuse = [&](net::Refusal code, const char* what) {
    model.channel->Refuse(code);
    data.channel->Refuse(code);
    Fail(Cause::kRefused, "the two parties ", what, "; nothing was dealt, start both from one plan and model");
  };
  if (a.job != b.job || a.weights != b.weights || a.partner != data.channel->peer().key ||
      b.partner != model.channel->peer().key)
    refuse(net::Refusal::kMismatch, "requested bundles of different jobs, weights or partners");
  if (a.list != b.list) refuse(net::Refusal::kList, "hold different lists of the index's segments");
  DeliverySeat* seats[2] = {&model, &data};
  Task task;
  using Clock = std::chrono::steady_clock;
  auto due = Clock::now();
  const auto waited_ms = [&] { return std::chrono::duration<double, std::milli>(Clock::now() - due).count(); };
  *pass = AwaitTurn(seats, ApplicantOf(seats, [&] {
                      task = plan_.task(a.job);  // its trace takes time and memory
                      if (a.trace != task.trace || b.trace != task.trace)
                        refuse(net::Refusal::kTrace, "derive another trace from the plan than the dealer");
                      return uint64_t{0};
                    }));
  const uint32_t offered = IsAhead(a.job) ? std::max(options_.ahead_count, 1u) : 1;
  const uint32_t count = std::min({offered, a.count, b.count});
  if (count < offered && options_.not_taken) options_.not_taken(a.count, b.count);
  state_.AddPair(PairOf(model.channel->peer(), data.channel->peer().key));
  uint64_t first = state_.Reserve(count);
  Writer grant;
  grant.Put(count);
  for (DeliverySeat* s : seats) s->channel->Send(net::kGrant, grant.bytes());
  for (uint32_t i = 0; i < count; ++i) {
    if (i) {  // others may be due between two bundles
      AwaitSent(seats);
      due = Clock::now();
      NextTurn(seats, pass);
    }
    DealPair(seats, task, first + i, waited_ms());
  }
  for (int p : {0, 1}) seats[p]->waiting = admission_.turns().Count(std::min(task.body[p]->bytes(), options_.window));
}

// Waits until both parties have taken a bundle. The first one receives kWait until the other one has it as well.
void BundleDealer::AwaitSent(DeliverySeat* seat[2]) {
  using Clock = std::chrono::steady_clock;
  const net::Millis report = ReportFor(seat);
  bool sent[2] = {};
  for (auto due = Clock::now() + report; !sent[0] || !sent[1];) {
    for (int p : {0, 1}) sent[p] = sent[p] || seat[p]->sink->FinishWithin(net::kPeerPoll);
    if ((sent[0] && sent[1]) || Clock::now() < due) continue;
    for (int p : {0, 1})
      if (sent[p]) SendWait(*seat[p]->channel, Turns::kNext);
    due = Clock::now() + report;
  }
}

// Gives way to others that wait, and waits for the next turn. A delivery that has begun goes on when the dealer stops.
void BundleDealer::NextTurn(DeliverySeat* seat[2], JobPass* pass) {
  const Admission::Applicant who = ApplicantOf(seat);
  if (auto next = admission_.TryAdmit(who, who.job, *pass)) {
    *pass = std::move(*next);
    return;
  }
  if (admission_.turns().closed()) return;
  *pass = {};
  *pass = AwaitTurn(seat, who);
}

Admission::Applicant BundleDealer::ApplicantOf(DeliverySeat* seat[2], std::function<uint64_t()> prepare) const {
  const Request& request = seat[0]->request;
  const store::PairId pair = PairOf(seat[0]->channel->peer(), request.partner);
  return {plan_, request.job, options_.window, {HashOf({pair}), request.lane}, std::move(prepare)};
}

net::Millis BundleDealer::ReportFor(DeliverySeat* seat[2]) const {
  return std::min(ReportFor(*seat[0]->channel), ReportFor(*seat[1]->channel));
}

// Waits for the turn of both parties' lane. Ends both sessions if a party has left, if the dealer stops or if memory
// does not suffice.
JobPass BundleDealer::AwaitTurn(DeliverySeat* seat[2], const Admission::Applicant& who) {
  const auto wait = [&](const Turns::Wait& w) {
    for (int p : {0, 1}) SendWait(*seat[p]->channel, w);
  };
  const char* gone = nullptr;
  const auto left = [&] {
    for (int p : {0, 1})
      if (seat[p]->channel->PeerGone()) gone = seat[p]->channel->peer_title();
    return gone != nullptr;
  };
  try {
    if (auto pass = admission_.Admit(who, wait, left, ReportFor(seat))) return std::move(*pass);
  } catch (const Error& e) {
    if (e.cause() == Cause::kResource)
      for (int p : {0, 1}) seat[p]->channel->Refuse(net::Refusal::kMemory);
    throw;
  }
  if (gone) Fail(Cause::kPeer, gone, " hung up before its turn; nothing was dealt");
  for (int p : {0, 1}) seat[p]->channel->Refuse(net::Refusal::kStopping);
  Fail(Cause::kPeer, "two parties waited for their turn when the dealer stopped; nothing was dealt to them");
}

void BundleDealer::DealPair(DeliverySeat* seat[2], const Task& task, uint64_t serial, double waited_ms) {
  store::BundleHeader h;
  h.prg = plan_.prg;
  h.job = seat[0]->request.job;
  h.serial = serial;
  h.lane = seat[0]->request.lane;
  h.plan = plan_.hash;
  h.trace = task.trace;
  h.weights = seat[0]->request.weights;
  h.list = seat[0]->request.list;
  h.rho = RandomHash();  // fresh for every pair: a serial dealt twice by mistake still has other keys
  h.pair = Share(Secret::Random());
  for (int p = 0; p < 2; ++p) {
    const Request& q = seat[p]->request;
    h.seed_hash[p] = SeedHash(q.seed, *q.b_seed, *q.index.seed);
    h.public_key[p] = seat[p]->channel->peer().key;
  }
  DealJob job{h.job, serial, h.rho, h.weights, {}, seat[0]->request.b_seed, seat[0]->request.index};
  DealtPair pair{h.job, serial, h.lane, h.weights, {h.public_key[0], h.public_key[1]}, waited_ms};
  // Reports the pair as broken unless it was dealt.
  struct BrokenPair {
    const Options& options;
    const DealtPair* pair;
    ~BrokenPair() {
      if (pair && options.broken) options.broken(*pair);
    }
  } broken{options_, &pair};
  using Clock = std::chrono::steady_clock;
  for (int p = 0; p < 2; ++p) {
    h.party = uint32_t(p);
    h.body_bytes = task.body[p]->bytes();
    job.key[p] = store::DeriveKey(h, p, seat[p]->request.seed);
    Bytes encoded = store::Encode(h);
    net::Channel* ch = seat[p]->channel;
    ch->Send(net::kHeader, encoded);
    seat[p]->sink = std::make_unique<store::Sink>(
        store::ChunkKey(h), task.body[p], [ch](View chunk) { ch->SendUpTo(net::kChunk, chunk, chunk.size()); },
        [ch](View chunk) { ch->Release(chunk); }, options_.window);
  }
  auto start = Clock::now();
  generate_(std::move(job), *seat[0]->sink, *seat[1]->sink);
  auto work = Clock::now() - start - seat[0]->sink->waited() - seat[1]->sink->waited();
  broken.pair = nullptr;
  pair.ms = std::chrono::duration<double, std::milli>(work).count();
  for (int p = 0; p < 2; ++p)
    seat[p]->work_us += uint64_t(std::chrono::duration_cast<std::chrono::microseconds>(work).count());
  if (options_.dealt) options_.dealt(pair);
}

namespace {

// Receives the header of a bundle. Ends the session unless it is exactly the requested one.
store::BundleHeader RecvHeader(net::Channel& dealer, const BundlePlan& plan, const FetchArgs& args,
                               const store::LaneId& lane, const Task& task, const Secret& seed) {
  const Bytes b = RecvAfterWaits(dealer, {net::kHeader, store::kHeaderBytes});
  store::BundleHeader h = store::DecodeHeader(b);
  uint32_t party = uint32_t(PartyOf(dealer.self().role));
  bool ours = h.party == party && h.prg == plan.prg && h.job == args.job && h.lane == lane &&
              h.body_bytes == task.body[party]->bytes() && h.plan == plan.hash && h.trace == task.trace &&
              h.weights == args.weights && h.list == args.list &&
              h.seed_hash[party] == SeedHash(seed, *args.b_seed, *args.index.seed) &&
              h.public_key[party] == dealer.self().key && h.public_key[1 - party] == args.partner;
  if (!ours)
    net::EndSession(dealer, net::Refusal::kBundle, Cause::kRefused,
                    "the dealer sent a bundle of another plan, trace, size, lane or party than requested; "
                    "it is burnt; install the same suf on all sides");
  return h;
}

// Returns bits per second, within the limits of a report.
uint64_t RateOf(uint64_t bytes, std::chrono::steady_clock::duration took) {
  const double seconds = std::max(1e-6, std::chrono::duration<double>(took).count());
  return uint64_t(std::clamp(8 * double(bytes) / seconds, double(kLowestRate), double(kHighestRate - 1)));
}

// Begins a party's link to the dealer. A dealer of a list is known by its key alone.
void GreetDealer(net::Channel& dealer, const BundlePlan& plan, store::Home& home, const FetchArgs& args) {
  dealer.set_transcript(false);
  dealer.set_phase(net::Phase::kOffline);
  if (!args.listed && !home.Pin(dealer.peer()))
    net::EndSession(dealer, net::Refusal::kPin, Cause::kRefused,
                    "the dealer shows another key than the one this store knows; if it was "
                    "replaced on purpose, start with a new store");
  SendHello(dealer, plan, args.indexes);
  RecvHello(dealer, plan, ListRule::kSame, args.indexes);
}

}  // namespace

FetchResult Fetch(net::Channel& dealer, const BundlePlan& plan, store::Lane& lane, const FetchArgs& args,
                  const std::function<void(uint64_t)>& here, std::stop_token stop) {
  return net::Guarded(dealer, [&] {
    CheckJob(plan, args.job);
    Task task = plan.task(args.job);
    GreetDealer(dealer, plan, lane.home(), args);
    Secret seed = Secret::Random();
    Bytes request = EncodeRequest(args, lane.id(), task.trace, seed);
    dealer.Send(net::kRequest, request);
    SendSegments(dealer, args.index.segments);
    const Bytes grant = RecvAfterWaits(dealer, {net::kGrant, sizeof(uint32_t)});
    uint32_t count = Reader(grant, "a grant").Get<uint32_t>();
    if (count < 1 || count > args.count)
      net::EndSession(dealer, net::Refusal::kProtocol, Cause::kPeer, "the dealer grants ", count,
                      " bundles where 1 to ", args.count, " were requested; install the same suf on all sides");
    FetchResult got;
    for (uint32_t i = 0; i < count; ++i) {
      store::BundleHeader h = RecvHeader(dealer, plan, args, lane.id(), task, seed);
      const auto begun = std::chrono::steady_clock::now();
      const bool first = i == 0;  // used at once
      const uint64_t window =
          args.window == store::KeySource::kWhole ? args.window : std::max(args.window, task.window);
      auto in = lane.Receive(h, store::DeriveKey(h, int(h.party), seed), task.body[h.party], !first, window);
      std::stop_callback stopped(stop, [&] { in.Close(); });
      if (first && here) here(h.serial);
      try {
        size_t posted = 0;  // later chunks arrive while one is verified
        for (auto rooms = in.NextBuffers(); !rooms.empty(); rooms = in.NextBuffers()) {
          for (; posted < rooms.size(); ++posted) dealer.Post(net::kChunk, rooms[posted]);
          dealer.RecvUpTo(rooms[0].size());
          in.MarkFilled();
          --posted;
        }
        in.Commit();
      } catch (...) {
        dealer.Unpost();
        in.Abort(std::current_exception());
        throw;
      }
      if (args.delivered) args.delivered(RateOf(h.body_bytes, std::chrono::steady_clock::now() - begun));
      got.serials.push_back(h.serial);
    }
    dealer.Send(net::kEnd, {});
    Bytes end = dealer.RecvExact(net::kEnd, sizeof(uint64_t));
    got.dealt_us = Reader(end, "an end").Get<uint64_t>();
    return got;
  });
}

void Witness(net::Channel& dealer, const BundlePlan& plan, store::Lane& lane, uint64_t serial, const FetchArgs& args) {
  net::Guarded(dealer, [&] {
    GreetDealer(dealer, plan, lane.home(), args);
    const store::Job job = lane.Header(serial).job;
    lane.BeginWitness(serial, LaneOf(dealer.self(), args.partner, lane.id()));
    Writer w;
    w.Put(serial);
    store::Put(w, job);
    w.Raw(lane.id());
    w.Raw(args.partner);
    dealer.Send(net::kWitness, w.bytes());
    Bytes answer = dealer.RecvExact(net::kWitness, sizeof(uint64_t));
    lane.EndWitness(serial, Reader(answer, "a witness").Get<uint64_t>());
  });
}

Delivery::Delivery(const DealerContact& contact, const BundlePlan& plan, store::Lane& lane, const FetchArgs& args,
                   uint64_t from_store, bool always, std::shared_ptr<Delivery> before)
    : thread_([this, &contact, &plan, &lane, args, from_store, always, before](std::stop_token stop) {
        bool said = false;
        const auto dial = [&] {
          try {
            return contact.Dial(stop);
          } catch (...) {
            unreachable_ = true;
            throw;
          }
        };
        auto ready = [&](uint64_t serial) {
          if (from_store || always) {
            auto dealer = dial();
            Witness(*dealer, plan, lane, serial, args);
            traffic_ += dealer->traffic(net::Phase::kOffline);
          }
          said = true;
          serial_.set_value(serial);
        };
        try {
          if (from_store) {
            ready(from_store);
          } else {
            while (before && !before->OverWithin(net::kPeerPoll) && !stop.stop_requested()) {
            }
            const auto begun = std::chrono::steady_clock::now();
            const bool whole = args.window == store::KeySource::kWhole;
            auto claimable = [&](uint64_t serial) {
              fetch_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
              ready(serial);
            };
            auto dealer = dial();
            const FetchResult got =
                Fetch(*dealer, plan, lane, args, whole ? std::function<void(uint64_t)>() : claimable, stop);
            traffic_ += dealer->traffic(net::Phase::kOffline);
            dealt_ms_ = double(got.dealt_us) / 1e3;
            dealer.reset();
            if (whole) claimable(got.serials.front());
          }
        } catch (...) {
          // after a claim, the reader of the keys throws the failure
          if (!said) serial_.set_exception(std::current_exception());
        }
        over_.set_value();
      }) {}

Delivery::~Delivery() = default;

}  // namespace suf::proto
