#include "suf/run/mirror.hpp"

#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"
#include "suf/run/deal.hpp"

namespace suf::run {

namespace {

// Returns the words of a packed tensor, as OpenedWire has them.
std::vector<uint64_t> Unpacked(View packed, const pfss::Node& n) {
  const auto count = size_t(pfss::Size(n.shape));
  const int k = n.ring.bits;
  std::vector<uint64_t> out(count * size_t(k > 64 ? (k + 63) / 64 : 1));
  if (k > 64)
    ring::UnpackLong(packed.data(), count, k, out.data());
  else
    ring::Unpack(packed.data(), count, k, out.data());
  return out;
}

// Returns the bytes of a part of a frame or of a body.
View At(View bytes, const pfss::FrameField& part) { return bytes.subspan(size_t(part.at), size_t(part.bytes)); }

// Returns a + b or, if `minus`, a - b in the ring.
std::vector<uint64_t> Plus(std::vector<uint64_t> a, const std::vector<uint64_t>& b, pfss::Ring r, bool minus = false) {
  SUF_CHECK(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = r.kind == pfss::Ring::kXor ? a[i] ^ b[i] : (minus ? a[i] - b[i] : a[i] + b[i]) & ring::Mask(r.bits);
  return a;
}

// Deals the masks of these wires, one behind another; returns them in that order.
std::vector<std::vector<uint64_t>> MasksOf(const pfss::Trace& t, const std::vector<pfss::Trace::WireNodes>& wires,
                                           pfss::Backend& dealer, const pfss::BundleSecrets& secrets, Inputs& inputs) {
  std::vector<int> masks;
  for (const pfss::Trace::WireNodes& w : wires) masks.push_back(w.r);
  const pfss::Trace bare(t, masks);
  const pfss::Schedule schedule(bare);
  pfss::BundleSecrets copy{{}, secrets.rho};
  for (size_t p : {0, 1}) copy.key[p].emplace(secrets.key[p].value().view());
  const Bytes body = DealBodies(schedule, dealer, *dealer.Expand(std::move(copy)), inputs)[0];
  std::map<int, pfss::FrameField> part;  // by node
  for (const pfss::FrameField& f : schedule.key(0)) part.emplace(f.node, f);
  std::vector<std::vector<uint64_t>> out;
  for (const pfss::Trace::Result& r : bare.results(0))
    out.push_back(Unpacked(At(body, part.at(r.node)), bare.node(r.node)));
  return out;
}

}  // namespace

std::vector<OpenedWire> OpenedWires(const pfss::Schedule& schedule, pfss::Backend& dealer,
                                    const pfss::BundleSecrets& secrets, Inputs& inputs, std::span<const Bytes> frames) {
  const pfss::Trace& t = schedule.trace();
  SUF_CHECK(frames.size() == schedule.frames().size());
  std::map<int, View> message;  // by node
  for (size_t f = 0; f < frames.size(); ++f)
    for (const pfss::FrameField& part : schedule.frames()[f].parts) message[part.node] = At(frames[f], part);
  std::vector<OpenedWire> out;
  std::vector<pfss::Trace::WireNodes> learned;  // by both parties
  std::vector<size_t> at;                       // of these in `out`
  for (const pfss::Trace::WireNodes& w : t.wires()) {
    OpenedWire wire;
    bool both = true;
    for (size_t p : {0, 1}) {
      if (w.sent[p] < 0) continue;
      const pfss::Node& n = t.node(w.sent[p]);
      wire.name = t.name(n.label);
      if (const auto m = message.find(w.sent[p]); m != message.end())
        wire.sent[p] = Unpacked(m->second, n);
      else
        both = false;
    }
    if (wire.sent[0].empty() && wire.sent[1].empty()) continue;
    const pfss::Node& hat = t.node(w.hat);
    wire.scope = t.name(hat.scope);
    wire.ring = hat.ring;
    wire.shape = hat.shape;
    both = both && (hat.know & pfss::kPub) == pfss::kPub;
    if (both) {
      const bool alone = wire.sent[0].empty() || wire.sent[1].empty();
      wire.masked = alone ? wire.sent[wire.sent[0].empty()] : Plus(wire.sent[0], wire.sent[1], wire.ring);
      learned.push_back(w);
      at.push_back(out.size());
    }
    out.push_back(std::move(wire));
  }
  const std::vector<std::vector<uint64_t>> masks = MasksOf(t, learned, dealer, secrets, inputs);
  for (size_t i = 0; i < at.size(); ++i) {
    OpenedWire& wire = out[at[i]];
    wire.clear = Plus(wire.masked, masks[i], wire.ring, true);
  }
  return out;
}

}  // namespace suf::run
