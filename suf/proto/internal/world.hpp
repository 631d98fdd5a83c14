// Fixtures for tests of sessions: dealer, stores and links in one process. The "inference" is a stand-in. It checks
// that each party holds the K_p that the dealer used.
#pragma once
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/proto/session.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::proto {

inline const net::Identity kId[3] = {{Role::kModel, Hash{12}}, {Role::kData, Hash{13}}, {Role::kDealer, Hash{11}}};
inline constexpr size_t kBody0 = store::kChunkBytes + 33, kBody1 = 64;
inline const Bytes kWHat(3 * store::kChunkBytes / 2, 0x5a);

inline BundlePlan TestPlan(uint8_t salt = 1) {
  BundlePlan p;
  p.prg = 2;
  p.max_tokens = 8;
  p.setup_bytes = kWHat.size();
  p.hash = {salt};
  p.task = [salt](const store::Job& j) {
    return Task{Hash{salt, uint8_t(j.tokens)}, {store::EvenBody(kBody0), store::EvenBody(kBody1)}};
  };
  return p;
}

// Writes bodies; that of party p starts with H(K_{1-p}).
inline void TestGenerate(const DealJob& job, store::Sink& to_p0, store::Sink& to_p1) {
  for (int p = 0; p < 2; ++p) {
    Bytes body(p ? kBody1 : kBody0);
    Hash h = HashOf({job.key[1 - p].view()});
    std::copy(h.begin(), h.end(), body.begin());
    (p ? to_p1 : to_p0).Write(body);
  }
}

// Stands in for an inference. Each party proves its K_p to the other, which compares with the start of its own body.
inline void TestRun(Inference& inf) {
  net::Channel& ch = inf.channel();
  bool p1 = ch.self().role == Role::kData;
  Hash mine = HashOf({inf.key().view()});
  if (p1) {
    ch.Send(net::kFirstRun, mine);
    inf.EndOffline();
    Bytes theirs = ch.RecvExact(net::kFirstRun + 1, 32);
    inf.EndOnline();
    EXPECT_TRUE(Equal(theirs, inf.keys().Section(0).first(32)));
  } else {
    Bytes theirs = ch.RecvExact(net::kFirstRun, 32);
    EXPECT_TRUE(Equal(theirs, inf.keys().Section(0).first(32)));
    inf.EndOffline();
    ch.Send(net::kFirstRun + 1, mine);
  }
}

// A dealer service, and a store with one lane for each party. Each link to the dealer is an in-process pair with a
// thread.
struct World {
  Scratch dir;
  std::optional<store::DealerState> state;
  std::optional<store::Home> home[2];
  std::shared_ptr<store::Lane> lane[2];
  std::optional<BundleDealer> dealer;
  std::vector<std::thread> links;
  std::mutex m;
  std::condition_variable changed;
  std::vector<Error> dealer_errors;
  std::vector<uint64_t> dealt;
  std::vector<Hash> dealt_keys;
  BundlePlan plan;
  net::Millis partner_wait;
  Generate generate;
  net::Millis timeout{60'000};
  net::Millis wait_report = Turns::kWaitReport;  // of MakeDealer
  // If set, wraps the dealer's end of each link.
  std::function<std::unique_ptr<net::Channel>(std::unique_ptr<net::Channel>)> wrap;
  KeyPolicy keys;

  explicit World(uint32_t ahead = 1, net::Millis partner_wait_ = net::Millis{20'000}, Generate generate_ = TestGenerate,
                 BundlePlan of = TestPlan())
      : plan(std::move(of)), partner_wait(partner_wait_), generate(std::move(generate_)) {
    keys.ahead = ahead;
    state.emplace(dir / "dealer");
    for (int p = 0; p < 2; ++p) Reopen(p);
    MakeDealer({.at_once = 8});
  }
  // Starts the dealer, with these limits.
  void MakeDealer(Turns::Limits turns) {
    BundleDealer::Options options{store::JobOf(4), keys.ahead, partner_wait, [this](const DealtPair& pair) {
                                    std::lock_guard lock(m);
                                    dealt.push_back(pair.serial);
                                    changed.notify_all();
                                  }};
    options.turns = turns;
    options.wait_report = wait_report;
    dealer.emplace(plan, *state, std::move(options), [this](DealJob j, store::Sink& a, store::Sink& b) {
      {
        std::lock_guard lock(m);
        dealt_keys.push_back(HashOf({j.key[0].view()}));
      }
      generate(std::move(j), a, b);
    });
  }
  ~World() { Join(); }
  void Join() {
    for (auto& t : links) t.join();
    links.clear();
  }
  void Reopen(int p) {
    lane[p].reset();
    home[p].reset();
    home[p].emplace(dir / std::to_string(p));
    // P0's sessions open its lane; the tests only inspect it
    const std::shared_ptr<store::Lane> open = home[p]->Open(p ? Hash{} : kId[1].key, store::kLane);
    lane[p] = p ? open : std::const_pointer_cast<store::Lane>(home[0]->Find(kId[1].key, store::kLane));
  }
  // Returns the folder of a party's lane.
  std::string Folder(int p) const {
    return p ? store::LaneFolder(dir / "1") : Str(dir / "0/owners/", Hex(kId[1].key), "/", Hex(store::kLane));
  }
  std::unique_ptr<net::Channel> Link(Role r, std::stop_token stop = {}) { return Link(kId[int(r)], std::move(stop)); }
  std::unique_ptr<net::Channel> Link(const net::Identity& party, std::stop_token stop = {}) {
    auto pair = net::InProcessPair(party, kId[2], timeout, std::move(stop));
    auto far =
        std::make_shared<std::unique_ptr<net::Channel>>(wrap ? wrap(std::move(pair.second)) : std::move(pair.second));
    std::lock_guard lock(m);
    links.emplace_back([this, far] {
      try {
        dealer->Handle(**far);
      } catch (const Error& e) {
        std::lock_guard l(m);
        dealer_errors.push_back(e);
      }
      far->reset();
    });
    return std::move(pair.first);
  }
  ModelHost Host(RunHook run = TestRun) { return Host(plan, std::move(run)); }
  // Returns the host of a P0 with a plan of its own.
  ModelHost Host(const BundlePlan& own, RunHook run = TestRun) {
    return {.plan = own,
            .home = *home[0],
            .weights = Hash{77},
            .setup = HashOf({kWHat}),
            .b_seed = Share(Secret(Hash{5})),
            .w_hat = [](store::Sink& s) { s.Write(kWHat); },
            .dealers = [this](std::stop_token stop) { return Link(Role::kModel, std::move(stop)); },
            .run =
                [run = std::move(run)](Inference& inf) {
                  run(inf);
                  return std::function<void()>();
                },
            .auditor = {TestGenerate, [](const store::Job&, uint64_t) { return "a section"; }, {}},
            .keys = keys};
  }
  DialDealer Dial() {
    return [this](std::stop_token stop) { return Link(Role::kData, std::move(stop)); };
  }
  std::exception_ptr model_error;
  using ChannelPair = std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>>;
  // Runs P0 in a thread with the first end, and P1 here with the other one.
  void RunBoth(ChannelPair pair, const std::function<void(net::Channel&)>& p0,
               const std::function<void(net::Channel&)>& p1) {
    model_error = nullptr;
    std::thread t([&, ch = std::move(pair.first)]() mutable {
      try {
        p0(*ch);
      } catch (...) {
        model_error = std::current_exception();
      }
      ch.reset();
    });
    std::exception_ptr error;
    try {
      p1(*pair.second);
    } catch (...) {
      error = std::current_exception();
    }
    pair.second.reset();
    t.join();
    Join();
    if (error) std::rethrow_exception(error);
  }
  // Serves P0's side, and runs `p1` with the other end.
  void Session(const ModelHost& host, const std::function<void(net::Channel&)>& p1) {
    RunBoth(
        net::InProcessPair(kId[0], kId[1], timeout), [&](net::Channel& ch) { ServeSession(ch, host); }, p1);
  }
  // Waits until `count` bundles are dealt; returns whether they were.
  bool Dealt(size_t count) {
    std::unique_lock lock(m);
    return changed.wait_for(lock, timeout, [&] { return dealt.size() >= count; });
  }
  // Runs a session of these lengths. With `ahead` each job is announced before the previous one runs.
  void RunSession(std::vector<uint32_t> lengths, bool ahead = false) {
    Session(Host(), [&](net::Channel& ch) {
      DataSession s(ch, plan, lane[1], Dial(), keys);
      for (size_t i = 0; i < lengths.size(); ++i)
        s.Infer(store::JobOf(lengths[i]), TestRun, store::JobOf(ahead && i + 1 < lengths.size() ? lengths[i + 1] : 0));
      s.End();
    });
  }
  testing::AssertionResult ModelFails(Cause code, const std::string& words) {
    return Fails(code, words, [&] {
      if (model_error) std::rethrow_exception(model_error);
    });
  }
  store::RecordKind LastRecord(int p, uint64_t serial) const { return lane[p]->ledger().LastRecords().at(serial); }
};

// The wait of a lane that is the next one, before any inference has ended.
inline constexpr Turns::Wait kUnknown{1, 1024};

// Returns a lane of a data owner, both by number.
inline TurnKey LaneOf(int owner, int lane = 0) { return {Hash{uint8_t(owner + 1)}, store::LaneId{uint8_t(lane)}}; }

// An event that several threads wait for.
class TurnEvent {
 public:
  void Set() {
    if (!set_.exchange(true)) promise_.set_value();
  }
  void Wait() const { EXPECT_EQ(future_.wait_for(std::chrono::seconds(60)), std::future_status::ready); }

 private:
  std::atomic<bool> set_{false};
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

}  // namespace suf::proto
