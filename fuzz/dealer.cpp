// The dealer against one fuzzed party; the first byte says which. Once a request is on its way, an honest partner asks
// for the same bundles in a thread of its own.
#include <thread>

#include "fuzz/peer.hpp"

namespace {
using namespace suf::fuzz;

suf::Bytes Request(const Identity& partner) {
  suf::Writer w;
  w.Put(uint32_t{3}), w.Put(uint32_t{2}), w.Raw(TestPlan().task(3).trace), w.Raw(kWeights), w.Raw(partner.key);
  w.Raw(suf::Hash{21}), w.Raw(suf::Hash{22});
  return w.Take();
}

suf::Bytes Honest(const Identity& partner) {
  suf::Bytes all = AFrame(kHello, Hello());
  for (const suf::Bytes& f : {AFrame(kRequest, Request(partner)), AFrame(kEnd, {})})
    all.insert(all.end(), f.begin(), f.end());
  return all;
}
}  // namespace

SUF_FUZZ(dealer) {
  Folder folder;
  DealerState state(folder / "s");
  Dealer dealer(TestPlan(), state, {.ahead_tokens = 3, .ahead_count = 2, .partner_wait = Millis{1000}},
                [](const DealJob&, Sink& a, Sink& b) { a.Write(suf::Bytes(kBody)), b.Write(suf::Bytes(kBody)); });
  bool data = Pull<uint8_t>(input) & 1;
  const Identity &one = data ? kData : kModel, &two = data ? kModel : kData;
  suf::Bytes honest = Honest(one);
  Peer partner(kDealer, two, honest, [](Peer&, uint16_t, suf::Bytes&) {});
  std::thread other;
  Peer party(kDealer, one, input, [&](Peer&, uint16_t kind, suf::Bytes& payload) {
    if (kind != kRequest || payload.size() != 8 + 5 * 32 || other.joinable()) return;
    other = std::thread([&] { Quietly([&] { dealer.Handle(partner); }); });
  });
  bool fine = Quietly([&] { dealer.Handle(party); });
  partner.gone = true;
  if (other.joinable()) other.join();
  uint64_t next = state.Reserve(1);
  SUF_CHECK(next == 1 || next == 2 || next == 3);
  if (!fine) suf::Fail(suf::Exit::kPeer, "the session ended early; start again");
}
