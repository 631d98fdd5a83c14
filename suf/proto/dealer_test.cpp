// The dealer's service over in-process pairs.
#include <gmock/gmock.h>

#include <future>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

struct Both {
  std::vector<uint64_t> serials[2];
  std::exception_ptr error[2];
};
Both FetchBoth(World& w, FetchArgs one, FetchArgs other, std::array<Role, 2> as = {Role::kModel, Role::kData}) {
  Both r;
  auto fetch = [&](int p, FetchArgs a) {
    try {
      auto ch = w.Link(as[size_t(p)]);
      r.serials[p] = Fetch(*ch, w.plan, *w.lane[p], a).serials;
    } catch (...) {
      r.error[p] = std::current_exception();
    }
  };
  std::thread t([&] { fetch(0, one); });
  fetch(1, other);
  t.join();
  w.Join();
  return r;
}
FetchArgs Args(int p, uint32_t n = 4) {
  return {.job = store::JobOf(n), .weights = Hash{77}, .partner = kId[1 - p].key, .b_seed = Share(Secret(Hash{5}))};
}

// Sends a hello and a request by hand.
void Ask(World& w, net::Channel& ch, const FetchArgs& a) {
  SendHello(ch, w.plan);
  RecvHello(ch, w.plan);
  Writer q;
  store::Put(q, a.job);
  q.Put(a.count);
  q.Raw(store::kLane);
  q.Raw(Hash{1, 4});
  q.Raw(a.weights);
  q.Raw(a.partner);
  q.Raw(Hash{});                              // no list
  q.Put(uint32_t{0});                         // of no segment
  for (int i = 0; i < 3; ++i) q.Raw(Hash{});  // seeds
  ch.Send(net::kRequest, q.bytes());
}

// A plan has one graph with one trace for each number of tokens. Other jobs are refused by the field that differs.
TEST(Dealer, AJobOfAnotherGraphVariantOrCacheIsRefused) {
  for (store::Job job : {store::Job{1, 0, 4, 0}, store::Job{0, 1, 4, 0}, store::Job{0, 0, 4, 1}})
    for (bool witness : {false, true}) {
      World w;
      auto ch = w.Link(Role::kData);
      FetchArgs args = Args(1);
      args.job = job;
      if (witness) {
        SendHello(*ch, w.plan);
        RecvHello(*ch, w.plan);
        Writer told;
        told.Put(uint64_t{1});
        store::Put(told, job);
        told.Raw(store::kLane);
        told.Raw(kId[0].key);
        ch->Send(net::kWitness, told.bytes());
      } else {
        Ask(w, *ch, args);
      }
      EXPECT_TRUE(Fails(Cause::kRefused, "the dealer does not know the graph, the variant or the cache of the job",
                        [&] { ch->RecvExact(witness ? net::kWitness : net::kGrant, witness ? 8 : 4); }));
      ch.reset();
      w.Join();
      ASSERT_EQ(w.dealer_errors.size(), 1u);
      EXPECT_THAT(w.dealer_errors[0].what(), testing::HasSubstr(Str("entry ", job.entry, ", variant ", job.variant,
                                                                    " with ", job.past, " tokens in a cache")));
      EXPECT_TRUE(Fails(Cause::kInput, "the plan has entry 0, variant 0 and no cache",
                        [&] { Fetch(*w.Link(Role::kData), w.plan, *w.lane[1], args); }));
    }
}

TEST(Dealer, ARestartedDealerThatDealsASerialAgainDealsOtherKeys) {
  std::vector<Hash> keys;
  for (int run = 0; run < 2; ++run) {
    World w;  // a dealer that knows nothing of the first one
    EXPECT_EQ(FetchBoth(w, Args(0), Args(1)).serials[0], (std::vector<uint64_t>{1}));
    keys.push_back(w.dealt_keys[0]);
  }
  EXPECT_NE(keys[0], keys[1]);
  World w;
  FetchBoth(w, Args(0), Args(1));
  w.dealer.reset();
  w.state.reset();
  std::filesystem::remove(w.dir / "dealer/serial");
  w.state.emplace(w.dir / "dealer");
  w.dealer.emplace(w.plan, *w.state, BundleDealer::Options{}, TestGenerate);
  auto again = FetchBoth(w, Args(0), Args(1));
  EXPECT_TRUE(Fails(Cause::kRefused, "which this store has had", [&] { std::rethrow_exception(again.error[1]); }));
}

TEST(Dealer, ARestartedDealerGoesOnWithTheNextSerial) {
  World w;
  FetchBoth(w, Args(0), Args(1));
  w.dealer.reset();
  w.state.reset();
  w.state.emplace(w.dir / "dealer");
  w.dealer.emplace(w.plan, *w.state, BundleDealer::Options{}, TestGenerate);
  EXPECT_EQ(FetchBoth(w, Args(0), Args(1)).serials[1], (std::vector<uint64_t>{2}));
}

TEST(Dealer, RequestsThatDoNotMatchAreRefusedOnBothSides) {
  auto refused = [](FetchArgs a, FetchArgs b) {
    World w;
    Both r = FetchBoth(w, a, b);
    EXPECT_TRUE(w.dealt.empty());
    for (auto& e : r.error) {
      EXPECT_TRUE(Fails(Cause::kRefused, "different bundles", [&] {
        if (e) std::rethrow_exception(e);
      }));
    }
    EXPECT_EQ(w.dealer_errors.size(), 1u);
  };
  refused(Args(0, 4), Args(1, 5));
  FetchArgs other = Args(1);
  other.weights = {1};
  refused(Args(0), other);
  other = Args(1);
  other.partner = {1};
  refused(Args(0), other);
}

TEST(Dealer, OnePartyAloneIsToldAfterAWhile) {
  World w(1, net::Millis{200});
  auto ch = w.Link(Role::kData);
  EXPECT_TRUE(
      Fails(Cause::kPeer, "waited in vain for the other party", [&] { Fetch(*ch, w.plan, *w.lane[1], Args(1)); }));
  w.Join();
  ASSERT_EQ(w.dealer_errors.size(), 1u);
  EXPECT_NE(std::string(w.dealer_errors[0].what()).find("the model owner did not request"), std::string::npos);
}

TEST(Dealer, ASecondClientOfALaneAndRoleHearsBusy) {
  World w(1, net::Millis{1500});  // longer than the second client waits; threads decide which one that is
  const Both r = FetchBoth(w, Args(1), Args(1), {Role::kData, Role::kData});
  const auto fails = [&](int i, const char* words) {
    return Fails(Cause::kPeer, words, [&] {
      if (r.error[i]) std::rethrow_exception(r.error[i]);
    });
  };
  const int second = fails(0, "the dealer is busy") ? 0 : 1;
  EXPECT_TRUE(fails(second, "the dealer is busy"));
  EXPECT_TRUE(fails(1 - second, "waited in vain for the other party"));
}

TEST(Dealer, AClientThatDiesOrRefusesWhileItWaitsFreesItsSeat) {
  for (bool refuses : {false, true}) {
    World w(1, net::Millis{20'000});
    {
      auto dead = w.Link(Role::kData);
      Ask(w, *dead, Args(1));
      if (refuses) dead->Refuse(net::Refusal::kGaveUp);
    }
    Both r = FetchBoth(w, Args(0), Args(1));
    EXPECT_FALSE(r.error[0] || r.error[1]);
    EXPECT_EQ(r.serials[0], (std::vector<uint64_t>{1}));
  }
}

TEST(Dealer, ABrokenDeliveryIsNeverRepeated) {
  std::atomic<int> calls{0};
  World w(1, net::Millis{20'000}, [&](const DealJob& j, store::Sink& a, store::Sink& b) {
    if (calls++ == 0) Fail(Cause::kResource, "no memory for keys");
    TestGenerate(j, a, b);
  });
  Both r = FetchBoth(w, Args(0), Args(1));
  for (auto& e : r.error) {
    EXPECT_TRUE(Fails(Cause::kPeer, "the dealer ended the session for a reason of its own", [&] {
      if (e) std::rethrow_exception(e);
    }));
  }
  ASSERT_EQ(w.dealer_errors.size(), 1u);
  EXPECT_EQ(w.dealer_errors[0].cause(), Cause::kResource);
  r = FetchBoth(w, Args(0), Args(1));
  EXPECT_EQ(r.serials[0], (std::vector<uint64_t>{2}));
  EXPECT_EQ(r.serials[1], (std::vector<uint64_t>{2}));
}

TEST(Dealer, AClientThatDiesDuringADeliveryEndsItForTheOther) {
  World w;
  std::thread dying([&] {
    auto ch = w.Link(Role::kData);
    Ask(w, *ch, Args(1));
    ch->RecvExact(net::kGrant, 4);
  });
  auto ch = w.Link(Role::kModel);
  bool failed = false;
  try {
    Fetch(*ch, w.plan, *w.lane[0], Args(0));
  } catch (const Error& e) {
    failed = e.cause() == Cause::kPeer;
  }
  dying.join();
  w.Join();
  // the model owner has the whole bundle or an error; the next pair works either way
  EXPECT_TRUE(failed || w.lane[0]->Bundles().size() == 1);
  Both r = FetchBoth(w, Args(0), Args(1));
  EXPECT_EQ(r.serials[0], (std::vector<uint64_t>{2}));
}

TEST(Dealer, AnAlteredBundleOnTheWayIsRefusedByTheParty) {
  Scratch dir;
  store::OneLane store(dir / "s");
  BundlePlan plan = TestPlan();
  for (bool in_header : {true, false}) {
    auto [ch, far] = net::InProcessPair(kId[1], kId[2]);
    std::thread t([&, d = far.get()] {
      RecvHello(*d, plan);
      SendHello(*d, plan);
      Bytes q = d->RecvExact(net::kRequest, store::kJobBytes + 4 + 16 + 7 * 32 + 4);
      store::BundleHeader h;
      h.prg = plan.prg;
      h.job = store::JobOf(4);
      h.party = 1;
      h.serial = 5;
      h.lane = store::kLane;
      h.body_bytes = kBody1;
      h.plan = plan.hash;
      h.trace = plan.task(h.job).trace;
      h.weights = Hash{77};
      h.public_key[0] = kId[0].key;
      h.public_key[1] = kId[1].key;
      h.seed_hash[1] = HashOf({View(q).subspan(store::kJobBytes + 4 + 16 + 4 * 32 + 4, 96)});
      Writer one;
      one.Put(uint32_t{1});
      d->Send(net::kGrant, one.bytes());
      if (in_header) h.job.tokens = 5;
      d->Send(net::kHeader, store::Encode(h));
      store::Sink s(store::ChunkKey(h), store::EvenBody(kBody1), [&](View c) {
        Bytes bad(c.begin(), c.end());
        bad.back() ^= 1;
        d->Send(net::kChunk, bad);
      });
      s.Write(Bytes(kBody1));
      try {
        s.Finish();
      } catch (const Error&) {
      }
    });
    EXPECT_TRUE(Fails(Cause::kRefused, in_header ? "another plan, trace, size, lane or party" : "bundle 5 was altered",
                      [&, c = ch.get()] { Fetch(*c, plan, store, Args(1)); }));
    t.join();
    EXPECT_EQ(store->Bundles().size(), 0u);
  }
}

}  // namespace
}  // namespace suf::proto
