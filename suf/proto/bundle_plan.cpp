#include "suf/proto/bundle_plan.hpp"

namespace suf::proto {

namespace {

// Describes a plan's jobs in words.
std::string Has(const BundlePlan& plan) {
  return Str("entry 0, ",
             plan.variants.size() == 1 ? std::string("variant 0") : Str("variants 0 to ", plan.variants.size() - 1),
             " and no cache");
}

// Ends the session if the peer's version of something differs from ours.
void Compare(net::Channel& ch, uint32_t theirs, uint32_t ours, net::Refusal code, const char* what) {
  if (theirs != ours)
    net::EndSession(ch, code, Cause::kRefused, ch.peer_title(), " has ", what, " ", theirs, ", we have ", ours,
                    "; install the same suf on all three sides");
}

}  // namespace

void SendHello(net::Channel& ch, const BundlePlan& plan) {
  Writer w;
  w.Put(store::kWireVersion);
  w.Put(plan.version);
  w.Put(plan.prg);
  w.Raw(plan.hash);
  ch.Send(net::kHello, w.bytes());
}

void RecvHello(net::Channel& ch, const BundlePlan& plan) { CheckHello(ch, plan, ch.Recv(net::kHello, kMostHello)); }

void CheckWireVersion(net::Channel& ch, uint32_t theirs) {
  Compare(ch, theirs, store::kWireVersion, net::Refusal::kVersion, "protocol version");
}

void CheckHello(net::Channel& ch, const BundlePlan& plan, View hello) {
  Reader r(hello, "a hello");
  CheckWireVersion(ch, r.Get<uint32_t>());
  Compare(ch, r.Get<uint32_t>(), plan.version, net::Refusal::kPlanVersion, "plan version");
  Compare(ch, r.Get<uint32_t>(), plan.prg, net::Refusal::kPrg, "key generator");
  if (r.GetHash() != plan.hash)
    net::EndSession(ch, net::Refusal::kPlan, Cause::kRefused, ch.peer_title(), " holds another plan than ours (",
                    Hex(View(plan.hash).first(4)), "..); give the same plan file to all three roles");
  r.ExpectEnd();
  ch.Advance(net::PeerState::kAccepted);
}

void CheckJob(const BundlePlan& plan, const store::Job& job) {
  if (!plan.Knows(job))
    Fail(Cause::kInput, "the job is of entry ", job.entry, ", variant ", job.variant, " with ", job.past,
         " tokens in a cache; the plan has ", Has(plan), "; compile a plan that has them");
  if (!plan.CoversTexts(job))
    Fail(Cause::kInput, "the batch has ", job.texts, " texts; this plan takes 1 to ", plan.most_texts,
         " at once; use a smaller batch");
  if (!plan.Covers(job))
    Fail(Cause::kInput, plan.unit.what, " ", job.tokens, " ", plan.unit.name, "; the plan covers 1 to ",
         plan.max_tokens, "; ", plan.unit.remedy);
}

void CheckPeersJob(net::Channel& ch, const BundlePlan& plan, const store::Job& job, const char* did) {
  if (!plan.Knows(job))
    net::EndSession(ch, net::Refusal::kJob, Cause::kRefused, ch.peer_title(), " ", did, " entry ", job.entry,
                    ", variant ", job.variant, " with ", job.past, " tokens in a cache; the plan has ", Has(plan),
                    "; install the same suf on all three sides");
  if (!plan.CoversTexts(job))
    net::EndSession(ch, net::Refusal::kTexts, Cause::kInput, ch.peer_title(), " ", did, " a batch of ", job.texts,
                    " texts; this plan takes 1 to ", plan.most_texts, " at once; it was refused");
  if (!plan.Covers(job))
    net::EndSession(ch, net::Refusal::kTokens, Cause::kInput, ch.peer_title(), " ", did, " ", job.tokens, " ",
                    plan.unit.name, "; the plan covers 1 to ", plan.max_tokens, "; it was refused");
}

}  // namespace suf::proto
