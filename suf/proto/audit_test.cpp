// The two state machines of an audit, against a peer that the test plays. It leaves after each of its steps, or holds
// another bundle. The file tests/audit_test.cpp has the real dealing and every way to cheat.
#include "suf/proto/audit.hpp"

#include <optional>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/proto/internal/bond.hpp"
#include "suf/proto/internal/world.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::proto {
namespace {

constexpr size_t kAuditBody = 100;
const Hash kSetup{8};  // hash of W_hat
const Task& TheTask() {
  static const Task task{Hash{}, {store::EvenBody(kAuditBody), store::EvenBody(kAuditBody)}};
  return task;
}

// Writes bodies that depend on both keys, rho and B's seed.
void MixedBodies(const DealJob& j, store::Sink& to_p0, store::Sink& to_p1) {
  for (int p : {0, 1}) {
    Hash h = HashOf({j.key[0].view(), j.key[1].view(), j.rho, j.b_seed->view(), Hash{uint8_t(p)}});
    Bytes body(kAuditBody);
    std::copy(h.begin(), h.end(), body.begin() + 50);
    (p ? to_p1 : to_p0).Write(body);
  }
}

// Both stores with bundles 5, 6 and 7, of which the dealer witnessed 5. The dealer used `dealt` as B's seed.
struct Sides {
  explicit Sides(uint8_t dealt = 9) {
    for (int p : {0, 1}) Reopen(p);
    for (uint64_t serial : {5, 6, 7}) Put(serial, dealt);
    for (auto& s : store) store::Witnessed(*s, 5);
    std::tie(p0, p1) = net::InProcessPair(kId[0], kId[1], net::Millis{60'000});
  }
  void Reopen(int p) {
    store[p].reset();
    home[p].reset();
    home[p].emplace(dir / std::to_string(p));
    store[p] = home[p]->Open(p ? Hash{} : kId[1].key, store::kLane);
  }
  void Put(uint64_t serial, uint8_t dealt) {
    store::BundleHeader h;
    h.job = store::JobOf(3);
    h.serial = serial;
    h.lane = store::kLane;
    h.rho = {uint8_t(serial)};
    h.pair = Share(Secret::Random());
    h.body_bytes = kAuditBody;
    DealJob job{h.job, serial, h.rho, {}, {Secret(Hash{1}), Secret(Hash{2})}, Share(Secret(Hash{dealt}))};
    std::vector<Bytes> chunks[2];
    store::BundleHeader headers[2] = {h, h};
    headers[1].party = 1;
    {
      store::Sink a(store::ChunkKey(headers[0]), store::EvenBody(kAuditBody),
                    [&](View c) { chunks[0].emplace_back(c.begin(), c.end()); });
      store::Sink b(store::ChunkKey(headers[1]), store::EvenBody(kAuditBody),
                    [&](View c) { chunks[1].emplace_back(c.begin(), c.end()); });
      MixedBodies(job, a, b);
      a.Finish();
      b.Finish();
    }
    for (int p : {0, 1}) {
      auto in = store[p]->Receive(headers[p], std::move(job.key[p]), store::EvenBody(kAuditBody), true);
      for (auto& c : chunks[p]) store::Add(in, c);
      in.Commit();
    }
  }
  // Puts a bundle that no test reads into one store.
  void PutOne(int p, uint64_t serial) {
    store::BundleHeader h;
    h.job = store::JobOf(3);
    h.serial = serial;
    h.lane = store::kLane;
    h.party = uint32_t(p);
    h.body_bytes = kAuditBody;
    auto in = store[p]->Receive(h, Secret(), store::EvenBody(kAuditBody), false);
    store::Sink sink(store::ChunkKey(h), store::EvenBody(kAuditBody), [&](View c) { store::Add(in, c); });
    sink.Write(Bytes(kAuditBody));
    sink.Finish();
    in.Commit();
  }
  // Runs P0's side in a thread; returns its error.
  std::exception_ptr Model(const std::function<void()>& peer, Generate generate = MixedBodies,
                           NextBundleHooks ahead = {}) {
    std::exception_ptr error;
    std::thread t([&, ch = std::move(p0)]() mutable {
      try {
        net::Guarded(*ch, [&] {
          Bond bond(*ch, store[0]->Header(5), kSetup);
          EXPECT_EQ(bond.RecvEither(net::kClaim, net::kAudit), net::kAudit);
          AuditBundle(
              *ch, *store[0], bond, TheTask(), {Share(Secret(Hash{9}))},
              {generate, [](const store::Job&, uint64_t at) { return Str("byte ", at); }, [&](auto...) { ++passed; }},
              ahead);
        });
      } catch (const Error&) {
        error = std::current_exception();
      }
      ch.reset();
    });
    peer();
    p1.reset();
    t.join();
    return error;
  }
  Scratch dir;
  std::optional<store::Home> home[2];
  std::shared_ptr<store::Lane> store[2];
  std::unique_ptr<net::Channel> p0, p1;
  int passed = 0;
};

testing::AssertionResult Throws(std::exception_ptr e, Cause code, const std::string& words) {
  return Fails(code, words, [&] {
    if (e) std::rethrow_exception(e);
  });
}
using Records = std::map<uint64_t, store::RecordKind>;

// Plays the data owner's first `steps` steps. The bundle is P1's; its key may be another.
void PlayP1(Sides& s, int steps, const Secret& key) {
  store::Bundle b = s.store[1]->Audit(5, TheTask().body[1]);
  Bond bond(*s.p1, b.header, kSetup);
  if (steps-- > 0) bond.Send(net::kAudit);
  if (steps-- > 0) bond.Recv(net::kAck);
  Bytes opened(key.view().begin(), key.view().end());
  Hash hash = b.hash();
  opened.insert(opened.end(), hash.begin(), hash.end());
  if (steps-- > 0) s.p1->Send(net::kOpened, opened);
  if (steps-- > 0) bond.Send(net::kGo);
  if (steps-- > 0) {
    EXPECT_EQ(s.p1->RecvExact(net::kVerdict, 1)[0], Equal(key.view(), b.key.view()));
  }
  if (steps-- > 0) bond.Recv(net::kOnlineEnd);
  if (steps-- > 0) bond.Send(net::kBye);
}

TEST(Audit, P0HoldsItselfToTheMarkWhereverP1GoesAway) {
  for (int steps = 0; steps <= 7; ++steps) {
    SCOPED_TRACE(steps);
    Sides s;
    auto error = s.Model([&] { PlayP1(s, steps, Secret(Hash{2})); });
    EXPECT_EQ(!error, steps == 7);
    if (error) {
      EXPECT_TRUE(Throws(error, Cause::kPeer, "the data owner ended the connection"));
    }
    EXPECT_EQ(s.passed, steps == 7);
    EXPECT_EQ(s.store[0]->ledger().LastRecords(),
              (Records{{5, steps ? store::RecordKind::kAudited : store::RecordKind::kReported}}));
    s.Reopen(0);
    EXPECT_EQ(s.store[0]->ledger().LastRecords(), (steps ? Records{} : Records{{5, store::RecordKind::kBurnt}}));
    EXPECT_EQ(s.store[0]->Bundles().size(), 2u);
    EXPECT_EQ(s.store[1]->ledger().LastRecords(), (Records{{5, store::RecordKind::kAudited}}));
  }
}

TEST(Audit, P0SaysWhatItFoundEvenWhenP1DoesNotWaitForIt) {
  for (int steps = 4; steps <= 7; ++steps) {  // from the revealed key on
    Sides s;
    EXPECT_TRUE(Throws(s.Model([&] { PlayP1(s, steps, Secret(Hash{3})); }), Cause::kRefused,
                       "the audit of bundle 5 failed: ours and the data owner's are not what the keys give, ours first "
                       "in byte 50; the 2 bundles left in this store are burnt"));
    EXPECT_EQ(s.store[0]->ledger().LastRecords(),
              (Records{{5, store::RecordKind::kAudited}, {7, store::RecordKind::kBurnt}}));
    EXPECT_EQ(s.passed, 0);
  }
}

TEST(Audit, P1IsSpentWhereverP0GoesAwayAndOnlyAVerdictBurnsTheRest) {
  for (bool good : {true, false})
    for (int steps = 0; steps <= 4; ++steps) {
      SCOPED_TRACE(steps);
      Sides s;
      std::thread p0([&, ch = std::move(s.p0), left = steps]() mutable {
        Bond bond(*ch, s.store[0]->Header(5), kSetup);
        if (left-- > 0) {
          bond.Recv(net::kAudit);
          bond.Send(net::kAck);
        }
        if (left-- > 0) {
          Bytes opened = ch->RecvExact(net::kOpened, 64);
          EXPECT_TRUE(Equal(View(opened).first(32), Hash{2}));
          bond.Recv(net::kGo);
        }
        uint8_t verdict = good;
        if (left-- > 0) ch->Send(net::kVerdict, View(&verdict, 1));
        if (left-- > 0) {
          bond.Send(net::kOnlineEnd);
          bond.Recv(net::kBye);
        }
      });
      auto open = [&] { net::Guarded(*s.p1, [&] { OpenBundle(*s.p1, *s.store[1], 5, TheTask(), kSetup); }); };
      if (steps == 4 && good) {
        open();
      } else if (steps == 4) {
        EXPECT_TRUE(Fails(Cause::kRefused, "the 2 bundles left in this store are burnt", open));
      } else {
        EXPECT_TRUE(Fails(Cause::kPeer, "the model owner ended the connection", open));
      }
      s.p1.reset();
      p0.join();
      bool told = steps == 4 && !good;  // a verdict without its MAC does not count
      EXPECT_EQ(s.store[1]->Bundles().size(), told ? 0u : 2u);
      Records want{{5, store::RecordKind::kAudited}};
      if (told) want[7] = store::RecordKind::kBurnt;
      EXPECT_EQ(s.store[1]->ledger().LastRecords(), want);
    }
}

TEST(Audit, AnotherBundleOfTheSerialOpensNothing) {
  Sides s;
  EXPECT_TRUE(Throws(s.Model([&] {
    Bond bond(*s.p1, s.store[1]->Header(6), kSetup);  // another pair secret
    bond.Send(net::kAudit);
  }),
                     Cause::kRefused, "holds another bundle of serial 5"));
  EXPECT_EQ(s.store[0]->ledger().LastRecords(), (Records{{5, store::RecordKind::kReported}}));
}

TEST(Audit, ABundleAlteredInAStoreIsNamedAndBurnt) {
  const char* const kFive = "/bundles/00000000000000000005-0-0-3-0-1.bundle";
  for (int p : {0, 1}) {
    Sides s;
    std::filesystem::resize_file(s.dir / (p ? Str("1/lanes/", Hex(store::kLane), kFive)
                                            : Str("0/owners/", Hex(kId[1].key), "/", Hex(store::kLane), kFive)),
                                 4 + store::kHeaderBytes + 64 + 12);
    std::exception_ptr error[2];
    error[0] = s.Model([&] {
      try {
        net::Guarded(*s.p1, [&] { OpenBundle(*s.p1, *s.store[1], 5, TheTask(), kSetup); });
      } catch (const Error&) {
        error[1] = std::current_exception();
      }
    });
    EXPECT_TRUE(Throws(error[p], Cause::kRefused, "is cut short; it is burnt"));
    EXPECT_TRUE(Throws(error[1 - p], Cause::kRefused, "found its bundle altered"));
    EXPECT_EQ(s.store[p]->ledger().LastRecords(), (Records{{5, store::RecordKind::kBurnt}}));
  }
}

// A bundle that arrived before its delivery was closed is burnt with the rest, at both ends.
TEST(Audit, ABundleThatArrivesDuringAnAuditThatFailsIsBurntToo) {
  Sides s(8);
  std::string steps[2];
  auto ahead = [&](int p) {
    return NextBundleHooks{[&s, &steps, p] { steps[p] += Str("announce ", s.store[p]->ledger().floor(), " "); },
                           [&s, &steps, p] {
                             steps[p] += "drop";
                             s.PutOne(p, 9);
                           }};
  };
  auto error = s.Model(
      [&] {
        EXPECT_TRUE(Fails(Cause::kRefused, "the 3 bundles left in this store are burnt",
                          [&] { OpenBundle(*s.p1, *s.store[1], 5, TheTask(), kSetup, ahead(1)); }));
      },
      MixedBodies, ahead(0));
  EXPECT_TRUE(Throws(error, Cause::kRefused, "the 3 bundles left in this store are burnt"));
  for (int p : {0, 1}) {
    EXPECT_EQ(steps[p], "announce 5 drop");
    EXPECT_EQ(s.store[p]->ledger().LastRecords(),
              (Records{{5, store::RecordKind::kAudited}, {9, store::RecordKind::kBurnt}}));
    s.Reopen(p);
    EXPECT_TRUE(s.store[p]->Bundles().empty());
  }
}

TEST(Audit, WhatFailsAtP0IsNoVerdict) {
  Sides s;
  auto none = [](const DealJob&, store::Sink&, store::Sink&) { Fail(Cause::kResource, "no memory"); };
  auto error = s.Model(
      [&] {
        EXPECT_TRUE(Fails(Cause::kPeer, "the model owner ended the session for a reason of its own",
                          [&] { OpenBundle(*s.p1, *s.store[1], 5, TheTask(), kSetup); }));
      },
      none);
  EXPECT_TRUE(Throws(error, Cause::kResource, "no memory"));
  for (auto& store : s.store) {
    EXPECT_EQ(store->ledger().LastRecords(), (Records{{5, store::RecordKind::kAudited}}));
    EXPECT_EQ(store->Bundles().size(), 2u);
  }
}

}  // namespace
}  // namespace suf::proto
