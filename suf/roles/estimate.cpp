#include "suf/roles/estimate.hpp"

#include <algorithm>

#include "suf/fss/sizes.hpp"
#include "suf/nn/plan/knob_search.hpp"
#include "suf/roles/model.hpp"
#include "suf/run/party.hpp"
#include "suf/store/lane.hpp"

namespace suf::roles {

namespace {

// Returns the memory of the three roles, by Role.
std::array<MemoryNeeds, 3> MemoryOf(ModelEngine& engine, const pfss::Schedule& s, int64_t window) {
  std::array<MemoryNeeds, 3> out;
  MemoryNeeds& dealer = out[size_t(Role::kDealer)];
  int64_t masked = 0, own = 0;
  for (const nn::MaskedWeight& m : engine.masked()) {
    masked += m.size() * m.word();
    own += 2 * m.size() * int64_t(sizeof(int16_t));
  }
  out[0].weights = own;
  out[1].weights = dealer.weights = masked;
  for (int p : {0, 1}) {
    out[size_t(p)].keys = std::min(s.key_bytes(p), std::max(window, int64_t(store::kKeyWindow)));
    out[size_t(p)].frames = int64_t(run::RoomsOf(s, p));
    dealer.keys += std::min(s.key_bytes(p), int64_t(store::kKeyWindow));
  }
  for (Role r : {Role::kModel, Role::kData, Role::kDealer}) out[size_t(r)].values = engine.backend().ValueBytes(s, r);
  return out;
}

// Returns the bytes of both bundles' bodies if the variant's corrections went there.
std::array<int64_t, 2> KeyBytes(ModelEngine& engine, int n, int variant, pfss::KeysTo to) {
  if (to == engine.variants()[size_t(variant)].keys_to) {
    const auto work = engine.Compile(n, variant);
    return {work->schedule->key_bytes(0), work->schedule->key_bytes(1)};
  }
  nn::Plan other = engine.plan();
  other.variants[size_t(variant)].keys_to = to;
  pfss::Trace t;
  nn::Build(t, other, n, variant);
  const pfss::Schedule s(t);
  return {s.key_bytes(0), s.key_bytes(1)};
}

}  // namespace

Estimate::Estimate(ModelEngine& engine, int n, int variant) : tokens(n), plan(engine.hash()) {
  const auto work = engine.Compile(n, variant);
  tiles = nn::TilesOf(engine.plan().For(n, variant), n);
  const pfss::Schedule& s = *work->schedule;
  trace = work->trace.digest();
  flights = s.flights();
  for (int p : {0, 1}) {
    frames[p] = s.frame_count(p, true);
    key_bytes[p] = s.key_bytes(p);
    sent[p] = s.sent(p, true);
  }
  for (const pfss::KeysTo to : {pfss::KeysTo::kBalanced, pfss::KeysTo::kP0})
    keys_to[size_t(to)] = KeyBytes(engine, n, variant, to);
  for (int p : {0, 1}) disk[p] = int64_t(store::BundleFileBytes(*work->task.body[p]));
  window = int64_t(work->task.window);
  offline = s.sent(1, false);
  setup = 0;
  for (auto& m : engine.masked()) setup += m.bytes();
  memory = MemoryOf(engine, s, window);
  const CertificateCounts certified = CertifiedOf(engine.plan().Only(variant));
  hard = certified.hard;
  calibrated = certified.calibrated;
  cost = pfss::CostOf(s);
  bill = compiler::BillOf(s);
}

int64_t Estimate::OnDisk(int party, int count) const { return count * disk[party]; }

double Estimate::Online(const compiler::Prices& prices) const { return compiler::Seconds(bill, nn::WithSteps(prices)); }

}  // namespace suf::roles
