// Model directories with random weights, for tests, examples and benchmarks. A seed gives the same bytes with every
// compiler. The models are not trained, so their embeddings mean nothing.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "suf/model/family.hpp"

namespace suf::model {

// Returns the preset "tiny" or another one of the families. Throws Cause::kInput for another name, listing them.
const Preset& FindPreset(std::string_view name);

// Writes config.json, model.safetensors (F32), vocab.txt and a preset's pooling into `dir`, which is made if it is
// absent. Spreads are like those of a trained model: tables 0.05, projections 1/sqrt(inputs), queries and keys as the
// preset says. Biases and LayerNorm's shift have 0.1, its scale 1 +- 0.1.
//
// Outlier channels are for post-LN encoders, whose norms alternate. Every second norm multiplies them by 10 to 30, and
// the others divide them by that. Maps that read a multiplied channel have weights that are as much smaller.
//
// Throws Cause::kInput if `dir` already holds a model, and Cause::kResource if it cannot be written.
void WriteRandomModel(const std::filesystem::path& dir, const Preset& preset, uint64_t seed);

}  // namespace suf::model
