// MACs that tie two parties to one bundle, one connection and one history of frames.
#pragma once
#include "suf/store/bundle.hpp"

namespace suf::proto {

// MACs under the pair secret. Each covers a label, the kind, and the header (versions, digests, job, rho, serial,
// identities). It also covers the SHA-256 of W_hat, the nonces and the TLS exporter. Hashes of all frames so far, in
// both directions, enter as well.
class Bond {
 public:
  // `setup` is the SHA-256 of this side's W_hat.
  Bond(net::Channel& ch, const store::BundleHeader& h, const Hash& setup)
      : ch_(ch), header_(h), setup_(setup), own_nonce_(RandomHash()) {
    ch.TagFrames(FrameKey(ch.self().role), FrameKey(ch.peer().role));
  }
  const store::BundleHeader& header() const { return header_; }

  // Sends a frame with our nonce and the MAC, which covers the bytes of `part` behind them.
  void Send(uint16_t kind, View part = {}) {
    auto [sent, received] = ch_.Transcript();
    Hash tag = TagOf(kind, own_nonce_, {sent, received}, part);
    Writer w;
    w.Raw(own_nonce_);
    w.Raw(tag);
    w.Raw(part);
    ch_.Send(kind, w.bytes());
  }
  // Receives the peer's frame; ends the session if its MAC differs. Returns the `bytes` bytes behind the MAC.
  Bytes Recv(uint16_t kind, size_t bytes = 0) { return RecvPart(kind, kind, bytes).second; }
  // Like Recv, but the peer chooses between two kinds. Returns the kind that arrived.
  uint16_t RecvEither(uint16_t a, uint16_t b) { return RecvPart(a, b, 0).first; }

 private:
  // Receives a frame of either kind. Returns its kind and its part.
  std::pair<uint16_t, Bytes> RecvPart(uint16_t a, uint16_t b, size_t bytes) {
    auto before = ch_.Transcript();
    auto [kind, mac] = ch_.RecvEither(a, b, net::kControlFrame + bytes);
    Reader r(mac, "a MAC frame");
    Hash nonce = r.GetHash(), tag = r.GetHash();
    const View part = r.Raw(bytes);
    bool first = peer_nonce_ == Hash{};
    if (first) peer_nonce_ = nonce;
    if (nonce == peer_nonce_ && Equal(tag, TagOf(kind, nonce, {before.second, before.first}, part)))
      return {kind, Bytes(part.begin(), part.end())};
    net::EndSession(ch_, net::Refusal::kMac, Cause::kRefused, ch_.peer_title(),
                    " saw other frames or holds another bundle of serial ", header_.serial,
                    " than we do; it is burnt, start again");
  }
  // Returns the key for the tags of frames that `sender` sends.
  Hash FrameKey(Role sender) const {
    auto role = uint8_t(sender);
    return Hmac(header_.pair->view(), {AsView("suf frames"), View(&role, 1)});
  }
  // Computes a tag. `frames` has the hashes of everything that the maker of the tag sent and received. All nonces so
  // far are in those frames. Only `part` may differ in length.
  Hash TagOf(uint16_t kind, const Hash& nonce, std::pair<Hash, Hash> frames, View part) const {
    store::BundleHeader h = header_;
    h.party = 0;
    h.body_bytes = 0;  // the rest is equal on both sides
    return Hmac(header_.pair->view(), {AsView("suf bond"), View(reinterpret_cast<uint8_t*>(&kind), sizeof kind), nonce,
                                       store::Encode(h), setup_, ch_.exporter(), frames.first, frames.second, part});
  }

  net::Channel& ch_;
  store::BundleHeader header_;
  Hash setup_, own_nonce_, peer_nonce_{};
};

}  // namespace suf::proto
