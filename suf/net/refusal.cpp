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
    {Refusal::kBusy, Cause::kPeer, "is busy with another session; one runs at a time, try again when it has ended"},
    {Refusal::kVersion, Cause::kRefused,
     "speaks another version of the protocol; install the same suf on all three sides"},
    {Refusal::kPlanVersion, Cause::kRefused,
     "reads another version of plans; compile the plan again with the same suf"},
    {Refusal::kPlan, Cause::kRefused, "holds another plan; give the same plan file to all three roles"},
    {Refusal::kPrg, Cause::kRefused, "expands keys with another generator; run the same build of suf on all sides"},
    {Refusal::kTrace, Cause::kRefused, "derives another trace from this plan; install the same suf on all three sides"},
    {Refusal::kWeights, Cause::kRefused, "holds other weights than this session names; start the session again"},
    {Refusal::kRole, Cause::kRefused,
     "does not take our certificate for this; use the certificate that was made for our role"},
    {Refusal::kTokens, Cause::kInput,
     "refused the number of tokens or values, which the plan does not cover; bring fewer"},
    {Refusal::kSerial, Cause::kRefused, "has used or never had the bundle of this serial; start again, it is burnt"},
    {Refusal::kBundle, Cause::kRefused,
     "found its bundle altered, cut short or of another kind; start again, it is burnt"},
    {Refusal::kMac, Cause::kRefused,
     "saw other frames or another bundle than we did; start again, the bundle is burnt"},
    {Refusal::kNoPartner, Cause::kPeer,
     "waited in vain for the other party to ask for the same bundle; start both again"},
    {Refusal::kPartnerGone, Cause::kPeer, "lost the other party while it dealt; start again, the bundle is burnt"},
    {Refusal::kMismatch, Cause::kRefused,
     "was asked for different bundles by the two parties; start both from one plan and model"},
    {Refusal::kProtocol, Cause::kPeer,
     "received a frame that it did not expect; install the same suf on all three sides"},
    {Refusal::kPin, Cause::kRefused,
     "does not know our key, it pins another one or saw another before; compare fingerprints with its operator"},
    {Refusal::kSetup, Cause::kRefused,
     "received other masked weights than our welcome names; end the model owner's process and start it again"},
    {Refusal::kWitness, Cause::kRefused,
     "never dealt the bundle that we hold, so its state was restored or lost; give it its state back, or start new "
     "stores"},
    {Refusal::kJob, Cause::kRefused,
     "does not know the graph, the variant or the cache of the job that we named; install the same suf on all three "
     "sides"},
    {Refusal::kCount, Cause::kInput, "brings another number of values than we do; give both parties as many"},
    {Refusal::kVariant, Cause::kRefused, "allows none of the plan's variants that we do; let both allow one in common"},
    {Refusal::kStream, Cause::kRefused,
     "knows no session for a stream of ours; see that one process listens at its address, and start again"},
    {Refusal::kMemory, Cause::kResource,
     "has too little memory for as many tokens or values as we brought; bring fewer, or give it more"},
    {Refusal::kAuditMemory, Cause::kResource,
     "allows less memory for audits than bundles of so many tokens or values take; bring fewer, leave out the audits, "
     "or "
     "let it allow more"},
};

}  // namespace

RefusalError Refused(Role by, uint16_t code, std::optional<Role> own) {
  if (own && code == uint16_t(Refusal::kRole))
    return {Refusal::kRole, Cause::kRefused,
            Str(Title(by), " does not take our certificate for this, as it is that of ", Title(*own),
                "; use the certificate that was made for our role")};
  for (const Row& r : kTable)
    if (uint16_t(r.code) == code) return {r.code, r.cause, Str(Title(by), " ", r.sentence)};
  return Refused(by, uint16_t(Refusal::kGaveUp));
}

}  // namespace suf::net
