#include "suf/net/refusal.hpp"

namespace suf::net {

namespace {

struct Row {
  Refusal code;
  Exit exit;
  const char* sentence;  // follows the title of the side that refuses
};

constexpr Row kTable[] = {
    {Refusal::kGaveUp, Exit::kPeer, "ended the session for a reason of its own; read the message on its side"},
    {Refusal::kBusy, Exit::kPeer, "is busy with another session; one runs at a time, try again when it has ended"},
    {Refusal::kVersion, Exit::kRefused,
     "speaks another version of the protocol; install the same suf on all three sides"},
    {Refusal::kPlanVersion, Exit::kRefused, "reads another version of plans; compile the plan again with the same suf"},
    {Refusal::kPlan, Exit::kRefused, "holds another plan; give the same plan file to all three roles"},
    {Refusal::kPrg, Exit::kRefused, "expands keys with another generator; run the same build of suf on all sides"},
    {Refusal::kTrace, Exit::kRefused, "derives another trace from this plan; install the same suf on all three sides"},
    {Refusal::kWeights, Exit::kRefused, "holds other weights than this session names; start the session again"},
    {Refusal::kRole, Exit::kRefused,
     "does not take our certificate for this; use the folder that suf certs made for our role"},
    {Refusal::kTokens, Exit::kInput, "refused the number of tokens, which the plan does not cover; shorten the text"},
    {Refusal::kSerial, Exit::kRefused, "has used or never had the bundle of this serial; start again, it is burnt"},
    {Refusal::kBundle, Exit::kRefused,
     "found its bundle altered, cut short or of another kind; start again, it is burnt"},
    {Refusal::kMac, Exit::kRefused, "saw other frames or another bundle than we did; start again, the bundle is burnt"},
    {Refusal::kNoPartner, Exit::kPeer,
     "waited in vain for the other party to ask for the same bundle; start both again"},
    {Refusal::kPartnerGone, Exit::kPeer, "lost the other party while it dealt; start again, the bundle is burnt"},
    {Refusal::kMismatch, Exit::kRefused,
     "was asked for different bundles by the two parties; start both from one plan and model"},
    {Refusal::kProtocol, Exit::kPeer,
     "received a frame that it did not expect; install the same suf on all three sides"},
    {Refusal::kPin, Exit::kRefused,
     "does not know our key, it pins another one or saw another before; compare fingerprints with its operator"},
    {Refusal::kSetup, Exit::kRefused,
     "received other masked weights than our welcome names; end suf serve and start it again"},
    {Refusal::kWitness, Exit::kRefused,
     "never dealt the bundle that we hold, so its state was restored or lost; give it its state back, or start new "
     "stores"},
    {Refusal::kJob, Exit::kRefused,
     "does not know the graph, the variant or the cache of the job that we named; install the same suf on all three "
     "sides"},
};

}  // namespace

Error Refused(Role by, uint16_t code) {
  for (const Row& r : kTable)
    if (uint16_t(r.code) == code) return {r.exit, Str(Title(by), " ", r.sentence)};
  return Refused(by, uint16_t(Refusal::kGaveUp));
}

}  // namespace suf::net
