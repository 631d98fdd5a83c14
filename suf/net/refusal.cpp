#include "suf/net/refusal.hpp"

namespace suf::net {

namespace {

struct Row {
  Refusal code;
  Cause cause;
  const char* sentence;  // follows the title of the side that refuses
};

constexpr Row kTable[] = {
    {Refusal::kGaveUp, Cause::kPeer, "ended the session for a reason of its own; read the message on its side"},
    {Refusal::kBusy, Cause::kPeer, "is busy with other sessions; try again when some have ended"},
    {Refusal::kVersion, Cause::kRefused,
     "speaks another version of the protocol; install the same suf on all three sides"},
    {Refusal::kPlanVersion, Cause::kRefused,
     "reads another version of plans; compile the plan again with the same suf"},
    {Refusal::kPlan, Cause::kRefused, "holds another plan; give the same plan file to all three roles"},
    {Refusal::kPrg, Cause::kRefused, "expands keys with another generator; run the same build of suf on all sides"},
    {Refusal::kTrace, Cause::kRefused, "derives another trace from this plan; install the same suf on all three sides"},
    {Refusal::kWeights, Cause::kRefused, "holds other weights than this session names; start the session again"},
    {Refusal::kRole, Cause::kRefused,
     "rejected our certificate because it is for another role; use the certificate issued for our role"},
    {Refusal::kTokens, Cause::kInput,
     "refused the number of tokens or values, which the plan does not cover; use fewer"},
    {Refusal::kSerial, Cause::kRefused, "has used or never had the bundle of this serial, which is burnt; start again"},
    {Refusal::kBundle, Cause::kRefused,
     "found its bundle altered, cut short or of another kind, and burnt it; start again"},
    {Refusal::kMac, Cause::kRefused,
     "saw other frames or another bundle than we did, and the bundle is burnt; start again"},
    {Refusal::kNoPartner, Cause::kPeer,
     "waited in vain for the other party to request the same bundle; start both again"},
    {Refusal::kPartnerGone, Cause::kPeer, "lost the other party while it dealt, and the bundle is burnt; start again"},
    {Refusal::kMismatch, Cause::kRefused,
     "received requests for different bundles from the two parties; start both with one plan and model"},
    {Refusal::kProtocol, Cause::kPeer,
     "received a frame that it did not expect; install the same suf on all three sides"},
    {Refusal::kPin, Cause::kRefused,
     "does not know our key, because it pins or saw another one before; compare fingerprints with its operator"},
    {Refusal::kSetup, Cause::kRefused,
     "received other masked weights than our welcome names; restart the model owner's process"},
    {Refusal::kWitness, Cause::kRefused,
     "never dealt the bundle that we hold, so its state was restored or lost; return its latest state, or start new "
     "stores"},
    {Refusal::kJob, Cause::kRefused,
     "does not know the graph, the variant or the cache of the job that we named; install the same suf on all three "
     "sides"},
    {Refusal::kCount, Cause::kInput, "brings another number of values than we do; give both parties the same number"},
    {Refusal::kVariant, Cause::kRefused,
     "allows none of the plan's variants that we allow; let both allow one in common"},
    {Refusal::kStream, Cause::kRefused,
     "knows no session for a stream of ours; let one process listen at its address, and start again"},
    {Refusal::kMemory, Cause::kResource,
     "has too little memory for our number of tokens, values or texts; use fewer at once, or give it more memory"},
    {Refusal::kAuditMemory, Cause::kResource,
     "allows less memory for audits than our bundles take; use fewer tokens or values, leave out the audits, or let it "
     "allow more"},
    {Refusal::kLaneBusy, Cause::kPeer,
     "runs another session in the same lane of our store; let that one end, or use another lane"},
    {Refusal::kLanes, Cause::kResource,
     "holds keys in as many lanes of ours as it allows; use the lanes that exist, and use up their keys"},
    {Refusal::kIdle, Cause::kPeer, "ended our session because nothing was requested for long; start it again"},
    {Refusal::kStopping, Cause::kPeer, "is stopping and takes nothing new; start again when it runs again"},
    {Refusal::kTexts, Cause::kInput,
     "refused the number of texts in one batch, which the plan does not cover; use fewer"},
};

}  // namespace

RefusalError Refused(Role by, uint16_t code, std::optional<Role> own) {
  if (own && code == uint16_t(Refusal::kRole))
    return {Refusal::kRole, Cause::kRefused,
            Str(Title(by), " rejected our certificate because it is that of ", Title(*own),
                "; use the certificate issued for our role")};
  for (const Row& r : kTable)
    if (uint16_t(r.code) == code) return {r.code, r.cause, Str(Title(by), " ", r.sentence)};
  return Refused(by, uint16_t(Refusal::kGaveUp));
}

}  // namespace suf::net
