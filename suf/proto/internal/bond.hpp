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

  // Sends a frame with our nonce and the MAC.
  void Send(uint16_t kind) {
    Hash tag = Tag(kind, own_nonce_);
    Writer w;
    w.Raw(own_nonce_);
    w.Raw(tag);
    ch_.Send(kind, w.bytes());
  }
  // Receives the peer's frame; ends the session if its MAC differs.
  void Recv(uint16_t kind) { (void)RecvEither(kind, kind); }
  // Like Recv, but the peer chooses between two kinds. Returns the kind that arrived.
  uint16_t RecvEither(uint16_t a, uint16_t b) {
    auto before = ch_.Transcript();
    auto [kind, mac] = ch_.RecvEither(a, b, 64);
    Reader r(mac, "a MAC frame");
    Hash nonce = r.GetHash(), tag = r.GetHash();
    bool first = peer_nonce_ == Hash{};
    if (first) peer_nonce_ = nonce;
    if (nonce == peer_nonce_ && Equal(tag, TagOf(kind, nonce, {before.second, before.first}))) return kind;
    net::EndSession(ch_, net::Refusal::kMac, Cause::kRefused, ch_.peer_title(),
                    " saw other frames or holds another bundle of serial ", header_.serial,
                    " than we do; it is burnt, start again");
  }

 private:
  // Returns the key for the tags of frames that `sender` sends.
  Hash FrameKey(Role sender) const {
    auto role = uint8_t(sender);
    return Hmac(header_.pair->view(), {AsView("suf frames"), View(&role, 1)});
  }
  Hash Tag(uint16_t kind, const Hash& nonce) const {
    auto [sent, received] = ch_.Transcript();
    return TagOf(kind, nonce, {sent, received});
  }
  // Computes a tag. `frames` has the hashes of everything that the maker of the tag sent and received. All nonces so
  // far are in those frames.
  Hash TagOf(uint16_t kind, const Hash& nonce, std::pair<Hash, Hash> frames) const {
    store::BundleHeader h = header_;
    h.party = 0;
    h.body_bytes = 0;  // the rest is equal on both sides
    return Hmac(header_.pair->view(), {AsView("suf bond"), View(reinterpret_cast<uint8_t*>(&kind), sizeof kind), nonce,
                                       store::Encode(h), setup_, ch_.exporter(), frames.first, frames.second});
  }

  net::Channel& ch_;
  store::BundleHeader header_;
  Hash setup_, own_nonce_, peer_nonce_{};
};

}  // namespace suf::proto
