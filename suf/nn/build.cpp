#include "suf/nn/build.hpp"

#include "suf/nn/weights.hpp"

namespace suf::nn {

void Build(pfss::Trace& t, const Plan& plan, int n, int variant) {
  const Ops& ops = plan.For(n, variant).ops;
  const Node* last = plan.graph.nodes().back().get();
  Forward<AnyWire>(plan.graph, [&](const Node& node, std::span<const AnyWire* const> in) {
    std::vector<AnyWire> x;
    for (const AnyWire* w : in) x.push_back(*w);
    const Operator& op = *ops[size_t(node.index)];
    t.scope(node.scope);
    Emission e{t, n, &node == last, op.form, std::to_string(node.index), node.label};
    if (variant)
      for (const Slot& s : op.Slots()) e.others[s.name] = SlotName(plan, variant, node, s);
    return op.Build(e, x);
  });
  t.close();
}

}  // namespace suf::nn
