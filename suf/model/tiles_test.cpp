// Two tiles of a text in antiphase have the specification's words. No party has both tiles at once, and no two parties
// wait for each other. Tests flights, costs and the plans that are refused as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <thread>

#include "suf/compiler/choose.hpp"
#include "suf/model/rig_test.hpp"
#include "suf/nn/graph/small_test.hpp"
#include "suf/nn/plan/knob_search.hpp"

namespace suf::model {
namespace {

constexpr int kLongest = 40;

// Returns the plan with `tiles` tiles in its classes of at least kTiledTokens tokens.
nn::Plan InTiles(nn::Plan plan, int tiles) {
  for (nn::Class& c : plan.classes)
    if (c.max_n >= nn::kTiledTokens) c.tiles = tiles;
  return plan;
}

int FlightsOf(const nn::Plan& plan, int n) {
  pfss::Trace t;
  nn::Build(t, plan, n);
  return pfss::Schedule(t).flights();
}
// Returns the turns of both parties together; one tile has as many as flights.
int TicksOf(const nn::Plan& plan, int n) {
  pfss::Trace t;
  nn::Build(t, plan, n);
  return pfss::Schedule(t).frames().back().tick + 1;
}

// Both forms of the softmax, for the least lengths of their classes, odd ones, and the limits.
TEST(Tiles, TheSameWords) {
  for (int softmax : {0, 1})
    for (int layers : {1, 2}) {
      nn::Options policy;
      policy.Set("softmax", softmax);
      policy.Set("scores", softmax);
      const std::string config = Replaced(FindPreset("tiny").config, "num_hidden_layers", "2", std::to_string(layers));
      LoadedModel model = RandomModel("tiny", 3, config);
      if (softmax == 1) model = Shifted(std::move(model), true);
      const Compiled c = CompileFor(std::move(model), kLongest, policy);
      std::vector<Text> texts;
      for (int n : {17, 18, 31, 32, 33, kLongest}) texts.push_back(Texts(uint64_t(n), 1, n, n)[0]);
      ExpectSameWords(InTiles(c.plan, 2), c.q, texts, [&](int n) { return FlightsOf(c.plan, n); });
      for (int n : {17, 32, kLongest}) {  // each attention takes a tick more, and the tile behind takes one
        EXPECT_EQ(TicksOf(c.plan, n), FlightsOf(c.plan, n));
        EXPECT_EQ(TicksOf(InTiles(c.plan, 2), n), FlightsOf(c.plan, n) + layers + 1);
      }
      EXPECT_EQ(FlightsOf(InTiles(c.plan, 2), 12), FlightsOf(c.plan, 12));  // a class of short texts
    }
}

// Heads with a norm of their own have the rows of a tile. The rotation is by place in the text.
TEST(Tiles, NormsOfHeads) {
  nn::CompileOptions options;
  options.max_tokens = kLongest;
  const nn::Small m(nn::HeadNorms(), 1, options);
  std::vector<Text> texts;
  for (int n : {3, 17, 32, kLongest}) texts.push_back(Texts(uint64_t(n), 1, n, n, nn::kWords)[0]);
  ExpectSameWords(InTiles(m.plan, 2), m.q, texts, [&](int n) { return FlightsOf(m.plan, n); });
}

// A plan of one class takes every length in two tiles, also the least ones.
TEST(Tiles, ShortTextsOfALongClass) {
  const Compiled c = CompileFor(RandomModel("tiny", 4), kLongest);
  nn::Plan plan = InTiles(c.plan, 2);
  plan.classes.erase(plan.classes.begin(), plan.classes.end() - 1);
  plan.min_tokens = 1;
  std::vector<Text> texts;
  for (int n : {2, 3, 4, 5}) texts.push_back(Texts(uint64_t(n), 1, n, n)[0]);
  ExpectSameWords(plan, nn::Quantise(c.model.weights, plan), texts,
                  [&](int n) { return FlightsOf(InTiles(plan, 1), n); });
  EXPECT_EQ(TicksOf(plan, 2), TicksOf(InTiles(plan, 1), 2) + 3);
  EXPECT_EQ(TicksOf(plan, 1), TicksOf(InTiles(plan, 1), 1));
}

// A pool of one row needs no other row behind the last keys and values, in one tile or two. Queries and keys of the
// first plans are one map, those of the last one two.
TEST(Tiles, OneRowIsWanted) {
  const Compiled mean = CompileFor(RandomModel("tiny", 5), kLongest),
                 first = CompileFor(RandomModel("tiny-cls", 5), kLongest);
  const auto keys = [](const nn::Plan& plan) {
    pfss::Trace t;
    nn::Build(t, plan, kLongest);
    return double(pfss::Schedule(t).key_bytes(0));
  };
  const nn::Plan plans[] = {WithPool(mean.plan, nn::PoolRows::kFirst), WithPool(mean.plan, nn::PoolRows::kLast),
                            first.plan};
  for (const nn::Plan& plan : plans)
    for (int tiles : {1, 2}) {
      const nn::Plan tiled = InTiles(plan, tiles);
      EXPECT_LT(keys(tiled), 0.75 * keys(mean.plan));
      ExpectSameWords(tiled, &plan == &plans[2] ? first.q : mean.q, {Texts(8, 1, 37, 37)[0], Texts(9, 1, 6, 6)[0]},
                      [&](int n) { return FlightsOf(tiled, n); });
    }
}

// In every tick a party's frame holds one tile's words. The first tile has 19 of 37 rows, and nothing else has a
// multiple of 19 elements.
TEST(Tiles, NoPartyHasBothAtOnce) {
  constexpr int kRows = 37, kFirst = 19;
  for (int softmax : {0, 1}) {
    nn::Options policy;
    policy.Set("softmax", softmax);
    policy.Set("scores", softmax);
    LoadedModel model = RandomModel("tiny", 3);
    if (softmax == 1) model = Shifted(std::move(model), true);
    const Compiled c = CompileFor(std::move(model), kLongest, policy);
    pfss::Trace t;
    nn::Build(t, InTiles(c.plan, 2), kRows);
    const pfss::Schedule s(t);
    int of_both = 0;  // ticks at which both parties send
    std::map<int, int> senders;
    for (const pfss::Frame& f : s.frames()) {
      if (f.tick < 0) continue;
      std::set<bool> first;
      for (const pfss::FrameField& part : f.parts) first.insert(pfss::Size(t.node(part.node).shape) % kFirst == 0);
      EXPECT_EQ(first.size(), 1u) << "P" << f.sender << " at tick " << f.tick;
      of_both += ++senders[f.tick] == 2;
    }
    EXPECT_GT(of_both, s.flights() * 3 / 4);
  }
}

// A link without any buffer. A frame leaves when the other end receives or sends, and has capacity for it.
struct Rendezvous {
  std::mutex m;
  std::condition_variable changed;
  struct End {
    std::deque<std::pair<int, Bytes>> inbox;
    size_t expected = 0;  // frames for which it has capacity
    bool receives = false, sends = false;
  } end[2];
};
class RendezvousLink : public run::FrameLink {
 public:
  RendezvousLink(Rendezvous& r, int party) : r_(r), own_(r.end[party]), other_(r.end[1 - party]) {}
  void Send(int index, View payload, size_t bytes) override {
    if (bytes < payload.size()) return;
    std::unique_lock l(r_.m);
    own_.sends = true;
    r_.changed.notify_all();
    Wait(l, [&] { return (other_.receives || other_.sends) && other_.expected > 0; });
    --other_.expected;
    other_.inbox.emplace_back(index, Bytes(payload.begin(), payload.end()));
    own_.sends = false;
    r_.changed.notify_all();
  }
  void Post(int, std::span<uint8_t> into) override {
    std::lock_guard l(r_.m);
    posted_.push_back(into);
    ++own_.expected;
  }
  void Receive(int index, size_t bytes) override {
    const std::span<uint8_t> into = posted_.front();
    if (std::exchange(came_, index) != index) {
      std::unique_lock l(r_.m);
      own_.receives = own_.inbox.empty();
      r_.changed.notify_all();
      Wait(l, [&] { return !own_.inbox.empty(); });
      own_.receives = false;
      auto [got, payload] = std::move(own_.inbox.front());
      own_.inbox.pop_front();
      SUF_CHECK(got == index && payload.size() == into.size());
      std::copy(payload.begin(), payload.end(), into.begin());
    }
    if (bytes == into.size()) posted_.pop_front();
  }
  double waited() const override { return 0; }

 private:
  template <class F>
  void Wait(std::unique_lock<std::mutex>& l, F until) {
    if (!r_.changed.wait_for(l, std::chrono::seconds(120), until))
      Fail(Cause::kPeer, "both parties wait for each other");
  }
  Rendezvous& r_;
  Rendezvous::End &own_, &other_;
  std::deque<std::span<uint8_t>> posted_;
  int came_ = -1;
};

// Both parties send at one tick, whatever their sockets buffer. Each receives the other's frame while it sends.
TEST(Tiles, NoPartyWaitsForRoom) {
  const Compiled c = CompileFor(RandomModel("tiny", 3), kLongest);
  const nn::Plan plan = InTiles(c.plan, 2);
  const Text ids = Texts(7, 1, kLongest, kLongest)[0];
  pfss::Trace t;
  nn::Build(t, plan, kLongest);
  const pfss::Schedule s(t);
  std::mt19937_64 rng(5);
  run::Inputs in[3];
  SetInputs(plan, c.q, ids, rng, in);
  exec::Pool pool(1);
  const auto backend = backends::Make("packed", pool);
  const auto stream = [&](std::initializer_list<size_t> keys) {
    pfss::BundleSecrets m{{}, Hash{5}};
    for (size_t p : keys) m.key[p].emplace(Secret(Hash{uint8_t(p + 1), 5}));
    return backend->Expand(std::move(m));
  };
  const std::array<Bytes, 2> key = run::DealBodies(s, *backend, *stream({0, 1}), in[2]);
  Rendezvous r;
  std::vector<uint64_t> result[2];
  const auto party = [&](size_t p) {
    RendezvousLink link(r, int(p));
    const auto randomness = stream({p});
    try {
      store::KeySource keys(std::make_shared<const store::BodyLayout>(run::LayoutOf(s, int(p))), store::kKeyWindow);
      keys.FeedFrom(key[p]);
      result[p] = run::RunParty({.schedule = s,
                                 .backend = *backend,
                                 .party = int(p),
                                 .randomness = *randomness,
                                 .inputs = in[p],
                                 .keys = keys,
                                 .link = link});
    } catch (const Error& e) {
      ADD_FAILURE() << "P" << p << ": " << e.what();
    }
  };
  std::thread other([&] { party(1); });
  party(0);
  other.join();
  nn::Ints got;
  for (uint64_t v : result[1]) got.push_back(ring::Signed(v, plan.For(kLongest).ops.back()->ring));
  EXPECT_EQ(got, nn::PlanSimulator(plan, c.q).Run(ids).y);
}

// One tile's turns add up, because the parties wait for each other. Two tiles take each machine's own work.
TEST(Tiles, Cost) {
  const Compiled c = CompileFor(RandomModel("tiny", 3), kLongest);
  const auto bill = [&](int tiles) {
    pfss::Trace t;
    nn::Build(t, InTiles(c.plan, tiles), kLongest);
    return compiler::BillOf(pfss::Schedule(t));
  };
  const compiler::Bill one = bill(1), two = bill(2);
  for (const char* profile : {"cpu", "lan", "wan", "lan,duplex=0,keys=now", "wan,cores=4,disk=1G"}) {
    const compiler::Prices p = compiler::ParseProfile(profile).prices;
    double work = double(one.blocks[0] + one.blocks[1]) * p.block + double(one.words[0] + one.words[1]) * p.word;
    if (p.now) work += double(one.blocks[2]) * p.block + double(one.words[2]) * p.word;
    const double sum = one.flights * p.flight + double(one.sent[0] + one.sent[1]) * p.wire + work / p.cores +
                       double(std::max(one.key[0], one.key[1])) * (p.key + (p.now ? p.wire : p.disk));
    EXPECT_NEAR(compiler::Seconds(one, p), sum, 1e-9 * sum) << profile;
  }
  EXPECT_EQ(compiler::Seconds(two, {.flight = 1}), one.flights);  // a tick is not a flight
  EXPECT_EQ(compiler::Seconds(one, {.step = 1}), one.flights);
  EXPECT_NEAR(compiler::Seconds(two, {.step = 1}), one.flights, 5);
  const compiler::Prices wire{.wire = 1, .duplex = true}, shared{.wire = 1}, word{.word = 1};
  const auto ratio = [&](const compiler::Prices& p) { return compiler::Seconds(two, p) / compiler::Seconds(one, p); };
  EXPECT_LT(ratio(wire), 0.85);
  EXPECT_NEAR(ratio(shared), 1, 0.05);
  EXPECT_LT(ratio(word), 0.85);
}

TEST(Tiles, AreChosenByCost) {
  const Compiled c = CompileFor(RandomModel("tiny", 3), kLongest);
  const auto chosen = [&](const char* profile, int policy = nn::Options::kTilesByCost) {
    nn::Plan plan = c.plan;
    nn::Options options;
    options.Set("tiles", policy);
    const size_t last = plan.classes.size() - 1;
    nn::ChooseTiles(&plan, last, compiler::ParseProfile(profile).prices, options);
    const auto& choices = plan.classes[last].choices;
    const bool noted = !choices.empty() && choices[0].what == "tiles";
    EXPECT_EQ(noted, policy == nn::Options::kTilesByCost);
    if (noted) {
      EXPECT_EQ(choices[0].choice, Str(plan.classes[last].tiles));
      EXPECT_EQ(choices[0].runner_up, Str(3 - plan.classes[last].tiles));
      EXPECT_GE(choices[0].microseconds, 0);
    }
    nn::Check(plan);
    return plan.classes[last].tiles;
  };
  EXPECT_EQ(chosen("rtt=0,rate=1M,duplex=1"), 2);
  EXPECT_EQ(chosen("rtt=0,rate=1M,duplex=1", 1), 1);
  EXPECT_EQ(chosen("cpu"), 1);                         // only one of them works at a time
  EXPECT_EQ(chosen("wan"), 1);                         // flights are nearly all of the time
  EXPECT_EQ(chosen("rtt=0,rate=1M,duplex=0"), 1);      // one wire for both
  EXPECT_EQ(chosen("gpu,rtt=0,rate=1M,duplex=1"), 1);  // a device runs as many kernels for half a text
  nn::Options two;
  two.Set("tiles", 2);
  for (const nn::Class& one : CompileFor(RandomModel("tiny", 3), kLongest, two).plan.classes)
    EXPECT_EQ(one.tiles, one.max_n >= 32 ? 2 : 1);
}

std::string Refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), Cause::kRefused);
    return e.what();
  }
  return "";
}

TEST(Tiles, InThePlan) {
  const Compiled c = CompileFor(RandomModel("tiny", 3), kLongest);
  const std::string whole = nn::Serialize(c.plan), tiled = nn::Serialize(InTiles(c.plan, 2));
  EXPECT_EQ(whole.find("\"tiles\""), whole.npos);
  const nn::Plan back = nn::Parse(tiled);
  EXPECT_EQ(back.classes.back().tiles, 2);
  EXPECT_EQ(nn::Serialize(back), tiled);
  const auto with = [&](const char* value) {
    const std::string field = "\"tiles\":2";
    std::string text = tiled;
    return text.replace(text.rfind(field), field.size(), Str("\"tiles\":", value));
  };
  EXPECT_THAT(Refusal([&] { nn::Parse(with("3")); }), testing::HasSubstr(".tiles is 3, outside 1 to 2"));
  EXPECT_THAT(Refusal([&] { nn::Parse(with("1")); }), testing::HasSubstr("does not match its hash"));
  nn::Plan short_class = c.plan;
  short_class.classes[0].tiles = 2;
  EXPECT_THAT(Refusal([&] { nn::Check(short_class); }),
              testing::HasSubstr("classes[0].tiles is 2, but its texts have at most 8 tokens"));
  const Compiled causal = CompileFor(RandomModel("tiny-gpt2", 3), 32);
  EXPECT_THAT(Refusal([&] { nn::Check(InTiles(causal.plan, 2)); }),
              testing::HasSubstr("is causal and takes a text whole; compile the plan with tiles=1"));
  nn::Options two;
  two.Set("tiles", 2);
  EXPECT_THAT(Refusal([&] { CompileFor(RandomModel("tiny-gpt2", 3), 32, two); }),
              testing::HasSubstr("this model's attention is causal and takes a text whole; set tiles=1"));
}

}  // namespace
}  // namespace suf::model
