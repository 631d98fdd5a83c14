// What a role has in memory of the values that it computes: a reading of the schedule that no backend has a part in.
#include <algorithm>

#include "suf/fss/sizes.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::pfss {

int64_t LivePeak(const Schedule& s, Role role) {
  const Trace& t = s.trace();
  const std::vector<Program> programs = Programs(s, role);
  std::vector<int> last = LastUse(s, programs), order, ends;  // ends: of programs, in the order
  for (const Program& p : programs) {
    order.insert(order.end(), p.nodes.begin(), p.nodes.end());
    ends.push_back(int(order.size()));
  }
  // a view is the memory of what it shows
  for (auto i = order.rbegin(); i != order.rend(); ++i)
    if (Info(t.node(*i).op).cls == OpClass::kView)
      for (int a : t.node(*i).args) last[size_t(a)] = std::max(last[size_t(a)], last[size_t(*i)]);
  const auto bytes = [&](int i) -> int64_t {
    const Node& n = t.node(i);
    const OpClass c = Info(n.op).cls;
    if (!Pure(c) || c == OpClass::kView) return 0;
    const int bits = n.ring.kind == Ring::kXor ? n.ring.bits : std::max(1, s.width(i));
    return Size(n.shape) * int64_t(fss::ElementBytes(bits));
  };
  // what is read after its own program has to be kept; what is made and read within one may never lie in memory
  std::vector<int64_t> change(order.size() + 2, 0);
  size_t p = 0;
  for (int at = 0; at < int(order.size()); ++at) {
    while (ends[p] <= at) ++p;
    const int i = order[size_t(at)], until = last[size_t(i)];
    const bool kept = programs.size() == 1 || until >= ends[p];
    if (kept && until > at) change[size_t(at)] += bytes(i), change[size_t(until) + 1] -= bytes(i);
  }
  int64_t now = 0, most = 0;
  for (int64_t c : change) most = std::max(most, now += c);
  return most;
}

}  // namespace suf::pfss
