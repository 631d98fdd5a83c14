// One bit of a bundle flipped, at every place there is: in its file and on its way from the dealer. Each is noticed
// before a key is used.
#include <fstream>
#include <thread>

#include "suf/proto/internal/testing.hpp"
#include "suf/proto/supply.hpp"

namespace suf::proto {
namespace {

constexpr size_t kBody = 40;
const Identity kDealer{Role::kDealer, Hash{11}}, kModel{Role::kModel, Hash{12}}, kData{Role::kData, Hash{13}};

Plan TestPlan() {
  Plan p;
  p.prg = 2, p.max_tokens = 8, p.hash = {1};
  p.task = [](uint32_t n) { return Task{Hash{1, uint8_t(n)}, {kBody, kBody}}; };
  return p;
}

// HeaderOf: of P1's bundle 5; every field is not zero.
BundleHeader HeaderOf(const Plan& plan) {
  BundleHeader h;
  h.prg = plan.prg, h.n = 4, h.party = 1, h.serial = 5, h.body_bytes = kBody, h.plan = plan.hash;
  h.trace = plan.task(4).trace, h.weights = {77}, h.rho = {78}, h.pair = Share(Secret(Hash{79}));
  h.seed_hash[0] = {80}, h.seed_hash[1] = {81}, h.public_key[0] = kModel.key, h.public_key[1] = kData.key;
  return h;
}

// Body: chunk by chunk, tagged.
void Body(const BundleHeader& h, const Sink::Out& out) {
  Sink s(ChunkKey(h), kBody, out);
  s.Write(Bytes(kBody, 0x5a));
  s.Finish();
}

void Write(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), long(bytes.size()));
}

TEST(Flip, EveryBitOfABundlesFile) {
  Scratch dir("/dev/shm");
  Plan plan = TestPlan();
  std::string name = dir / "s/bundles/00000000000000000005.bundle", ledger = dir / "s/ledger";
  {
    Store s(dir / "s");
    BundleHeader h = HeaderOf(plan);
    auto in = s.Receive(h, Secret(Hash{5}), true);
    Body(h, [&](View c) { in.Add(c); });
    in.Commit();
  }
  const auto fresh = std::filesystem::file_size(ledger);
  std::ifstream file(name, std::ios::binary);
  const Bytes good{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(good.size(), 4 + 320 + 32 + 32 + 4 + ChunkTags::kBytes + kBody);
  size_t at_start = 0, at_claim = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= uint8_t(1 << bit % 8);
    Write(name, bad);
    {
      Store s(dir / "s");
      if (s.Bundles().empty()) {
        ASSERT_EQ(s.notices().size(), 1u) << bit;
        ++at_start;
      } else {
        ASSERT_TRUE(Fails(Exit::kRefused, "it is burnt", [&] { s.Claim(5); })) << "byte " << bit / 8 << " of the file";
        ASSERT_EQ(s.ledger().fates().at(5), Fate::kBurnt);
        ++at_claim;
      }
      ASSERT_FALSE(std::filesystem::exists(name)) << bit;
    }
    std::filesystem::resize_file(ledger, fresh);  // as if nothing had happened
  }
  EXPECT_EQ(at_start, 8 * (4 + 320 + 32 + 32));
  EXPECT_EQ(at_claim, 8 * (4 + ChunkTags::kBytes + kBody));
  Write(name, good);
  Store s(dir / "s");
  EXPECT_EQ(s.Claim(5).body, Bytes(kBody, 0x5a));
}

TEST(Flip, EveryBitOfADelivery) {
  Scratch dir;
  Plan plan = TestPlan();
  Store store(dir / "s");
  constexpr size_t kNone = ~size_t{0};
  // Deliver: the `bit`-th bit of header and chunk is flipped
  auto deliver = [&](size_t bit) {
    auto [near, far] = InProcessPair(kData, kDealer);
    std::thread dealer([&, ch = std::move(far)] {
      try {
        RecvHello(*ch, plan);
        SendHello(*ch, plan);
        Bytes request = ch->RecvExact(kRequest, 8 + 5 * 32);
        BundleHeader h = HeaderOf(plan);
        h.seed_hash[1] = HashOf({View(request).subspan(8 + 96, 64)});
        size_t left = bit;
        auto send = [&](uint16_t kind, View payload) {
          Bytes b(payload.begin(), payload.end());
          if (left < 8 * b.size()) b[left / 8] ^= uint8_t(1 << left % 8);
          left = left < 8 * b.size() ? kNone : left - 8 * b.size();
          ch->Send(kind, b);
        };
        Writer one;
        one.Put(uint32_t{1});
        ch->Send(kGrant, one.bytes());
        send(kHeader, Encode(h));
        Body(h, [&](View c) { send(kChunk, c); });
        ch->RecvExact(kEnd, 0);
        ch->Send(kEnd, Bytes(8));
      } catch (const Error&) {  // the party ended it
      }
    });
    auto leave = [&] { near.reset(), dealer.join(); };
    try {
      Fetch(*near, plan, store, {.n = 4, .weights = {77}, .partner = kModel.key});
    } catch (...) {
      leave();
      throw;
    }
    leave();
  };
  for (size_t bit = 0; bit < 8 * (320 + ChunkTags::kBytes + kBody); ++bit) {
    ASSERT_TRUE(Fails(Exit::kRefused, "", [&] { deliver(bit); })) << "byte " << bit / 8;
    ASSERT_TRUE(store.Bundles().empty()) << bit;
  }
  deliver(kNone);
  EXPECT_EQ(store.Claim(5).body, Bytes(kBody, 0x5a));
}

}  // namespace
}  // namespace suf::proto
