// Lists of dealers: the dealer of a lane, and the lanes that P0 refuses.
#include "suf/proto/dealers.hpp"

#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

const Hash kOneDealer{21}, kOtherDealer{22}, kStrangeDealer{23};

std::unique_ptr<net::Channel> NoChannel(std::stop_token) { return nullptr; }

Dealers ListOf(const std::vector<Hash>& keys) {
  std::vector<DealerContact> list;
  for (const Hash& key : keys) list.emplace_back(NoChannel, key, true);
  return Dealers(std::move(list));
}

TEST(Dealers, FindsTheDealerThatALaneNames) {
  const Dealers any(NoChannel), known(NoChannel, kOneDealer), list = ListOf({kOneDealer, kOtherDealer});
  struct Row {
    const Dealers* dealers;
    Hash named;
    bool found;
    Hash key;
  };
  const Row rows[] = {
      {&any, {}, true, {}},
      {&any, kOneDealer, true, kOneDealer},
      {&known, {}, true, kOneDealer},
      {&known, kOneDealer, true, kOneDealer},
      {&known, kOtherDealer, false, {}},
      {&list, {}, false, {}},
      {&list, kOtherDealer, true, kOtherDealer},
      {&list, kStrangeDealer, false, {}},
  };
  for (const Row& r : rows) {
    const auto contact = r.dealers->For(r.named);
    ASSERT_EQ(contact.has_value(), r.found);
    if (!contact) continue;
    EXPECT_EQ(contact->key, r.key);
    EXPECT_EQ(contact->listed, r.dealers == &list);
  }
}

// A world whose dealer is known by its key, and lanes of P1 that are bound to it or not.
struct ListWorld : World {
  DealerContact Contact(const Hash& key = kId[2].key, bool listed = true) {
    return {[this](std::stop_token stop) { return Link(Role::kData, std::move(stop)); }, key, listed};
  }
  DialDealer OfModel() {
    return [this](std::stop_token stop) { return Link(Role::kModel, std::move(stop)); };
  }
  std::shared_ptr<store::Lane> Bound(const Hash& key = kId[2].key) { return home[1]->OpenAny({key, true}); }
  // Runs a session of one job.
  void RunOne(const ModelHost& host, const std::shared_ptr<store::Lane>& in, const DealerContact& dealer) {
    Session(host, [&](net::Channel& ch) {
      DataSession s(ch, plan, in, dealer, keys);
      s.Infer(store::JobOf(4), TestRun);
      s.End();
    });
  }
  ModelHost HostWith(Dealers dealers) {
    ModelHost host = Host();
    host.dealers = std::move(dealers);
    return host;
  }
  Dealers List() {
    return Dealers(std::vector<DealerContact>{{OfModel(), kId[2].key, true}, {OfModel(), kOtherDealer, true}});
  }
};

TEST(SessionDealers, ALaneOfAListRunsWithItsDealer) {
  ListWorld w;
  w.RunOne(w.HostWith(w.List()), w.Bound(), w.Contact());
  EXPECT_EQ(w.dealt.size(), 1u);
  EXPECT_FALSE(w.model_error);
}

// With a list nothing is pinned at first sight, so that each of its dealers is accepted. Without one, the first stays.
TEST(SessionDealers, AStorePinsNoDealerOfAList) {
  ListWorld w;
  const net::Identity other{Role::kDealer, kStrangeDealer};
  w.RunOne(w.HostWith(w.List()), w.Bound(), w.Contact());
  for (int p : {0, 1}) EXPECT_TRUE(w.home[p]->Pin(other)) << "no dealer is pinned at party " << p;
  ListWorld one;
  one.RunSession({4});
  for (int p : {0, 1}) EXPECT_FALSE(one.home[p]->Pin(other));
}

// P0 without a list keeps its first dealer, whatever P1 names.
TEST(SessionDealers, P1CannotReplaceTheOnlyDealerOfP0) {
  ListWorld w;
  w.RunSession({4});
  // P1 waits at a dealer of its own; P0 still dials its dealer, which shows another key than P1 names
  std::vector<std::unique_ptr<net::Channel>> silent;
  const DealerContact own{
      [&](std::stop_token stop) {
        auto pair = net::InProcessPair(kId[1], {Role::kDealer, kStrangeDealer}, w.timeout, std::move(stop));
        silent.push_back(std::move(pair.second));
        return std::move(pair.first);
      },
      kStrangeDealer, true};
  EXPECT_TRUE(Fails(Cause::kPeer, "", [&] { w.RunOne(w.HostWith(w.OfModel()), w.Bound(kStrangeDealer), own); }));
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "another key than the one that this session names"));
  EXPECT_EQ(w.dealt.size(), 1u);
}

TEST(SessionDealers, P0RefusesADealerThatItDoesNotList) {
  struct Row {
    bool bound;
    Hash named;
    const char* p0;
  };
  for (const Row& r :
       {Row{true, kStrangeDealer, "which is none of ours"}, Row{false, {}, "names no dealer, and we list 2"}}) {
    ListWorld w;
    const auto in = r.bound ? w.Bound(r.named) : w.lane[1];
    EXPECT_TRUE(Fails(Cause::kRefused, "does not use the dealer that our session names", [&] {
      w.RunOne(w.HostWith(w.List()), in, r.bound ? w.Contact(r.named) : DealerContact(w.Dial()));
    }));
    EXPECT_TRUE(w.ModelFails(Cause::kRefused, r.p0));
    EXPECT_TRUE(w.dealt.empty());
    EXPECT_TRUE(w.home[0]->Lanes(kId[1].key).size() == 1u) << "the lane of World alone";
  }
}

// A lane keeps its dealer: another one has not witnessed the serials that were used in it.
TEST(SessionDealers, P0RefusesALaneOfAnotherDealer) {
  ListWorld w;
  w.Session(w.HostWith(w.List()), [&](net::Channel& ch) {
    SendHello(ch, w.plan);
    RecvHello(ch, w.plan);
    (void)RecvWelcome(ch);
    SendLaneRequest(
        ch, {.have = true, .variants = 1, .lane = store::kLane, .report = {.lanes = 1}, .dealer = kOtherDealer});
    EXPECT_TRUE(Fails(Cause::kPeer, "", [&] { ch.Recv(net::kRefuse, 0); }));
  });
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "names a dealer of which its lane is none"));
}

TEST(SessionDealers, AnotherKeyThanTheNamedOneIsRefused) {
  ListWorld w;
  const Dealers list(std::vector<DealerContact>{{w.OfModel(), kOneDealer, true}, {w.OfModel(), kOtherDealer, true}});
  EXPECT_TRUE(
      Fails(Cause::kRefused, "", [&] { w.RunOne(w.HostWith(list), w.Bound(kOneDealer), w.Contact(kOneDealer)); }));
  EXPECT_TRUE(w.dealt.empty());
}

// A job whose P0 is gone before the claim may run elsewhere. A dealer that cannot be reached is no reason for that.
TEST(SessionDealers, AJobIsUnspentUntilItsClaim) {
  for (const bool reachable : {false, true}) {
    ListWorld w;
    bool unspent = false;
    const DealerContact lost{[](std::stop_token) -> std::unique_ptr<net::Channel> { Fail(Cause::kPeer, "no way"); },
                             kId[2].key, true};
    EXPECT_ANY_THROW(w.RunBoth(
        net::InProcessPair(kId[0], kId[1], w.timeout),
        [&](net::Channel& ch) {
          if (!reachable) return ServeSession(ch, w.HostWith(w.List()));
          RecvHello(ch, w.plan);  // a P0 that leaves once it has greeted
          SendHello(ch, w.plan);
          SendWelcome(ch, {.weights = Hash{77}, .setup = HashOf({kWHat}), .variants = 1});
          (void)RecvLaneRequest(ch);
        },
        [&](net::Channel& ch) {
          const auto in = w.Bound();
          KeyPolicy keys = w.keys;
          if (reachable) keys.has_setup = [](const Hash&, const Hash&) { return true; };
          DataSession s(ch, w.plan, in, reachable ? w.Contact() : lost, keys);
          try {
            s.Infer(store::JobOf(4), TestRun);
          } catch (...) {
            unspent = s.unspent();
            throw;
          }
        }));
    EXPECT_EQ(unspent, reachable);
  }
}

}  // namespace
}  // namespace suf::proto
