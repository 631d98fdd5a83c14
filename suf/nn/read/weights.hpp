// P0's weights as a plan has them: quantised, and as the inputs of a trace.
#pragma once
#include <functional>

#include "suf/exec/pool.hpp"
#include "suf/nn/plan/plan.hpp"

namespace suf::nn {

// Weights as whole numbers by name, "<node>.<slot>" as in the trace's inputs.
using QuantisedWeights = std::map<std::string, Tensor>;

// Evaluates every weight's expression at its scale, one weight a thread. Throws Cause::kInput if a tensor is missing or
// of another shape. Throws Cause::kRefused, naming the weight, if a value leaves 2^50.
QuantisedWeights Quantise(const Checkpoint& weights, const Plan& plan, exec::Pool& pool = exec::Default());
// Returns the name of a node's weight as a class of the plan reads it. It is "<node>.<slot>" if the first class has the
// same values. Otherwise "@" and the number of the first class that does follow. All are quantised, masked and given to
// P1.
std::string SlotName(const Plan& plan, const Class& c, const GraphNode& n, const WeightSlot& s);

// A weight that P0 gives P1 as W - B modulo 2^bits. `bits` is the widest ring in which any class of any variant reads
// it.
struct MaskedWeight {
  std::string name;
  Shape shape;
  int bits = 0;
  int64_t size() const { return Size(shape); }
  // Returns the bytes of an element as roles keep it.
  int word() const { return bits <= 16 ? 2 : bits <= 32 ? 4 : 8; }
  // Returns the bytes of the packed weight, as it travels.
  int64_t bytes() const { return (size() * bits + 7) / 8; }
};

// Returns them in the order of the graph, then those that only a later class reads. All others never leave P0.
std::vector<MaskedWeight> MaskedWeights(const Plan& plan);

// The names of the inputs of a plan's search, without the "W.", "Wh." or "B." before them. They are its blocks of rows,
// in order, and P0's bias.
struct SearchInputNames {
  std::vector<std::string> rows;
  std::string bias;
};
// Throws Bug if the plan has no index (WithIndex).
SearchInputNames SearchInputsOf(const Plan& plan);

// Receives an input of P0: "W.<name>" and its tensor.
using SetInput = std::function<void(const std::string& name, const Tensor& values)>;
// Sets P0's inputs of a trace that do not depend on the length.
void ModelInputs(const Plan& plan, const QuantisedWeights& q, const SetInput& set);
// Sets P0's inputs of a trace that depend on the length, for n tokens.
void LengthInputs(const Plan& plan, const QuantisedWeights& q, int n, const SetInput& set);

}  // namespace suf::nn
