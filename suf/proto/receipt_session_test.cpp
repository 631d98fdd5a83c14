// Sessions with receipts, in which either party may sign wrongly.
#include <functional>
#include <utility>

#include "suf/proto/internal/altering_channel.hpp"
#include "suf/proto/internal/receipt_certs.hpp"
#include "suf/proto/internal/world.hpp"
#include "suf/proto/receipt.hpp"

namespace suf::proto {
namespace {

// A key that signs another text than it is given.
struct LyingSigner : net::Signer {
  explicit LyingSigner(std::shared_ptr<const net::Signer> key) : own(std::move(key)) {}
  net::Signature Sign(View text) const override {
    std::string other(text.begin(), text.end());
    other[other.find("tokens ") + 7] ^= 1;
    return own->Sign(AsView(other));
  }
  const std::string& certificates() const override { return own->certificates(); }
  std::shared_ptr<const net::Signer> own;
};
// The key of another certificate than the one that it shows.
struct ForeignSigner : LyingSigner {
  using LyingSigner::LyingSigner;
  net::Signature Sign(View text) const override { return ReceiptCerts::Of(Role::kModel, "b").signer()->Sign(text); }
};

BundlePlan PlanOfBatches() {
  BundlePlan p = TestPlan();
  p.most_texts = 4;
  return p;
}

// A World whose parties have certificates.
struct ReceiptWorld : World {
  ReceiptWorld() : World(1, net::Millis{20'000}, TestGenerate, PlanOfBatches()) {
    keys.whole = true;
    for (const Role r : {Role::kModel, Role::kData}) {
      const net::Credentials own = ReceiptCerts::Of(r);
      id[PartyOf(r)] = own.identity();
      key[PartyOf(r)] = signer[PartyOf(r)] = own.signer();
      pem[PartyOf(r)] = own.signer()->certificates();
    }
    keys.receipts = [this](const Receipt& r) { receipts.push_back(r); };
  }
  // Runs P0 in a thread, and `p1` here. Rethrows the error of p1; that of P0 is in model_error.
  void Talk(const std::function<void(net::Channel&, DataSession&)>& p1) {
    ModelHost host = Host(TestRun);
    host.dealers = [this](std::stop_token stop) { return Link(id[0], std::move(stop)); };
    if (run) host.run = run;
    passed.clear();
    receipts.clear();
    RunBoth(
        net::InProcessPair(id[0], id[1], timeout),
        [&](net::Channel& ch) {
          AlteringChannel near(ch, alter, passed);
          near.SetSigner(signer[0], pem[1]);
          ServeSession(near, host);
        },
        [&](net::Channel& ch) {
          ch.SetSigner(signer[1], pem[0]);
          DataSession s(
              ch, plan, lane[1], [this](std::stop_token stop) { return Link(id[1], std::move(stop)); }, keys);
          p1(ch, s);
        });
  }
  void RunJobs(const std::vector<store::Job>& jobs) {
    Talk([&](net::Channel&, DataSession& s) {
      for (const store::Job& job : jobs) s.Infer(job, TestRun);
      s.End();
    });
  }
  // Returns the fate of a serial at a party.
  store::RecordKind FateAt(int p, uint64_t serial) const {
    const auto at = p ? std::shared_ptr<const store::Lane>(lane[1]) : home[0]->Find(id[1].key, store::kLane);
    return at->ledger().LastRecords().at(serial);
  }
  net::Identity id[2];
  std::shared_ptr<const net::Signer> key[2], signer[2];  // the right one, and the one that signs
  std::string pem[2];
  ModelRun run;
  AlteringChannel::Alter alter;
  std::vector<PassedFrame> passed;
  std::vector<Receipt> receipts;
};

TEST(Receipt, BothPartiesSignEachJob) {
  ReceiptWorld w;
  const auto now = [] { return uint64_t(std::time(nullptr)) * 1000; };
  const uint64_t before = now();
  w.Talk([&](net::Channel&, DataSession& s) {
    s.Infer(s.JobOf(3), TestRun, s.JobOf(4));
    s.Audit(s.JobOf(4));
    s.Infer(s.JobOf(5, 4), TestRun);
    EXPECT_EQ(w.receipts.size(), 2u);
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  ASSERT_EQ(w.receipts.size(), 2u);
  const net::RoleCertificate certs[] = {{w.pem[0], "it"}, {w.pem[1], "it"}};
  for (const Receipt& r : w.receipts) {
    const bool first = &r == w.receipts.data();
    JobFacts expected{.plan = w.plan.hash,
                      .weights = Hash{77},
                      .tokens = first ? 3u : 5u,
                      .texts = first ? 1u : 4u,
                      .serial = first ? 1u : 3u,
                      .lane = store::kLane,
                      .transcript = r.facts.transcript,
                      .key = {w.id[0].key, w.id[1].key}};
    EXPECT_EQ(r.facts, expected);
    for (const Role role : {Role::kModel, Role::kData}) {
      const int p = PartyOf(role);
      EXPECT_EQ(FaultOf(r.facts, r.part[p], role, certs[p]), std::nullopt);
      EXPECT_EQ(r.certificates[p], w.pem[p]);
      EXPECT_GE(r.part[p].time.begin_ms, before);
      EXPECT_LE(r.part[p].time.end_ms, now() + 1000);
    }
    EXPECT_NE(r.part[0].signature, r.part[1].signature);
  }
  EXPECT_NE(w.receipts[0].facts.transcript, w.receipts[1].facts.transcript);
}

// Receipts change the length of two frames, which are as long for each job.
TEST(Receipt, TravelsInFramesThatExist) {
  std::vector<PassedFrame> passed[2];
  ReceiptWorld w;
  w.RunJobs({store::JobOf(3)});  // the masked weights are in the store
  for (const bool asks : {true, false}) {
    if (!asks) w.keys.receipts = {};
    w.RunJobs({store::JobOf(3), store::JobOf(8), store::JobOf(3)});
    EXPECT_FALSE(w.model_error);
    EXPECT_EQ(w.receipts.size(), asks ? 3u : 0u);
    passed[asks] = w.passed;
  }
  int longer = 0;
  ASSERT_EQ(passed[0].size(), passed[1].size());
  for (size_t i = 0; i < passed[0].size(); ++i) {
    PassedFrame expected = passed[0][i];
    if (expected.kind == net::kOnlineEnd || expected.kind == net::kBye) {
      EXPECT_EQ(expected.bytes, 64u);
      expected.bytes += kSignedTimeBytes;
      ++longer;
    }
    EXPECT_EQ(passed[1][i], expected) << i;
  }
  EXPECT_EQ(longer, 6);
  EXPECT_EQ(kSignedTimeBytes, 80u);
}

// A wrong part of P0 ends the session before P1 says goodbye or reads the result, which may be any.
TEST(Receipt, AWrongPartOfP0FailsTheJobAlikeForEveryResult) {
  const auto edit = [](std::function<std::vector<Bytes>(Bytes)> change) {
    return [change](uint16_t kind, Bytes payload) {
      return kind == net::kOnlineEnd ? change(std::move(payload)) : std::vector<Bytes>{std::move(payload)};
    };
  };
  const auto cut = [](const Bytes& b, size_t from, size_t to) {
    return Bytes(b.begin() + ssize_t(from), b.begin() + ssize_t(to));
  };
  struct Row {
    const char* name;
    std::function<void(ReceiptWorld&)> plant;
    Cause cause;
    const char *p1_says, *p0_says;
  };
  const char* const wrong = "has a wrong signature; compare both clocks";
  const char* const refused = "the data owner did not accept our part of a receipt";
  const char* const mac = "the data owner saw other frames or another bundle than we did";
  const char* const length = "the data owner received a frame that it did not expect";
  const Row rows[] = {
      {"another text", [](ReceiptWorld& w) { w.signer[0] = std::make_shared<LyingSigner>(w.key[0]); }, Cause::kRefused,
       wrong, refused},
      {"another key", [](ReceiptWorld& w) { w.signer[0] = std::make_shared<ForeignSigner>(w.key[0]); }, Cause::kRefused,
       wrong, refused},
      {"altered on the way",
       [&](ReceiptWorld& w) {
         w.alter = edit([](Bytes b) {
           b.back() ^= 1;
           return std::vector<Bytes>{b};
         });
       },
       Cause::kRefused, "saw other frames or holds another bundle of serial", mac},
      {"missing",
       [&](ReceiptWorld& w) { w.alter = edit([&](const Bytes& b) { return std::vector<Bytes>{cut(b, 0, 64)}; }); },
       Cause::kPeer, "with 64 bytes where 144 were due", length},
      {"late",
       [&](ReceiptWorld& w) {
         w.alter = edit([&](const Bytes& b) { return std::vector<Bytes>{cut(b, 0, 64), cut(b, 64, b.size())}; });
       },
       Cause::kPeer, "with 64 bytes where 144 were due", length},
      {"twice",
       [&](ReceiptWorld& w) {
         w.alter = edit([&](Bytes b) {
           const Bytes part = cut(b, 64, b.size());
           b.insert(b.end(), part.begin(), part.end());
           return std::vector<Bytes>{b};
         });
       },
       Cause::kPeer, "sent a frame of 224 bytes; the limit here is 144", length},
  };
  ReceiptWorld w;
  w.RunJobs({store::JobOf(3)});  // the masked weights are in the store
  EXPECT_FALSE(w.model_error);
  for (const Row& row : rows) {
    std::vector<std::vector<PassedFrame>> seen;
    for (const bool zero : {false, true}) {
      w.signer[0] = w.key[0];
      w.alter = {};
      row.plant(w);
      const RunHook p1 = [&](Inference& inf) {
        inf.channel().Send(net::kFirstRun, HashOf({inf.key().view()}));
        inf.EndOffline();
        Bytes result = inf.channel().RecvExact(net::kFirstRun + 1, 32);
        if (zero) std::fill(result.begin(), result.end(), 0);
        inf.EndOnline();
        ADD_FAILURE() << row.name << ": the result is read";
      };
      EXPECT_TRUE(Fails(row.cause, row.p1_says, [&] {
        w.Talk([&](net::Channel&, DataSession& s) { s.Infer(s.JobOf(3), p1); });
      })) << row.name;
      EXPECT_TRUE(w.ModelFails(row.cause, row.p0_says)) << row.name;
      EXPECT_TRUE(w.receipts.empty());
      for (int p : {0, 1}) EXPECT_EQ(w.FateAt(p, w.dealt.back()), store::RecordKind::kBurnt) << row.name;
      EXPECT_EQ(w.passed.back(), (PassedFrame{Role::kData, net::kRefuse, 2}));
      seen.push_back(w.passed);
    }
    EXPECT_EQ(seen[0], seen[1]) << row.name;
  }
}

// P1 has its result, and P0 counts the run as broken.
TEST(Receipt, AWrongPartOfP1IsABrokenRunOfP0) {
  ReceiptWorld w;
  w.signer[1] = std::make_shared<LyingSigner>(w.signer[1]);
  EXPECT_TRUE(Fails(Cause::kRefused, "the model owner did not accept our part of a receipt", [&] {
    w.RunJobs({store::JobOf(3), store::JobOf(3)});
  }));
  EXPECT_TRUE(
      w.ModelFails(Cause::kRefused, "the data owner's part of the receipt of serial 1 has a wrong signature; compare"));
  EXPECT_EQ(w.FateAt(0, 1), store::RecordKind::kBurnt);
  EXPECT_EQ(w.FateAt(1, 1), store::RecordKind::kDone);
  w.signer[1] = w.key[1];
  w.RunJobs({store::JobOf(3)});
  EXPECT_FALSE(w.model_error);
}

// P1 waits between its goodbye and its result until P0 is done. If a signature came after the result, that would take
// until P0 gives up.
TEST(Receipt, BothSignaturesLeaveBeforeTheResultIsRead) {
  ReceiptWorld w;
  TurnEvent done;
  w.run = [&](Inference& inf) -> std::function<void()> {
    TestRun(inf);
    return [&] { done.Set(); };
  };
  bool read = false;
  w.Talk([&](net::Channel&, DataSession& s) {
    s.Infer(s.JobOf(3), [&](Inference& inf) {
      TestRun(inf);
      done.Wait();
      read = true;
    });
    s.End();
  });
  EXPECT_TRUE(read);
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.receipts.size(), 1u);
}

TEST(Receipt, AJobThatFailsAfterTheGoodbyeHasOne) {
  ReceiptWorld w;
  EXPECT_TRUE(Fails(Cause::kResource, "the result is zero", [&] {
    w.Talk([&](net::Channel&, DataSession& s) {
      s.Infer(s.JobOf(3), [](Inference& inf) {
        TestRun(inf);
        Fail(Cause::kResource, "the result is zero");
      });
      s.Infer(s.JobOf(3), TestRun);
      s.End();
    });
  }));
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.receipts.size(), 2u);
}

TEST(Receipt, NeedsAConnectionWithCertificates) {
  ReceiptWorld w;
  w.signer[0] = nullptr;
  EXPECT_TRUE(Fails(Cause::kPeer, "received a frame that it did not expect", [&] { w.RunJobs({store::JobOf(3)}); }));
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "requests receipts, and this connection has no certificates"));
  EXPECT_TRUE(w.dealt.empty());
}

}  // namespace
}  // namespace suf::proto
