// Makes a plan from a model and calibration texts. Scales are given. Every ring follows from hard bounds. Windows,
// floors and the fine parts of tables come from the float model's ranges on the texts.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/plan/about.hpp"
#include "suf/nn/plan/softmax_shift.hpp"
#include "suf/nn/read/weights.hpp"

namespace suf::nn {

struct CompileOptions {
  Options policy;
  int min_tokens = 3, max_tokens = 256;  // length classes are 8, 16, 32, .. up to max_tokens
  // One variant is made for each profile. A variant with an empty profile has one stage everywhere and is not searched.
  std::vector<Variant> variants{Variant{}};
  Hash tokenizer{};         // of the vocabulary's file; copied into the plan
  std::string calibration;  // SHA-256 of the calibration text, hex; copied into the plan
  About about = {};         // copied into the plan

  // Receives the part of a stage that is done, from 0 to 1. It counts all classes of all variants and never falls.
  std::function<void(const std::string& stage, double done)> progress;
};

// Returns the strictest limit that a model's operators set to the length of texts.
LengthLimit LongestOf(const Graph& graph);

// Compiles a family's graph, which is not folded yet. `texts` are token ids as the model reads them. A text longer than
// max_tokens keeps its first max_tokens - 1 ids and its last one. Ends with a simulation of the texts. Throws
// Cause::kInput if there are no texts, or if max_tokens is over the model's limit. Throws Cause::kRefused if a wire
// needs more bits than its ring may have. The message names the wire, the bits, the limit and the remedy.
//
// `shifts` receives the fits of softmaxes without a maximum: weights of P0 that the plan's graph reads beside the
// model's. If it is null, every softmax keeps its maximum.
Plan Compile(const Graph& graph, const Checkpoint& weights, std::span<const std::vector<int32_t>> texts,
             const CompileOptions& options, exec::Pool& pool = exec::Default(), Shifts* shifts = nullptr);

// Checks the variants of CompileOptions before the long work. Throws Cause::kInput unless there are 1 to kMostVariants,
// each with a name of its own and a readable profile.
void CheckVariants(const std::vector<Variant>& variants);

// Throws Cause::kRefused if these weights can take a hard wire of any class beyond its ring or its certificate. The
// message names the wire. A plan that Compile made from the same weights always passes. Takes seconds for a real model.
// `progress` receives the part that is checked, from 0 to 1.
void CheckWeights(const Plan& plan, const QuantisedWeights& weights, exec::Pool& pool = exec::Default(),
                  const std::function<void(double)>& progress = {});

}  // namespace suf::nn
