// The dealer audit: honest bundles pass and are spent, and every way to cheat is caught. P1 learns only one bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "suf/nn/ops.hpp"
#include "suf/run/deal.hpp"
#include "tests/three_roles.hpp"

namespace suf::roles {
namespace {

using namespace net;
using namespace store;
using namespace run;
using namespace proto;
using Bodies = std::array<Bytes, 2>;
const uint32_t kN = uint32_t(kText.size());

// Deals both bodies of a job.
Bodies Dealt(const Generate& generate, DealJob job, const pfss::Schedule& s) {
  Bodies b;
  auto sink = [&](int p) {
    return std::make_unique<Sink>(Hash{}, std::make_shared<const BodyLayout>(run::LayoutOf(s, p)), [&b, p](View chunk) {
      b[size_t(p)].insert(b[size_t(p)].end(), chunk.begin() + ChunkTags::kBytes, chunk.end());
    });
  };
  auto to_p0 = sink(0), to_p1 = sink(1);
  generate(std::move(job), *to_p0, *to_p1);
  to_p0->Finish();
  to_p1->Finish();
  return b;
}

TEST(DealerAudit, HonestBundlesPassAndServeNoMore) {
  ThreeRoles w(4);
  w.Session([&](DataSession& s) {
    s.Audit(JobOf(kN));
    EXPECT_TRUE(w.Embed(s));
    s.Audit(JobOf(kN));
  });
  EXPECT_EQ(w.Says(w.error[0]) + w.Says(w.error[1]), "");
  EXPECT_EQ(w.dealt, 4);
  using enum RecordKind;
  const std::map<uint64_t, RecordKind> want{{1, kAudited}, {2, kDone}, {3, kAudited}};
  for (int p : {0, 1}) EXPECT_EQ(w.LastRecords(p), want);
  w.Open();
  for (int p : {0, 1}) {
    EXPECT_EQ(w.lane[p]->Bundles().size(), 1u);
    for (uint64_t serial : {1, 2, 3}) {
      EXPECT_TRUE(Fails(Cause::kRefused, "used", [&] { w.lane[p]->Claim(serial, EvenBody(0)); }));
      EXPECT_TRUE(Fails(Cause::kRefused, "used", [&] { w.lane[p]->Audit(serial, EvenBody(0)); }));
    }
    EXPECT_TRUE(w.LastRecords(p).empty());
  }
  w.Session([&](DataSession& s) { EXPECT_TRUE(w.Embed(s)); });
  EXPECT_EQ(w.LastRecords(0).at(4), kDone);
}

// The tiny plan, with rescales and rows that are read off DCFs with payloads.
nn::Plan WithDcf() {
  nn::Plan plan = TheTiny().plan;
  for (nn::Class& c : plan.classes)
    for (nn::OperatorPtr& op : c.ops) {
      if (auto* n = dynamic_cast<nn::Norm*>(op.get())) {
        n->last = compiler::Stages::kNone;
        n->rows = {compiler::Kind::kStepDcf};
      }
      if (auto* w = dynamic_cast<nn::WeightedSum*>(op.get())) w->rows = {compiler::Kind::kStepDcf};
      auto* r = dynamic_cast<nn::Rescale*>(op.get());
      if (r && !r->window) r->stages = compiler::Stages::kNone;
    }
  return plan;
}

// Checks that an altered bit of either bundle of a plan is found and located. Returns the number of sections.
int ABitOfAnySection(const nn::Plan& plan) {
  ModelEngine engine(plan, TheBackend());
  auto work = engine.Compile(int(kN));
  const pfss::Schedule& s = *work->schedule;
  Auditor auditor = AuditOf(engine);
  auto job = [] {
    return DealJob{JobOf(kN), 7, Hash{3}, Hash{77}, {Secret(Hash{1}), Secret(Hash{2})}, Share(Secret(Hash{5}))};
  };
  Bodies honest = Dealt(auditor.generate, job(), s);
  Bundle own, other;
  own.header.job = JobOf(kN);
  own.header.serial = 7;
  own.header.rho = {3};
  own.header.weights = {77};
  own.header.pair = Share(Secret(Hash{4}));
  other.header = own.header;
  other.header.party = 1;
  own.header.body_bytes = honest[0].size();
  other.header.body_bytes = honest[1].size();
  const proto::Task& task = work->task;
  for (int p : {0, 1}) {
    auto& keys = (p ? other : own).keys;
    keys = std::make_shared<KeySource>(task.body[p], KeySource::kWhole);
    keys->FeedFrom(honest[size_t(p)]);
  }
  auto audit = [&](const Generate& g) { return Redeal(own, job(), task.body[1], other.hash(), g); };
  EXPECT_FALSE(audit(auditor.generate).any());
  // The bundle dealt again was just seen to be equal. It replaces dealing below.
  Generate canned = [&](const DealJob&, Sink& a, Sink& b) {
    a.Write(honest[0]);
    b.Write(honest[1]);
  };
  int sections = 0;
  for (int p : {0, 1})
    for (size_t k = 0; k < s.key(p).size(); ++k, ++sections) {
      const pfss::FrameField& part = s.key(p)[k];
      uint64_t at = uint64_t(part.at + int64_t(k) % part.bytes);
      uint8_t& byte = const_cast<uint8_t&>((p ? other : own).keys->Section(k)[size_t(int64_t(k) % part.bytes)]);
      byte ^= uint8_t(1 << k % 8);
      Difference d = audit(canned);
      byte ^= uint8_t(1 << k % 8);
      EXPECT_EQ(d.own, p == 0) << k;
      EXPECT_EQ(d.other, p == 1) << k;
      if (p == 1) continue;
      EXPECT_EQ(d.at, at);
      EXPECT_EQ(auditor.section(JobOf(kN), at).find(Str("key section ", k + 1, " of ", s.key(0).size(), ", of ")), 0u);
    }
  for (Hash BundleHeader::*f : {&BundleHeader::plan, &BundleHeader::rho}) {  // headers of P1 are also compared
    (other.header.*f)[9] ^= 1;
    EXPECT_TRUE(audit(canned).other);
    (other.header.*f)[9] ^= 1;
  }
  EXPECT_FALSE(audit(canned).any());
  return sections;
}

TEST(DealerAudit, ABitOfAnySectionOfEitherBundleIsFound) { EXPECT_GT(ABitOfAnySection(TheTiny().plan), 200); }

// Checks that the corrections of DCFs with payloads are dealt again like every other section.
TEST(DealerAudit, ABitOfADcfsCorrectionsIsFound) {
  const nn::Plan plan = WithDcf();
  ModelEngine engine(plan, TheBackend());
  auto work = engine.Compile(int(kN));
  int dcfs = 0;
  for (auto& node : work->trace.nodes()) dcfs += node.op == pfss::Op::kDcfGen;
  EXPECT_GT(dcfs, 5);
  EXPECT_GT(ABitOfAnySection(plan), 2 * dcfs);
}

// The frames that P1 received from the first word of the audit on: {kind, sequence, bytes, the verdict}.
std::vector<std::array<int, 4>> Seen(const std::string& record) {
  std::ifstream in(record, std::ios::binary);
  Bytes raw{std::istreambuf_iterator<char>(in), {}};
  Reader r(View(raw).subspan(8), "a record");
  std::vector<std::array<int, 4>> seen;
  while (r.left()) {
    bool sent = r.Get<uint8_t>();
    (void)r.Get<uint8_t>();
    uint32_t bytes = r.Get<uint32_t>();
    int kind = r.Get<uint16_t>(), sequence = r.Get<uint16_t>();
    View payload = r.Raw(bytes);
    if (!sent && (kind == kAck || !seen.empty()))
      seen.push_back({kind, sequence, int(bytes), kind == kVerdict ? payload[0] : -1});
  }
  return seen;
}

struct Cheat {
  const char *name, *found;  // found: P0's error message
  std::function<void(DealJob&)> job = [](DealJob&) {};
  std::function<void(Bodies&)> bodies = [](Bodies&) {};
};
const Cheat kCheats[] = {
    {.name = "ABitForP0",
     .found = "ours is not what the keys give, ours first in key section 1 of ",
     .bodies = [](Bodies& b) { b[0][0] ^= 1; }},
    {.name = "TheLastBitForP0",
     .found = "ours is not what the keys give, ours first in key section ",
     .bodies = [](Bodies& b) { b[0].back() ^= 128; }},
    {.name = "ABitForP1",
     .found = "the data owner's is not what the keys give; ",
     .bodies = [](Bodies& b) { b[1].back() ^= 128; }},
    {.name = "AnotherRho", .found = "ours and the data owner's are", .job = [](DealJob& j) { j.rho[31] ^= 1; }},
    {.name = "AnotherKeyOfP0",
     .found = "ours and the data owner's are",
     .job = [](DealJob& j) { j.key[0] = Secret(); }},
    {.name = "AnotherKeyOfP1",
     .found = "ours and the data owner's are",
     .job = [](DealJob& j) { j.key[1] = Secret::Random(); }},
    {.name = "KeysSwapped",
     .found = "ours and the data owner's are",
     .job = [](DealJob& j) { std::swap(j.key[0], j.key[1]); }},
    {.name = "AnotherB", .found = "failed: ", .job = [](DealJob& j) { j.b_seed = Share(Secret()); }},
};

TEST(DealerAudit, EveryCheatIsCaughtAndP1SeesOneBit) {
  std::vector<std::array<int, 4>> seen;
  {
    ThreeRoles w;
    Recorder recorder(w.dir / "record");
    w.Session([&](DataSession& s) { s.Audit(JobOf(kN)); }, &recorder);
    seen = Seen(w.dir / "record");
    ASSERT_EQ(seen.size(), 4u);  // ack, verdict, MAC, end
    seen.pop_back();
    EXPECT_EQ(std::exchange(seen[1][3], 0), 1);
  }
  for (const Cheat& c : kCheats) {
    SCOPED_TRACE(c.name);
    ThreeRoles w(3);
    w.generate = [&, honest = w.generate](DealJob job, Sink& a, Sink& b) {
      c.job(job);
      Bodies bodies = Dealt(honest, std::move(job), *w.engine[2]->Compile(int(kN))->schedule);
      c.bodies(bodies);
      a.Write(bodies[0]);
      b.Write(bodies[1]);
    };
    Recorder recorder(w.dir / "record");
    w.Session([&](DataSession& s) { s.Audit(JobOf(kN)); }, &recorder);
    EXPECT_EQ(Seen(w.dir / "record"), seen);
    EXPECT_THAT(w.Says(w.error[0]), testing::StartsWith("refused: the audit of bundle 1 failed: "));
    EXPECT_THAT(w.Says(w.error[0]), testing::HasSubstr(c.found));
    EXPECT_EQ(
        w.Says(w.error[1]),
        "refused: the model owner's audit of bundle 1 finds that it was dealt wrongly; the 2 bundles left in this "
        "store are burnt; take no more from this dealer before its operator has explained it");
    for (int p : {0, 1})
      EXPECT_EQ(w.LastRecords(p), (std::map<uint64_t, RecordKind>{{1, RecordKind::kAudited}, {3, RecordKind::kBurnt}}));
    w.Open();
    for (int p : {0, 1}) {
      EXPECT_TRUE(w.lane[p]->Bundles().empty());
    }
  }
}

}  // namespace
}  // namespace suf::roles
