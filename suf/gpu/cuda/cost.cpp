// The cost of a run on a device, computed from its plan.
#include "suf/gpu/cuda/backend.hpp"
#include "suf/gpu/cuda/inputs.hpp"
#include "suf/gpu/cuda/operations.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces

DeviceCost DeviceCostOf(const Schedule& s, Role role, const Backend::InputBytes& bytes_of) {
  return DeviceCostOf(s, role, PlanOf(s, role, SpareOf), bytes_of);
}

DeviceCost DeviceCostOf(const Schedule& s, Role role, const DevicePlan& plan, const Backend::InputBytes& bytes_of) {
  const Trace& t = s.trace();
  DeviceCost out;
  out.values = int64_t(plan.slab);
  Base base;
  const auto form = [&](int i) {
    const Node& n = t.node(i);
    if (n.attrs[0] >= 0 || n.shape.size() != 2) return FirstForm(t, i);
    const int bytes = bytes_of(t.name(n.label));
    return InputForm{std::abs(bytes), bytes < 0};
  };
  for (int i : Inputs(t, plan)) base.forms[i] = form(i);
  out.codes = int64_t(Assemble(s, role, plan, base).bytes.size() + 8 * base.forms.size() +
                      Sections(t, plan).size() * sizeof(fss::Prg::SectionKeys));
  for (int i : grouping::ReadAsWords(t, plan.plan))
    if (const auto it = base.forms.find(i); it != base.forms.end())
      out.inputs += Size(t.node(i).shape) * it->second.bytes;
  std::map<std::pair<uint16_t, int>, size_t> limbs;  // by name and ring, as DeviceWeightCache keeps them
  for (size_t k = 0; k < plan.plan.instructions.size(); ++k) {
    const grouping::Instruction& ins = plan.plan.instructions[k];
    if (!plan.Idle(t, k)) out.launches += LaunchesOf(s, plan, ins);
    if (ins.group || ins.same >= 0 || !grouping::ReadsWeight(t, ins.node)) continue;
    const int i = plan.Root(t.node(ins.node).args[1]), bits = std::max(1, s.width(ins.node));
    const Node& w = t.node(i);
    const InputForm f = base.forms.at(i);
    limbs[{w.label, bits}] =
        ring::cuda::LimbsOf(f.bytes, f.is_signed, true, int(w.shape[1]), int(w.shape[0]), 1, bits).bytes();
  }
  for (const auto& [key, bytes] : limbs) out.weights += int64_t(bytes);
  for (const Chapter& c : plan.chapters) out.launches += !c.drawn.empty();
  return out;
}

}  // namespace suf::gpu::cuda
