#include "suf/roles/estimate.hpp"

#include <algorithm>

#include "suf/fss/sizes.hpp"
#include "suf/nn/plan/knob_search.hpp"
#include "suf/roles/model.hpp"
#include "suf/run/party.hpp"
#include "suf/store/lane.hpp"

namespace suf::roles {

MemoryNeeds NeedsOf(Engine& engine, const store::Job& job, Role role, uint64_t window) {
  const auto work = engine.Compile(job);
  const pfss::Schedule& s = *work->schedule;
  MemoryNeeds out;
  for (const nn::MaskedWeight& m : engine.masked())
    out.weights += m.size() * (role == Role::kModel ? 2 * int64_t(sizeof(int16_t)) : m.word());
  // A party's keys arrive ahead of its run, at least as many as the plan needs. The dealer's wait for the slower party.
  for (int p : {0, 1})
    if (role == Role::kDealer)
      out.keys += int64_t(std::min<uint64_t>(uint64_t(s.key_bytes(p)), window));
    else if (p == PartyOf(role))
      out.keys = int64_t(std::min<uint64_t>(uint64_t(s.key_bytes(p)), std::max(work->task.window, window)));
  if (role != Role::kDealer) out.frames = int64_t(run::RoomsOf(s, PartyOf(role)));
  out.values = engine.backend().ValueBytes(s, role);
  return out;
}

namespace {

// Returns the bytes of both bundles' bodies if the variant's corrections went there.
std::array<int64_t, 2> KeyBytes(ModelEngine& engine, const store::Job& job, pfss::KeysTo to) {
  if (to == engine.variants()[job.variant].keys_to) {
    const auto work = engine.Compile(job);
    return {work->schedule->key_bytes(0), work->schedule->key_bytes(1)};
  }
  nn::Plan other = engine.plan();
  other.variants[job.variant].keys_to = to;
  pfss::Trace t;
  EmitTexts(t, other, job);
  const pfss::Schedule s(t);
  return {s.key_bytes(0), s.key_bytes(1)};
}

}  // namespace

Estimate::Estimate(ModelEngine& engine, int n, int variant, int k) : tokens(n), texts(k), plan(engine.hash()) {
  const store::Job job = store::JobOf(uint32_t(n), uint32_t(variant), uint32_t(k));
  const auto work = engine.Compile(job);
  tiles = nn::TilesOf(engine.plan().For(n, variant), n, k);
  const pfss::Schedule& s = *work->schedule;
  trace = work->trace.digest();
  flights = s.flights();
  for (int p : {0, 1}) {
    frames[p] = s.frame_count(p, true);
    key_bytes[p] = s.key_bytes(p);
    sent[p] = s.sent(p, true);
  }
  for (const pfss::KeysTo to : {pfss::KeysTo::kBalanced, pfss::KeysTo::kP0})
    keys_to[size_t(to)] = KeyBytes(engine, job, to);
  for (int p : {0, 1}) disk[p] = int64_t(store::BundleFileBytes(*work->task.body[p]));
  window = int64_t(work->task.window);
  offline = s.sent(1, false);
  setup = 0;
  for (auto& m : engine.masked()) setup += m.bytes();
  for (Role r : {Role::kModel, Role::kData, Role::kDealer})
    memory[size_t(r)] = NeedsOf(engine, job, r, store::kKeyWindow);
  const CertificateCounts certified = CertifiedOf(engine.plan().Only(variant));
  hard = certified.hard;
  calibrated = certified.calibrated;
  cost = pfss::CostOf(s);
  bill = compiler::BillOf(s);
}

int64_t Estimate::OnDisk(int party, int count) const { return count * disk[party]; }

double Estimate::Online(const compiler::Prices& prices) const { return compiler::Seconds(bill, nn::WithSteps(prices)); }

}  // namespace suf::roles
