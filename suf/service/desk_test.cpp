#include "suf/service/desk.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "suf/net/credentials.hpp"
#include "suf/proto/turns.hpp"
#include "suf/service/log_test.hpp"
#include "suf/service/metrics_text_test.hpp"
#include "suf/service/sqlite_counts.hpp"

namespace suf::service {
namespace {

using namespace std::chrono_literals;

Hash DeskKey(int i) { return HashOf({AsView(Str("desk ", i))}); }
std::string DeskEntry(const std::string& name, std::vector<int> keys, const std::string& lines = "") {
  std::string text = Str("[[owner]]\nname = \"", name, "\"\nkeys = [");
  for (const int k : keys) text += Str('"', net::Fingerprint({Role::kData, DeskKey(k)}), "\", ");
  return text + "]\n" + lines + "\n";
}

// A desk with counters, a log and metrics at noon of a day.
struct DeskWorld {
  explicit DeskWorld(const std::string& toml, const std::string& disk = kFastDisk)
      : dir(disk),
        counts(dir.path, [this] { return now; }),
        log(dir / "log", StillOptions()),
        metrics(Role::kModel, "test"),
        desk({.owners = ListOf(toml),
              .counts = &counts,
              .log = &log,
              .metrics = &metrics,
              .plan = Hash{3},
              .clock = [this] { return now; }}) {
    metrics.SetOwners({"ann", "bob"});
    desk.SetWeights(Hash{4});
  }
  std::shared_ptr<const OwnerList> ListOf(const std::string& toml) const {
    return std::make_shared<const OwnerList>(OwnerList::Parse(toml, "F", now));
  }
  std::unique_ptr<proto::JobTicket> Begin(int key, uint32_t tokens = 4, uint32_t texts = 1, uint32_t entry = 0) {
    store::Job job = store::JobOf(tokens, 0, texts);
    job.entry = entry;
    return desk.Begin({DeskKey(key), store::LaneId{2}, job, 250});
  }
  // Returns the reason for which f is denied; nothing if it is not.
  static std::optional<net::Refusal> Denial(const std::function<void()>& f, uint32_t* retry_s = nullptr) {
    try {
      f();
    } catch (const proto::DenialError& e) {
      if (retry_s) *retry_s = e.retry_s();
      EXPECT_EQ(e.cause(), Cause::kRefused);
      return e.code();
    }
    return std::nullopt;
  }
  std::string Text() const {
    std::string text;
    metrics.Write("p", [&](std::string_view piece) { text += piece; });
    return text;
  }
  Instant now = Day(2026y / 11 / 28) + 12h;
  Scratch dir;
  SqliteCounts counts;
  JobLog log;
  Metrics metrics;
  OwnerDesk desk;
};

TEST(OwnerDesk, ServesListedOwnersUntilTheirLastDay) {
  DeskWorld w(DeskEntry("ann", {1}, "until = 2026-11-28") + DeskEntry("bob", {2}));
  for (const int key : {1, 2}) EXPECT_FALSE(w.Denial([&] { w.desk.Check(DeskKey(key)); }));
  EXPECT_EQ(w.Denial([&] { w.desk.Check(DeskKey(3)); }), net::Refusal::kUnlisted);
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(3); }), net::Refusal::kUnlisted);
  w.now += 12h;
  EXPECT_EQ(w.Denial([&] { w.desk.Check(DeskKey(1)); }), net::Refusal::kExpired);
  EXPECT_EQ(w.Denial([&] { (void)w.desk.Admit(DeskKey(1)); }), net::Refusal::kExpired);
  EXPECT_FALSE(w.Denial([&] { w.desk.Check(DeskKey(2)); }));
  w.desk.SetOwners(w.ListOf(DeskEntry("ann", {1, 3})));
  EXPECT_EQ(w.Denial([&] { w.desk.Check(DeskKey(2)); }), net::Refusal::kUnlisted);
  for (const int key : {1, 3}) EXPECT_FALSE(w.Denial([&] { w.desk.Check(DeskKey(key)); }));
}

// Limits are an owner's, whichever of its keys it uses.
TEST(OwnerDesk, CountsSessionsAndTurnsOfAllKeysOfAnOwner) {
  DeskWorld w(DeskEntry("ann", {1, 2}, "lanes = 2\nat_once = 3") + DeskEntry("bob", {3}));
  auto one = w.desk.Admit(DeskKey(1));
  const auto two = w.desk.Admit(DeskKey(2));
  EXPECT_EQ(w.Denial([&] { (void)w.desk.Admit(DeskKey(1)); }), net::Refusal::kSessions);
  EXPECT_FALSE(w.Denial([&] { (void)w.desk.Admit(DeskKey(3)); }));
  one.reset();
  EXPECT_FALSE(w.Denial([&] { (void)w.desk.Admit(DeskKey(2)); }));
  const proto::TurnGroup a = w.desk.GroupOf(DeskKey(1)), b = w.desk.GroupOf(DeskKey(2)), c = w.desk.GroupOf(DeskKey(3));
  EXPECT_EQ(a.id, b.id);
  EXPECT_NE(a.id, c.id);
  EXPECT_EQ(a.at_once, 3);
  EXPECT_EQ(c.at_once, proto::Turns::kNoLimit);
  EXPECT_EQ(w.desk.GroupOf(DeskKey(9)).at_once, 1) << "a removed owner's job may run";
}

TEST(OwnerDesk, AJobCountsFromItsTurnUnlessItDoesNotBegin) {
  DeskWorld w(DeskEntry("ann", {1, 2}, "texts = 10\ntokens = 60"));
  auto first = w.Begin(1, 5, 4);  // 4 texts, 20 tokens
  EXPECT_EQ(w.counts.Today("ann"), (Amount{4, 20}));
  first->Claim(7, false);
  first.reset();  // it broke
  EXPECT_EQ(w.counts.Today("ann"), (Amount{4, 20}));
  auto second = w.Begin(2, 5, 6);
  uint32_t retry_s = 0;
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(1); }, &retry_s), net::Refusal::kQuota);
  EXPECT_EQ(retry_s, 12u * 3600);
  second.reset();  // it did not begin
  EXPECT_EQ(w.counts.Today("ann"), (Amount{4, 20}));
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(1, 41, 1); }), net::Refusal::kQuota);
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(1, 61, 1); }, &retry_s), net::Refusal::kQuota);
  EXPECT_EQ(retry_s, 0u) << "no day admits 61 tokens";
  w.now += 12h;
  EXPECT_FALSE(w.Denial([&] { (void)w.Begin(1, 60, 1); }));
}

// A search counts its texts and tokens as well. A fetch counts nothing, and no quota holds it up.
TEST(OwnerDesk, ASearchCountsAsATextToo) {
  constexpr uint32_t kSearch = store::SearchEntry(1), kFetch = store::FetchEntry(1);
  DeskWorld w(DeskEntry("ann", {1}, "texts = 5\nsearches = 2") + DeskEntry("bob", {2}, "searches = 1"));
  w.Begin(1, 5, 1, kSearch)->Claim(1, false);
  EXPECT_EQ(w.counts.Today("ann"), (Amount{1, 5, 1}));
  auto second = w.Begin(1, 5, 1, kSearch);
  w.Begin(1, 10, 1, kFetch)->Claim(2, false);
  EXPECT_EQ(w.counts.Today("ann"), (Amount{2, 10, 2}));
  const auto sentence = [&](uint32_t texts, uint32_t entry) -> std::string {
    try {
      (void)w.Begin(1, 5, texts, entry);
    } catch (const proto::DenialError& e) {
      EXPECT_EQ(e.code(), net::Refusal::kQuota);
      return e.what();
    }
    return {};
  };
  EXPECT_EQ(sentence(1, kSearch),
            "the quota of the data owner ann (5 texts, 2 searches a day) does not admit 1 further search of 5 tokens "
            "today; list a higher one, or let it wait 43200 s for the next day");
  EXPECT_EQ(sentence(3, kSearch),
            "the quota of the data owner ann (5 texts, 2 searches a day) does not admit 3 further searches of 5 tokens "
            "today; list a higher one, or let it bring fewer at once");
  second.reset();  // it did not begin
  EXPECT_EQ(w.counts.Today("ann"), (Amount{1, 5, 1}));
  second = w.Begin(1, 5, 1, kSearch);
  EXPECT_EQ(sentence(1, 0), "");
  EXPECT_EQ(sentence(4, 0),
            "the quota of the data owner ann (5 texts, 2 searches a day) does not admit 4 further texts of 5 tokens "
            "today; list a higher one, or let it wait 43200 s for the next day");
  w.desk.SetOwners(w.ListOf(DeskEntry("ann", {1}, "texts = 1\nsearches = 1")));
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(1, 10, 1, kFetch); }), std::nullopt) << "its search has been counted";
  w.desk.SetOwners(w.ListOf(DeskEntry("bob", {2}, "searches = 1")));
  w.Begin(2, 5, 1, kSearch)->Claim(3, false);
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(2, 5, 1, kSearch); }), net::Refusal::kQuota);
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(2, 5, 9); }), std::nullopt) << "a quota of searches limits no texts";
  w.now += 12h;
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(2, 5, 1, kSearch); }), std::nullopt);
}

// Eight threads run 200 jobs against a quota of 100.
TEST(OwnerDesk, AQuotaHoldsForJobsSideBySide) {
  DeskWorld w(DeskEntry("ann", {1, 2, 3, 4, 5, 6, 7, 8}, "texts = 100"));
  std::atomic<int> ran{0}, denied{0};
  {
    std::vector<std::jthread> threads;
    for (int key = 1; key <= 8; ++key)
      threads.emplace_back([&, key] {
        for (int i = 0; i < 25; ++i) try {
            const auto ticket = w.Begin(key);
            if (i % 5 == 4) continue;  // it does not begin
            ticket->Claim(uint64_t(i), false);
            ticket->Done({});
            ++ran;
          } catch (const proto::DenialError&) {
            ++denied;
          }
      });
  }
  for (;;) try {  // jobs that did not begin may have held up others
      const auto ticket = w.Begin(1);
      ticket->Claim(1, false);
      ++ran;
    } catch (const proto::DenialError&) {
      break;
    }
  EXPECT_EQ(ran, 100);
  EXPECT_GT(denied, 0);
  EXPECT_EQ(w.counts.Today("ann").texts, 100u);
}

TEST(OwnerDesk, RecordsEachOutcomeInLogAndMetrics) {
  DeskWorld w(DeskEntry("ann", {1}, "texts = 3") + DeskEntry("bob", {2}));
  {
    auto done = w.Begin(1, 5, 2), broken = w.Begin(2);
    done->Claim(7, false);
    broken->Claim(8, true);
    EXPECT_THAT(w.Text(), testing::HasSubstr("suf_inferences_running"));
    done->Done({1500, 100, 200});
  }
  (void)w.Begin(1);  // it does not begin
  const store::Job job = store::JobOf(5, 0, 2);
  EXPECT_EQ(w.Denial([&] { (void)w.Begin(1, 5, 2); }), net::Refusal::kQuota);
  w.desk.Refused(DeskKey(1), job, net::Refusal::kQuota);
  w.desk.Refused(DeskKey(9), {}, net::Refusal::kUnlisted);
  w.log.Close();
  std::vector<nlohmann::json> lines;
  for (const std::string& line : LinesOf(TextOfFile(w.dir / "log"))) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 4u);
  const auto has = [&](size_t i, const std::string& owner, const std::string& outcome, int serial) {
    EXPECT_EQ(lines[i].at("owner"), owner);
    EXPECT_EQ(lines[i].at("outcome"), outcome);
    EXPECT_EQ(lines[i].value("serial", 0), serial);
  };
  has(0, "ann", "done", 7);
  has(1, "bob", "broken", 8);
  has(2, "ann", "refused", 0);
  has(3, "unlisted", "refused", 0);
  EXPECT_EQ(CheckLogs({w.dir / "log"}).fault_count, 0u);
  const MetricsText text = ReadMetrics(w.Text());
  const auto ended = [&](const std::string& owner, const std::string& outcome) {
    return text.Of(
        Str("suf_inferences_total{process=\"p\",role=\"model\",owner=\"", owner, "\",outcome=\"", outcome, "\"}"));
  };
  EXPECT_EQ(ended("ann", "done"), 1);
  EXPECT_EQ(ended("bob", "broken"), 1);
  EXPECT_EQ(ended("ann", "refused"), 1);
}

TEST(OwnerDesk, RecordsSearchesAndFetches) {
  DeskWorld w(DeskEntry("ann", {1}));
  for (const uint32_t entry : {0u, store::SearchEntry(2), store::FetchEntry(2)}) {
    const auto ticket = w.Begin(1, 5, 1, entry);
    ticket->Claim(entry, false);
    ticket->Done({});
  }
  w.log.Close();
  std::vector<int> entries;
  for (const std::string& line : LinesOf(TextOfFile(w.dir / "log")))
    entries.push_back(nlohmann::json::parse(line).at("job").value("entry", 0));
  EXPECT_EQ(entries, (std::vector<int>{0, 3, 4}));
  const MetricsText text = ReadMetrics(w.Text());
  const auto of_ann = [&](const std::string& name) {
    return text.Of(Str(name, "{process=\"p\",role=\"model\",owner=\"ann\"}"));
  };
  EXPECT_EQ(of_ann("suf_texts_total"), 2);
  EXPECT_EQ(of_ann("suf_tokens_total"), 10);
  EXPECT_EQ(of_ann("suf_searches_total"), 1);
  EXPECT_EQ(text.Of("suf_inferences_total{process=\"p\",role=\"model\",owner=\"ann\",outcome=\"done\"}"), 3);
}

// A process was killed during a run. The next one knows the serial, and neither job nor plan.
TEST(OwnerDesk, AddsBurntClaimsToTheLog) {
  DeskWorld w(DeskEntry("ann", {1}));
  w.desk.AddBurnt({{DeskKey(1), store::LaneId{2}, 7}, {DeskKey(9), store::LaneId{3}, 8}});
  w.log.Close();
  std::vector<nlohmann::json> lines;
  for (const std::string& line : LinesOf(TextOfFile(w.dir / "log"))) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(lines[i].at("owner"), i ? "unlisted" : "ann");
    EXPECT_EQ(lines[i].at("data_owner"), Hex(DeskKey(i ? 9 : 1)));
    EXPECT_EQ(lines[i].at("lane"), Hex(store::LaneId{uint8_t(2 + i)}));
    EXPECT_EQ(lines[i].at("serial"), 7 + i);
    EXPECT_EQ(lines[i].at("outcome"), "broken");
    for (const char* absent : {"job", "plan", "weights"}) EXPECT_FALSE(lines[i].contains(absent)) << absent;
  }
  EXPECT_EQ(CheckLogs({w.dir / "log"}).fault_count, 0u);
}

// Without a list everybody is served, and still recorded.
TEST(OwnerDesk, WithoutAListItRecordsAlone) {
  Scratch dir(kFastDisk);
  JobLog log(dir / "log", StillOptions());
  OwnerDesk desk({.log = &log});
  desk.Check(DeskKey(1));
  EXPECT_FALSE(desk.Admit(DeskKey(1)));
  EXPECT_EQ(desk.GroupOf(DeskKey(1)).id, DeskKey(1));
  const auto ticket = desk.Begin({DeskKey(1), store::LaneId{2}, store::JobOf(4), 0});
  ticket->Claim(1, false);
  ticket->Done({});
  EXPECT_EQ(desk.Wait(DeskKey(1)), nullptr);
  EXPECT_THAT(TextOfFile(dir / "log"), testing::HasSubstr("\"unlisted\""));
}

}  // namespace
}  // namespace suf::service
