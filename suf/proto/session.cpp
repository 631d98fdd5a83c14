#include "suf/proto/session.hpp"

namespace suf::proto {

// Bond: MACs under the pair secret over (label, fields, versions, digests, n, rho, serial, identities, nonces, TLS
// exporter, hashes of all frames so far in both directions).
class Bond {
 public:
  Bond(Channel& ch, const BundleHeader& h) : ch_(ch), header_(h), own_nonce_(RandomHash()) {
    ch.TagFrames(FrameKey(ch.self().role), FrameKey(ch.peer().role));
  }

  // Send: a frame of our nonce and the MAC. Recv: the peer's; ends the session when the MAC differs.
  void Send(uint16_t kind) {
    Hash tag = Tag(kind, own_nonce_);
    Writer w;
    w.Raw(own_nonce_), w.Raw(tag);
    ch_.Send(kind, w.bytes());
  }
  void Recv(uint16_t kind) {
    auto before = ch_.Transcript();
    Bytes b = ch_.RecvExact(kind, 64);
    Reader r(b, "a MAC frame");
    Hash nonce = r.GetHash(), tag = r.GetHash();
    bool first = peer_nonce_ == Hash{};
    if (first) peer_nonce_ = nonce;
    if (nonce == peer_nonce_ && Equal(tag, TagOf(kind, nonce, {before.second, before.first}))) return;
    EndSession(ch_, Refusal::kMac, Exit::kRefused, ch_.peer_title(),
               " saw other frames or holds another bundle of serial ", header_.serial,
               " than we do; it is burnt, start again");
  }

 private:
  // FrameKey: of the tags of what this role sends.
  Hash FrameKey(Role sender) const {
    auto role = uint8_t(sender);
    return Hmac(header_.pair.view(), {AsView("suf frames"), View(&role, 1)});
  }
  Hash Tag(uint16_t kind, const Hash& nonce) const {
    auto [sent, received] = ch_.Transcript();
    return TagOf(kind, nonce, {sent, received});
  }
  // TagOf: `frames` = hashes of {what the maker of the tag sent, what it received}. All nonces so far are in the
  // frames.
  Hash TagOf(uint16_t kind, const Hash& nonce, std::pair<Hash, Hash> frames) const {
    BundleHeader h = header_;
    h.party = 0, h.body_bytes = 0;  // the rest is equal on both sides
    Bytes encoded = Encode(h);
    Hash tag = Hmac(header_.pair.view(), {AsView("suf bond"), View(reinterpret_cast<uint8_t*>(&kind), sizeof kind),
                                          nonce, encoded, ch_.exporter(), frames.first, frames.second});
    Wipe(encoded.data(), encoded.size());
    return tag;
  }

  Channel& ch_;
  BundleHeader header_;
  Hash own_nonce_, peer_nonce_{};
};

void Inference::OfflineEnd() {
  SUF_CHECK(!std::exchange(offline_ended_, true));
  ch_.set_phase(Phase::kControl);
  bool p1 = ch_.self().role == Role::kData;
  if (p1) bond_.Send(kOfflineEnd);
  bond_.Recv(kOfflineEnd);
  if (!p1) bond_.Send(kOfflineEnd);
  ch_.set_phase(Phase::kOnline);
}

void Inference::RevealArrived() {
  SUF_CHECK(offline_ended_ && ch_.self().role == Role::kData && !revealed_);
  ch_.set_phase(Phase::kControl);
  bond_.Recv(kOnlineEnd);
  bond_.Send(kBye);
  revealed_ = true;
}

namespace {

// Offer: a bundle that P1 could use, in its announcement.
constexpr size_t kOfferBytes = 8 + 32, kMaxOffers = 4096;

bool Fits(const BundleHeader& h, uint32_t n, const Task& task, const Plan& plan, const Hash& weights,
          const Channel& ch) {
  uint32_t party = uint32_t(PartyOf(ch.self().role));
  return h.n == n && h.party == party && h.prg == plan.prg && h.trace == task.trace && h.plan == plan.hash &&
         h.weights == weights && h.body_bytes == task.body_bytes[party] && h.public_key[party] == ch.self().key &&
         h.public_key[1 - party] == ch.peer().key;
}

Fetched FetchOne(const DialDealer& dial, const Plan& plan, Store& store, const FetchArgs& args, Traffic* traffic) {
  auto dealer = dial();
  Fetched got = Fetch(*dealer, plan, store, args);
  if (traffic) *traffic += dealer->traffic(Phase::kOffline);
  return got;
}

// Claim: a bundle that turns out altered is named to the peer.
Bundle Claim(Channel& ch, Store& store, uint64_t serial) {
  try {
    return store.Claim(serial);
  } catch (const Error& e) {
    ch.Refuse(e.code() == Exit::kRefused ? Refusal::kBundle : Refusal::kGaveUp);
    throw;
  }
}

// Burning: a claimed serial that is not finished is burnt.
template <class F>
void Burning(Store& store, uint64_t serial, F&& f) {
  try {
    f();
  } catch (...) {
    store.Burn(serial);
    throw;
  }
}

}  // namespace

DataSession::DataSession(Channel& p0, const Plan& plan, Store& store, DialDealer dealer)
    : ch_(p0), plan_(plan), store_(store), dealer_(std::move(dealer)) {
  Guarded(ch_, [&] {
    if (!store_.Pin(ch_.peer()))
      EndSession(ch_, Refusal::kPin, Exit::kRefused, ch_.peer_title(),
                 " shows another key than the one this store knows; if it was "
                 "replaced on purpose, start with a new store");
    SendHello(ch_, plan_);
    RecvHello(ch_, plan_);
    Bytes welcome = ch_.RecvExact(kWelcome, 32);
    weights_ = Reader(welcome, "a welcome").GetHash();
    uint8_t have = store_.HasSetup(weights_);
    ch_.Send(kSetupAsk, View(&have, 1));
    if (have) return;
    ch_.set_phase(Phase::kSetup);
    Chain chain(ChunkKey(plan_.hash, weights_), plan_.setup_bytes);
    ChunkFile file = store_.NewSetup();
    while (chain.left()) {
      Bytes chunk = ch_.Recv(kChunk, kMaxChunk);
      (void)chain.Next(chunk, "the stream of masked weights");
      file.Add(chunk);
    }
    store_.CommitSetup(std::move(file), weights_);
    ch_.set_phase(Phase::kControl);
  });
}

void DataSession::Infer(uint32_t n, const RunHook& run) {
  Guarded(ch_, [&] {
    CheckTokens(plan_, n);
    RunOne(n, run);
  });
}

void DataSession::RunOne(uint32_t n, const RunHook& run) {
  ch_.set_phase(Phase::kControl);
  Task task = plan_.task(n);
  Writer w;
  w.Put(n), w.Raw(task.trace);
  size_t offers = 0;
  for (const BundleHeader& h : store_.Bundles())
    if (Fits(h, n, task, plan_, weights_, ch_) && offers++ < kMaxOffers) w.Put(h.serial), w.Raw(h.rho);
  auto announced = std::chrono::steady_clock::now();
  ch_.Send(kAnnounce, w.bytes());
  Bytes choice = ch_.RecvExact(kChoice, sizeof(uint64_t));
  uint64_t serial = Reader(choice, "a choice").Get<uint64_t>();
  double fetch_ms = 0, dealt_ms = 0;
  if (!serial) {
    Fetched got =
        FetchOne(dealer_, plan_, store_, {.n = n, .weights = weights_, .partner = ch_.peer().key}, &dealer_traffic_);
    serial = got.serials.front(), dealt_ms = double(got.dealt_us) / 1e3;
    fetch_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - announced).count();
  }
  if (!Fits(store_.Header(serial), n, task, plan_, weights_, ch_))
    EndSession(ch_, Refusal::kSerial, Exit::kRefused, ch_.peer_title(), " chose bundle ", serial,
               ", which is not for this inference");
  Bundle bundle = Claim(ch_, store_, serial);
  Burning(store_, serial, [&] {
    Bond bond(ch_, bundle.header);
    bond.Send(kClaim);
    bond.Recv(kAck);
    bond.Send(kGo);
    ch_.set_phase(Phase::kOffline);
    Inference inference(ch_, std::move(bundle), bond);
    inference.fetch_ms_ = fetch_ms, inference.dealt_ms_ = dealt_ms;
    try {
      run(inference);
    } catch (...) {
      // the result may be what failed, so P0 must not notice: the session goes on, the error waits for End
      if (!inference.revealed_) throw;
      if (!pending_) pending_ = std::current_exception();
    }
    SUF_CHECK(inference.revealed_);
    store_.Finish(serial);
  });
}

void DataSession::End() {
  Guarded(ch_, [&] {
    ch_.set_phase(Phase::kControl);
    Writer w;
    w.Put(uint32_t{0}), w.Raw(Hash{});
    ch_.Send(kAnnounce, w.bytes());
    ch_.RecvExact(kEnd, 0);
  });
  if (pending_) std::rethrow_exception(std::exchange(pending_, nullptr));
}

class ModelSession {
 public:
  ModelSession(Channel& ch, const ModelHost& host) : ch_(ch), host_(host) {}

  void Open() {
    host_.store.Forget();
    RecvHello(ch_, host_.plan);
    SendHello(ch_, host_.plan);
    ch_.Send(kWelcome, host_.weights);
    if (ch_.RecvExact(kSetupAsk, 1)[0]) return;
    ch_.set_phase(Phase::kSetup);
    Sink sink(ChunkKey(host_.plan.hash, host_.weights), host_.plan.setup_bytes,
              [&](View chunk) { ch_.Send(kChunk, chunk); });
    host_.w_hat(sink);
    sink.Finish();
    ch_.set_phase(Phase::kControl);
  }

  // Next: one inference; false when P1 ended the session.
  bool Next() {
    ch_.set_phase(Phase::kControl);
    Bytes announce = ch_.Recv(kAnnounce, 4 + 32 + kMaxOffers * kOfferBytes);
    Reader r(announce, "an announcement");
    uint32_t n = r.Get<uint32_t>();
    Hash trace = r.GetHash();
    if (!n) {
      ch_.Send(kEnd, {});
      return false;
    }
    if (n > host_.plan.max_tokens)
      EndSession(ch_, Refusal::kTokens, Exit::kInput, ch_.peer_title(), " announced ", n,
                 " tokens; the plan covers 1 to ", host_.plan.max_tokens, "; it was refused");
    Task task = host_.plan.task(n);
    if (trace != task.trace)
      EndSession(ch_, Refusal::kTrace, Exit::kRefused, ch_.peer_title(), " derives another trace for ", n,
                 " tokens from the plan; install the same suf on both sides");
    RunOne(n, task, Choose(n, task, r));
    return true;
  }

 private:
  // Choose: the lowest bundle that both stores hold, or one fresh from the dealer.
  uint64_t Choose(uint32_t n, const Task& task, Reader& offers) {
    uint64_t serial = 0;
    auto mine = host_.store.Bundles();
    while (offers.left()) {
      uint64_t s = offers.Get<uint64_t>();
      Hash rho = offers.GetHash();
      for (const BundleHeader& h : mine)
        if (h.serial == s && h.rho == rho && Fits(h, n, task, host_.plan, host_.weights, ch_) &&
            (!serial || s < serial))
          serial = s;
    }
    Writer w;
    w.Put(serial);
    ch_.Send(kChoice, w.bytes());
    if (serial) return serial;
    return FetchOne(host_.dealer, host_.plan, host_.store,
                    {.n = n, .weights = host_.weights, .partner = ch_.peer().key, .b_seed = host_.b_seed},
                    host_.dealer_traffic)
        .serials.front();
  }

  void RunOne(uint32_t n, const Task& task, uint64_t serial) {
    SUF_CHECK(Fits(host_.store.Header(serial), n, task, host_.plan, host_.weights, ch_));
    Bond bond(ch_, host_.store.Header(serial));
    bond.Recv(kClaim);  // P1 has claimed, and holds this very bundle
    Bundle bundle = Claim(ch_, host_.store, serial);
    Burning(host_.store, serial, [&] {
      bond.Send(kAck);
      bond.Recv(kGo);
      ch_.set_phase(Phase::kOffline);
      Inference inference(ch_, std::move(bundle), bond);
      host_.run(inference);
      SUF_CHECK(inference.offline_ended_);
      ch_.set_phase(Phase::kControl);
      bond.Send(kOnlineEnd);
      bond.Recv(kBye);
      host_.store.Finish(serial);
    });
  }

  Channel& ch_;
  const ModelHost& host_;
};

void ServeSession(Channel& p1, const ModelHost& host) {
  Guarded(p1, [&] {
    ModelSession session(p1, host);
    session.Open();
    while (session.Next()) {
    }
  });
}

void Turnstile::Pass(Channel& ch, const std::function<void()>& session) {
  std::unique_lock lock(m_, Millis{500});
  if (!lock)
    EndSession(ch, Refusal::kBusy, Exit::kPeer, ch.peer_title(),
               " came while another session is running; it was told to try again");
  session();
}

}  // namespace suf::proto
