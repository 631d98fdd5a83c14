// Sessions with indexes: lists of index plans, lists of segments, W - B in parts, bundles of a list, and fetches.
#include <gmock/gmock.h>

#include <mutex>

#include "suf/proto/announcement.hpp"
#include "suf/proto/greeting.hpp"
#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Hash kIndex{41}, kOther{42};
constexpr uint32_t kHits = 3;  // documents of a fetch

// A plan with two indexes. A segment of n rows takes n + 1 bytes, and its table 2 n.
BundlePlan IndexedPlan(std::vector<Hash> indexes = {kIndex, kOther}) {
  BundlePlan p = TestPlan();
  p.indexes = std::move(indexes);
  p.entry = [](uint32_t entry) -> std::optional<JobLimits> {
    if (entry > 4) return std::nullopt;
    return entry % 2 ? JobLimits{1, 8} : JobLimits{kHits, kHits, 1, {"the fetch has", "documents", "less", "fetch"}};
  };
  p.part_bytes = [](const Hash&, uint32_t rows, bool table) { return table ? 2 * rows : rows + 1; };
  p.capacity = [](const Hash&) { return 100; };
  p.task = [](const store::Job& j) {
    return Task{Hash{uint8_t(j.entry), uint8_t(j.tokens)}, {store::EvenBody(kBody0), store::EvenBody(kBody1)}};
  };
  return p;
}

Bytes PartBytes(const SetupPart& part) {
  Bytes bytes(part.bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(part.id[0] + i);
  return bytes;
}

// Returns an index with segments of these rows, whose ids begin with 10, 11, and so on.
SessionIndex IndexOf(const BundlePlan& plan, std::vector<uint32_t> rows, uint8_t first = 10) {
  IndexOffer offer{1, kIndex, {}};
  for (size_t i = 0; i < rows.size(); ++i) offer.segments.push_back({{Hash{uint8_t(first + i)}, rows[i]}, {}, {}});
  for (const SetupPart& part : PartsOf(plan, {SessionIndex(offer)}))
    (part.table ? offer.segments[part.segment].table : offer.segments[part.segment].rows) = HashOf({PartBytes(part)});
  return SessionIndex(offer);
}

// A world whose data owner uses the first of two indexes.
struct IndexWorld : World {
  explicit IndexWorld(uint32_t ahead = 1, net::Millis partner_wait_ = net::Millis{20'000})
      : World(ahead, partner_wait_, TestGenerate, IndexedPlan()), data_plan(IndexedPlan({kIndex})) {
    index.emplace(IndexOf(plan, {2, 5}));
  }
  ModelHost IndexHost(RunHook run = TestRun) {
    ModelHost host = Host(std::move(run));
    host.indexes = {*index};
    host.index_seeds = {Share(Secret(Hash{6}))};
    host.part = [this](const SetupPart& part, store::Sink& out) {
      sent.push_back(part.id);
      out.Write(PartBytes(part));
    };
    host.has_list = [this](const SessionIndex& s) {
      const std::lock_guard l(compaction);
      return SegmentsOf(*index->lists, s.lists->back()).has_value();
    };
    return host;
  }
  store::Job Search(uint32_t tokens = 4) const { return {store::SearchEntry(1), 0, tokens}; }
  store::Job Fetch(uint32_t count = kHits) const { return {store::FetchEntry(1), 0, count}; }
  // Runs these jobs in one session.
  void Run(
      const std::vector<store::Job>& jobs, const std::function<void(DataSession&)>& begun = [](auto&) {}) {
    Session(IndexHost(), [&](net::Channel& ch) {
      DataSession s(ch, data_plan, lane[1], Dial(), keys);
      begun(s);
      for (const store::Job& job : jobs) s.Infer(job, TestRun);
      s.End();
    });
    if (model_error) std::rethrow_exception(model_error);
  }
  std::vector<Hash> Lists(int p) const {
    std::vector<Hash> lists;
    for (const store::BundleHeader& h : lane[p]->Bundles()) lists.push_back(h.list);
    return lists;
  }
  BundlePlan data_plan;
  std::mutex compaction;  // of `index` while a session runs
  std::optional<SessionIndex> index;
  std::vector<Hash> sent;
};

TEST(IndexLists, AListKnowsThoseWithWhichItBegan) {
  const store::SegmentList all{{Hash{1}, 2}, {Hash{2}, 3}};
  const std::vector<Hash> lists = store::ListHashes(kIndex, all);
  ASSERT_EQ(lists.size(), 3u);
  for (size_t n = 0; n <= 2; ++n) {
    EXPECT_EQ(store::ListHashes(kIndex, std::span(all).first(n)).back(), lists[n]);
    EXPECT_EQ(SegmentsOf(lists, lists[n]), n);
  }
  for (const store::SegmentList& other :
       {store::SegmentList{{Hash{2}, 3}, {Hash{1}, 2}}, {{Hash{1}, 2}, {Hash{2}, 4}}, {{Hash{1}, 2}, {Hash{3}, 3}}})
    EXPECT_EQ(SegmentsOf(lists, store::ListHashes(kIndex, other).back()), std::nullopt);
  EXPECT_EQ(SegmentsOf(lists, store::ListHashes(kOther, all).back()), std::nullopt);
}

TEST(IndexLists, TheDigestForMacsCoversEveryField) {
  const BundlePlan plan = IndexedPlan();
  const SessionIndex index = IndexOf(plan, {2, 5});
  const Hash digest = SetupDigest(Hash{1}, {index});
  EXPECT_EQ(SetupDigest(Hash{1}, {}), Hash{1}) << "sessions without an index are as they were";
  EXPECT_NE(SetupDigest(Hash{2}, {index}), digest);
  const auto changed = [&](auto change) {
    IndexOffer offer = index.offer;
    change(offer);
    return SetupDigest(Hash{1}, {SessionIndex(offer)});
  };
  EXPECT_NE(changed([](IndexOffer& o) { o.number = 2; }), digest);
  EXPECT_NE(changed([](IndexOffer& o) { o.plan = kOther; }), digest);
  EXPECT_NE(changed([](IndexOffer& o) { o.segments.pop_back(); }), digest);
  EXPECT_NE(changed([](IndexOffer& o) { o.segments[0].segment.rows = 3; }), digest);
  EXPECT_NE(changed([](IndexOffer& o) { o.segments[0].segment.id = Hash{9}; }), digest);
  EXPECT_NE(changed([](IndexOffer& o) { o.segments[1].rows = Hash{9}; }), digest);
  EXPECT_NE(changed([](IndexOffer& o) { o.segments[1].table = Hash{9}; }), digest);
}

TEST(IndexOffers, AreReadAsTheyWereWritten) {
  const BundlePlan plan = IndexedPlan();
  const std::vector<IndexOffer> offers{IndexOf(plan, {2, 5}).offer, IndexOf(plan, {}).offer};
  Writer w;
  Put(w, offers);
  const Bytes bytes = w.Take();
  Reader r(bytes, "offers");
  const std::vector<IndexOffer> read = GetOffers(r);
  r.ExpectEnd();
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(SetupDigest({}, {SessionIndex(read[0]), SessionIndex(read[1])}),
            SetupDigest({}, {SessionIndex(offers[0]), SessionIndex(offers[1])}));
}

TEST(IndexOffers, BeyondTheirLimitsAreRefused) {
  const BundlePlan plan = IndexedPlan();
  const auto refused = [&](const std::vector<IndexOffer>& offers, const std::string& words) {
    Writer w;
    Put(w, offers);
    const Bytes bytes = w.Take();
    EXPECT_TRUE(Fails(Cause::kPeer, words, [&] {
      Reader r(bytes, "offers");
      (void)GetOffers(r);
    }));
  };
  IndexOffer many = IndexOf(plan, {}).offer;
  for (size_t i = 0; i <= store::kMostSegments; ++i)
    many.segments.push_back({{Hash{uint8_t(i), uint8_t(i >> 8)}, 1}, {}, {}});
  refused({many}, "has 1025 segments; at most 1024 are possible");
  IndexOffer twice = IndexOf(plan, {2, 5}).offer;
  twice.segments[1].segment.id = twice.segments[0].segment.id;
  refused({twice}, "segment 1 of the model owner's index is there twice");
  IndexOffer empty = IndexOf(plan, {2, 5}).offer;
  empty.segments[0].segment.rows = 0;
  refused({empty}, "segment 0 of the model owner's index has 0 rows");
  refused(std::vector(17, twice), "offers 17 indexes; at most 16");
}

// Returns how a side that has the indexes `ours` takes the hello of one with `theirs`.
testing::AssertionResult HelloFails(ListRule rule, const std::vector<Hash>& theirs, const std::vector<Hash>& ours,
                                    const std::string& words) {
  const BundlePlan plan = IndexedPlan();
  auto [a, b] = net::InProcessPair(kId[0], kId[1], net::Millis{60'000});
  SendHello(*b, plan, theirs);
  const auto checked = [&] { (void)RecvHello(*a, plan, rule, ours); };
  if (!words.empty()) return Fails(Cause::kRefused, words, checked);
  checked();
  return testing::AssertionSuccess();
}

TEST(IndexHello, ListsMustFit) {
  const Hash a{1}, b{2}, c{3};
  EXPECT_TRUE(HelloFails(ListRule::kUsesOurs, {}, {a, b}, ""));
  EXPECT_TRUE(HelloFails(ListRule::kUsesOurs, {b}, {a, b}, ""));
  EXPECT_TRUE(HelloFails(ListRule::kUsesOurs, {c}, {a, b}, "uses index=03000000.., which we do not serve"));
  EXPECT_TRUE(HelloFails(ListRule::kUsesOurs, {b, b}, {a, b}, "names index=02000000.. twice"));
  EXPECT_TRUE(HelloFails(ListRule::kServesOurs, {a, b}, {b}, ""));
  EXPECT_TRUE(HelloFails(ListRule::kServesOurs, {a}, {b}, "has no index=02000000.."));
  EXPECT_TRUE(HelloFails(ListRule::kSame, {a, b}, {a, b}, ""));
  EXPECT_TRUE(HelloFails(ListRule::kSame, {a}, {a, b}, "has no index=02000000.."));
  EXPECT_TRUE(HelloFails(ListRule::kSame, {a, b}, {a}, "has index=02000000.. as well, which we lack"));
  EXPECT_TRUE(HelloFails(ListRule::kSame, {b, a}, {a, b}, "has the indexes in another order"));
  std::vector<Hash> many;
  for (uint8_t i = 0; i < 17; ++i) many.push_back(Hash{i});
  EXPECT_TRUE(HelloFails(ListRule::kServesOurs, many, {}, "names 17 indexes, and at most 16 are possible"));
}

TEST(IndexSetup, PartsComeOnceAndAreKeptWithTheFirstMac) {
  IndexWorld w;
  std::vector<Bytes> came;
  const auto take = [&](DataSession& s) {
    ASSERT_EQ(s.parts().size(), 4u);
    came.clear();
    for (size_t i = 0; i < s.parts().size(); ++i) came.push_back(s.TakePart(i));
    EXPECT_THAT(s.served(), ElementsAre(kIndex, kOther));
  };
  w.Run({}, take);  // no MAC comes
  EXPECT_THAT(w.sent, ElementsAre(Hash{10}, Hash{11}));
  EXPECT_THAT(came, ElementsAre(PartBytes({{}, Hash{10}, 3}), PartBytes({{}, Hash{11}, 6}), Bytes(), Bytes()));
  w.sent.clear();
  w.Run({w.Search()}, take);
  EXPECT_THAT(w.sent, ElementsAre(Hash{10}, Hash{11}));
  w.sent.clear();
  w.index.emplace(IndexOf(w.plan, {2, 5, 1}));
  w.keys.tables = true;
  std::vector<bool> here;
  w.Run({w.Search()}, [&](DataSession& s) {
    for (size_t i = 0; i < s.parts().size(); ++i) here.push_back(s.TakePart(i) == PartBytes(s.parts()[i]));
  });
  EXPECT_THAT(w.sent,
              ElementsAre(Hash{12}, store::TableId(Hash{10}), store::TableId(Hash{11}), store::TableId(Hash{12})));
  EXPECT_THAT(here, testing::Each(true));
  w.sent.clear();
  w.keys.has_index = [](const SessionIndex&) { return true; };  // another session has them in memory
  w.Run({w.Search()});
  EXPECT_THAT(w.sent, IsEmpty());
}

TEST(IndexSetup, APartThatDiffersFromTheWelcomeIsRefused) {
  IndexWorld w;
  ModelHost host = w.IndexHost();
  host.part = [](const SetupPart& part, store::Sink& out) { out.Write(Bytes(part.bytes, 0x77)); };
  EXPECT_TRUE(Fails(Cause::kRefused, "sent other masked weights than its welcome names", [&] {
    w.Session(host, [&](net::Channel& ch) { DataSession(ch, w.data_plan, w.lane[1], w.Dial(), w.keys); });
  }));
  EXPECT_FALSE(w.home[1]->HasSetup({Hash{10}, kIndex}));
}

TEST(IndexSetup, OffersOfAnotherIndexAreRefused) {
  for (const auto change : {+[](IndexOffer& o) { o.plan = kOther; }, +[](IndexOffer& o) { o.number = 2; },
                            +[](IndexOffer& o) { o.number = 0; }}) {
    IndexWorld w;
    ModelHost host = w.IndexHost();
    IndexOffer offer = w.index->offer;
    change(offer);
    host.indexes = {SessionIndex(offer)};
    EXPECT_TRUE(Fails(Cause::kPeer, "offers other indexes than we named", [&] {
      w.Session(host, [&](net::Channel& ch) { DataSession(ch, w.data_plan, w.lane[1], w.Dial(), w.keys); });
    }));
  }
}

TEST(IndexJobs, AJobOfAnIndexThatWasNotNamedIsRefused) {
  IndexWorld w;
  w.data_plan = w.plan;
  w.data_plan.indexes = {};
  w.index.reset();
  ModelHost host = w.Host();
  w.Session(host, [&](net::Channel& ch) {
    SendHello(ch, w.data_plan);
    (void)RecvHello(ch, w.plan);
    (void)RecvWelcome(ch);
    SendLaneRequest(ch, {true, 1, store::kLane, {}});
    SendAnnouncement(ch, {w.Search(), w.plan.task(w.Search())}, {});
    EXPECT_TRUE(Fails(Cause::kRefused, "has other indexes than we name", [&] { (void)RecvChoice(ch); }));
  });
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "announced a job of index 1, which it did not name"));
}

TEST(IndexJobs, AFetchFollowsItsSearchOnce) {
  for (const auto& [jobs, words] :
       std::vector<std::pair<std::vector<int>, std::string>>{{{2}, "a fetch without a search before it"},
                                                             {{0, 2}, "a fetch without a search before it"},
                                                             {{1, 2, 2}, "a fetch after another one"},
                                                             {{1, 0, 2}, "a fetch without a search before it"},
                                                             {{1, 2, 1, 2}, ""}}) {
    IndexWorld w;
    std::vector<store::Job> all;
    for (const int kind : jobs) all.push_back(kind == 2 ? w.Fetch() : kind == 1 ? w.Search() : store::JobOf(4));
    if (words.empty()) {
      w.Run(all);
      continue;
    }
    EXPECT_TRUE(Fails(Cause::kRefused, "refused to fetch documents", [&] { w.Run(all); })) << words;
    EXPECT_TRUE(w.ModelFails(Cause::kRefused, words));
    EXPECT_EQ(w.dealt.size(), all.size() - 1) << "nothing is spent on it";
  }
}

// A fetch is announced during its search, as any next job.
TEST(IndexJobs, AFetchIsAnnouncedDuringItsSearch) {
  IndexWorld w;
  w.Session(w.IndexHost(), [&](net::Channel& ch) {
    DataSession s(ch, w.data_plan, w.lane[1], w.Dial(), w.keys);
    s.Infer(w.Search(), TestRun, w.Fetch());
    s.Infer(w.Fetch(), TestRun, w.Search());
    s.Infer(w.Search(), TestRun);
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  EXPECT_EQ(w.dealt.size(), 3u);
}

TEST(IndexJobs, AFetchHasAsManyDocumentsAsASearchHasHits) {
  IndexWorld w;
  for (const uint32_t count : {kHits - 1, kHits + 1})
    EXPECT_TRUE(Fails(Cause::kInput, Str("the fetch has ", count, " documents; the plan covers 3"), [&] {
      w.Run({w.Search(), w.Fetch(count)});
    }));
}

TEST(IndexBundles, BelongToAList) {
  IndexWorld w;
  std::vector<Hash> used[2];
  const auto run = [&](Inference& inf) {
    used[PartyOf(inf.channel().self().role)].push_back(inf.header().list);
    TestRun(inf);
  };
  w.Session(w.IndexHost(run), [&](net::Channel& ch) {
    DataSession s(ch, w.data_plan, w.lane[1], w.Dial(), w.keys);
    s.Infer(w.Search(), run);
    s.Infer(store::JobOf(4), run);
    s.End();
  });
  EXPECT_THAT(used[0], ElementsAre(w.index->lists->back(), Hash{}));
  EXPECT_EQ(used[0], used[1]);
}

TEST(IndexBundles, StoredOnesServeWithTheirOwnListUntilACompaction) {
  IndexWorld w(3);
  std::vector<Hash> used;
  const auto search = [&] {
    w.Session(w.IndexHost([&](Inference& inf) {
      used.push_back(inf.header().list);
      TestRun(inf);
    }),
              [&](net::Channel& ch) {
                DataSession s(ch, w.data_plan, w.lane[1], w.Dial(), w.keys);
                s.Infer(w.Search(), TestRun);
                s.End();
              });
    EXPECT_FALSE(w.model_error);
  };
  const Hash old = w.index->lists->back();
  search();
  EXPECT_THAT(w.Lists(0), ElementsAre(old, old));
  w.index.emplace(IndexOf(w.plan, {2, 5, 1}));
  search();
  EXPECT_THAT(used, ElementsAre(old, old));
  EXPECT_EQ(w.Lists(0), w.Lists(1));
  EXPECT_THAT(w.Lists(0), ElementsAre(old));
  w.index.emplace(IndexOf(w.plan, {8}, 30));  // compacted
  const Hash now = w.index->lists->back();
  search();
  EXPECT_THAT(used, ElementsAre(old, old, now));
  for (const int p : {0, 1}) EXPECT_THAT(w.Lists(p), ElementsAre(now, now)) << "that of before is burnt, party " << p;
}

TEST(IndexBundles, ASessionEndsAtItsNextSearchAfterACompaction) {
  IndexWorld w;
  w.Session(w.IndexHost(), [&](net::Channel& ch) {
    DataSession s(ch, w.data_plan, w.lane[1], w.Dial(), w.keys);
    s.Infer(w.Search(), TestRun);
    w.index.emplace(IndexOf(w.plan, {8}, 30));
    s.Infer(store::JobOf(4), TestRun);  // embeddings go on
    EXPECT_TRUE(
        Fails(Cause::kPeer, "compacted its index after our session had begun", [&] { s.Infer(w.Search(), TestRun); }));
    EXPECT_TRUE(s.unspent());
  });
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "the index was compacted since the session of the data owner began"));
  EXPECT_EQ(w.dealt.size(), 2u);
}

TEST(IndexBundles, AnnouncedBeforeACompactionAreNotUsedAfterIt) {
  IndexWorld w;
  w.Session(w.IndexHost(), [&](net::Channel& ch) {
    DataSession s(ch, w.data_plan, w.lane[1], w.Dial(), w.keys);
    const auto compacts = [&](Inference& inf) {
      TestRun(inf);
      const std::lock_guard l(w.compaction);
      w.index.emplace(IndexOf(w.plan, {8}, 30));
    };
    s.Infer(w.Search(), compacts, w.Search());
    EXPECT_TRUE(Fails(Cause::kPeer, "compacted its index", [&] { s.Infer(w.Search(), TestRun); }));
  });
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "the index was compacted"));
}

// The masks of scores contain the mask of every row, so a bundle of one list must not serve another.
TEST(IndexDealer, RefusesListsThatDiffer) {
  const auto deal = [](const std::function<void(FetchArgs & model, FetchArgs & data)>& change) {
    IndexWorld w(1, net::Millis{300});  // a party that is refused leaves the other one alone
    const auto args = [&](int p) {
      FetchArgs a{.job = w.Search(), .weights = Hash{77}, .partner = kId[1 - p].key};
      a.indexes = w.plan.indexes;
      a.list = w.index->lists->back();
      return a;
    };
    FetchArgs model = args(0), data = args(1);
    model.b_seed = Share(Secret(Hash{5}));
    model.index = {Share(Secret(Hash{6})), kIndex, w.index->segments};
    change(model, data);
    std::exception_ptr error[2];
    const auto fetch = [&](int p, const FetchArgs& a) {
      try {
        auto ch = w.Link(p ? Role::kData : Role::kModel);
        (void)Fetch(*ch, w.plan, *w.lane[p], a);
      } catch (...) {
        error[p] = std::current_exception();
      }
    };
    std::thread t([&] { fetch(0, model); });
    fetch(1, data);
    t.join();
    w.Join();
    std::string said;
    for (const Error& e : w.dealer_errors) said += Str(e.what(), "\n");
    for (const int p : {0, 1}) EXPECT_EQ(bool(error[p]), !w.dealer_errors.empty()) << "party " << p << " " << said;
    return said;
  };
  using testing::HasSubstr;
  EXPECT_EQ(deal([](FetchArgs&, FetchArgs&) {}), "");
  EXPECT_THAT(deal([](FetchArgs&, FetchArgs& data) { data.list = Hash{1}; }),
              HasSubstr("hold different lists of the index's segments"));
  EXPECT_THAT(deal([](FetchArgs& model, FetchArgs&) { model.index.segments.pop_back(); }),
              HasSubstr("with 1 segments, which are not those of its list"));
  EXPECT_THAT(deal([](FetchArgs& model, FetchArgs& data) {
                model.index.segments[1].rows = 99;
                model.list = data.list = store::ListHashes(kIndex, model.index.segments).back();
              }),
              HasSubstr("with 2 segments, which have more rows than it"));
  EXPECT_THAT(deal([](FetchArgs& model, FetchArgs&) {
                model.index.segments.resize(1025, {Hash{}, 1});
              }),
              HasSubstr("names 1025 segments of an index with its request; at most 1024"));
  EXPECT_THAT(deal([](FetchArgs&, FetchArgs& data) { data.index.segments.resize(1); }),
              HasSubstr("names 1 segments of an index with its request; at most 0"));
  EXPECT_THAT(deal([](FetchArgs& model, FetchArgs&) { model.indexes.pop_back(); }), HasSubstr("has no index="));
}

}  // namespace
}  // namespace suf::proto
