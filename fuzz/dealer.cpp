// Fuzzes the dealer with one fuzzed party; bit 0 of the first byte chooses the party. The honest partner has a thread
// of its own.
// The partner waits before the party connects, so the party's thread deals. Bit 1: it connects once the party waits.
// Bit 2: the partner never connects; the party hangs up (bit 1) or waits until the time-out.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fuzz/peer.hpp"

namespace {
using namespace suf::fuzz;

suf::Bytes Request(const Identity& partner) {
  suf::Writer w;
  Put(w, JobOf(3));
  w.Put(uint32_t{2});
  w.Raw(kLane);
  w.Raw(TestPlan().task(JobOf(3)).trace);
  w.Raw(kWeights);
  w.Raw(partner.key);
  w.Raw(suf::Hash{});  // no list
  w.Put(uint32_t{0});  // of no segment
  w.Raw(suf::Hash{21});
  w.Raw(suf::Hash{22});
  w.Raw(suf::Hash{});
  return w.Take();
}

suf::Bytes Honest(const Identity& partner) {
  suf::Bytes all = AFrame(kHello, Hello());
  for (const suf::Bytes& f : {AFrame(kRequest, Request(partner)), AFrame(kEnd, {})})
    all.insert(all.end(), f.begin(), f.end());
  return all;
}

// A peer of the dealer that reports two events: a poll of its presence, and any frame after hello.
class Told : public Peer {
 public:
  Told(
      const Identity& peer, suf::View input, std::function<void()> asked, std::function<void()> answered = [] {})
      : Peer(kDealer, peer, input, [](Peer&, uint16_t, suf::Bytes&) {}),
        asked_(std::move(asked)),
        answered_(std::move(answered)) {}
  bool PeerGone(size_t) override {
    asked_();
    return gone;
  }

 protected:
  // Names the right lane in its request. In another one it would be a party without a partner (bit 2).
  ReceivedFrame Take(size_t limit) override {
    ReceivedFrame f = Peer::Take(limit);
    constexpr size_t kLaneAt = kJobBytes + 4;
    if (f.kind == kRequest && f.payload.size() >= kLaneAt + sizeof(LaneId))
      std::copy(kLane.begin(), kLane.end(), f.payload.begin() + kLaneAt);
    return f;
  }
  void Put(suf::View header, suf::View payload) override {
    Peer::Put(header, payload);
    if (suf::Reader(header.subspan(4), "a header").Get<uint16_t>() != kHello) answered_();
  }

 private:
  std::function<void()> asked_, answered_;
};

// The honest partner: runs one session after another on a thread of its own.
class Partner {
 public:
  Partner(BundleDealer& dealer, const Identity& self, const Identity& other)
      : dealer_(dealer), self_(self), says_(Honest(other)) {}
  // Begins a session with the dealer.
  void Come() {
    std::lock_guard l(m_);
    channel_.emplace(
        self_, says_, [this] { Reach(State::kSeated); }, [this] { Reach(State::kTaken); });
    state_ = State::kComing;
    changed_.notify_all();
  }
  // Begins a session, and returns once it waits for the other party.
  void Sit() {
    Come();
    Await(State::kSeated);
  }
  // Whether the dealer has given this party a job that the other party shares.
  bool taken() {
    std::lock_guard l(m_);
    return state_ >= State::kTaken;
  }
  bool idle() {
    std::lock_guard l(m_);
    return state_ == State::kIdle;
  }
  // Waits for the end of the session.
  void Leave() {
    Await(State::kOver);
    std::lock_guard l(m_);
    channel_.reset();
    state_ = State::kIdle;
  }
  ~Partner() {
    {
      std::lock_guard l(m_);
      stop_ = true;
      if (channel_) channel_->gone = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  enum class State { kIdle, kComing, kSeated, kTaken, kOver };
  void Reach(State s) {
    std::lock_guard l(m_);
    state_ = std::max(state_, s);
    changed_.notify_all();
  }
  void Await(State s) {
    std::unique_lock l(m_);
    changed_.wait(l, [&] { return state_ >= s; });
  }
  void Loop() {
    std::unique_lock l(m_);
    for (;;) {
      changed_.wait(l, [&] { return state_ == State::kComing || stop_; });
      if (stop_) return;
      l.unlock();
      Quietly([&] { dealer_.Handle(*channel_); });
      l.lock();
      state_ = State::kOver;
      changed_.notify_all();
    }
  }

  BundleDealer& dealer_;
  const Identity self_;
  const suf::Bytes says_;
  std::mutex m_;
  std::condition_variable changed_;
  State state_ = State::kIdle;
  bool stop_ = false;
  std::optional<Told> channel_;
  std::thread thread_{[this] { Loop(); }};
};

// A dealer and an honest partner for one fuzzed party in one order of arrival.
struct Table {
  Table(DealerState& state, bool data)
      : dealer(TestPlan(), state,
               {.ahead = JobOf(3),
                .ahead_count = 2,
                .partner_wait = Millis{1 << 30},
                .dealt = [this](const DealtPair& pair) { Dealt(pair.serial); }},
               [](const DealJob&, Sink& a, Sink& b) {
                 a.Write(suf::Bytes(kBody));
                 b.Write(suf::Bytes(kBody));
               }),
        partner(dealer, data ? kModel : kData, data ? kData : kModel) {}
  void Dealt(uint64_t serial) {
    static uint64_t last = 0;  // the last serial of the one state that all tables share
    SUF_CHECK(serial > last && dealt < 2);
    last = serial;
    ++dealt;
  }
  int dealt = 0;
  BundleDealer dealer;
  Partner partner;
};
}  // namespace

SUF_FUZZ(dealer) {
  static const Folder folder;
  static DealerState state(folder / "s");
  static BundleDealer lonely(TestPlan(), state, {.partner_wait = Millis{0}}, {});
  static Table tables[4] = {{state, false}, {state, true}, {state, false}, {state, true}};
  const uint8_t order = Pull<uint8_t>(input) & 7;
  const Identity& self = order & 1 ? kData : kModel;
  if (order & 4) {
    Told party(self, input, [] {});
    party.gone = order & 2;
    return lonely.Handle(party);
  }
  const bool sits = order < 2;
  Table& t = tables[order];
  t.dealt = 0;
  if (sits && t.partner.idle()) t.partner.Sit();
  bool met = false;
  Told party(self, input, [&] {
    if (!sits && !std::exchange(met, true)) t.partner.Come();
  });
  bool fine = Quietly([&] { t.dealer.Handle(party); });
  met |= sits && t.partner.taken();
  if (met) t.partner.Leave();
  SUF_CHECK(t.dealt == 0 || met);
  if (sits && met) t.partner.Sit();
  if (!fine) suf::Fail(suf::Cause::kPeer, "the session ended early; start again");
}
