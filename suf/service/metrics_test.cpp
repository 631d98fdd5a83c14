#include "suf/service/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <thread>

#include "suf/base/role.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/service/metrics_text_test.hpp"

namespace suf::service {
namespace {

// Returns the name of a series at P0.
std::string AtP0(const std::string& name, const std::string& labels = "") {
  return name + "{process=\"p\",role=\"model\"" + (labels.empty() ? "" : "," + labels) + "}";
}
std::string OfOwner(const std::string& name, const std::string& owner) { return AtP0(name, "owner=\"" + owner + "\""); }
std::string OfOutcome(const std::string& owner, const std::string& outcome) {
  return AtP0("suf_inferences_total", "owner=\"" + owner + "\",outcome=\"" + outcome + "\"");
}

TEST(Metrics, HaveTheValuesOfAScript) {
  Metrics metrics(Role::kModel, "1.2.3");
  metrics.SetOwners({"bob", "ann"});
  metrics.Ended("ann", {.texts = 3,
                        .tokens = 96,
                        .searches = 2,
                        .waited_s = 0.25,
                        .duration_s = 1.5,
                        .bytes_sent = 1000,
                        .bytes_received = 300});
  metrics.Ended("ann", {.tokens = 7, .waited_s = 0.5, .duration_s = 0.5, .bytes_sent = 10, .bytes_received = 3});
  metrics.Ended(
      "bob",
      {.outcome = JobOutcome::kBroken, .texts = 2, .tokens = 10, .waited_s = 0.25, .duration_s = 9, .bytes_sent = 1});
  metrics.Ended("bob", {.outcome = JobOutcome::kRefused,
                        .texts = 5,
                        .tokens = 50,
                        .searches = 5,
                        .waited_s = 3,
                        .duration_s = 4,
                        .bytes_sent = 5,
                        .bytes_received = 6});
  metrics.CountRefusal(net::Refusal::kBusy, Role::kModel);
  metrics.CountRefusal(net::Refusal::kBusy, Role::kModel);
  metrics.CountRefusal(net::Refusal::kNoPartner, Role::kDealer);
  metrics.CountBundles(BundleFate::kDealt, 4);
  metrics.CountBundles(BundleFate::kUsed);
  metrics.CountBundles(BundleFate::kBurnt, 2);
  metrics.CountBytes(100, 200);
  metrics.SetRoundTrip(0.5);
  metrics.SetRoundTrip(0.25);

  const MetricsText text = ReadMetrics(metrics);
  EXPECT_EQ(text.Of(AtP0("suf_build_info", "version=\"1.2.3\"")), 1);
  EXPECT_EQ(text.Of(OfOutcome("ann", "done")), 2);
  EXPECT_EQ(text.Of(OfOutcome("ann", "broken")), 0);
  EXPECT_EQ(text.Of(OfOutcome("ann", "refused")), 0);
  EXPECT_EQ(text.Of(OfOwner("suf_texts_total", "ann")), 4);
  EXPECT_EQ(text.Of(OfOwner("suf_tokens_total", "ann")), 103);
  EXPECT_EQ(text.Of(OfOwner("suf_searches_total", "ann")), 2);
  EXPECT_EQ(text.Of(OfOwner("suf_searches_total", "bob")), 0);
  EXPECT_EQ(text.Of(OfOutcome("bob", "done")), 0);
  EXPECT_EQ(text.Of(OfOutcome("bob", "broken")), 1);
  EXPECT_EQ(text.Of(OfOutcome("bob", "refused")), 1);
  EXPECT_EQ(text.Of(OfOwner("suf_texts_total", "bob")), 2);
  EXPECT_EQ(text.Of(OfOwner("suf_tokens_total", "bob")), 10);
  EXPECT_EQ(text.Of(AtP0("suf_inference_seconds_count")), 2);
  EXPECT_EQ(text.Of(AtP0("suf_inference_seconds_sum")), 2);
  EXPECT_EQ(text.Of(AtP0("suf_turn_wait_seconds_count")), 3);
  EXPECT_EQ(text.Of(AtP0("suf_turn_wait_seconds_sum")), 1);
  EXPECT_EQ(text.Of(AtP0("suf_sent_bytes_total")), 1111);
  EXPECT_EQ(text.Of(AtP0("suf_received_bytes_total")), 503);
  EXPECT_EQ(text.Of(AtP0("suf_refusals_total", "by=\"model\",reason=\"busy\"")), 2);
  EXPECT_EQ(text.Of(AtP0("suf_refusals_total", "by=\"model\",reason=\"pin\"")), 0);
  EXPECT_EQ(text.Of(AtP0("suf_refusals_total", "by=\"dealer\",reason=\"no-partner\"")), 1);
  EXPECT_EQ(text.Count("suf_refusals_total{process=\"p\",role=\"model\",by=\"dealer\""), 1u);
  EXPECT_EQ(text.Of(AtP0("suf_bundles_total", "fate=\"dealt\"")), 4);
  EXPECT_EQ(text.Of(AtP0("suf_bundles_total", "fate=\"used\"")), 1);
  EXPECT_EQ(text.Of(AtP0("suf_bundles_total", "fate=\"burnt\"")), 2);
  EXPECT_EQ(text.Of(AtP0("suf_peer_round_trip_seconds")), 0.25);
  EXPECT_GT(text.Of(AtP0("suf_resident_memory_bytes")), 1e6);
  EXPECT_GT(text.Of(AtP0("suf_start_time_seconds")), 1.7e9);
}

TEST(Metrics, HaveTheBucketsOfTheirTimes) {
  Metrics metrics(Role::kModel, "v");
  for (const double s : {-1.0, 0.005, 0.006, 100.0, 101.0}) metrics.Ended("", {.waited_s = s, .duration_s = s});
  const MetricsText text = ReadMetrics(metrics);
  for (const std::string name : {"suf_inference_seconds", "suf_turn_wait_seconds"}) {
    EXPECT_EQ(text.Of(AtP0(name + "_bucket", "le=\"0.005\"")), 2);
    EXPECT_EQ(text.Of(AtP0(name + "_bucket", "le=\"0.01\"")), 3);
    EXPECT_EQ(text.Of(AtP0(name + "_bucket", "le=\"50\"")), 3);
    EXPECT_EQ(text.Of(AtP0(name + "_bucket", "le=\"100\"")), 4);
    EXPECT_EQ(text.Of(AtP0(name + "_bucket", "le=\"+Inf\"")), 5);
    EXPECT_DOUBLE_EQ(text.Of(AtP0(name + "_sum")), 201.011);
  }
}

TEST(Metrics, GiveEachRoleItsFamilies) {
  Metrics dealer(Role::kDealer, "v"), data(Role::kData, "v");
  dealer.Dealt(2, 0.5);
  dealer.CountBundles(BundleFate::kUsed);
  MetricsText text = ReadMetrics(dealer);
  const std::string of_dealer = "{process=\"p\",role=\"dealer\"";
  EXPECT_EQ(text.Of("suf_deal_seconds_sum" + of_dealer + "}"), 0.5);
  EXPECT_EQ(text.Of("suf_turn_wait_seconds_sum" + of_dealer + "}"), 2);
  EXPECT_EQ(text.Of("suf_bundles_total" + of_dealer + ",fate=\"dealt\"}"), 1);
  EXPECT_EQ(text.Of("suf_bundles_total" + of_dealer + ",fate=\"used\"}"), 1);
  for (const char* none : {"suf_inferences_total", "suf_inference_seconds", "suf_peer_round_trip_seconds"})
    EXPECT_FALSE(text.types.count(none)) << none;
  EXPECT_THROW(dealer.Ended("", {}), Bug);

  data.Ended("ann", {.texts = 2});
  text = ReadMetrics(data);
  EXPECT_EQ(text.Of("suf_inferences_total{process=\"p\",role=\"data\",outcome=\"done\"}"), 1);
  EXPECT_EQ(text.Of("suf_texts_total{process=\"p\",role=\"data\"}"), 2);
  EXPECT_FALSE(text.types.count("suf_deal_seconds"));
  EXPECT_EQ(TextOf(data).find("owner="), std::string::npos);
  EXPECT_EQ(text.Count("suf_peer_round_trip_seconds"), 0u);  // not measured yet
  EXPECT_THROW(data.SetOwners({"ann"}), Bug);
  EXPECT_THROW(data.Dealt(0, 0), Bug);
}

// Families of a role need the same help as those of another, because node_exporter joins them by name.
TEST(Metrics, HaveOneHelpForAllRoles) {
  std::map<std::string, std::string> help;
  for (const Role role : {Role::kModel, Role::kData, Role::kDealer})
    for (const auto& [name, sentence] : ReadMetrics(Metrics(role, "v")).help)
      EXPECT_EQ(help.emplace(name, sentence).first->second, sentence);
  EXPECT_EQ(help.size(), 17u);
}

TEST(Metrics, GiveUnlistedOwnersOneLabel) {
  Metrics metrics(Role::kModel, "v");
  metrics.Ended("ann", {});
  EXPECT_EQ(ReadMetrics(metrics).Of(OfOutcome("unlisted", "done")), 1);
  metrics.SetOwners({"ann", "unlisted", "zoe"});
  for (const char* name : {"", "an", "anna", "unlisted", "data=00"}) metrics.Ended(name, {});
  metrics.Ended("ann", {});
  const MetricsText text = ReadMetrics(metrics);
  EXPECT_EQ(text.Of(OfOutcome("unlisted", "done")), 6);
  EXPECT_EQ(text.Of(OfOutcome("ann", "done")), 1);
  EXPECT_EQ(text.Count("suf_inferences_total"), 6u);  // zoe has none yet
}

TEST(Metrics, FollowTheListOfOwners) {
  Metrics metrics(Role::kModel, "v");
  metrics.SetOwners({"ann", "bob"});
  metrics.Ended("ann", {});
  metrics.Ended("bob", {});
  metrics.SetOwners({"cid", "bob"});
  metrics.Ended("ann", {});
  metrics.Ended("bob", {});
  metrics.Ended("cid", {});
  MetricsText text = ReadMetrics(metrics);
  EXPECT_EQ(text.Count("suf_inferences_total"), 9u);
  EXPECT_EQ(text.Of(OfOutcome("bob", "done")), 2);
  EXPECT_EQ(text.Of(OfOutcome("cid", "done")), 1);
  EXPECT_EQ(text.Of(OfOutcome("unlisted", "done")), 1);
  metrics.SetOwners({"ann"});
  metrics.Ended("ann", {.outcome = JobOutcome::kBroken});
  text = ReadMetrics(metrics);
  EXPECT_EQ(text.Of(OfOutcome("ann", "done")), 0);
  EXPECT_EQ(text.Of(OfOutcome("ann", "broken")), 1);
}

TEST(Metrics, EscapeTheirLabels) {
  Metrics metrics(Role::kModel, "1\n2");
  metrics.SetOwners({"quote\"d", "back\\slash", "new\nline", "\xff", "A \xc3\xa9", "twice\xff", "twice\\xff"});
  for (const char* name : {"quote\"d", "back\\slash", "new\nline", "\xff", "A \xc3\xa9", "twice\xff", "twice\\xff"})
    metrics.Ended(name, {});
  std::string text;
  metrics.Write("a\"\nb", [&](std::string_view piece) { text += piece; });
  const auto of = [](const std::string& label) {
    return "suf_texts_total{process=\"a\\\"\\\\nb\",role=\"model\",owner=\"" + label + "\"} 1\n";
  };
  for (const char* label : {"quote\\\"d", "back\\\\slash", "new\\\\nline", "\\\\xff", "A \xc3\xa9"})
    EXPECT_NE(text.find(of(label)), std::string::npos) << label;
  EXPECT_NE(text.find("owner=\"twice\\\\xff\"} 2\n"), std::string::npos) << "one label is not one series";
  EXPECT_NE(text.find("version=\"1\\\\n2\"} 1\n"), std::string::npos);
  EXPECT_NO_THROW(ReadMetrics(text));
}

TEST(Metrics, LabelEveryRefusal) {
  Metrics metrics(Role::kModel, "v");
  size_t known = 0;
  for (int code = 0; code < 1000; ++code)
    if (const auto error = net::Refused(Role::kModel, uint16_t(code)); int(error.code()) == code) {
      metrics.CountRefusal(error.code(), Role::kModel);
      ++known;
    }
  EXPECT_GE(known, 31u);
  size_t labels = 0;
  for (const auto& [name, value] : ReadMetrics(metrics).series)
    if (name.starts_with("suf_refusals_total")) {
      EXPECT_EQ(value, 1) << name;
      ++labels;
    }
  EXPECT_EQ(labels, known) << "give the new refusals their labels";
}

TEST(Metrics, CountPresentStates) {
  Metrics metrics(Role::kModel, "v");
  const auto now = [&] {
    const MetricsText text = ReadMetrics(metrics);
    return std::pair(text.Of(AtP0("suf_inferences_waiting")), text.Of(AtP0("suf_inferences_running")));
  };
  std::optional<StateMark> mark = metrics.Enter(InferenceState::kWaiting);
  EXPECT_EQ(now(), std::pair(1.0, 0.0));
  mark = metrics.Enter(InferenceState::kRunning);
  EXPECT_EQ(now(), std::pair(0.0, 1.0));
  {
    const StateMark moved = std::move(*mark), other = metrics.Enter(InferenceState::kWaiting);
    mark.reset();
    EXPECT_EQ(now(), std::pair(1.0, 1.0));
  }
  EXPECT_EQ(now(), std::pair(0.0, 0.0));
}

// Families of thousands of series are written in pieces, each with one head.
TEST(Metrics, WriteManyOwnersInPieces) {
  Metrics metrics(Role::kModel, "v");
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i) names.push_back(Str("owner ", i));
  metrics.SetOwners(names);
  for (int i = 0; i < 2000; ++i) metrics.Ended(names[size_t(i)], {.tokens = uint64_t(i)});
  size_t pieces = 0, largest = 0;
  std::string text;
  metrics.Write("p", [&](std::string_view piece) {
    text += piece;
    largest = std::max(largest, piece.size());
    ++pieces;
  });
  EXPECT_GT(pieces, 20u);
  EXPECT_LT(largest, 100'000u);
  const MetricsText read = ReadMetrics(text);
  EXPECT_EQ(read.Count("suf_inferences_total"), 6003u);
  EXPECT_EQ(read.Count("suf_texts_total"), 2001u);
  EXPECT_EQ(read.Of(OfOwner("suf_tokens_total", "owner 1999")), 1999);
}

// Every call can be made in the middle of a write, in its own thread. One that waited for the write would never end.
TEST(Metrics, HoldNoLockWhileTheyWrite) {
  Metrics metrics(Role::kModel, "v");
  metrics.SetOwners({"ann"});
  size_t pieces = 0;
  metrics.Write("p", [&](std::string_view) {
    metrics.Ended("ann", {});
    metrics.Ended("bob", {});
    metrics.CountRefusal(net::Refusal::kPin, Role::kDealer);
    metrics.CountBundles(BundleFate::kUsed);
    const StateMark mark = metrics.Enter(InferenceState::kRunning);
    metrics.SetRoundTrip(1);
    metrics.SetOwners(pieces++ % 2 ? std::vector<std::string>{"ann"} : std::vector<std::string>{"ann", "bob"});
    (void)TextOf(metrics);
  });
  EXPECT_GT(pieces, 5u);
  EXPECT_EQ(ReadMetrics(metrics).Of(OfOutcome("ann", "done")), double(pieces));
}

TEST(Metrics, LoseNothingAmongThreads) {
  constexpr int kThreads = 4, kEach = 500;
  Metrics metrics(Role::kModel, "v");
  metrics.SetOwners({"ann", "bob"});
  std::jthread others([&](const std::stop_token& stop) {
    for (bool both = true; !stop.stop_requested(); both = !both) {
      metrics.SetOwners(both ? std::vector<std::string>{"ann", "bob", "cid"} : std::vector<std::string>{"ann", "bob"});
      (void)ReadMetrics(metrics);
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const StateMark mark = metrics.Enter(InferenceState::kRunning);
        metrics.Ended(t % 2 ? "ann" : "bob", {.texts = 2, .duration_s = 1, .bytes_sent = 3});
        metrics.CountRefusal(net::Refusal::kIdle, Role::kData);
      }
    });
  for (std::thread& t : threads) t.join();
  others.request_stop();
  others.join();
  const MetricsText text = ReadMetrics(metrics);
  EXPECT_EQ(text.Of(OfOutcome("ann", "done")) + text.Of(OfOutcome("bob", "done")), kThreads * kEach);
  EXPECT_EQ(text.Of(OfOwner("suf_texts_total", "ann")), kThreads * kEach);
  EXPECT_EQ(text.Of(AtP0("suf_inference_seconds_count")), kThreads * kEach);
  EXPECT_EQ(text.Of(AtP0("suf_sent_bytes_total")), 3.0 * kThreads * kEach);
  EXPECT_EQ(text.Of(AtP0("suf_refusals_total", "by=\"data\",reason=\"idle\"")), kThreads * kEach);
  EXPECT_EQ(text.Of(AtP0("suf_inferences_running")), 0);
}

}  // namespace
}  // namespace suf::service
