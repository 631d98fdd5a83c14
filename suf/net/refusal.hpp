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
};

// The error of the refused side, with the code that the peer sent.
class RefusalError : public Error {
 public:
  RefusalError(Refusal code, Cause cause, const std::string& sentence) : Error(cause, sentence), code_(code) {}
  Refusal code() const { return code_; }

 private:
  Refusal code_;
};

// Returns the error of the refused side, with the table's cause and message. An unknown code counts as kGaveUp.
RefusalError Refused(Role by, uint16_t code, std::optional<Role> own = std::nullopt);

}  // namespace suf::net
