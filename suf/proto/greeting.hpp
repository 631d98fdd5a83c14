// The two frames of a greeting behind the hellos: P0's welcome, and P1's answer, which names its lane.
#pragma once
#include "suf/proto/link.hpp"

namespace suf::proto {

// P0's welcome, 81 bytes.
struct WelcomeFrame {
  Hash weights{}, setup{};  // weights id, and SHA-256 of W_hat
  uint32_t brings = 0;      // see DataSession::brought
  uint32_t variants = 0;    // those that P0 allows, as bits
  PairInfo report;          // dealer_rate and loopback
};
void SendWelcome(net::Channel& ch, const WelcomeFrame& w);
WelcomeFrame RecvWelcome(net::Channel& ch);

// P1's answer, 83 bytes.
struct LaneRequest {
  bool have = false;      // whether P1 has that W_hat
  uint32_t variants = 0;  // those that P1 allows, as bits
  store::LaneId lane{};
  PairInfo report;
  bool receipts = false;  // whether P1 requests a receipt of each inference
  Hash dealer{};          // SHA-256 of the public key of the lane's dealer; zeros: the only one
};
void SendLaneRequest(net::Channel& ch, const LaneRequest& q);
// Ends the session (Cause::kPeer) if the numbers are beyond their limits.
LaneRequest RecvLaneRequest(net::Channel& ch);

}  // namespace suf::proto
