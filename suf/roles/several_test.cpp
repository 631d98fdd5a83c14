// State that several inferences share: inputs by key, masked weights, and a generator that deals in several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <set>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/roles/internal/shared_inputs.hpp"

namespace suf::roles {
namespace {

// A place where threads wait for each other.
class Meeting {
 public:
  explicit Meeting(int threads) : missing_(threads) {}
  // Waits for all threads; returns false if one does not come.
  bool Wait() {
    std::unique_lock l(m_);
    --missing_;
    changed_.notify_all();
    return changed_.wait_for(l, std::chrono::seconds(60), [&] { return missing_ <= 0; });
  }

 private:
  std::mutex m_;
  std::condition_variable changed_;
  int missing_;
};

using Array = std::shared_ptr<const WipedVector<uint64_t>>;

// Sets one array; `kept` observes it.
auto Setter(uint64_t word, std::weak_ptr<const WipedVector<uint64_t>>* kept = nullptr) {
  return [word, kept](run::Inputs& inputs) {
    const Array array = std::make_shared<const WipedVector<uint64_t>>(1, word);
    if (kept) *kept = array;
    inputs.Set("x", array);
  };
}
uint64_t WordIn(const run::Inputs& inputs) { return *static_cast<const uint64_t*>(inputs.Get("x", 1).words().get()); }

TEST(SharedInputs, KeepsTheLastOnesAndThoseInUse) {
  SharedInputs<int> shared(2);
  std::weak_ptr<const WipedVector<uint64_t>> array[4];
  auto used = shared.Get(0, Setter(10, &array[0]));
  for (int key : {1, 2, 3}) EXPECT_EQ(WordIn(*shared.Get(key, Setter(uint64_t(10 + key), &array[key]))), 10u + key);
  EXPECT_TRUE(array[1].expired()) << "neither in use nor among the last two";
  EXPECT_FALSE(array[2].expired());
  EXPECT_FALSE(array[3].expired());
  EXPECT_FALSE(shared.Find(1));
  EXPECT_EQ(shared.Find(0), used) << "in use";
  EXPECT_TRUE(array[2].expired()) << "0 and 3 were used after it";
  const uint64_t version = used->Get("x", 1).version;
  run::Inputs copy = *used;
  used.reset();
  EXPECT_EQ(shared.Get(0, Setter(99))->Get("x", 1).version, version) << "not made again";
  for (int key : {4, 5}) (void)shared.Get(key, Setter(0));
  EXPECT_EQ(WordIn(copy), 10u) << "a run's copy holds the array";
  EXPECT_EQ(copy.Get("x", 1).version, version);
  copy = {};
  EXPECT_TRUE(array[0].expired());
}

TEST(SharedInputs, AreMadeOnceWhileOtherKeysGoOn) {
  SharedInputs<int> shared(2);
  Meeting both(2);
  std::atomic<int> made{0};
  std::set<uint64_t> versions[2];
  std::mutex m;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, key = i % 2] {
      const auto inputs = shared.Get(key, [&](run::Inputs& to) {
        ++made;
        EXPECT_TRUE(both.Wait()) << "one key waits for the other";
        Setter(uint64_t(key))(to);
      });
      EXPECT_EQ(WordIn(*inputs), uint64_t(key));
      std::lock_guard l(m);
      versions[key].insert(inputs->Get("x", 1).version);
    });
  threads.clear();
  EXPECT_EQ(made, 2);
  for (const auto& of_key : versions) EXPECT_EQ(of_key.size(), 1u);
}

TEST(SharedInputs, AreMadeAgainAfterAnError) {
  SharedInputs<int> shared(2);
  EXPECT_TRUE(Fails(Cause::kResource, "no memory",
                    [&] { (void)shared.Get(1, [](run::Inputs&) { Fail(Cause::kResource, "no memory"); }); }));
  EXPECT_FALSE(shared.Find(1));
  EXPECT_EQ(WordIn(*shared.Get(1, Setter(7))), 7u);
}

// W_hat is written in pieces, so that a slow reader of it holds little of P0's memory.
TEST(WriteSetup, WritesTheSameInPiecesOfAnySize) {
  const model::LoadedModel m =
      model::SmallModel(1, {.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8});
  const auto backend = cpu::MakePacked(exec::Default());
  ModelEngine engine(model::SmallPlan(m, 8), *backend);
  const nn::QuantisedWeights weights = nn::Quantise(m.weights, engine.plan());
  const Secret seed(Hash{5});
  const Masks masks(engine, seed.view(), Hash{7});
  size_t largest = 0;
  const auto written = [&](size_t words) {
    Bytes all;
    largest = 0;
    const auto add = [&](View piece) {
      largest = std::max(largest, piece.size());
      Append(&all, piece);
    };
    WriteSetup(engine, weights, masks, add, words);
    return all;
  };
  const Bytes whole = written(kSetupWords);
  EXPECT_GT(largest, 8u * 8u);
  EXPECT_EQ(HashOf({whole}), SetupHash(engine, weights, masks));
  for (const size_t words : {8, 24}) {
    EXPECT_EQ(written(words), whole);
    EXPECT_LE(largest, 8 * words);
  }
}

// Threads meet at the end of their deals. Two deal for one model owner and one for another, with another B.
TEST(Generator, DealsSideBySideWhatItDealsAlone) {
  const model::LoadedModel m =
      model::SmallModel(1, {.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8});
  const auto backend = cpu::MakePacked(exec::Default());
  ModelEngine engine(model::SmallPlan(m, 8), *backend);
  const auto deal = [&](Generator& generate, uint8_t i) {
    proto::DealJob job;
    job.job = store::JobOf(3u + i);
    job.serial = i;
    job.rho = {i};
    job.weights = {uint8_t(i % 2)};
    for (int p : {0, 1}) job.key[p] = Secret(Hash{i, uint8_t(p)});
    job.b_seed = Share(Secret(Hash{uint8_t(i % 2), 9}));
    const auto work = engine.Compile(int(job.job.tokens));
    Sha256 bodies[2];
    {
      store::Sink to_p0(Hash{}, work->task.body[0], [&](View chunk) { bodies[0].Add(chunk); });
      store::Sink to_p1(Hash{}, work->task.body[1], [&](View chunk) { bodies[1].Add(chunk); });
      generate(std::move(job), to_p0, to_p1);
      to_p0.Finish();
      to_p1.Finish();
    }
    return std::array<Hash, 2>{bodies[0].Done(), bodies[1].Done()};
  };
  constexpr int kDeals = 3;
  std::array<Hash, 2> alone[kDeals], together[kDeals];
  for (int i = 0; i < kDeals; ++i) {
    Generator generate(engine);
    alone[i] = deal(generate, uint8_t(i));
  }
  EXPECT_NE(alone[0], alone[2]);
  Generator generate(engine);
  Meeting all(kDeals);
  std::mutex mutex;
  std::set<uint64_t> serials;
  generate.dealt = [&](uint64_t serial, const run::Times&) {
    EXPECT_TRUE(all.Wait()) << "a deal waits for another";
    std::lock_guard l(mutex);
    serials.insert(serial);
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kDeals; ++i) threads.emplace_back([&, i] { together[i] = deal(generate, uint8_t(i)); });
  threads.clear();
  for (int i = 0; i < kDeals; ++i) EXPECT_EQ(together[i], alone[i]) << "deal " << i;
  EXPECT_EQ(serials, (std::set<uint64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace suf::roles
