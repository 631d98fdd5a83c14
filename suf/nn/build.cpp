#include "suf/nn/build.hpp"

#include "suf/nn/weights.hpp"

namespace suf::nn {

void Build(pfss::Trace& t, const Plan& plan, int n, int variant) {
  const Class& c = plan.For(n, variant);
  const Ops& ops = c.ops;
  const Node* last = plan.graph.nodes().back().get();
  Forward<AnyWire>(plan.graph, [&](const Node& node, std::span<const AnyWire* const> in) {
    std::vector<AnyWire> x;
    for (const AnyWire* w : in) x.push_back(*w);
    const Operator& op = *ops[size_t(node.index)];
    if (op.unused) return AnyWire();
    t.scope(node.scope);
    Emission e{t, n, &node == last, op.form, std::to_string(node.index), node.label};
    if (&c != &plan.classes[0])
      for (const Slot& s : op.Slots()) e.others[s.name] = SlotName(plan, c, node, s);
    return op.Build(e, x);
  });
  t.close();
}

}  // namespace suf::nn
