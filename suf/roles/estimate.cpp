#include "suf/roles/estimate.hpp"

#include "suf/nn/search.hpp"
#include "suf/roles/model.hpp"
#include "suf/store/store.hpp"

namespace suf::roles {

Estimate::Estimate(ModelEngine& engine, int n, int variant) : tokens(n), plan(engine.hash()) {
  const auto work = engine.At(n, variant);
  tiles = nn::TilesOf(engine.plan().For(n, variant), n);
  const pfss::Schedule& s = *work->schedule;
  trace = work->trace.digest(), flights = s.flights();
  for (int p : {0, 1}) frames[p] = s.frame_count(p, true), key_bytes[p] = s.key_bytes(p), sent[p] = s.sent(p, true);
  for (int p : {0, 1}) disk[p] = int64_t(store::BundleFileBytes(*work->task.body[p]));
  window = int64_t(work->task.window);
  offline = s.sent(1, false), setup = 0;
  for (auto& m : engine.masked()) setup += m.bytes();
  const Certified certified = CertifiedOf(engine.plan().Only(variant));
  hard = certified.hard, calibrated = certified.calibrated;
  cost = pfss::CostOf(s), bill = compiler::BillOf(s);
}

int64_t Estimate::OnDisk(int party, int count) const { return count * disk[party]; }

double Estimate::Online(const compiler::Prices& prices) const { return compiler::Seconds(bill, nn::WithSteps(prices)); }

}  // namespace suf::roles
