// Fuzzes a data owner's pull: the model owner's catalogue, and the files behind it.
#include "fuzz/peer.hpp"

SUF_FUZZ(catalogue) {
  using namespace suf::fuzz;
  Peer p0(kData, kModel, input, [](Peer&, uint16_t, suf::Bytes&) {});
  PublicFiles files;
  if (!Quietly([&] { files = suf::proto::Pull(p0); }))
    suf::Fail(suf::Cause::kPeer, "the pull ended early; start again");
  SUF_CHECK(!files.plan.empty() && files.plan.size() + files.tokenizer.size() <= kMostPulled);
}
