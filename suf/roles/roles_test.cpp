// The roles by their public interface, over channels in one process, on a random model from disk. Results, costs,
// events, and every error that this module can throw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/model/random.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/nn/plan/join_test.hpp"
#include "suf/reference/clear.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/roles/data_owner.hpp"
#include "suf/roles/estimate.hpp"
#include "suf/roles/files.hpp"
#include "suf/roles/links_test.hpp"
#include "suf/roles/model_owner.hpp"
#include "suf/roles/simulator.hpp"
#include "suf/run/deal.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::roles {
namespace {

using testing::HasSubstr;

constexpr int kLongest = 16;

std::vector<std::string> Lines(const char* file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A tiny model on disk with its plan, made once.
struct Files {
  Files() {
    model::WriteRandomModel(dir / "model", model::FindPreset("tiny"), 1);
    model.emplace(dir / "model");
    plan = Compiler(*model, kLongest).Compile(Lines("tests/data/calibrate.txt"), {}, [&](double done, auto&) {
      EXPECT_TRUE(done >= 0 && done <= 1);
      ++reports;
    });
    std::ofstream(dir / "plan.json") << nn::Serialize(plan);
    tokenizer.emplace(LoadTokenizer(vocabulary(), plan));
  }
  std::string vocabulary() const { return dir / "model/vocab.txt"; }
  Scratch dir;
  std::optional<Model> model;
  nn::Plan plan;
  std::optional<model::Tokenizer> tokenizer;
  int reports = 0;
};
const Files& Made() {
  static const Files files;
  return files;
}

// Three roles; each conversation has a thread and a channel in memory. The dealer runs on the reference backend.
class World {
 public:
  explicit World(DataOwner::Options data = {}, ModelOwner::Options model = {}, const nn::Plan& plan = Made().plan)
      : engine{{plan, *clear}, {plan, *packed}, {plan, *packed}} {
    Dealer::Options options;
    options.service.partner_wait = net::Millis{20'000};
    options.service.ahead = store::JobOf(5);
    options.service.ahead_count = 2;
    options.timed = [this](uint64_t, const run::Times& t) { dealt += t.total > 0 && t.deal.begin < t.deal.end; };
    dealer.emplace(engine[0], dir / "dealer", std::move(options));
    auto over = std::move(model.over);
    model.over = [this, over](const PeerName& peer, const Error* e) {
      ++(e ? failed : ended);
      peers.push_back(peer);
    };
    model.ran = [this](const PeerName& peer, const store::Job& job, uint64_t, const run::Times&) {
      ran.push_back(job.tokens);
      EXPECT_EQ(peer.session, peers.size() + 1);
    };
    owner.emplace(engine[1], Made().model->Quantise(plan), store[0], links.Dial(Role::kModel), std::move(model));
    client.emplace(engine[2], store[1], links.Dial(Role::kData), std::move(data));
  }
  // Runs P0 in a thread, and `use` here with P1's session.
  void Session(const std::function<void(DataOwner::Session&)>& use) {
    links.Talk(*owner, [&](net::Channel& ch) {
      DataOwner::Session session(*client, ch);
      use(session);
    });
  }

  Scratch dir;
  std::unique_ptr<pfss::Backend> packed = cpu::MakePacked(exec::Default()), clear = reference::MakeClear();
  ModelEngine engine[3];
  store::Home store[2] = {store::Home(dir / "p0"), store::Home(dir / "p1")};
  std::optional<Dealer> dealer;
  Links links{dealer};
  std::optional<ModelOwner> owner;
  std::optional<DataOwner> client;
  std::vector<uint32_t> ran;
  std::vector<PeerName> peers;  // of the sessions that are over
  std::atomic<int> dealt{0}, ended{0}, failed{0};
};

std::vector<model::Ids> Texts(std::vector<std::string> texts) {
  std::vector<model::Ids> ids;
  for (auto& t : texts) ids.push_back(Tokenize(*Made().tokenizer, Made().plan, t));
  return ids;
}

TEST(Roles, EmbedsAsTheSimulatorAndAtTheEstimatedCost) {
  World w({.keys = {2}}, {.keys = {2}});
  const auto texts = Texts({"the dog", "a cat", "the dog is old"});
  Simulator simulator(Made().plan, *Made().model);
  size_t at = 0;
  w.Session([&](DataOwner::Session& s) {
    s.Run(texts, [&](size_t text, Embedding e) {
      ASSERT_EQ(text, at++);
      const std::vector<int32_t> ids(texts[text].begin(), texts[text].end());
      EXPECT_EQ(e.Integers(), simulator.Run(ids).y);
      EXPECT_EQ(int64_t(e.words.size()), ResultWidth(Made().plan));
      double square = 0, dot = 0;
      const std::vector<double> real = Made().model->Embed(ids);
      for (size_t i = 0; i < real.size(); ++i) {
        square += e.Values()[i] * e.Values()[i];
        dot += e.Values()[i] * real[i];
      }
      EXPECT_NEAR(square, 1, 0.02);
      EXPECT_GT(dot / std::sqrt(square), 0.99);
      const auto& [by, total, peak, deal, keys, ahead, online] = e.times;
      EXPECT_EQ(peak.device + peak.pinned, 0) << "no device is in use";
      EXPECT_EQ(deal.end, 0) << "a party deals nothing";
      EXPECT_TRUE(0 < ahead.begin && ahead.begin <= ahead.end && ahead.end == online.begin &&
                  online.begin < online.end);
      EXPECT_TRUE(0 < keys.begin && keys.begin <= keys.end && keys.end <= online.end) << "all keys are read online";
      const Estimate cost(w.engine[0], int(ids.size()));
      EXPECT_EQ(e.bytes.p0, cost.sent[0] + cost.frames[0] * net::kFrameHeader);
      EXPECT_EQ(e.bytes.p1, cost.sent[1] + cost.frames[1] * net::kFrameHeader);
      EXPECT_EQ(e.bytes.setup > uint64_t(cost.setup), text == 0);
      EXPECT_EQ(e.work->trace.digest(), cost.trace);
      EXPECT_GT(cost.OnDisk(0, 3), 3 * cost.key_bytes[0]);
      EXPECT_GT(cost.hard, 0);
      // the dealer expands what both parties do, and makes the keys
      EXPECT_GT(cost.cost.total.aes[2], std::max(cost.cost.total.aes[0], cost.cost.total.aes[1]));
      EXPECT_GT(cost.cost.total.words[1], int64_t(ids.size()));
    });
    s.End();
  });
  EXPECT_EQ(at, 3u);
  EXPECT_EQ(w.ended, 1);
  EXPECT_EQ(w.failed, 0);
  EXPECT_THAT(w.ran, testing::ElementsAre(texts[0].size(), texts[1].size(), texts[2].size()));
  EXPECT_GE(w.dealt, 3);
}

// Two variants in one set of processes: near with the model's usual scales, far with others and for another network.
// Each gives the words of its own simulation, and one set-up serves both.
TEST(Roles, VariantsAreEachTheirSimulation) {
  Compiler other(*Made().model, 16);
  other.Set("weight.query_key", 11);
  other.Variants({{"far", "rtt=200ms,rate=1G"}});
  const nn::Plan far = other.Compile({"the dog is old", "a cat"});
  const nn::Plan plan = nn::Joined(Made().plan, far);
  World w({.keys = {2}}, {.keys = {2}}, plan);
  Simulator simulator(plan, *Made().model);
  const auto texts = Texts({"the dog", "the dog is old"});
  std::vector<std::vector<int64_t>> words[2];
  std::vector<Hash> traces[2];
  for (int v : {0, 1, 0}) {
    DataOwner::Options options{.keys = {2}};
    options.variants = w.engine[2].Allowed(plan.variants[size_t(v)].name);
    DataOwner client(w.engine[2], w.store[1], w.links.Dial(Role::kData), std::move(options));
    w.links.Talk(*w.owner, [&](net::Channel& ch) {
      DataOwner::Session s(client, ch);
      EXPECT_FALSE(s.link());
      s.Run(texts, [&](size_t text, Embedding e) {
        EXPECT_EQ(int(e.variant), v);
        EXPECT_EQ(e.scale, plan.scale(v));
        const std::vector<int32_t> ids(texts[text].begin(), texts[text].end());
        EXPECT_EQ(e.Integers(), simulator.Run(ids, v).y);
        const Estimate cost(w.engine[0], int(ids.size()), v);
        EXPECT_EQ(e.work->trace.digest(), cost.trace);
        words[v].push_back(e.Integers());
        traces[v].push_back(cost.trace);
      });
      s.End();
    });
    EXPECT_FALSE(w.links.served) << w.links.served->what();
  }
  ASSERT_EQ(words[0].size(), 4u);
  EXPECT_EQ(words[0][0], words[0][2]);
  EXPECT_NE(words[0][0], words[1][0]);
  EXPECT_NE(traces[0][0], traces[1][0]);
  EXPECT_TRUE(Fails(Cause::kInput, "the plan has no variant 'moon'; it has near, far",
                    [&] { (void)w.engine[2].Allowed("near,moon"); }));
  EXPECT_TRUE(Fails(Cause::kInput, "names an empty variant", [&] { (void)w.engine[2].Allowed("near,"); }));
  EXPECT_EQ(w.engine[2].Allowed("auto"), 3u);
  EXPECT_EQ(w.engine[2].Allowed("far,near"), 3u);
}

// Returns the terms of two sessions in memory that never fetched a bundle.
proto::JobTerms Terms(const proto::Network& link) { return {link, {link.rate, link.rate}}; }

// Both parties allow both variants. The link in memory is measured, and both take the cheapest variant for it.
TEST(Roles, TheLinkChoosesWhereBothAllowSeveral) {
  Compiler other(*Made().model, 16);
  other.Variants({{"far", "rtt=200ms,rate=1G"}});
  const nn::Plan plan = nn::Joined(Made().plan, other.Compile({"the dog is old", "a cat"}));
  World w({}, {}, plan);
  const auto texts = Texts({"the dog"});
  w.Session([&](DataOwner::Session& s) {
    ASSERT_TRUE(s.link());
    const auto n = uint32_t(texts[0].size());
    const uint64_t near = w.engine[0].Price(store::JobOf(n, 0), Terms(*s.link())),
                   far = w.engine[0].Price(store::JobOf(n, 1), Terms(*s.link()));
    s.Run(texts, [&](size_t, Embedding e) { EXPECT_EQ(e.variant, far < near); });
    s.End();
  });
  EXPECT_FALSE(w.links.served);
}

// The longer of delivery and run counts, and each party has its own link to the dealer. On one machine the sum counts.
// Sessions divide the waiting times, and nothing else.
TEST(Roles, APriceCountsDeliveryAndSessions) {
  const auto backend = cpu::MakePacked(exec::Default());
  ModelEngine engine(Made().plan, *backend);
  const store::Job five = store::JobOf(5);
  const Estimate cost(engine, 5);
  const proto::Network lan{1'000, 1'000'000'000}, far{60'000, 1'000'000'000};
  const uint64_t ahead = engine.Price(five, {lan});
  EXPECT_GT(engine.Price(five, {far}), ahead);
  EXPECT_EQ(engine.Price(five, {lan, {proto::kHighestRate, proto::kHighestRate}}), ahead);
  EXPECT_GE(engine.Price(five, {lan, {1'000'000'000, 100'000}}), uint64_t(cost.key_bytes[1]) * 80);
  EXPECT_GE(engine.Price(five, {lan, {100'000, 1'000'000'000}}), uint64_t(cost.key_bytes[0]) * 80);
  EXPECT_GT(engine.Price(five, {lan, {1'000'000'000, 1'000'000'000}, 1, true}), engine.Price(five, {lan, {}, 1, true}));
  EXPECT_NEAR(double(engine.Price(five, {far, {}, 8})), double(engine.Price(five, {far})) / 8, 2);
  EXPECT_GT(engine.Price(five, {lan, {}, 64}), engine.Price(five, {lan}) / 64) << "wires and cores are shared";
}

TEST(Roles, AuditsAndProgressAreHeardOf) {
  int audited[2] = {0, 0};
  std::vector<double> progress;
  DataOwner::Options data{.audits = 3};
  data.audited = [&] { ++audited[1]; };
  data.progress = [&](size_t text, double done, const std::string& what) {
    EXPECT_LT(text, 2u);
    EXPECT_FALSE(what.empty());
    progress.push_back(double(text) + done);
  };
  ModelOwner::Options model;
  model.audited = [&](const store::Job&, uint64_t) { ++audited[0]; };
  World w(std::move(data), std::move(model));
  w.Session([&](DataOwner::Session& s) {
    EXPECT_THAT(s.notices(), testing::IsEmpty());
    s.Run(Texts({"the dog", "a cat"}), [](size_t, Embedding) {});
    s.End();
  });
  EXPECT_EQ(audited[0], 3);
  EXPECT_EQ(audited[1], 3);
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_GT(progress.size(), 20u);
}

// A job waits, then runs, and has left both states when its result is given out.
TEST(Roles, JobsEnterStatesOneAfterAnother) {
  std::string events;
  DataOwner::Options data;
  data.entered = [&](JobState s) {
    const char* const name = s == JobState::kRunning ? "run" : "wait";
    events += Str("+", name, " ");
    return std::shared_ptr<void>(nullptr, [&events, name](void*) { events += Str("-", name, " "); });
  };
  World w(std::move(data));
  w.Session([&](DataOwner::Session& s) {
    s.Run(Texts({"the dog", "a cat"}), [&](size_t, Embedding) { events += "result "; });
    s.End();
  });
  const std::string one = "+wait -wait +wait -wait +run -run result ";  // for memory, then for keys and turn
  EXPECT_EQ(events, one + one);
}

TEST(Roles, SessionThatBreaksIsHeardOfAndTheNextOneWorks) {
  World w;
  EXPECT_THROW(w.Session([&](DataOwner::Session& s) {
    s.Run(Texts({"a cat"}), [](size_t, Embedding) { throw std::runtime_error("of the caller"); });
  }),
               std::runtime_error);
  EXPECT_EQ(w.failed, 1);
  int done = 0;
  w.Session([&](DataOwner::Session& s) {
    s.Run({}, [&](size_t, Embedding) { ++done; });
    s.Run(Texts({"a cat"}), [&](size_t, Embedding e) { done += e.bytes.setup == 0; });
    s.End();
  });
  EXPECT_EQ(done, 1);
  EXPECT_EQ(w.ended, 1);
  ASSERT_EQ(w.peers.size(), 2u);
  for (const uint64_t i : {1, 2}) {
    EXPECT_EQ(w.peers[i - 1].key, kId[1].key);
    EXPECT_EQ(w.peers[i - 1].session, i);
  }
}

// A client reads the masked weights once. Its next session uses those in memory, whatever happened to the file. Another
// client reads the file.
TEST(Roles, SessionsOfAClientShareTheMaskedWeights) {
  World w;
  Simulator simulator(Made().plan, *Made().model);
  const auto texts = Texts({"a cat"});
  const auto want = simulator.Run({texts[0].begin(), texts[0].end()}).y;
  const auto run = [&](DataOwner& client, size_t notices, bool fetches) {
    w.links.Talk(*w.owner, [&](net::Channel& ch) {
      DataOwner::Session s(client, ch);
      EXPECT_EQ(s.notices().size(), notices);
      s.Run(texts, [&](size_t, Embedding e) {
        EXPECT_EQ(e.Integers(), want);
        EXPECT_EQ(e.bytes.setup > 0, fetches);
      });
      s.End();
    });
  };
  run(*w.client, 0, true);
  std::vector<std::filesystem::path> files;
  for (const auto& e : std::filesystem::directory_iterator(w.dir / "p1"))
    if (e.path().extension() == ".w_hat") files.push_back(e.path());
  ASSERT_EQ(files.size(), 1u);
  std::string bytes = ReadFile(files[0], "W_hat ", "look again");
  bytes.back() = char(bytes.back() ^ 1);
  std::ofstream(files[0], std::ios::binary) << bytes;
  run(*w.client, 0, false);
  DataOwner other(w.engine[2], w.store[1], w.links.Dial(Role::kData));
  run(other, 1, true);
  run(*w.client, 0, false);
  std::filesystem::remove(files[0]);
  run(*w.client, 0, false);
  DataOwner third(w.engine[2], w.store[1], w.links.Dial(Role::kData));
  run(third, 0, true);
}

TEST(Roles, TextsThatThePlanDoesNotCoverAreRefusedBeforeAnythingIsSpent) {
  World w;
  const auto good = Texts({"a cat"});
  const int64_t vocabulary = VocabularySize(Made().plan);
  w.Session([&](DataOwner::Session& s) {
    for (const int64_t id : {vocabulary, int64_t{-1}, int64_t{INT32_MAX}}) {
      std::vector<model::Ids> texts{good[0], good[0]};
      texts[1][1] = int32_t(id);
      const std::string words = Str("text 2 of 2: token 2 has the id ", id, ", and the vocabulary has the ids 0 to ",
                                    vocabulary - 1, "; use the tokenizer of the plan's model");
      EXPECT_TRUE(Fails(Cause::kInput, words, [&] { s.Run(texts, [](size_t, Embedding) { ADD_FAILURE(); }); }));
    }
    for (const auto& [tokens, words] : {std::pair{2, "text 1 of 1: a text of 2 tokens is below the limit of 3"},
                                        {17, "text 1 of 1: a text of 17 tokens is over the plan's limit of 16"}})
      EXPECT_TRUE(Fails(Cause::kInput, words, [&, n = tokens] {
        s.Run({model::Ids(size_t(n), 5)}, [](size_t, Embedding) { ADD_FAILURE(); });
      }));
    EXPECT_EQ(s.Run(good, [](size_t, Embedding e) { EXPECT_EQ(e.serial, 1u); }), 1u) << "the session goes on";
    s.End();
  });
  EXPECT_THAT(w.ran, testing::ElementsAre(good[0].size()));
  EXPECT_EQ(w.failed, 0);
}

TEST(Roles, StopEndsASessionBeforeTheNextBundleIsUsed) {
  for (const bool one_by_one : {false, true}) {
    size_t done = 0;
    DataOwner::Options data{.one_by_one = one_by_one};
    data.stop = [&] { return done == 2; };
    World w(std::move(data));
    w.Session([&](DataOwner::Session& s) {
      EXPECT_EQ(s.Run(Texts({"the dog", "a cat", "the dog", "a cat"}), [&](size_t, Embedding) { ++done; }), 2u);
    });
    EXPECT_EQ(done, 2u);
    EXPECT_EQ(w.ran.size(), 2u);
    EXPECT_EQ(w.ended, int(one_by_one)) << "nothing was announced ahead";
    EXPECT_EQ(w.failed, int(!one_by_one));
    if (!one_by_one) {
      EXPECT_THAT(w.links.served->what(), HasSubstr("the data owner ended the session for a reason of its own"));
    }
    EXPECT_THAT(OnlyLane(w.store[0], kId[1].key)->Bundles(), testing::IsEmpty());
    EXPECT_THAT(OnlyLane(w.store[1])->Bundles(), testing::IsEmpty());
    done = 0;
    w.Session([&](DataOwner::Session& s) {
      EXPECT_EQ(s.Run(Texts({"a cat"}), [&](size_t, Embedding) { ++done; }), 1u) << "the stores work on";
      s.End();
    });
  }
}

TEST(Files, AreReadWithoutTheirMark) {
  const std::string file = Made().dir / "text";
  const auto read = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return ReadText(file, "", "");
  };
  using namespace std::string_literals;
  EXPECT_EQ(read("the dog"), "the dog");
  EXPECT_EQ(read("\xef\xbb\xbfthe dog"), "the dog");
  EXPECT_EQ(read(""), "");
  for (const auto& [bytes, name] : {std::pair{"\xff\xfet\0h\0"s, "UTF-16"},
                                    {"\xfe\xff\0t\0h"s, "UTF-16"},
                                    {"\xff\xfe\0\0t\0\0\0"s, "UTF-32"},
                                    {"\0\0\xfe\xff\0\0\0t"s, "UTF-32"}})
    EXPECT_TRUE(Fails(Cause::kInput, Str(file, " is text in ", name, "; save it as UTF-8"),
                      [&, text = bytes] { (void)read(text); }));
  EXPECT_TRUE(Fails(Cause::kInput, "cannot read the words /nowhere; look again",
                    [] { (void)ReadFile("/nowhere", "the words ", "look again"); }));
}

TEST(Roles, DataOwnerRefusesAuditsOneByOne) {
  EXPECT_TRUE(Fails(Cause::kInput, "audits and jobs one by one", [] { World w({.one_by_one = true, .audits = 1}); }));
}

TEST(Engine, RefusesWhatThePlanDoesNotCover) {
  auto clear = reference::MakeClear();
  ModelEngine engine(Made().plan, *clear);
  EXPECT_TRUE(Fails(Cause::kInput, "over the plan's limit of 16", [&] { (void)engine.Compile(17); }));
  EXPECT_TRUE(Fails(Cause::kInput, "below the limit of 3", [&] { Estimate e(engine, 2); }));
  EXPECT_EQ(engine.Compile(5), engine.Compile(5)) << "a trace is kept";
  EXPECT_THAT(engine.Section(store::JobOf(5), 0, 0), HasSubstr("key section 1 of "));
}

// An engine whose emissions are counted. That of 4 tokens waits for `over` while it is set.
struct CountedEngine {
  std::atomic<int> emitted{0};
  std::latch inside{1}, over{1};
  std::atomic<bool> waits{false};
  std::unique_ptr<pfss::Backend> packed = cpu::MakePacked(exec::Default());
  ModelEngine engine{Made().plan, *packed, [this](pfss::Trace& t, const nn::Plan& plan, const store::Job& job) {
                       ++emitted;
                       if (job.tokens == 4 && waits) {
                         inside.count_down();
                         over.wait();
                       }
                       EmitTexts(t, plan, job);
                     }};
};

TEST(Engine, KeepsTheTracesThatWereUsedLast) {
  CountedEngine c;
  const uint64_t one = MemoryOf(*c.engine.Compile(kLongest));  // all lengths differ by a few bytes
  EXPECT_GT(one, c.engine.Compile(kLongest)->trace.nodes().size() * sizeof(pfss::Node));
  c.engine.KeepTraces(3 * one);  // a fifth is for plans, so two fit
  c.emitted = 0;
  for (const int n : {14, 15, 14, 15}) (void)c.engine.Compile(n);
  EXPECT_EQ(c.emitted, 2);
  (void)c.engine.Compile(14);
  (void)c.engine.Compile(13);  // drops 15
  EXPECT_EQ(c.emitted, 3);
  const auto used = c.engine.Compile(14);
  EXPECT_EQ(c.emitted, 3);
  (void)c.engine.Compile(15);
  EXPECT_EQ(c.emitted, 4);
  // A trace in use stays with any limit.
  c.engine.KeepTraces(1);
  EXPECT_EQ(c.engine.Compile(14), used);
  EXPECT_EQ(c.emitted, 4);
  EXPECT_EQ(c.engine.Price(store::JobOf(15), {{1000, 1000000000}}),
            c.engine.Price(store::JobOf(15), {{1000, 1000000000}}));
  EXPECT_EQ(c.emitted, 5) << "a price needs its trace once";
}

TEST(Engine, ALengthThatIsCompiledDelaysNoOther) {
  CountedEngine c;
  c.waits = true;
  std::shared_ptr<const CompiledJob> slow[2];
  std::jthread first([&] { slow[0] = c.engine.Compile(4); });
  c.inside.wait();
  EXPECT_EQ(c.engine.Compile(5), c.engine.Compile(5));
  std::jthread second([&] { slow[1] = c.engine.Compile(4); });
  c.over.count_down();
  first.join();
  second.join();
  EXPECT_EQ(slow[0], slow[1]);
  EXPECT_EQ(c.emitted, 2);
}

TEST(Estimate, TellsWhatEachRoleHasInMemory) {
  auto packed = cpu::MakePacked(exec::Default());
  ModelEngine engine(Made().plan, *packed);
  const Estimate shorter(engine, 5), longer(engine, kLongest);
  int64_t masked = 0;
  for (auto& m : engine.masked()) masked += m.bytes();
  for (const Role r : {Role::kModel, Role::kData, Role::kDealer}) {
    const MemoryNeeds &a = shorter.memory[size_t(r)], &b = longer.memory[size_t(r)];
    EXPECT_GT(a.weights, 0);
    EXPECT_EQ(a.weights, b.weights) << "whatever the length is";
    EXPECT_GT(a.values, 0);
    EXPECT_LT(a.values, b.values);
    EXPECT_LT(a.keys, b.keys);
    EXPECT_LT(a.total(), b.total());
    EXPECT_EQ(b.total(), b.weights + b.keys + b.frames + b.values);
  }
  EXPECT_GE(shorter.memory[size_t(Role::kData)].weights, masked);
  for (const int p : {0, 1}) {
    const MemoryNeeds &a = shorter.memory[size_t(p)], &b = longer.memory[size_t(p)];
    EXPECT_GT(a.frames, 0);
    EXPECT_LT(a.frames, b.frames);
    EXPECT_LT(b.frames, longer.sent[0] + longer.sent[1]) << "a buffer serves one frame after another";
    EXPECT_EQ(uint64_t(longer.window), run::WindowOf(*engine.Compile(kLongest)->schedule));
    EXPECT_EQ(b.keys, std::min(longer.key_bytes[p], std::max(longer.window, int64_t(store::kKeyWindow))));
  }
  EXPECT_EQ(longer.memory[size_t(Role::kDealer)].keys, longer.key_bytes[0] + longer.key_bytes[1]);
  // a smaller window holds at least the keys that the plan needs; a larger one holds at most all keys
  const store::Job job = store::JobOf(kLongest);
  EXPECT_EQ(NeedsOf(engine, job, Role::kModel, 1).keys, longer.window);
  EXPECT_EQ(NeedsOf(engine, job, Role::kDealer, 1).keys, 2);
  for (const int p : {0, 1})
    EXPECT_EQ(NeedsOf(engine, job, Role(p), store::KeySource::kWhole).keys, longer.key_bytes[p]);
  EXPECT_EQ(NeedsOf(engine, job, Role::kData, 1).values, longer.memory[size_t(Role::kData)].values);
}

TEST(Engine, LoadPlanReadsWhatWasWritten) {
  EXPECT_EQ(nn::PlanHash(LoadPlan(Made().dir / "plan.json")), nn::PlanHash(Made().plan));
  EXPECT_TRUE(Fails(Cause::kInput, "cannot read the plan", [] { LoadPlan("/nowhere"); }));
  EXPECT_TRUE(Fails(Cause::kInput, "cannot read the plan", [] { LoadPlan("/tmp"); }));
}

TEST(Texts, AreEncodedForThePlan) {
  const auto& f = Made();
  const std::string longer(200, 'a');
  std::string words;
  for (int i = 0; i < 30; ++i) words += "the ";
  EXPECT_TRUE(Fails(Cause::kInput, "tokens; the limit is 16", [&] { Tokenize(*f.tokenizer, f.plan, words); }));
  EXPECT_EQ(Tokenize(*f.tokenizer, f.plan, words, true).size(), size_t(kLongest));
  EXPECT_TRUE(Fails(Cause::kInput, "not UTF-8", [&] { Tokenize(*f.tokenizer, f.plan, "\xff"); }));
  std::ofstream(f.dir / "other.txt") << "[PAD]\n";
  EXPECT_TRUE(Fails(Cause::kRefused, "is not the vocabulary that the plan was made for",
                    [&] { LoadTokenizer(f.dir / "other.txt", f.plan); }));
  EXPECT_TRUE(Fails(Cause::kInput, "cannot read the vocabulary", [&] { LoadTokenizer("/nowhere", f.plan); }));
}

TEST(Model, OfAnotherShapeIsRefused) {
  EXPECT_TRUE(Fails(Cause::kInput, "config.json", [] { Model m("/nowhere"); }));
  model::WriteRandomModel(Made().dir / "other", model::FindPreset("tiny-gpt2"), 1);
  const Model other(Made().dir / "other");
  EXPECT_TRUE(Fails(Cause::kRefused, "another shape of model", [&] { (void)other.Quantise(Made().plan); }));
}

TEST(Compiler, TakesSettingsAndTexts) {
  EXPECT_GT(Made().reports, 0);
  Compiler compiler(*Made().model, kLongest);
  EXPECT_TRUE(Fails(Cause::kInput, "none of 2 calibration texts", [&] { (void)compiler.Compile({"", "\xff"}); }));
  size_t used = 0;
  const nn::Plan plain = compiler.Compile({"the dog", "", "a cat"}, {}, {}, &used);
  EXPECT_EQ(used, 2u);
  EXPECT_EQ(plain.calibration, Hex(HashOf({AsView("the dog\n\na cat\n")})));
  EXPECT_EQ(compiler.Compile({"the dog"}, "00").calibration, "00");
  EXPECT_TRUE(Fails(Cause::kInput, "is no setting of the compiler; take one of ", [&] { compiler.Set("nothing", 1); }));
  EXPECT_TRUE(Fails(Cause::kInput, "no operator has the key \"valu\"", [&] { compiler.Set("weight.valu", 9); }));
  for (const Setting& s : Compiler::Settings()) {
    EXPECT_TRUE(Fails(Cause::kInput, Str(s.name, " is ", s.least - 1), [&] { compiler.Set(s.name, s.least - 1); }));
    EXPECT_TRUE(Fails(Cause::kInput, Str("it may be ", s.least, " to "), [&] { compiler.Set(s.name, s.largest + 1); }));
    compiler.Set(s.name, s.value);
  }
  EXPECT_EQ(nn::PlanHash(compiler.Compile({"the dog", "", "a cat"})), nn::PlanHash(plain)) << "the defaults, set";
  compiler.Set("slice", 3);
  EXPECT_NE(nn::PlanHash(compiler.Compile({"the dog", "", "a cat"})), nn::PlanHash(plain));
  compiler.Set("embedding", 18);  // the lookup's ring has 16 bits
  const nn::Plan lowered = compiler.Compile({"a cat"});
  EXPECT_LT(lowered.classes.at(0).ops.at(0)->scale, 18);
  EXPECT_EQ(lowered.classes.at(0).choices.at(0).what, Str("z_embed", nn::kScaleChoice));
  compiler.Set("result.value", 24);
  EXPECT_TRUE(Fails(Cause::kRefused, "lower `result.value`", [&] { (void)compiler.Compile({"a cat"}); }));
}

TEST(PublicTable, OtherFilesAreRefused) {
  const auto& f = Made();
  Compiler compiler(*f.model, kLongest);
  compiler.PublishTable();
  const nn::Plan plan = compiler.Compile({"a cat"});
  const std::filesystem::path file = f.dir / "public.table.safetensors";
  const auto refused = [&](Cause cause, const std::string& part) {
    EXPECT_TRUE(Fails(cause, part, [&] { PublicTable table(file, plan); }));
  };
  refused(Cause::kInput, "and the plan's table of embeddings is public; ask the model owner for it");
  const std::vector<float> two(2);
  const auto write = [&](const char* name) {
    const model::NewTensor tensor{name, {2}, std::span<const float>(two)};
    model::WriteSafetensors(file, {&tensor, 1});
  };
  write("other");
  refused(Cause::kInput, "has no tensor \"table\", so it is no public table; take the file written beside this plan");
  write("table");
  refused(Cause::kRefused, "has a table of shape (2), not (");
  std::filesystem::remove(file);
  compiler.table()->Write(file);
  EXPECT_EQ(PublicTable(file, plan).digest(), plan.table);
}

}  // namespace
}  // namespace suf::roles
