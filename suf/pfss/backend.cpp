#include "suf/pfss/backend.hpp"

#include <algorithm>
#include <cstring>

namespace suf::pfss {

Capabilities Capabilities::Without(std::initializer_list<Op> ops) const {
  Capabilities less = *this;
  for (Op op : ops) less.operations[size_t(op)] = false;
  return less;
}

void RefuseLacking(const Capabilities& can, const Trace& t, const Node& n) {
  const bool dcf = n.op == Op::kDcfGen || n.op == Op::kDcfEval, tree = Info(n.op).cls == OpClass::kTree;
  if (!can.Has(n.op)) {
    if (tree) Fail(Cause::kRefused, can.name, " has no ", dcf ? "DCF" : "DPF tree", " (", Name(n.op), ")");
    Fail(Cause::kRefused, can.name, " has no operation ", Name(n.op));
  }
  if (!tree) return;
  const bool gen = n.op == Op::kDpfGen || n.op == Op::kDcfGen;
  const bool halves = n.op == Op::kDcfGen && t.node(n.args[0]).shape.size() == t.node(n.args[1]).shape.size();
  if (const int64_t bits = gen ? t.node(n.args[0]).ring.bits * (halves ? 2 : 1) : n.attrs[1]; bits > can.largest)
    Fail(Cause::kRefused, "it needs a ", dcf ? "DCF" : "DPF", " on ", bits, " bits, and ", can.largest,
         " are the most that ", can.name, " has");
  if (!dcf) return;
  const fss::DcfScheme scheme = FormOf(n.attrs[gen ? 1 : 3]).scheme;
  if (std::find(can.schemes.begin(), can.schemes.end(), scheme) == can.schemes.end())
    Fail(Cause::kRefused, can.name, " has no DCF of the scheme ", fss::Name(scheme));
}

void RefuseLacking(const Capabilities& can, const Trace& t) {
  for (const Node& n : t.nodes()) RefuseLacking(can, t, n);
}

uint64_t WordOf(const void* word, int bytes, bool is_signed) {
  uint64_t v = 0;
  std::memcpy(&v, word, size_t(bytes));
  const int above = 64 - 8 * bytes;
  return is_signed ? uint64_t(int64_t(v << above) >> above) : v;
}

// ---- kernels that a backend does not have

namespace {
[[noreturn]] void Lacking() { throw Bug("a kernel that its backend's capabilities exclude"); }
}  // namespace

void Kernels::DpfGen(const KeyBatch&, const uint64_t*, const Roots&, uint8_t*) const { Lacking(); }
void Kernels::DpfWindow(const KeyBatch&, int, const uint8_t*, const uint8_t*, int, const uint64_t*, int,
                        uint64_t*) const {
  Lacking();
}
void Kernels::DpfParity(const KeyBatch&, int, const uint8_t*, const uint8_t*, const uint64_t*, int, uint64_t*) const {
  Lacking();
}
void Kernels::DpfDense(const KeyBatch&, int, const uint8_t*, const uint8_t*, const uint64_t*, const uint64_t*,
                       uint64_t*) const {
  Lacking();
}
void Kernels::DcfGen(const KeyBatch&, const uint64_t*, const uint64_t*, const Roots&, uint8_t*) const { Lacking(); }
void Kernels::DcfEval(const KeyBatch&, int, const uint8_t*, const uint8_t*, const uint64_t*, int, uint64_t*) const {
  Lacking();
}

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
