// From a model and calibration texts to a plan: scales are given, every ring follows from hard bounds, windows, floors
// and the fine part of the tables from the float model's ranges on the texts.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/shift.hpp"
#include "suf/nn/weights.hpp"

namespace suf::nn {

struct CompileOptions {
  Options policy;
  int min_tokens = 3, max_tokens = 256;  // classes 8, 16, 32, .. up to it
  // variants: one is made for each profile; one of an empty profile has one stage everywhere, and no search.
  std::vector<Variant> variants{Variant{}};
  Hash tokenizer{};                                                     // copied into the plan
  std::string calibration;                                              // likewise
  std::function<void(const std::string& stage, double done)> progress;  // done in [0, 1]
};

// Graph: a family's, not folded. texts: token ids as the model reads them; longer ones than max_tokens lose
// ids before the last. Ends with a simulation of the texts. Throws Cause::kInput without texts, Cause::kRefused when a
// wire needs more bits than its ring may have, naming the wire, bits, limit and remedy.
// shifts: gets what was fitted of softmaxes without a maximum, P0's weights that the plan's graph reads beside the
// model's; null: every softmax keeps its maximum.
Plan Compile(const Graph& graph, const Weights& weights, std::span<const std::vector<int32_t>> texts,
             const CompileOptions& options, exec::Pool& pool = exec::Default(), Shifts* shifts = nullptr);

// What Compile asks of its variants, before the long work: 1 to kMostVariants, each with a name of its
// own and a profile that can be read. Throws Cause::kInput.
void CheckVariants(const std::vector<Variant>& variants);

// Throws Cause::kRefused, naming the wire, when these weights can take a hard wire of any class beyond
// its ring or its certificate. A plan that Compile made from the same weights always passes. Seconds for a real model.
void CheckWeights(const Plan& plan, const Quantised& weights, exec::Pool& pool = exec::Default(),
                  const std::function<void(double)>& progress = {});

}  // namespace suf::nn
