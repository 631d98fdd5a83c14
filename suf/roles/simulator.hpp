// Simulator: the specification of an inference, for who holds model and texts: what the protocol computes, in clear.
#pragma once
#include "suf/nn/simulate.hpp"
#include "suf/roles/model.hpp"

namespace suf::roles {

class Simulator {
 public:
  // Throws what Model::Quantise throws. Keeps its own copies of both.
  Simulator(nn::Plan plan, const Model& model, const Progress& progress = {})
      : plan_(std::move(plan)), weights_(model.Quantise(plan_, progress)), simulator_(plan_, weights_) {}
  Simulator(const Simulator&) = delete;
  // Of a variant; ids with [CLS] and [SEP]; the whole numbers of the result, equal to the protocol's, and the
  // wires that left their windows. Throws Cause::kInput for a length that the plan does not cover or an id outside the
  // vocabulary. From one thread at a time.
  nn::Simulation Run(std::span<const int32_t> ids, int variant = 0) const { return simulator_.Run(ids, {}, variant); }

 private:
  nn::Plan plan_;
  nn::Quantised weights_;
  nn::Simulator simulator_;
};

}  // namespace suf::roles
