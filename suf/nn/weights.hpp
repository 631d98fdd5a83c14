// P0's weights as a plan has them: quantised, and as the inputs of a trace.
#pragma once
#include <functional>

#include "suf/exec/pool.hpp"
#include "suf/nn/plan.hpp"

namespace suf::nn {

// Whole numbers by name, "<node>.<slot>" as in the trace's inputs.
using Quantised = std::map<std::string, Tensor>;

// Evaluates every weight's expression at its scale, a weight a thread. Throws Cause::kInput when a tensor is
// missing or of another shape, Cause::kRefused when a value leaves 2^50, naming the weight.
Quantised Quantise(const Weights& weights, const Plan& plan, exec::Pool& pool = exec::Default());
// Of a node's weight as a class of the plan reads it: "<node>.<slot>" where the first class has the same
// values, else with "@" and the number of the first class that does. All are quantised, masked and given to P1.
std::string SlotName(const Plan& plan, const Class& c, const Node& n, const Slot& s);

// A weight that P0 gives P1 as W - B modulo 2^bits, bits the widest ring in which any class of any
// variant reads it.
struct MaskedWeight {
  std::string name;
  Shape shape;
  int bits = 0;
  int64_t size() const { return Size(shape); }
  // word: bytes of an element as roles keep it.
  int word() const { return bits <= 16 ? 2 : bits <= 32 ? 4 : 8; }
  // bytes: packed, as it travels.
  int64_t bytes() const { return (size() * bits + 7) / 8; }
};

// In the order of the graph, then those that only a later class reads; all others never leave P0.
std::vector<MaskedWeight> MaskedWeights(const Plan& plan);

// ModelInputs: P0's inputs of a trace that do not depend on the length, set("W.<name>", tensor); LengthInputs: those
// that do, for n tokens.
using SetInput = std::function<void(const std::string& name, const Tensor& values)>;
void ModelInputs(const Plan& plan, const Quantised& q, const SetInput& set);
void LengthInputs(const Plan& plan, const Quantised& q, int n, const SetInput& set);

}  // namespace suf::nn
