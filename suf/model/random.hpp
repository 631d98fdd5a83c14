// Model directories with random weights, for tests, examples and benchmarks: the same bytes from a seed with every
// compiler. Not trained: an embedding by one of them means nothing.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "suf/model/family.hpp"

namespace suf::model {

// "tiny" and those of the families; throws Cause::kInput for
// another name, listing them.
const Preset& FindPreset(std::string_view name);

// config.json, model.safetensors (F32) and vocab.txt into `dir`, made if absent. Spreads like those
// of a trained model: tables 0.05, projections 1/sqrt(inputs), of queries and keys as the preset says, biases and
// LayerNorm's shift 0.1, its scale 1 +- 0.1.
// Throws Cause::kInput when `dir` already holds a model, Cause::kResource when it cannot be written.
void WriteRandomModel(const std::filesystem::path& dir, const Preset& preset, uint64_t seed);

}  // namespace suf::model
