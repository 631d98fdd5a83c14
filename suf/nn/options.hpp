// Policy of a plan: binary scales and sizes of tables. Names are an operator's `key`, so that a family has no option of
// its own.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "suf/base/error.hpp"

namespace suf::nn {

// The defaults reach 1 - cosine 1.3e-5 in the mean, 4e-5 at worst, on the model of the README.
struct Options {
  // weight: scale of a map's weight. result: scale to which a map's result is rescaled for a product of wires. norm:
  // the scale of x in a norm.
  std::map<std::string, int> weight{{"query_key", 12}, {"attended", 12}};
  int weight_default = 14;
  std::map<std::string, int> result{{"query_key", 8}, {"value", 10},  {"attended", 14},
                                    {"linear", 8},    {"logits", 10}, {"unit", 16}};
  std::map<std::string, int> norm{{"embedding", 12}, {"layer", 10}, {"unit", 8}};
  int activation = 10;                   // scale of a norm's result
  int embedding = 12;                    // of a lookup
  int gamma = 10, mean = 9;              // of a diagonal weight; further bits of gamma / d
  int input = 9, slope = 6;              // of an activation's input and of its lines' slopes
  int piece = 6;                         // log2 of a line's width in units of the activation's input
  int rotation = 10;                     // of the cosines of rotary positions
  int exp_high = 12, exp_low = 6;        // scales of the exponential's two tables
  int exp_shift = 18, exp_cap = 20;      // under a predicted shift: scale of e, and bits of the largest e
  int shift_slice = 3;                   // fractional bits of a score less such a shift that the exponential sees
  int slice = 4;                         // fractional bits of a score that the exponential sees
  int recip_pieces = 6, recip_bits = 5;  // 2^pieces constant pieces an octave; bits of the least reciprocal
  int rsqrt_pieces = 7, rsqrt_bits = 8;  // likewise, at the largest calibrated sum of squares
  int rsqrt_steps = 512;                 // pieces of 1/sqrt between the calibrated ends, where a reader pays by piece
  int unit_pieces = 8, unit_bits = 9;    // likewise, of x / |x|
  int span = 4;                          // octaves that share one piece width
  // Segments of a layer whose choice changes what is computed; kByCost: the search chooses (search.hpp).
  enum : int { kMaximum = 0, kShift = 1, kByCost = 2 };
  int softmax = kByCost;  // by the row's maximum; by a shift predicted from the row
  int scores = kByCost;   // of rescaled queries and keys; of un-truncated ones
  int square = kByCost;   // a norm's sum of squares: of the rescaled x; of the un-truncated z
  int pieces = kByCost;   // of an activation: of a rounded slice; at the un-truncated wire
  // tiles: of texts of classes from kTiledTokens on that are not causal; kTilesByCost: the search chooses.
  enum : int { kTilesByCost = 0 };
  int tiles = kTilesByCost;
  int merge = 32;  // lengths up to so many tokens skip an optional rescale where 64 bits allow it: two flights fewer
  int clamp = 0;   // 1: residual streams are read by wrapping slices even where a hard bound would fit

  int Weight(const std::string& key) const {
    auto it = weight.find(key);
    return it == weight.end() ? weight_default : it->second;
  }
  int Result(const std::string& key) const { return At(result, "result", key); }
  int Norm(const std::string& key) const { return At(norm, "norm", key); }
  // Settings: every option with its range, those by key with the keys that have a default. Set: another value; keys may
  // be new, "weight.KEY". Throws Cause::kInput for an unknown name, listing them, or a value out of range.
  struct Setting {
    std::string name, meaning;
    int value = 0;       // the default
    int least, largest;  // that it may be
  };
  static const std::vector<Setting>& Settings();
  void Set(const std::string& name, int value);

 private:
  static int At(const std::map<std::string, int>& of, const char* what, const std::string& key);
};

}  // namespace suf::nn
