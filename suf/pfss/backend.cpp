#include "suf/pfss/backend.hpp"

namespace suf::pfss {

std::vector<Program> Programs(const Schedule& s, Role role) {
  if (role == Role::kDealer) return {{role, s.dealing()}};
  std::vector<Program> out;
  for (auto& step : s.steps(int(role))) out.push_back({role, step.nodes});
  return out;
}

std::vector<int> LastUse(const Schedule& s, const std::vector<Program>& programs) {
  const Trace& t = s.trace();
  std::vector<int> last(t.nodes().size(), -1);
  int at = 0;
  for (auto& p : programs)
    for (int i : p.nodes) {
      for (int a : t.node(i).args) last[a] = at;
      ++at;
    }
  for (int p : {0, 1})
    for (const Trace::Result& r : t.results(p)) last[r.node] = at;
  return last;
}

}  // namespace suf::pfss
