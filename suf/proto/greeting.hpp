// The two frames of a greeting behind the hellos: P0's welcome, and P1's answer, which names its lane.
#pragma once
#include "suf/proto/indexes.hpp"
#include "suf/proto/link.hpp"

namespace suf::proto {

// P0's welcome: 85 bytes, 40 for each index that P1 uses, and 100 for each of its segments.
struct WelcomeFrame {
  Hash weights{}, setup{};  // weights id, and SHA-256 of W_hat
  uint32_t brings = 0;      // see DataSession::brought
  uint32_t variants = 0;    // those that P0 allows, as bits
  PairInfo report;          // dealer_rate and loopback
  // The indexes that P1 named, in its order.
  std::vector<IndexOffer> indexes = {};
};
void SendWelcome(net::Channel& ch, const WelcomeFrame& w);
// Receives a welcome with offers of so many indexes. Ends the session (Cause::kPeer) if it is cut short, too long or
// beyond its limits.
WelcomeFrame RecvWelcome(net::Channel& ch, size_t indexes = 0);

// P1's answer: 83 bytes, and a bit for each part of the indexes (PartsOf).
struct LaneRequest {
  bool have = false;      // whether P1 has that W_hat
  uint32_t variants = 0;  // those that P1 allows, as bits
  store::LaneId lane{};
  PairInfo report;
  bool receipts = false;  // whether P1 requests a receipt of each inference
  Hash dealer{};          // SHA-256 of the public key of the lane's dealer; zeros: the only one
  // Whether P1 requests this part.
  std::vector<bool> wants = {};
};
void SendLaneRequest(net::Channel& ch, const LaneRequest& q);
// Ends the session (Cause::kPeer) if the numbers are beyond their limits. `parts` is the number of parts of the
// indexes.
LaneRequest RecvLaneRequest(net::Channel& ch, size_t parts = 0);

}  // namespace suf::proto
