#include "suf/nn/build.hpp"

namespace suf::nn {

void Build(pfss::Trace& t, const Plan& plan, int n) {
  const Ops& ops = plan.For(n).ops;
  const Node* last = plan.graph.nodes().back().get();
  Forward<AnyWire>(plan.graph, [&](const Node& node, std::span<const AnyWire* const> in) {
    std::vector<AnyWire> x;
    for (const AnyWire* w : in) x.push_back(*w);
    const Operator& op = *ops[size_t(node.index)];
    if (op.unused) return AnyWire();
    t.scope(node.scope);
    return op.Build({t, n, &node == last, op.form, std::to_string(node.index), node.label}, x);
  });
  t.close();
}

}  // namespace suf::nn
