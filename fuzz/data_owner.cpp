// Fuzzes the data owner's session with a model owner: two inferences and two audits of preprocessed bundles. Each
// bundle is announced before the previous one is used. Then the session stays, and runs a batch.
#include "fuzz/peer.hpp"

SUF_FUZZ(data_owner) {
  using namespace suf::fuzz;
  static ReusedStore kept(1);
  Peer p0(kData, kModel, input, [](Peer& p, uint16_t kind, suf::Bytes& payload) {
    if (kind == kChoice) p.chosen = payload.size() == 8 ? payload[0] : 0;
    if (kind == kAck) p.serial = p.chosen;
    if (kind == kChunk && payload.size() >= ChunkTags::kBytes) {
      payload = Chunk(ChunkKey(TestPlan().hash, kWeights), suf::View(payload).subspan(ChunkTags::kBytes));
    }
    if (kind == kProbe) MendProbe(payload);
    if (kind == kAck || kind == kOfflineEnd || kind == kOnlineEnd) MendMac(p, kind, payload);
  });
  RunHook run = [](Inference& i) {
    i.channel().Send(kFirstRun, suf::Bytes(8));
    i.EndOffline();
    (void)i.channel().RecvExact(kFirstRun + 1, 8);
    i.EndOnline();
  };
  uint64_t known = 0;
  auto dial = [&](std::stop_token) { return std::make_unique<Honest>(kData, &known); };
  bool fine = Quietly([&] {
    DataSession session(p0, TestPlan(), kept.lane(), dial, {.whole = true});
    (void)session.Setup();
    auto job = [&](uint32_t n, uint32_t texts = 1) { return session.JobOf(n, texts); };
    session.Infer(job(3), run, job(2));
    session.Infer(job(2), run, job(4));
    session.Audit(job(4), job(4));
    session.Audit(job(4));
    session.Stay();
    session.Infer(job(3, 2), run);
    session.End();
  });
  kept.Settle();
  if (!fine) suf::Fail(suf::Cause::kPeer, "the session ended early; start again");
}
