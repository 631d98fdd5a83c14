// Model directories with random weights, for tests, examples and benchmarks: the same bytes from a seed with every
// compiler. Not trained: an embedding by one of them means nothing.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace suf::model {

enum class Preset {
  kTiny,    // d 32, 4 heads, ff 64, 2 layers, vocabulary 128, 64 positions
  kMiniLm,  // the shapes of all-MiniLM-L6-v2: d 384, 12 heads, ff 1536, 6 layers, vocabulary 30522, 512 positions
};

// ParsePreset: "tiny" or "minilm"; throws Cause::kInput otherwise.
Preset ParsePreset(std::string_view name);

// WriteRandomModel: config.json, model.safetensors (F32) and vocab.txt into `dir`, made if absent. Spreads like those
// of a trained model: tables 0.05, projections 1/sqrt(inputs), biases and LayerNorm's shift 0.1, its scale 1 +- 0.1.
// Throws Cause::kInput when `dir` already holds a model, Cause::kResource when it cannot be written.
void WriteRandomModel(const std::filesystem::path& dir, Preset preset, uint64_t seed);

}  // namespace suf::model
