#include "suf/proto/bundle_plan.hpp"

#include <algorithm>

namespace suf::proto {

namespace {

// Describes a plan's jobs in words.
std::string Has(const BundlePlan& plan) {
  return Str(plan.indexes.empty() ? std::string("entry 0, ") : Str("entries 0 to ", 2 * plan.indexes.size(), ", "),
             plan.variants.size() == 1 ? std::string("variant 0") : Str("variants 0 to ", plan.variants.size() - 1),
             " and no cache");
}

// Ends the session if the peer's version of something differs from ours.
void Compare(net::Channel& ch, uint32_t theirs, uint32_t ours, net::Refusal code, const char* what) {
  if (theirs != ours)
    net::EndSession(ch, code, Cause::kRefused, ch.peer_title(), " has ", what, " ", theirs, ", we have ", ours,
                    "; install the same suf on all three sides");
}

// Returns the first hash of `part` that `all` lacks; null if it has all of them.
const Hash* FirstMissing(const std::vector<Hash>& part, const std::vector<Hash>& all) {
  for (const Hash& h : part)
    if (std::find(all.begin(), all.end(), h) == all.end()) return &h;
  return nullptr;
}

// Returns why a peer's list of index plans does not fit ours; empty if it does.
std::string WhyNot(const std::vector<Hash>& theirs, ListRule rule, const std::vector<Hash>& ours) {
  const auto named = [](const Hash& h) { return Str("index=", Hex(View(h).first(4)), ".."); };
  if (theirs.size() > store::kMostIndexes)
    return Str("names ", theirs.size(), " indexes, and at most ", store::kMostIndexes, " are possible");
  for (size_t i = 0; i < theirs.size(); ++i)
    if (std::find(theirs.begin(), theirs.begin() + ssize_t(i), theirs[i]) != theirs.begin() + ssize_t(i))
      return Str("names ", named(theirs[i]), " twice");
  if (rule == ListRule::kUsesOurs) {
    if (const Hash* h = FirstMissing(theirs, ours)) return Str("uses ", named(*h), ", which we do not serve");
  } else if (const Hash* h = FirstMissing(ours, theirs)) {
    return Str("has no ", named(*h));
  } else if (rule == ListRule::kSame && theirs != ours) {
    if (const Hash* more = FirstMissing(theirs, ours)) return Str("has ", named(*more), " as well, which we lack");
    return "has the indexes in another order";
  }
  return {};
}

}  // namespace

void SendHello(net::Channel& ch, const BundlePlan& plan, const std::vector<Hash>& indexes) {
  Writer w;
  w.Put(store::kWireVersion);
  w.Put(plan.version);
  w.Put(plan.prg);
  w.Raw(plan.hash);
  for (const Hash& h : indexes) w.Raw(h);
  ch.Send(net::kHello, w.bytes());
}

std::vector<Hash> RecvHello(net::Channel& ch, const BundlePlan& plan, ListRule rule, const std::vector<Hash>& ours) {
  return CheckHello(ch, plan, ch.Recv(net::kHello, kMostHello), rule, ours);
}

void CheckWireVersion(net::Channel& ch, uint32_t theirs) {
  Compare(ch, theirs, store::kWireVersion, net::Refusal::kVersion, "protocol version");
}

std::vector<Hash> CheckHello(net::Channel& ch, const BundlePlan& plan, View hello, ListRule rule,
                             const std::vector<Hash>& ours) {
  Reader r(hello, "a hello");
  CheckWireVersion(ch, r.Get<uint32_t>());
  Compare(ch, r.Get<uint32_t>(), plan.version, net::Refusal::kPlanVersion, "plan version");
  Compare(ch, r.Get<uint32_t>(), plan.prg, net::Refusal::kPrg, "key generator");
  if (r.GetHash() != plan.hash)
    net::EndSession(ch, net::Refusal::kPlan, Cause::kRefused, ch.peer_title(), " holds another plan than ours (",
                    Hex(View(plan.hash).first(4)), "..); give the same plan file to all three roles");
  std::vector<Hash> theirs;
  while (r.left()) theirs.push_back(r.GetHash());
  if (const std::string why = WhyNot(theirs, rule, ours); !why.empty())
    net::EndSession(ch, net::Refusal::kIndex, Cause::kRefused, ch.peer_title(), " ", why,
                    "; give all three roles the same index plans, in the same order");
  ch.Advance(net::PeerState::kAccepted);
  return theirs;
}

void CheckJob(const BundlePlan& plan, const store::Job& job) {
  if (!plan.Knows(job))
    Fail(Cause::kInput, "the job is of entry ", job.entry, ", variant ", job.variant, " with ", job.past,
         " tokens in a cache; the plan has ", Has(plan), "; compile a plan that has them");
  const auto limits = plan.LimitsOf(job.entry);
  if (!plan.CoversTexts(job))
    Fail(Cause::kInput, "the batch has ", job.texts, " texts; this plan takes 1 to ", limits->most_texts,
         " at once; use a smaller batch");
  if (!plan.Covers(job))
    Fail(Cause::kInput, limits->unit.what, " ", job.tokens, " ", limits->unit.name, "; the plan covers ",
         limits->least == limits->most ? "" : Str(limits->least, " to "), limits->most, "; ", limits->unit.remedy);
}

void CheckPeersJob(net::Channel& ch, const BundlePlan& plan, const store::Job& job, const char* did) {
  if (!plan.Knows(job))
    net::EndSession(ch, net::Refusal::kJob, Cause::kRefused, ch.peer_title(), " ", did, " entry ", job.entry,
                    ", variant ", job.variant, " with ", job.past, " tokens in a cache; the plan has ", Has(plan),
                    "; install the same suf on all three sides");
  const auto limits = plan.LimitsOf(job.entry);
  if (!plan.CoversTexts(job))
    net::EndSession(ch, net::Refusal::kTexts, Cause::kInput, ch.peer_title(), " ", did, " a batch of ", job.texts,
                    " texts; this plan takes 1 to ", limits->most_texts, " at once; it was refused");
  if (!plan.Covers(job))
    net::EndSession(ch, net::Refusal::kTokens, Cause::kInput, ch.peer_title(), " ", did, " ", job.tokens, " ",
                    limits->unit.name, "; the plan covers ",
                    limits->least == limits->most ? "" : Str(limits->least, " to "), limits->most, "; it was refused");
}

}  // namespace suf::proto
