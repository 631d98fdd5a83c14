// The policy of a plan: binary scales and sizes of tables. Names are an operator's `key`, so no family has an option of
// its own.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::nn {

// The settings of a plan. With the defaults, 1 - cosine is 1.3e-5 in the mean and 4e-5 at worst on the README's model.
struct Options {
  // Scale of a map's weight, by key.
  std::map<std::string, int> weight{{"query_key", 12}, {"attended", 12}};
  int weight_default = 14;
  // Scale to which a map's result is rescaled for a product of wires, by key.
  std::map<std::string, int> result{{"query_key", 8}, {"value", 10}, {"attended", 14}, {"linear", 8},
                                    {"logits", 10},   {"unit", 16},  {"vector", 12},   {"scores", 13}};
  // Scale of x in a norm, by key.
  std::map<std::string, int> norm{{"embedding", 12}, {"layer", 10}, {"unit", 8}};
  int activation = 10;                   // scale of a norm's result
  int embedding = 12;                    // scale of a lookup
  int gamma = 10, mean = 9;              // scale of a diagonal weight; further bits of gamma / d
  int input = 9, slope = 6;              // scales of an activation's input and of its lines' slopes
  int piece = 6;                         // log2 of a line's width in units of the activation's input
  int rotation = 10;                     // scale of the cosines of rotary positions
  int exp_high = 12, exp_low = 6;        // scales of the exponential's two tables
  int exp_shift = 18, exp_cap = 20;      // under a predicted shift: scale of e, and bits of the largest e
  int shift_slice = 3;                   // fractional bits of a score less a predicted shift
  int slice = 4;                         // fractional bits of a score that the exponential reads
  int recip_pieces = 6, recip_bits = 5;  // 2^recip_pieces constant pieces an octave; bits of the least reciprocal
  int rsqrt_pieces = 7, rsqrt_bits = 8;  // likewise for 1/sqrt; bits at the largest calibrated sum of squares
  int rsqrt_steps = 512;                 // pieces of 1/sqrt between the calibrated ends, if a reader pays by piece
  int unit_pieces = 8, unit_bits = 9;    // likewise for x / |x|
  // Octaves that share one piece width.
  int span = 4;
  // Values of the next four options, which change what a layer computes. Only `softmax` has the names kMaximum and
  // kShift. With kByCost the search chooses (knob_search.hpp).
  enum : int { kMaximum = 0, kShift = 1, kByCost = 2 };
  int softmax = kByCost;  // 0: by the row's maximum; 1: by a shift predicted from the row
  int scores = kByCost;   // 0: of rescaled queries and keys; 1: of un-truncated ones
  int square = kByCost;   // a norm's sum of squares. 0: of the rescaled x; 1: of the un-truncated z
  // The pieces of an activation. 0: of a rounded slice; 1: at the un-truncated wire.
  int pieces = kByCost;
  // Tiles of a text that is not causal, for classes from kTiledTokens on. kTilesByCost: the search chooses.
  enum : int { kTilesByCost = 0 };
  int tiles = kTilesByCost;
  int merge = 32;  // texts of at most this length skip an optional rescale if 64 bits allow it: two flights fewer
  int clamp = 0;   // 1: residual streams are read by wrapping slices even if a hard bound would fit

  int Weight(const std::string& key) const {
    auto it = weight.find(key);
    return it == weight.end() ? weight_default : it->second;
  }
  int Result(const std::string& key) const { return At(result, "result", key); }
  int Norm(const std::string& key) const { return At(norm, "norm", key); }
  // An option with its range.
  struct Setting {
    std::string name, meaning;
    int value = 0;       // the default
    int least, largest;  // the range
  };
  // Returns every option; of those by key, the keys that have a default.
  static const std::vector<Setting>& Settings();
  // Sets an option. A key may be new, as in "weight.KEY". Throws Cause::kInput for an unknown name, listing the names,
  // or a value out of range.
  void Set(const std::string& name, int value);

 private:
  static int At(const std::map<std::string, int>& of, const char* what, const std::string& key);
};

}  // namespace suf::nn
