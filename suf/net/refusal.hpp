// Refusals travel as a code. The error message that a person reads comes from a fixed table, never from the peer.
#pragma once
#include <optional>

#include "suf/base/bytes.hpp"
#include "suf/base/error.hpp"
#include "suf/base/role.hpp"

namespace suf::net {

// The reason for which a side ends a session. The numbers are sent to the peer.
enum class Refusal : uint16_t {
  kGaveUp = 0,
  kBusy = 1,
  kVersion = 2,
  kPlanVersion = 3,
  kPlan = 4,
  kPrg = 5,
  kTrace = 6,
  kWeights = 7,
  kRole = 8,
  kTokens = 9,
  kSerial = 10,
  kBundle = 11,
  kMac = 12,
  kNoPartner = 13,
  kPartnerGone = 14,
  kMismatch = 15,
  kProtocol = 16,
  kPin = 17,
  kSetup = 18,
  kWitness = 19,
  kJob = 20,
  kCount = 21,
  kVariant = 22,
  kStream = 23,
  kMemory = 24,
  kAuditMemory = 25,
  kLaneBusy = 26,
  kLanes = 27,
  kIdle = 28,
  kStopping = 29,
  kTexts = 30,
  kUnlisted = 31,
  kExpired = 32,
  kQuota = 33,
  kSessions = 34,
  kCounts = 35,
  kReceipt = 36,
  kDealer = 37,
  kNoFiles = 38,
  kIndex = 39,
  kList = 40,
  kFetch = 41,
  kCompacted = 42,
};

// The most seconds that a refusal may name: a day.
inline constexpr uint32_t kMostRetry = 86'400;

// The frame of a refusal: the code, and perhaps the seconds after which to return. Without them it has the 2 bytes that
// every version of the protocol reads.
struct RefusalFrame {
  uint16_t code = 0;
  uint32_t retry_s = 0;  // 0: none
};
Bytes Encode(const RefusalFrame& f);
// Decodes a frame of a peer. A frame of another length counts as kGaveUp, and more than kMostRetry seconds as none.
RefusalFrame DecodeRefusal(View frame);
// The number of codes.
inline constexpr size_t kRefusals = 43;
// Returns the word of a refusal in logs and metrics, such as "partner-gone".
const char* Name(Refusal code);

// The error of the refused side, with the code that the peer sent.
class RefusalError : public Error {
 public:
  RefusalError(Refusal code, Cause cause, const std::string& sentence, uint32_t retry_s = 0)
      : Error(cause, sentence), code_(code), retry_s_(retry_s) {}
  Refusal code() const { return code_; }
  // The seconds after which the peer may accept us; 0 if it named none.
  uint32_t retry_s() const { return retry_s_; }

 private:
  Refusal code_;
  uint32_t retry_s_;
};

// Returns the error of the refused side, with the table's cause and message. An unknown code counts as kGaveUp. Of the
// frame's seconds, only the codes that name a time show them.
RefusalError Refused(Role by, const RefusalFrame& frame, std::optional<Role> own = std::nullopt);
inline RefusalError Refused(Role by, uint16_t code, std::optional<Role> own = std::nullopt) {
  return Refused(by, RefusalFrame{code}, own);
}

}  // namespace suf::net
