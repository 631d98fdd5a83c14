#include "suf/nn/read/weights.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "suf/nn/ops/search.hpp"

namespace suf::nn {

namespace {

// Calls f(node, slot, name, class) for the wanted slots of every class in order. A weight may have a scale of its own
// in each class.
template <class Wants, class F>
void ForSlots(const Plan& plan, Wants wants, F f) {
  for (const Class& c : plan.classes)
    for (auto& n : plan.graph.nodes())
      for (const WeightSlot& s : c.ops[size_t(n->index)]->Slots())
        if (wants(s)) f(*n, s, SlotName(plan, c, *n, s), c);
}

// Calls f(node, slot, name) once for each name.
template <class Wants, class F>
void ForWeights(const Plan& plan, Wants wants, F f) {
  std::set<std::string> done;
  ForSlots(plan, wants, [&](const GraphNode& n, const WeightSlot& s, const std::string& name, const Class&) {
    if (done.insert(name).second) f(n, s, name);
  });
}

bool Any(const WeightSlot&) { return true; }
bool Fixes(const WeightSlot& s) { return s.length == WeightSlot::kFixed && !s.known; }
bool Varies(const WeightSlot& s) { return s.length != WeightSlot::kFixed; }
bool Masks(const WeightSlot& s) { return s.masked; }

// Whether two slots of one node are one tensor and go the same way.
bool Same(const WeightSlot& a, const WeightSlot& b) {
  return std::string_view(a.name) == b.name && a.scale == b.scale && a.masked == b.masked && a.length == b.length &&
         a.known == b.known && a.weight == b.weight;
}

// Returns the part of a weight that a trace of n tokens reads.
Tensor Sized(const Tensor& t, WeightSlot::Length length, int n) {
  Ints v;
  if (length == WeightSlot::kTimes) {
    for (int64_t i = 0; i < t.size(); ++i) v.push_back(WrapMul(t[i], n));
    return {t.shape(), v};
  }
  if (length == WeightSlot::kRows) {
    for (int64_t i = 0; i < n * t.cols(); ++i) v.push_back(t[i]);
    return {{n, t.cols()}, v};
  }
  const int64_t blocks = t.shape()[0], middle = t.cols() / 2;
  for (int64_t h = 0; h < blocks; ++h)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) v.push_back(t[h * t.cols() + middle + j - i]);
  return {{blocks, n, n}, v};
}

}  // namespace

std::string SlotName(const Plan& plan, const Class& c, const GraphNode& n, const WeightSlot& s) {
  const std::string name = Str(n.index, ".", s.name);
  for (size_t i = 0; i < plan.classes.size(); ++i) {
    const Class& first = plan.classes[i];
    const std::string own = i ? Str(name, "@", i) : name;
    if (first.variant == c.variant && first.max_n == c.max_n) return own;
    for (const WeightSlot& other : first.ops[size_t(n.index)]->Slots())
      if (Same(other, s)) return own;
  }
  throw Bug("the class is not the plan's");
}

QuantisedWeights Quantise(const Checkpoint& weights, const Plan& plan, exec::Pool& pool) {
  struct Due {
    std::string name, where;
    WeightSlot slot;
    Tensor values;
  };
  std::vector<Due> all;
  ForWeights(plan, Any, [&](const GraphNode& n, const WeightSlot& s, const std::string& name) {
    all.push_back({name, Graph::Where(n) + " (" + s.name + ")", s, {}});
  });
  pool.For(all.size(), 1, [&](size_t begin, size_t end) {
    for (Due& d : std::span(all).subspan(begin, end - begin))
      d.values = Fixed(d.where, d.slot.weight.shape(), weights.Value(d.slot.weight), d.slot.scale);
  });
  QuantisedWeights q;
  for (Due& d : all) q[d.name] = std::move(d.values);
  return q;
}

std::vector<MaskedWeight> MaskedWeights(const Plan& plan) {
  std::vector<MaskedWeight> out;
  std::map<std::string, size_t> index;
  ForSlots(plan, Masks, [&](const GraphNode& n, const WeightSlot& s, const std::string& name, const Class& c) {
    const auto [at, fresh] = index.try_emplace(name, out.size());
    if (fresh) out.push_back({name, s.weight.shape(), 0});
    int& bits = out[at->second].bits;
    bits = std::max(bits, c.ops[size_t(n.index)]->ring);
  });
  return out;
}

SearchInputNames SearchInputsOf(const Plan& plan) {
  const GraphNode& last = *plan.graph.nodes().back();
  const Class& c = plan.classes.at(0);
  if (!dynamic_cast<const Search*>(c.ops.back().get())) throw Bug("the plan has no index");
  SearchInputNames names;
  for (const WeightSlot& s : c.ops.back()->Slots()) {
    if (s.masked)
      names.rows.push_back(SlotName(plan, c, last, s));
    else
      names.bias = SlotName(plan, c, last, s);
  }
  return names;
}

void ModelInputs(const Plan& plan, const QuantisedWeights& q, const SetInput& set) {
  ForWeights(plan, Fixes,
             [&](const GraphNode&, const WeightSlot&, const std::string& name) { set("W." + name, q.at(name)); });
}

void LengthInputs(const Plan& plan, const QuantisedWeights& q, int n, const SetInput& set) {
  ForWeights(plan, Varies, [&](const GraphNode&, const WeightSlot& s, const std::string& name) {
    set("W." + name, Sized(q.at(name), s.length, n));
  });
}

}  // namespace suf::nn
