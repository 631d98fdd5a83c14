#include "suf/net/refusal.hpp"

#include <iterator>

namespace suf::net {

namespace {

struct Row {
  Refusal code;
  const char* word;
  Cause cause;
  const char* sentence;  // follows the title of the side that refuses
};

constexpr Row kTable[] = {
    {Refusal::kGaveUp, "gave-up", Cause::kPeer,
     "ended the session for a reason of its own; read the message on its side"},
    {Refusal::kBusy, "busy", Cause::kPeer, "is busy with other sessions; try again when some have ended"},
    {Refusal::kVersion, "version", Cause::kRefused,
     "speaks another version of the protocol; install the same suf on all three sides"},
    {Refusal::kPlanVersion, "plan-version", Cause::kRefused,
     "reads another version of plans; compile the plan again with the same suf"},
    {Refusal::kPlan, "plan", Cause::kRefused, "holds another plan; give the same plan file to all three roles"},
    {Refusal::kPrg, "prg", Cause::kRefused,
     "expands keys with another generator; run the same build of suf on all sides"},
    {Refusal::kTrace, "trace", Cause::kRefused,
     "derives another trace from this plan; install the same suf on all three sides"},
    {Refusal::kWeights, "weights", Cause::kRefused,
     "holds other weights than this session names; start the session again"},
    {Refusal::kRole, "role", Cause::kRefused,
     "rejected our certificate because it is for another role; use the certificate issued for our role"},
    {Refusal::kTokens, "tokens", Cause::kInput,
     "refused the number of tokens or values, which the plan does not cover; use fewer"},
    {Refusal::kSerial, "serial", Cause::kRefused,
     "has used or never had the bundle of this serial, which is burnt; start again"},
    {Refusal::kBundle, "bundle", Cause::kRefused,
     "found its bundle altered, cut short or of another kind, and burnt it; start again"},
    {Refusal::kMac, "mac", Cause::kRefused,
     "saw other frames or another bundle than we did, and the bundle is burnt; start again"},
    {Refusal::kNoPartner, "no-partner", Cause::kPeer,
     "waited in vain for the other party to request the same bundle; start both again"},
    {Refusal::kPartnerGone, "partner-gone", Cause::kPeer,
     "lost the other party while it dealt, and the bundle is burnt; start again"},
    {Refusal::kMismatch, "mismatch", Cause::kRefused,
     "received requests for different bundles from the two parties; start both with one plan and model"},
    {Refusal::kProtocol, "protocol", Cause::kPeer,
     "received a frame that it did not expect; install the same suf on all three sides"},
    {Refusal::kPin, "pin", Cause::kRefused,
     "does not know our key, because it pins or saw another one before; compare fingerprints with its operator"},
    {Refusal::kSetup, "setup", Cause::kRefused,
     "received other masked weights than our welcome names; restart the model owner's process"},
    {Refusal::kWitness, "witness", Cause::kRefused,
     "never dealt the bundle that we hold, so its state was restored or lost; return its latest state, or start new "
     "stores"},
    {Refusal::kJob, "job", Cause::kRefused,
     "does not know the graph, the variant or the cache of the job that we named; install the same suf on all three "
     "sides"},
    {Refusal::kCount, "count", Cause::kInput,
     "brings another number of values than we do; give both parties the same number"},
    {Refusal::kVariant, "variant", Cause::kRefused,
     "allows none of the plan's variants that we allow; let both allow one in common"},
    {Refusal::kStream, "stream", Cause::kRefused,
     "knows no session for a stream of ours; let one process listen at its address, and start again"},
    {Refusal::kMemory, "memory", Cause::kResource,
     "has too little memory for our number of tokens, values or texts; use fewer at once, or give it more memory"},
    {Refusal::kAuditMemory, "audit-memory", Cause::kResource,
     "allows less memory for audits than our bundles take; use fewer tokens or values, leave out the audits, or let it "
     "allow more"},
    {Refusal::kLaneBusy, "lane-busy", Cause::kPeer,
     "runs another session in the same lane of our store; let that one end, or use another lane"},
    {Refusal::kLanes, "lanes", Cause::kResource,
     "holds keys in as many lanes of ours as it allows; use the lanes that exist, and use up their keys"},
    {Refusal::kIdle, "idle", Cause::kPeer, "ended our session because nothing was requested for long; start it again"},
    {Refusal::kStopping, "stopping", Cause::kPeer, "is stopping and takes nothing new; start again when it runs again"},
    {Refusal::kTexts, "texts", Cause::kInput,
     "refused the number of texts in one batch, which the plan does not cover; use fewer"},
    {Refusal::kUnlisted, "unlisted", Cause::kRefused,
     "does not list our key among its data owners; send our fingerprint to its operator"},
    {Refusal::kExpired, "expired", Cause::kRefused,
     "serves our key no longer, because its date has passed; have its operator prolong it"},
    {Refusal::kQuota, "quota", Cause::kRefused, "allows us no more texts, tokens or searches on this day"},
    {Refusal::kSessions, "sessions", Cause::kRefused,
     "serves as many lanes of ours at the same time as it allows; let one end, or use fewer lanes"},
    {Refusal::kCounts, "counts", Cause::kPeer, "cannot count our texts at present; try again later"},
    {Refusal::kReceipt, "receipt", Cause::kRefused,
     "did not accept our part of a receipt, and the bundle is burnt; check our clock and our certificate"},
    {Refusal::kDealer, "dealer", Cause::kRefused,
     "does not use the dealer that our session names; list and pin the same dealers on both sides"},
    {Refusal::kNoFiles, "no-files", Cause::kRefused,
     "offers no files to pull; get the plan and the tokenizer from its operator"},
    {Refusal::kIndex, "index", Cause::kRefused,
     "has other indexes than we name; get its newest index plans, or have it and the dealer start again with them"},
    {Refusal::kList, "list", Cause::kRefused,
     "received different lists of an index's segments from the two parties; start the session again"},
    {Refusal::kFetch, "fetch", Cause::kRefused,
     "refused to fetch documents, because no search of ours came before, or they were fetched already; search again"},
    {Refusal::kCompacted, "compacted", Cause::kPeer,
     "compacted its index after our session had begun; start the session again"},
};

static_assert(std::size(kTable) == kRefusals);

// Returns a duration in words, rounded up to a minute from 2 minutes on.
std::string TimeText(uint32_t seconds) {
  if (seconds < 120) return Str(seconds, " s");
  const uint32_t minutes = (seconds + 59) / 60;
  return minutes < 60 ? Str(minutes, " min") : Str(minutes / 60, " h ", minutes % 60, " min");
}

}  // namespace

const char* Name(Refusal code) {
  for (const Row& r : kTable)
    if (r.code == code) return r.word;
  return Name(Refusal::kGaveUp);
}

Bytes Encode(const RefusalFrame& f) {
  Writer w;
  w.Put(f.code);
  if (f.retry_s) w.Put(f.retry_s);
  return w.Take();
}

RefusalFrame DecodeRefusal(View frame) {
  RefusalFrame f;
  const bool timed = frame.size() == sizeof f.code + sizeof f.retry_s;
  if (frame.size() != sizeof f.code && !timed) return {};
  Reader r(frame, "a refusal");
  f.code = r.Get<uint16_t>();
  if (const uint32_t seconds = timed ? r.Get<uint32_t>() : 0; seconds <= kMostRetry) f.retry_s = seconds;
  return f;
}

RefusalError Refused(Role by, const RefusalFrame& frame, std::optional<Role> own) {
  const uint16_t code = frame.code;
  if (own && code == uint16_t(Refusal::kRole))
    return {Refusal::kRole, Cause::kRefused,
            Str(Title(by), " rejected our certificate because it is that of ", Title(*own),
                "; use the certificate issued for our role")};
  for (const Row& r : kTable)
    if (uint16_t(r.code) == code) {
      if (r.code != Refusal::kQuota) return {r.code, r.cause, Str(Title(by), " ", r.sentence)};
      return {r.code, r.cause,
              Str(Title(by), " ", r.sentence,
                  frame.retry_s ? Str("; return in ", TimeText(frame.retry_s)) : "; use fewer texts or tokens at once",
                  ", or have its operator raise it"),
              frame.retry_s};
    }
  return Refused(by, uint16_t(Refusal::kGaveUp));
}

}  // namespace suf::net
