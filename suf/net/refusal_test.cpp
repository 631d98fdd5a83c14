// The table of refusals. Its numbers are sent to peers, so none may change.
#include "suf/net/refusal.hpp"

#include <gtest/gtest.h>

namespace suf::net {
namespace {

TEST(Refusal, EachNumberHasItsCauseAndSentence) {
  struct Row {
    uint16_t number;
    Refusal code;
    Cause cause;
    const char* begins;
  };
  using enum Cause;
  const Row rows[] = {
      {0, Refusal::kGaveUp, kPeer, "ended the session for a reason of its own"},
      {1, Refusal::kBusy, kPeer, "is busy with other sessions"},
      {2, Refusal::kVersion, kRefused, "speaks another version of the protocol"},
      {3, Refusal::kPlanVersion, kRefused, "reads another version of plans"},
      {4, Refusal::kPlan, kRefused, "holds another plan"},
      {5, Refusal::kPrg, kRefused, "expands keys with another generator"},
      {6, Refusal::kTrace, kRefused, "derives another trace from this plan"},
      {7, Refusal::kWeights, kRefused, "holds other weights than this session names"},
      {8, Refusal::kRole, kRefused, "rejected our certificate because it is for another role"},
      {9, Refusal::kTokens, kInput, "refused the number of tokens or values"},
      {10, Refusal::kSerial, kRefused, "has used or never had the bundle of this serial"},
      {11, Refusal::kBundle, kRefused, "found its bundle altered"},
      {12, Refusal::kMac, kRefused, "saw other frames or another bundle than we did"},
      {13, Refusal::kNoPartner, kPeer, "waited in vain for the other party"},
      {14, Refusal::kPartnerGone, kPeer, "lost the other party while it dealt"},
      {15, Refusal::kMismatch, kRefused, "received requests for different bundles from the two parties"},
      {16, Refusal::kProtocol, kPeer, "received a frame that it did not expect"},
      {17, Refusal::kPin, kRefused, "does not know our key"},
      {18, Refusal::kSetup, kRefused, "received other masked weights than our welcome names"},
      {19, Refusal::kWitness, kRefused, "never dealt the bundle that we hold"},
      {20, Refusal::kJob, kRefused, "does not know the graph, the variant or the cache of the job"},
      {21, Refusal::kCount, kInput, "brings another number of values than we do"},
      {22, Refusal::kVariant, kRefused, "allows none of the plan's variants that we allow"},
      {23, Refusal::kStream, kRefused, "knows no session for a stream of ours"},
      {24, Refusal::kMemory, kResource, "has too little memory for our number of tokens, values or texts"},
      {25, Refusal::kAuditMemory, kResource, "allows less memory for audits than our bundles take"},
      {26, Refusal::kLaneBusy, kPeer, "runs another session in the same lane of our store"},
      {27, Refusal::kLanes, kResource, "holds keys in as many lanes of ours as it allows"},
      {28, Refusal::kIdle, kPeer, "ended our session because nothing was requested for long"},
      {29, Refusal::kStopping, kPeer, "is stopping and takes nothing new"},
      {30, Refusal::kTexts, kInput, "refused the number of texts in one batch"},
      {31, Refusal::kUnlisted, kRefused, "does not list our key"},
      {32, Refusal::kExpired, kRefused, "serves our key no longer"},
      {33, Refusal::kQuota, kRefused, "allows us no more texts, tokens or searches on this day"},
      {34, Refusal::kSessions, kRefused, "serves as many lanes of ours"},
      {35, Refusal::kCounts, kPeer, "cannot count our texts at present"},
      {36, Refusal::kReceipt, kRefused, "did not accept our part of a receipt"},
      {37, Refusal::kDealer, kRefused, "does not use the dealer that our session names"},
      {38, Refusal::kNoFiles, kRefused, "offers no files to pull"},
      {39, Refusal::kIndex, kRefused, "has other indexes than we name"},
      {40, Refusal::kList, kRefused, "received different lists of an index's segments"},
      {41, Refusal::kFetch, kRefused, "refused to fetch documents"},
      {42, Refusal::kCompacted, kPeer, "compacted its index after our session had begun"},
  };
  for (const Row& r : rows) {
    EXPECT_EQ(uint16_t(r.code), r.number);
    const Error e = Refused(Role::kDealer, r.number);
    EXPECT_EQ(int(e.cause()), int(r.cause)) << r.number;
    EXPECT_TRUE(std::string(e.what()).starts_with(Str("the dealer ", r.begins))) << e.what();
  }
  for (uint16_t unknown : {uint16_t(std::size(rows)), uint16_t{999}, uint16_t{0xffff}})
    EXPECT_STREQ(Refused(Role::kData, unknown).what(), Refused(Role::kData, 0).what());
}

// The number of a refusal is a peer's, so only its range is trusted.
TEST(Refusal, ANumberOfSecondsIsChecked) {
  const auto quota = uint16_t(Refusal::kQuota);
  const auto told = [&](uint32_t seconds) {
    return Refused(Role::kModel, DecodeRefusal(Encode(RefusalFrame{quota, seconds})));
  };
  const std::pair<uint32_t, const char*> times[] = {
      {1, "return in 1 s,"},
      {119, "return in 119 s,"},
      {120, "return in 2 min,"},
      {3540, "return in 59 min,"},
      {3541, "return in 1 h 0 min,"},
      {kMostRetry, "return in 24 h 0 min,"},
      {0, "use fewer texts or tokens at once,"},
      {kMostRetry + 1, "use fewer texts or tokens at once,"},
      {~0u, "use fewer texts or tokens at once,"},
  };
  for (const auto& [seconds, words] : times) {
    const RefusalError e = told(seconds);
    EXPECT_EQ(e.retry_s(), seconds <= kMostRetry ? seconds : 0);
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
  // another code shows no time, and a frame of another length no code
  EXPECT_EQ(Refused(Role::kModel, RefusalFrame{uint16_t(Refusal::kBusy), 5}).retry_s(), 0u);
  const Bytes whole = Encode(RefusalFrame{quota, 5});
  for (size_t n = 0; n <= whole.size() + 1; ++n) {
    Bytes other = whole;
    other.resize(n);
    EXPECT_EQ(DecodeRefusal(other).code, n == 2 || n == whole.size() ? quota : uint16_t(Refusal::kGaveUp)) << n;
  }
  EXPECT_EQ(Encode(RefusalFrame{quota}).size(), 2u);
}

}  // namespace
}  // namespace suf::net
