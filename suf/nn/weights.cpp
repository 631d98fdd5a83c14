#include "suf/nn/weights.hpp"

#include <algorithm>

namespace suf::nn {

namespace {

// ForSlots: f(node, slot) in order; a weight has one scale in every class (Check).
template <class F>
void ForSlots(const Plan& plan, F f) {
  for (auto& n : plan.graph.nodes())
    for (const Slot& s : plan.classes.at(0).ops[size_t(n->index)]->Slots()) f(*n, s);
}

// Sized: what a trace of n tokens reads of a weight.
Tensor Sized(const Tensor& t, Slot::Length length, int n) {
  Ints v;
  if (length == Slot::kTimes) {
    for (int64_t i = 0; i < t.size(); ++i) v.push_back(WrapMul(t[i], n));
    return {t.shape(), v};
  }
  if (length == Slot::kRows) {
    for (int64_t i = 0; i < n * t.cols(); ++i) v.push_back(t[i]);
    return {{n, t.cols()}, v};
  }
  const int64_t blocks = t.shape()[0], p = t.cols();
  for (int64_t h = 0; h < blocks; ++h)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) v.push_back(t[(h * p + i) * p + j]);
  return {{blocks, n, n}, v};
}

}  // namespace

std::string SlotName(const Node& n, const Slot& s) { return Str(n.index, ".", s.name); }

Quantised Quantise(const Weights& weights, const Plan& plan) {
  Quantised q;
  ForSlots(plan, [&](const Node& n, const Slot& s) {
    q[SlotName(n, s)] =
        Fixed(Graph::Where(n) + " (" + s.name + ")", s.weight.shape(), weights.Value(s.weight), s.scale);
  });
  return q;
}

std::vector<MaskedWeight> MaskedWeights(const Plan& plan) {
  std::vector<MaskedWeight> out;
  ForSlots(plan, [&](const Node& n, const Slot& s) {
    if (!s.masked) return;
    int bits = 0;
    for (const Class& c : plan.classes) bits = std::max(bits, c.ops[size_t(n.index)]->ring);
    out.push_back({SlotName(n, s), s.weight.shape(), bits});
  });
  return out;
}

void ModelInputs(const Plan& plan, const Quantised& q, const SetInput& set) {
  ForSlots(plan, [&](const Node& n, const Slot& s) {
    if (s.length == Slot::kFixed) set("W." + SlotName(n, s), q.at(SlotName(n, s)));
  });
}

void LengthInputs(const Plan& plan, const Quantised& q, int n, const SetInput& set) {
  ForSlots(plan, [&](const Node& node, const Slot& s) {
    if (s.length != Slot::kFixed) set("W." + SlotName(node, s), Sized(q.at(SlotName(node, s)), s.length, n));
  });
}

}  // namespace suf::nn
