// Each bit of a bundle is flipped, in its file and on its way from the dealer. Each flip is noticed before a key is
// used.
#include <fstream>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/proto/internal/world.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::proto {
namespace {

constexpr size_t kFlipBody = 40;

BundlePlan FlipPlan() {
  BundlePlan p;
  p.prg = 2;
  p.max_tokens = 8;
  p.hash = {1};
  p.task = [](const store::Job& j) {
    return Task{Hash{1, uint8_t(j.tokens)}, {store::EvenBody(kFlipBody), store::EvenBody(kFlipBody)}};
  };
  return p;
}

// Returns a header of P1's bundle, with no zero field.
store::BundleHeader HeaderOf(const BundlePlan& plan, uint64_t serial = 5) {
  store::BundleHeader h;
  h.prg = plan.prg;
  h.job = store::JobOf(4);
  h.party = 1;
  h.serial = serial;
  h.lane = store::kLane;
  h.body_bytes = kFlipBody;
  h.plan = plan.hash;
  h.trace = plan.task(h.job).trace;
  h.weights = {77};
  h.rho = {78};
  h.pair = Share(Secret(Hash{79}));
  h.seed_hash[0] = {80};
  h.seed_hash[1] = {81};
  h.public_key[0] = kId[0].key;
  h.public_key[1] = kId[1].key;
  return h;
}

// Writes a body as tagged chunks.
void Body(const store::BundleHeader& h, const store::Sink::Out& out) {
  store::Sink s(store::ChunkKey(h), store::EvenBody(kFlipBody), out);
  s.Write(Bytes(kFlipBody, 0x5a));
  s.Finish();
}

void Put(store::Lane& s, const store::BundleHeader& h) {
  auto in = s.Receive(h, Secret(Hash{5}), store::EvenBody(kFlipBody), true);
  Body(h, [&](View c) { store::Add(in, c); });
  in.Commit();
}

// Claims and reads a bundle; burns it if that fails, as a session does.
Bytes Use(store::Lane& s, uint64_t serial) {
  try {
    return store::BodyOf(store::Witnessed(s, serial).Claim(serial, store::EvenBody(kFlipBody)));
  } catch (const Error&) {
    s.Burn(serial);
    throw;
  }
}

// Flips one bit of a file in place, so that it stays the file that the store wrote.
void Flip(const std::string& path, size_t bit) {
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  f.seekg(long(bit / 8));
  const char c = char(f.get() ^ 1 << bit % 8);
  f.seekp(long(bit / 8)).put(c);
}

// Each bit belongs to a bundle of its own, because a bundle serves once.
TEST(Flip, EveryBitOfABundlesFile) {
  Scratch dir("/dev/shm");
  const BundlePlan plan = FlipPlan();
  constexpr size_t kPreamble = 4 + store::kHeaderBytes + 32 + 32,
                   kAll = kPreamble + 4 + net::ChunkTags::kBytes + kFlipBody;
  auto name = [&](uint64_t serial) {
    std::string digits = std::to_string(serial);
    return store::LaneFolder(dir / "s") + "/bundles/" + std::string(20 - digits.size(), '0') + digits +
           "-0-0-4-0-1.bundle";
  };
  size_t at_start = 0, at_claim = 0;
  for (size_t bit = 0; bit < 8 * kAll; ++bit) {
    const uint64_t serial = bit + 1;
    {
      store::OneLane s(dir / "s");
      ASSERT_TRUE(s.notices.empty()) << s.notices[0];
      Put(s, HeaderOf(plan, serial));
    }
    ASSERT_EQ(std::filesystem::file_size(name(serial)), kAll);
    Flip(name(serial), bit);
    store::OneLane s(dir / "s");
    if (s->Bundles().empty()) {
      ASSERT_EQ(s.notices.size(), 1u) << bit;
      ++at_start;
    } else {
      ASSERT_TRUE(Fails(Cause::kRefused, "it is burnt", [&] { (void)Use(s, serial); }))
          << "byte " << bit / 8 << " of the file";
      ASSERT_EQ(s->ledger().LastRecords().at(serial), store::RecordKind::kBurnt);
      ++at_claim;
    }
    ASSERT_FALSE(std::filesystem::exists(name(serial))) << bit;
  }
  EXPECT_EQ(at_start, 8 * kPreamble);
  EXPECT_EQ(at_claim, 8 * (4 + net::ChunkTags::kBytes + kFlipBody));
  store::OneLane s(dir / "s");
  const uint64_t last = 8 * kAll + 1;
  Put(s, HeaderOf(plan, last));
  EXPECT_EQ(Use(s, last), Bytes(kFlipBody, 0x5a));
}

TEST(Flip, EveryBitOfADelivery) {
  Scratch dir;
  BundlePlan plan = FlipPlan();
  store::OneLane store(dir / "s");
  constexpr size_t kNone = ~size_t{0};
  // delivers a bundle with bit number `bit` of header and chunk flipped
  auto deliver = [&](size_t bit) {
    auto [near, far] = net::InProcessPair(kId[1], kId[2]);
    std::thread dealer([&, ch = std::move(far)] {
      try {
        RecvHello(*ch, plan);
        SendHello(*ch, plan);
        Bytes request = ch->RecvExact(net::kRequest, store::kJobBytes + 4 + 16 + 7 * 32 + 4);
        store::BundleHeader h = HeaderOf(plan);
        h.seed_hash[1] = HashOf({View(request).subspan(store::kJobBytes + 4 + 16 + 4 * 32 + 4, 96)});
        size_t left = bit;
        auto send = [&](uint16_t kind, View payload) {
          Bytes b(payload.begin(), payload.end());
          if (left < 8 * b.size()) b[left / 8] ^= uint8_t(1 << left % 8);
          left = left < 8 * b.size() ? kNone : left - 8 * b.size();
          ch->Send(kind, b);
        };
        Writer one;
        one.Put(uint32_t{1});
        ch->Send(net::kGrant, one.bytes());
        send(net::kHeader, store::Encode(h));
        Body(h, [&](View c) { send(net::kChunk, c); });
        ch->RecvExact(net::kEnd, 0);
        ch->Send(net::kEnd, Bytes(8));
      } catch (const Error&) {  // the party ended it
      }
    });
    auto leave = [&] {
      near.reset();
      dealer.join();
    };
    try {
      Fetch(*near, plan, store, {.job = store::JobOf(4), .weights = {77}, .partner = kId[0].key});
    } catch (...) {
      leave();
      throw;
    }
    leave();
  };
  for (size_t bit = 0; bit < 8 * (store::kHeaderBytes + net::ChunkTags::kBytes + kFlipBody); ++bit) {
    ASSERT_TRUE(Fails(Cause::kRefused, "", [&] { deliver(bit); })) << "byte " << bit / 8;
    ASSERT_TRUE(store->Bundles().empty()) << bit;
  }
  deliver(kNone);
  EXPECT_EQ(store::BodyOf(store->Claim(5, store::EvenBody(kFlipBody))), Bytes(kFlipBody, 0x5a));
}

}  // namespace
}  // namespace suf::proto
