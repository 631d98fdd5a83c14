// The data owner's file of masked weights, with the program's own engine. A wrong W_hat in the file is replaced before
// a result depends on it, whichever tensor differs.
#include <gtest/gtest.h>

#include "tests/three_roles.hpp"

namespace suf::roles {
namespace {

using namespace net;
using namespace store;
using namespace run;
using namespace proto;

// The roles after a first session, and the file that P1 keeps.
struct Kept {
  Kept() {
    w.Session([&](DataSession& s) {
      id = s.weights();
      EXPECT_TRUE(w.Embed(s));
    });
    honest = File();
  }
  Bytes File() { return w.home[1]->LoadSetup(w.plan[1].hash, id, w.plan[1].setup_bytes).value(); }
  // Puts another W_hat into P1's file, with correct chunk tags: their key is no secret.
  void Plant(const Bytes& other) {
    ChunkFile file = w.home[1]->NewSetup(store::kLane);
    Sink sink(ChunkKey(w.plan[1].hash, id), EvenBody(other.size()), [&](View chunk) { file.Add(chunk); });
    sink.Write(other);
    sink.Finish();
    w.home[1]->CommitSetup(std::move(file), id);
    ASSERT_EQ(File(), other);
  }
  // Runs a session that reports `notices` notices and gives a right result. Afterwards the file is right.
  void Next(size_t notices) {
    w.Session([&](DataSession& s) {
      EXPECT_EQ(s.notices().size(), notices);
      EXPECT_TRUE(w.Embed(s));
    });
    EXPECT_EQ(w.Says(w.error[0]) + w.Says(w.error[1]), "");
    EXPECT_EQ(File(), honest);
  }
  ThreeRoles w;
  Hash id{};
  Bytes honest;
};

TEST(MaskedWeights, ABitOfAnyTensorIsSeenAndTheNextResultIsRight) {
  Kept k;
  size_t at = 0;
  for (const nn::MaskedWeight& m : k.w.engine[1]->masked()) {
    SCOPED_TRACE(m.name);
    const size_t byte = at + size_t(m.bytes()) / 2;
    Bytes bad = k.honest;
    bad[byte] ^= 4;
    k.Plant(bad);
    k.Next(1);
    at += size_t(m.bytes());
  }
  EXPECT_EQ(at, k.honest.size());
  k.Next(0);
}

TEST(MaskedWeights, ThoseOfAnotherBAreReplaced) {
  Kept k;
  ModelEngine& engine = *k.w.engine[0];
  Bytes other;
  WriteSetup(engine, TheTiny().weights, Masks(engine, Hash{6}, k.id),
             [&](View v) { other.insert(other.end(), v.begin(), v.end()); });
  ASSERT_NE(other, k.honest);
  k.Plant(other);
  k.Next(1);
  k.Next(0);
}

TEST(MaskedWeights, TheirIdFollowsEachOfWhatTheyAreMadeOf) {
  const Hash key{1}, plan{2}, seed{3}, other{4};
  nn::QuantisedWeights weights = TheTiny().weights;
  const Hash id = WeightsId(key, weights, plan, seed);
  EXPECT_EQ(WeightsId(key, weights, plan, seed), id);
  EXPECT_NE(WeightsId(other, weights, plan, seed), id);
  EXPECT_NE(WeightsId(key, weights, other, seed), id);
  EXPECT_NE(WeightsId(key, weights, plan, other), id);
  weights.erase(weights.begin());
  EXPECT_NE(WeightsId(key, weights, plan, seed), id);
}

}  // namespace
}  // namespace suf::roles
