// The specification of an inference: computes in clear the same integers as the protocol.
#pragma once
#include "suf/nn/read/simulate.hpp"
#include "suf/roles/index_folder.hpp"
#include "suf/roles/model.hpp"

namespace suf::roles {

// The simulator of a plan with a model, for a program that has both the model and the texts.
class Simulator {
 public:
  // With an index, it searches that. Throws the errors of Model::Quantise, and of nn::WithIndex. Keeps copies of the
  // plan and the weights.
  Simulator(nn::Plan plan, const Model& model, const Progress& progress = {}, const IndexFolder* index = nullptr)
      : plan_(std::move(plan)), weights_(model.Quantise(plan_, progress)), simulator_(With(index), weights_) {}
  Simulator(const Simulator&) = delete;
  // Simulates a text in a variant; `ids` include [CLS] and [SEP]. Returns the integers of the result, equal to the
  // protocol's, and the wires that left their windows. Throws Cause::kInput for a length that the plan does not cover
  // or an id outside the vocabulary. From one thread at a time.
  nn::Simulation Run(std::span<const int32_t> ids, int variant = 0) const { return simulator_.Run(ids, {}, variant); }

 private:
  const nn::Plan& With(const IndexFolder* index) {
    if (!index) return plan_;
    plan_ = nn::WithIndex(std::move(plan_), index->index());
    index->AddWeights(plan_, &weights_);
    return plan_;
  }
  nn::Plan plan_;
  nn::QuantisedWeights weights_;
  nn::PlanSimulator simulator_;
};

}  // namespace suf::roles
