#include "suf/proto/supply.hpp"

#include <algorithm>

namespace suf::proto {
namespace {

constexpr Millis kPatience{500};  // for the session before to leave its seat
constexpr Millis kLook{50};       // how often a waiting thread looks whether its client is still there

constexpr size_t kRequestBytes = 8 + 5 * 32;

Bytes EncodeRequest(const FetchArgs& a, const Hash& trace, const Secret& seed) {
  Writer w;
  w.Put(a.n), w.Put(a.count), w.Raw(trace), w.Raw(a.weights), w.Raw(a.partner);
  Bytes b = w.Take();
  b.reserve(kRequestBytes);  // the seeds are written once, into memory that the caller wipes
  for (const Secret* s : {&seed, a.b_seed.get()}) b.insert(b.end(), s->view().begin(), s->view().end());
  return b;
}

// SeedHash: of all that a party brings, so that it sees whether the dealer took another seed of B than its own.
Hash SeedHash(const Secret& seed, const Secret& b_seed) { return HashOf({seed.view(), b_seed.view()}); }

}  // namespace

void Dealer::Handle(Channel& ch) {
  ch.set_transcript(false);
  int party = PartyOf(ch.peer().role);
  {
    std::unique_lock lock(m_);
    if (!changed_.wait_for(lock, kPatience, [&] { return !taken_[party]; })) {
      lock.unlock();
      EndSession(ch, Refusal::kBusy, Exit::kPeer, ch.peer_title(), " came while another ", Name(ch.peer().role),
                 " session is running; it was told to try again");
    }
    taken_[party] = true;
  }
  struct Leave {
    Dealer* d;
    int party;
    ~Leave() {
      std::lock_guard lock(d->m_);
      d->taken_[party] = false;
      d->changed_.notify_all();
    }
  };
  uint64_t work_us = 0;
  Guarded(ch, [&] {
    {
      Leave leave{this, party};
      RecvHello(ch, plan_);
      SendHello(ch, plan_);
      Seat seat{&ch, RecvRequest(ch)};
      Meet(party, seat);
      if (seat.progress == Progress::kFailed) return;  // the other thread tells why
      ch.RecvExact(kEnd, 0);
      work_us = seat.work_us;
    }
    Writer end;
    end.Put(work_us);
    ch.Send(kEnd, end.bytes());
  });
}

Dealer::Request Dealer::RecvRequest(Channel& ch) {
  Bytes b = ch.RecvExact(kRequest, kRequestBytes);
  Reader r(b, "a request for bundles");
  Request q;
  q.n = r.Get<uint32_t>(), q.count = r.Get<uint32_t>();
  q.trace = r.GetHash(), q.weights = r.GetHash(), q.partner = r.GetHash();
  q.seed = Secret(r.Raw(32)), q.b_seed = Share(Secret(r.Raw(32)));
  Wipe(b.data(), b.size());
  if (q.n < 1 || q.n > plan_.max_tokens || q.count < 1)
    EndSession(ch, Refusal::kTokens, Exit::kInput, ch.peer_title(), " asked for ", q.count, " bundles of ", q.n,
               " tokens; the plan covers 1 to ", plan_.max_tokens, "; it was refused");
  return q;
}

// Meet: the second of the two requests deals for both, in its own thread; the first waits.
void Dealer::Meet(int party, Seat& mine) {
  std::unique_lock lock(m_);
  auto limit = std::chrono::steady_clock::now() + options_.partner_wait;
  // one that hung up is left to its own thread; its successor will find us waiting
  if (Seat* other = waiting_[1 - party]; other && !other->channel->PeerGone()) {
    waiting_[1 - party] = nullptr;
    other->progress = mine.progress = Progress::kTaken;
    lock.unlock();
    auto settle = [&](Progress p) {
      lock.lock();
      other->progress = mine.progress = p;
      changed_.notify_all();
    };
    try {
      Deal(party ? *other : mine, party ? mine : *other);
    } catch (const std::exception& e) {
      auto* error = dynamic_cast<const Error*>(&e);
      Refusal code = error && error->code() == Exit::kPeer ? Refusal::kPartnerGone : Refusal::kGaveUp;
      mine.channel->Refuse(code);
      other->channel->Refuse(code);
      settle(Progress::kFailed);
      throw;
    }
    settle(Progress::kDone);
    return;
  }
  waiting_[party] = &mine;
  while (mine.progress == Progress::kWaiting) {
    bool gone = mine.channel->PeerGone(), late = std::chrono::steady_clock::now() > limit;
    if (!gone && !late) {
      changed_.wait_for(lock, kLook);
      continue;
    }
    waiting_[party] = nullptr;
    lock.unlock();
    if (gone) Fail(Exit::kPeer, mine.channel->peer_title(), " hung up before the other party asked; nothing was dealt");
    EndSession(*mine.channel, Refusal::kNoPartner, Exit::kPeer, Title(party ? Role::kModel : Role::kData),
               " did not ask for bundles within ", double(options_.partner_wait.count()) / 1000, " s of ",
               mine.channel->peer_title(), "; start both again");
  }
  changed_.wait(lock, [&] { return mine.progress != Progress::kTaken; });
}

void Dealer::Deal(Seat& model, Seat& data) {
  const Request &a = model.request, &b = data.request;
  auto refuse = [&](Refusal code, const char* what) {
    model.channel->Refuse(code), data.channel->Refuse(code);
    Fail(Exit::kRefused, "the two parties ", what, "; nothing was dealt, start both from one plan and model");
  };
  if (a.n != b.n || a.weights != b.weights || a.partner != data.channel->peer().key ||
      b.partner != model.channel->peer().key)
    refuse(Refusal::kMismatch, "asked for bundles of different sizes, weights or partners");
  Task task = plan_.task(a.n);
  if (a.trace != task.trace || b.trace != task.trace)
    refuse(Refusal::kTrace, "derive another trace from the plan than the dealer");
  uint32_t count = a.n == options_.ahead_tokens ? std::max(options_.ahead_count, 1u) : 1;
  count = std::min({count, a.count, b.count});
  uint64_t first = state_.Reserve(count);
  Writer grant;
  grant.Put(count);
  Seat* seats[2] = {&model, &data};
  for (Seat* s : seats) s->channel->Send(kGrant, grant.bytes());
  for (uint32_t i = 0; i < count; ++i) Emit(seats, task, first + i);
}

void Dealer::Emit(Seat* seat[2], const Task& task, uint64_t serial) {
  BundleHeader h;
  h.prg = plan_.prg, h.n = seat[0]->request.n, h.serial = serial;
  h.plan = plan_.hash, h.trace = task.trace, h.weights = seat[0]->request.weights;
  h.rho = RandomHash();  // fresh for every pair: a serial dealt twice by mishap still has other keys
  h.pair = Share(Secret::Random());
  for (int p = 0; p < 2; ++p) {
    h.seed_hash[p] = SeedHash(seat[p]->request.seed, *seat[p]->request.b_seed);
    h.public_key[p] = seat[p]->channel->peer().key;
  }
  DealJob job{h.n, serial, h.rho, h.weights, {}, seat[0]->request.b_seed};
  std::unique_ptr<Sink> sink[2];
  using Clock = std::chrono::steady_clock;
  for (int p = 0; p < 2; ++p) {
    h.party = uint32_t(p), h.body_bytes = task.body_bytes[p];
    job.key[p] = DeriveKey(h, p, seat[p]->request.seed);
    Bytes encoded = Encode(h);
    Channel* ch = seat[p]->channel;
    ch->Send(kHeader, encoded);
    Wipe(encoded.data(), encoded.size());
    sink[p] = std::make_unique<Sink>(ChunkKey(h), h.body_bytes, [ch](View chunk) { ch->Send(kChunk, chunk); });
  }
  auto start = Clock::now();
  generate_(std::move(job), *sink[0], *sink[1]);
  auto work = Clock::now() - start - sink[0]->waited() - sink[1]->waited();
  for (int p = 0; p < 2; ++p)
    seat[p]->work_us += uint64_t(std::chrono::duration_cast<std::chrono::microseconds>(work).count());
  for (auto& s : sink) s->Finish();
  if (options_.dealt) options_.dealt(h.n, serial);
}

namespace {

// RecvHeader: the header of a bundle that is exactly what was asked for.
BundleHeader RecvHeader(Channel& dealer, const Plan& plan, const FetchArgs& args, const Task& task,
                        const Secret& seed) {
  Bytes b = dealer.Recv(kHeader, 1024);
  BundleHeader h = DecodeHeader(b);
  Wipe(b.data(), b.size());
  uint32_t party = uint32_t(PartyOf(dealer.self().role));
  bool ours = h.party == party && h.prg == plan.prg && h.n == args.n && h.body_bytes == task.body_bytes[party] &&
              h.plan == plan.hash && h.trace == task.trace && h.weights == args.weights &&
              h.seed_hash[party] == SeedHash(seed, *args.b_seed) && h.public_key[party] == dealer.self().key &&
              h.public_key[1 - party] == args.partner;
  if (!ours)
    EndSession(dealer, Refusal::kBundle, Exit::kRefused,
               "the dealer sent a bundle of another plan, trace, size or party than we asked for; "
               "it is burnt, install the same suf on all sides");
  return h;
}

}  // namespace

Fetched Fetch(Channel& dealer, const Plan& plan, Store& store, const FetchArgs& args) {
  return Guarded(dealer, [&] {
    CheckTokens(plan, args.n);
    dealer.set_transcript(false);
    dealer.set_phase(Phase::kOffline);
    if (!store.Pin(dealer.peer()))
      EndSession(dealer, Refusal::kPin, Exit::kRefused,
                 "the dealer shows another key than the one this store knows; if it was "
                 "replaced on purpose, start with a new store");
    Task task = plan.task(args.n);
    SendHello(dealer, plan);
    RecvHello(dealer, plan);
    Secret seed = Secret::Random();
    Bytes request = EncodeRequest(args, task.trace, seed);
    dealer.Send(kRequest, request);
    Wipe(request.data(), request.size());
    Bytes grant = dealer.RecvExact(kGrant, sizeof(uint32_t));
    uint32_t count = Reader(grant, "a grant").Get<uint32_t>();
    if (count < 1 || count > args.count)
      EndSession(dealer, Refusal::kProtocol, Exit::kPeer, "the dealer grants ", count, " bundles where 1 to ",
                 args.count, " were asked for; install the same suf on all sides");
    Fetched got;
    for (uint32_t i = 0; i < count; ++i) {
      BundleHeader h = RecvHeader(dealer, plan, args, task, seed);
      auto in = store.Receive(h, DeriveKey(h, int(h.party), seed), count > 1);
      while (in.left()) {
        Bytes chunk = dealer.Recv(kChunk, kMaxChunk);
        in.Add(chunk);
        dealer.Recycle(std::move(chunk));
      }
      in.Commit();
      got.serials.push_back(h.serial);
    }
    dealer.Send(kEnd, {});
    Bytes end = dealer.RecvExact(kEnd, sizeof(uint64_t));
    got.dealt_us = Reader(end, "an end").Get<uint64_t>();
    return got;
  });
}

Delivery::Delivery(const DialDealer& dial, const Plan& plan, Store& store, const FetchArgs& args)
    : thread_([this, &dial, &plan, &store, args](std::stop_token stop) {
        auto begun = std::chrono::steady_clock::now();
        try {
          auto dealer = dial(std::move(stop));
          Fetched got = Fetch(*dealer, plan, store, args);
          traffic_ = dealer->traffic(Phase::kOffline);
          dealt_ms_ = double(got.dealt_us) / 1e3;
          fetch_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
          serial_.set_value(got.serials.front());
        } catch (...) {
          serial_.set_exception(std::current_exception());
        }
      }) {}

}  // namespace suf::proto
