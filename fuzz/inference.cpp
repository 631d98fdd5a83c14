// Fuzzes a running inference: run::RunParty with the other party's frames and its own bundle. SmallRun is a small trace
// in which every composition occurs. All masks are fixed, so a seed can hold an honest run.
// Bits of the first byte: the party (1), whether its bundle follows (2), and the backend (those above). A bundle is as
// long as the schedule says.
#include "fuzz/peer.hpp"
#include "fuzz/small_run.hpp"
#include "suf/run/deal.hpp"
#include "suf/run/party.hpp"

SUF_FUZZ(inference) {
  using namespace suf::fuzz;
  using namespace suf::run;
  static SmallRun run;
  const uint8_t first = Pull<uint8_t>(input);
  const int party = first & 1;
  suf::Bytes key = run.honest().key[size_t(party)];
  if (first & 2) {
    suf::View dealt = PullBytes(input, key.size());
    std::copy(dealt.begin(), dealt.end(), key.begin());
  }
  size_t due = 0;
  Peer peer(party ? kData : kModel, party ? kModel : kData, input,
            [&](Peer&, uint16_t, suf::Bytes& payload) { payload.resize(due); });
  struct Due : ChannelLink {
    Due(Channel& ch, size_t& due) : ChannelLink(ch), due_(due) {}
    void Post(int index, std::span<uint8_t> into) override {
      rooms_.push_back(into.size());
      ChannelLink::Post(index, into);
    }
    void Receive(int index, size_t bytes) override {
      due_ = rooms_.front();
      ChannelLink::Receive(index, bytes);
      if (bytes == due_) rooms_.pop_front();
    }
    std::deque<size_t> rooms_;
    size_t& due_;
  } link(peer, due);
  bool received = false;
  KeySource keys(std::make_shared<const BodyLayout>(LayoutOf(run.schedule(), party)), KeySource::kWhole);
  keys.FeedFrom(key);
  auto words = RunParty({.schedule = run.schedule(),
                         .backend = run.backend(first >> 2),
                         .party = party,
                         .randomness = run.randomness(party),
                         .inputs = run.inputs(party),
                         .keys = keys,
                         .link = link,
                         .through = [&] { received = true; }});
  SUF_CHECK(received && words.size() == (party ? SmallRun::kWords : 0));
  for (uint64_t w : words) SUF_CHECK(w >> SmallRun::kBits == 0);
}
