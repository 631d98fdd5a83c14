// Fuzzes a party's fetch from a dealer: grant, headers and chunks.
#include "fuzz/peer.hpp"

SUF_FUZZ(fetch) {
  using namespace suf::fuzz;
  static ReusedStore kept(1, false);
  Lane& lane = *kept.lane();
  Peer dealer(kData, kDealer, input, [](Peer& p, uint16_t kind, suf::Bytes& payload) {
    const suf::Bytes& request = p.sent(kRequest);
    constexpr size_t kSeedAt = kJobBytes + 4 + sizeof(LaneId) + 3 * 32,
                     kSeedHashAt = 28 + kJobBytes + sizeof(LaneId) + 5 * 32;  // both in the request; of party 1
    if (kind == kHeader && payload.size() >= kSeedHashAt + 32 && request.size() == kSeedAt + 64) {
      suf::Hash h = suf::HashOf({suf::View(request).subspan(kSeedAt, 64)});
      std::copy(h.begin(), h.end(), payload.begin() + kSeedHashAt);
      Quietly([&] { p.tags = ChunkTags(ChunkKey(DecodeHeader(payload))); });
    }
    if (kind == kChunk && payload.size() >= ChunkTags::kBytes)
      payload = Chunk(p.tags, suf::View(payload).subspan(ChunkTags::kBytes));
  });
  FetchResult got;
  bool fine = Quietly([&] {
    got = Fetch(dealer, TestPlan(), lane, {.job = JobOf(3), .count = 2, .weights = kWeights, .partner = kModel.key});
  });
  for (uint64_t serial : got.serials) {
    lane.BeginWitness(serial, PairId{1});
    lane.EndWitness(serial, lane.ledger().witnessed(PairId{1}));
    SUF_CHECK(lane.Claim(serial, EvenBody(kBody)).keys->Section(0).size() == kBody);
    lane.Finish(serial);
  }
  kept.Settle();
  if (!fine) suf::Fail(suf::Cause::kPeer, "the fetch ended early; start again");
}
