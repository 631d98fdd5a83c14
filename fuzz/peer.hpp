// A peer that sends the input: frames {u8 flags, u16 kind, u16 length, payload}, and is gone afterwards. The flags may
// request correct values for everything that a stranger could compute. These are sequence numbers, MACs under a bundle
// dealt to it, and chunk chains. Otherwise hardly any input would pass the checks.
#pragma once
#include <atomic>
#include <optional>

#include "fuzz/fuzz.hpp"
#include "suf/proto/session.hpp"

namespace suf::fuzz {

using namespace net;
using namespace store;
using namespace proto;

inline const Identity kDealer{Role::kDealer, {11}}, kModel{Role::kModel, {12}}, kData{Role::kData, {13}};
inline constexpr LaneId kLane{19};
inline const Hash kExporter{14}, kWeights{15}, kRho{16};
inline constexpr uint64_t kBody = 64, kSetupBytes = 40;
inline const Hash kSetup = HashOf({Bytes(kSetupBytes)});  // of a W_hat of zeros
inline constexpr uint8_t kOtherSequence = 1, kMend = 2;

inline Hash TraceOf(const Job& j) { return {1, uint8_t(j.tokens), uint8_t(j.texts - 1)}; }
inline const proto::BundlePlan& TestPlan() {
  static const proto::BundlePlan plan = [] {
    proto::BundlePlan p;
    p.prg = 2;
    p.max_tokens = 4;
    p.most_texts = 2;
    p.setup_bytes = kSetupBytes;
    p.hash = {1};
    p.variants = {"near", "far"};
    p.price = [](const Job& j, const JobTerms& t) { return j.variant ? 1000 : 10 * t.link.trip_us; };
    p.task = [](const Job& j) { return Task{TraceOf(j), {EvenBody(kBody), EvenBody(kBody)}}; };
    return p;
  }();
  return plan;
}

inline Bytes Hello() {
  Writer w;
  w.Put(kWireVersion);
  w.Put(TestPlan().version);
  w.Put(TestPlan().prg);
  w.Raw(TestPlan().hash);
  return w.Take();
}

// The header of the bundle that both parties hold before the session begins.
inline BundleHeader Header(uint32_t party, uint64_t serial, const Job& job) {
  BundleHeader h;
  h.prg = 2;
  h.job = job;
  h.party = party;
  h.serial = serial;
  h.lane = kLane;
  h.body_bytes = kBody;
  h.plan = {1};
  h.trace = TraceOf(job);
  h.weights = kWeights;
  h.rho = kRho;
  h.public_key[0] = kModel.key;
  h.public_key[1] = kData.key;
  h.pair = Share(Secret(Hash{17}));
  return h;
}

// The next chunk of a body, with the right tag.
inline Bytes Chunk(ChunkTags& tags, View data) {
  Writer w;
  w.Raw(tags.Next(data));
  w.Raw(data);
  return w.Take();
}
inline Bytes Chunk(const Hash& key, View data) {
  ChunkTags tags(key);
  return Chunk(tags, data);
}

// The bundles that Fill puts into a store, by serial. They are on disk, because a model owner's session forgets those
// in memory.
inline const std::map<uint64_t, Job> kBundles{
    {7, JobOf(3)}, {9, JobOf(2)}, {11, JobOf(4)}, {13, JobOf(4)}, {15, JobOf(3, 0, 2)}};
inline void Fill(Lane& store, uint32_t party) {
  for (const auto& [serial, job] : kBundles) {
    BundleHeader h = Header(party, serial, job);
    auto in = store.Receive(h, Secret(Hash{18}), EvenBody(kBody), true);
    const Bytes chunk = Chunk(ChunkKey(h), Bytes(kBody));
    std::copy(chunk.begin(), chunk.end(), in.NextBuffer().begin());
    in.MarkFilled();
    in.Commit();
  }
}

// Checks that no serial is half-used after a session. A burnt serial burns lower ones that were only reported.
inline void CheckSettled(const Lane& store) {
  const auto last = store.ledger().LastRecords();
  uint64_t burnt = 0;
  for (auto [serial, fate] : last)
    if (fate == RecordKind::kBurnt) burnt = serial;
  for (auto [serial, fate] : last)
    SUF_CHECK(fate != RecordKind::kClaimed && (fate != RecordKind::kReported || serial < burnt));
}

// A store that knows its peers and, if `filled`, holds those bundles. It is rebuilt only after an execution that
// changed it, because that takes most of a short session's time. The rebuild follows the execution, so memory use ends
// as it began.
class ReusedStore {
 public:
  explicit ReusedStore(uint32_t party, bool filled = true) : party_(party), filled_(filled) { Make(); }
  Home& home() { return *home_; }
  const std::shared_ptr<Lane>& lane() const { return lane_; }
  // Rebuilds the store after an execution if needed. W_hat is kept only by a claim or an audit, and both show in the
  // ledger. A data owner may have named another lane, which stays empty.
  void Settle() {
    const Hash owner = party_ ? suf::Hash{} : kData.key;
    const auto all = home_->Lanes(owner);
    for (const LaneId& id : all) CheckSettled(*home_->Find(owner, id));
    const auto kept = home_->Find(owner, kLane);
    if (all.size() == 1 && kept->ledger().LastRecords().empty() && kept->Bundles().size() == full_) return;
    lane_.reset();
    home_.reset();
    Remove(folder_ / "s");
    Make();
  }

 private:
  void Make() {
    home_.emplace(folder_ / "s");
    lane_ = home_->Open(party_ ? suf::Hash{} : kData.key, kLane);
    for (const Identity& peer : {kDealer, kModel, kData}) SUF_CHECK(home_->Pin(peer));
    if (filled_) Fill(*lane_, party_);
    full_ = lane_->Bundles().size();
    if (party_) return;
    lane_.reset();  // P0's session opens it
  }
  Folder folder_;
  uint32_t party_;
  bool filled_;
  std::optional<Home> home_;
  std::shared_ptr<Lane> lane_;
  size_t full_ = 0;
};

class Peer : public Channel {
 public:
  using Mend = std::function<void(Peer&, uint16_t kind, Bytes& payload)>;
  Peer(Identity self, Identity peer, View input, Mend mend)
      : Channel(self, peer, kExporter, Millis{1000}), input_(input), mend_(std::move(mend)) {}
  bool PeerGone(size_t) override { return gone; }
  void HangUp() noexcept override { gone = true; }
  // The last payload of this kind that was sent to the peer; empty if there is none.
  const Bytes& sent(uint16_t kind) { return sent_[kind]; }
  std::atomic<bool> gone = false;
  uint64_t serial = 0, chosen = 0;  // of the current inference or audit; of the next one
  ChunkTags tags{Hash{}};

 protected:
  void Put(View header, View payload) override {
    sent_[Reader(header.subspan(4), "a header").Get<uint16_t>()].assign(payload.begin(), payload.end());
  }
  ReceivedFrame Take(size_t limit) override {
    if (input_.size() < 5) FailGone();
    uint8_t flags = Pull<uint8_t>(input_);
    ReceivedFrame f{.kind = Pull<uint16_t>(input_)};
    f.sequence = flags & kOtherSequence ? flags : next_;
    ++next_;
    View payload = PullBytes(input_, Pull<uint16_t>(input_));
    f.payload.assign(payload.begin(), payload.end());
    if (flags & kMend) mend_(*this, f.kind, f.payload);
    if (f.payload.size() > limit) FailTooLarge(f.payload.size(), limit);
    return f;
  }

 private:
  View input_;
  Mend mend_;
  uint16_t next_ = 0;
  std::map<uint16_t, Bytes> sent_;
};

// A dealer that witnesses. It remembers the serials of this session.
class Honest : public Channel {
 public:
  Honest(Identity self, uint64_t* known) : Channel(self, kDealer, kExporter, Millis{1000}), known_(known) {}
  bool PeerGone(size_t) override { return false; }
  void HangUp() noexcept override {}

 protected:
  void Put(View header, View payload) override {
    if (Reader(header.subspan(4), "a header").Get<uint16_t>() != kWitness) return;
    before_ = std::exchange(*known_, Reader(payload, "a witness").Get<uint64_t>());
  }
  ReceivedFrame Take(size_t) override {
    const uint16_t sequence = taken_++;
    if (sequence == 0) return {kHello, sequence, Hello()};
    Writer w;
    w.Put(before_);
    return {kWitness, sequence, w.Take()};
  }

 private:
  uint64_t* known_;
  uint64_t before_ = 0;
  uint16_t taken_ = 0;
};

// Puts the MAC into the payload that the other holder of the bundle would send (internal/bond.hpp).
inline void MendMac(Peer& p, uint16_t kind, Bytes& payload) {
  if (payload.size() != 64 || !kBundles.count(p.serial)) return;
  BundleHeader h = Header(0, p.serial, kBundles.at(p.serial));
  h.body_bytes = 0;
  auto [sent, received] = p.Transcript();
  Hash tag = Hmac(h.pair->view(), {AsView("suf bond"), View(reinterpret_cast<uint8_t*>(&kind), sizeof kind),
                                   View(payload).first(32), Encode(h), kSetup, kExporter, received, sent});
  std::copy(tag.begin(), tag.end(), payload.begin() + 32);
}

// Replaces a frame of two bytes by one as large as the probes that measure the link.
inline void MendProbe(Bytes& payload) {
  if (payload.size() == 2) payload.resize(kLargeProbe);
}

// A frame for seeds.
inline Bytes AFrame(uint16_t kind, View payload, uint8_t flags = kMend) {
  Writer w;
  w.Put(flags);
  w.Put(kind);
  w.Put(uint16_t(payload.size()));
  w.Raw(payload);
  return w.Take();
}
inline Bytes Welcome(uint32_t variants = 1) {
  Writer w;
  w.Raw(kWeights);
  w.Raw(kSetup);
  w.Put(uint32_t{0});
  w.Put(variants);
  w.Put(uint64_t{1'000'000});
  w.Put(uint8_t{0});
  return w.Take();
}
// P1's answer. `link` is the reported one, or zeros: it is measured.
inline Bytes SetupAsk(uint32_t variants = 1, Network link = {}, const LaneId& lane = kLane, uint32_t lanes = 2,
                      bool receipts = false, const suf::Hash& dealer = {}) {
  Writer w;
  w.Put(uint8_t{0});
  w.Put(variants);
  w.Raw(lane);
  w.Put(lanes);
  w.Put(uint64_t{0});
  w.Put(uint8_t{1});
  w.Put(link.trip_us);
  w.Put(link.rate);
  w.Put(uint8_t(receipts));
  w.Raw(dealer);
  return w.Take();
}
// A report that a job waits.
inline Bytes Wait(uint32_t place, uint32_t ms = 1024) {
  Writer w;
  w.Put(place);
  w.Put(ms);
  return w.Take();
}
// A side's measured figures of the link.
inline Bytes Figures(uint64_t trip_us = 100, uint64_t rate = 1'000'000'000) {
  Writer w;
  w.Put(trip_us);
  w.Put(rate);
  return w.Take();
}

}  // namespace suf::fuzz
