// The dealer against one fuzzed party: bit 0 of the first byte says which. Its honest partner has a thread of its own:
// it sits and waits before the party comes (so the party's thread deals), or comes once that one waits (bit 1); or it
// never comes (bit 2), and the party hangs up (bit 1) or waits in vain.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fuzz/peer.hpp"

namespace {
using namespace suf::fuzz;

suf::Bytes Request(const Identity& partner) {
  suf::Writer w;
  Put(w, JobOf(3)), w.Put(uint32_t{2}), w.Raw(TestPlan().task(JobOf(3)).trace), w.Raw(kWeights), w.Raw(partner.key);
  w.Raw(suf::Hash{21}), w.Raw(suf::Hash{22});
  return w.Take();
}

suf::Bytes Honest(const Identity& partner) {
  suf::Bytes all = AFrame(kHello, Hello());
  for (const suf::Bytes& f : {AFrame(kRequest, Request(partner)), AFrame(kEnd, {})})
    all.insert(all.end(), f.begin(), f.end());
  return all;
}

// A peer of the dealer that notices when the dealer asks whether it is still there, once it waits, and when the
// dealer says more to it than hello.
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
  void Put(suf::View header, suf::View payload) override {
    Peer::Put(header, payload);
    if (suf::Reader(header.subspan(4), "a header").Get<uint16_t>() != kHello) answered_();
  }

 private:
  std::function<void()> asked_, answered_;
};

// One session after the other in a thread that stays.
class Partner {
 public:
  Partner(Dealer& dealer, const Identity& self, const Identity& other)
      : dealer_(dealer), self_(self), says_(Honest(other)) {}
  // To the dealer. Sit: until it waits for the other.
  void Come() {
    std::lock_guard l(m_);
    channel_.emplace(
        self_, says_, [this] { Reach(State::kSeated); }, [this] { Reach(State::kTaken); });
    state_ = State::kComing;
    changed_.notify_all();
  }
  void Sit() {
    Come();
    Await(State::kSeated);
  }
  // Taken: the dealer has given it what the other one takes part in.
  bool taken() {
    std::lock_guard l(m_);
    return state_ >= State::kTaken;
  }
  bool idle() {
    std::lock_guard l(m_);
    return state_ == State::kIdle;
  }
  // Waits for the end of its session.
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

  Dealer& dealer_;
  const Identity self_;
  const suf::Bytes says_;
  std::mutex m_;
  std::condition_variable changed_;
  State state_ = State::kIdle;
  bool stop_ = false;
  std::optional<Told> channel_;
  std::thread thread_{[this] { Loop(); }};
};

// A dealer for one fuzzed party in one order.
struct Table {
  Table(DealerState& state, bool data)
      : dealer(TestPlan(), state,
               {.ahead = JobOf(3),
                .ahead_count = 2,
                .partner_wait = Millis{1 << 30},
                .dealt = [this](const Job&, uint64_t serial) { Dealt(serial); }},
               [](const DealJob&, Sink& a, Sink& b) { a.Write(suf::Bytes(kBody)), b.Write(suf::Bytes(kBody)); }),
        partner(dealer, data ? kModel : kData, data ? kData : kModel) {}
  void Dealt(uint64_t serial) {
    static uint64_t last = 0;  // of one state
    SUF_CHECK(serial > last && dealt < 2);
    last = serial, ++dealt;
  }
  int dealt = 0;
  Dealer dealer;
  Partner partner;
};
}  // namespace

SUF_FUZZ(dealer) {
  static const Folder folder;
  static DealerState state(folder / "s");
  static Dealer lonely(TestPlan(), state, {.partner_wait = Millis{0}}, {});
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
