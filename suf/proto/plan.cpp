#include "suf/proto/plan.hpp"

namespace suf::proto {

void SendHello(Channel& ch, const Plan& plan) {
  Writer w;
  w.Put(kWireVersion), w.Put(plan.version), w.Put(plan.prg), w.Raw(plan.hash);
  ch.Send(kHello, w.bytes());
}

void RecvHello(Channel& ch, const Plan& plan) {
  Bytes b = ch.Recv(kHello, 256);
  Reader r(b, "a hello");
  auto compare = [&](uint32_t theirs, uint32_t ours, Refusal code, const char* what) {
    if (theirs != ours)
      EndSession(ch, code, Cause::kRefused, ch.peer_title(), " has ", what, " ", theirs, ", we have ", ours,
                 "; install the same suf on all three sides");
  };
  // the version comes first: of another one, nothing behind it can be read
  compare(r.Get<uint32_t>(), kWireVersion, Refusal::kVersion, "protocol version");
  compare(r.Get<uint32_t>(), plan.version, Refusal::kPlanVersion, "plan version");
  compare(r.Get<uint32_t>(), plan.prg, Refusal::kPrg, "key generator");
  if (r.GetHash() != plan.hash)
    EndSession(ch, Refusal::kPlan, Cause::kRefused, ch.peer_title(), " holds another plan than ours (",
               Hex(View(plan.hash).first(4)), "..); give the same plan file to all three roles");
  r.Done();
  ch.Reach(Stage::kAccepted);
}

void CheckTokens(const Plan& plan, uint32_t n) {
  if (n < 1 || n > plan.max_tokens)
    Fail(Cause::kInput, "the text has ", n, " tokens; the plan covers 1 to ", plan.max_tokens,
         "; shorten it or compile a longer plan");
}

}  // namespace suf::proto
