// Fuzzes the model owner's session with a data owner.
#include "fuzz/peer.hpp"

SUF_FUZZ(model_owner) {
  using namespace suf::fuzz;
  static ReusedStore kept(0);
  Peer p1(kModel, kData, input, [](Peer& p, uint16_t kind, suf::Bytes& payload) {
    if ((kind == kClaim || kind == kAudit) && p.sent(kChoice).size() == 8) p.serial = p.sent(kChoice)[0];
    if (kind == kProbe) MendProbe(payload);
    if (kind == kOpened && payload.size() == 64) {  // the hash of P1's bundle
      suf::Hash hash = suf::HashOf({Encode(Header(1, p.serial, JobOf(4))), suf::Bytes(kBody)});
      std::copy(hash.begin(), hash.end(), payload.begin() + 32);
    }
    if (kind == kClaim || kind == kAudit || kind == kGo || kind == kOfflineEnd || kind == kBye)
      MendMac(p, kind, payload);
  });
  static const PublicFiles files{.plan = "plan", .tokenizer = "words"};
  uint64_t known = 0;
  ModelHost host{.plan = TestPlan(),
                 .home = kept.home(),
                 .weights = kWeights,
                 .setup = kSetup,
                 .b_seed = suf::Share(suf::Secret(suf::Hash{5})),
                 .w_hat = [](Sink& s) { s.Write(suf::Bytes(kSetupBytes)); },
                 .dealers = [&](std::stop_token) { return std::make_unique<Honest>(kModel, &known); },
                 .run =
                     [](Inference& i) {
                       (void)i.channel().RecvExact(kFirstRun, 8);
                       i.EndOffline();
                       i.channel().Send(kFirstRun + 1, suf::Bytes(8));
                       return std::function<void()>();
                     },
                 .auditor = {.generate =
                                 [](const DealJob&, Sink& a, Sink& b) {
                                   a.Write(suf::Bytes(kBody));
                                   b.Write(suf::Bytes(kBody));
                                 },
                             .section = [](const Job&, uint64_t) { return "a section"; }},
                 .files = &files};
  bool fine = Quietly([&] { ServeSession(p1, host); });
  kept.Settle();
  if (!fine) suf::Fail(suf::Cause::kPeer, "the session ended early; start again");
}
