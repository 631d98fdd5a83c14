// The plan: everything public that an encoder's inference needs, and no weight. Graph, scales, ring width and
// certificate of every wire, tables. Made by Compile (compile.hpp), read by Build (build.hpp), the simulator and
// tools/reference.py. (DESIGN 9, 10.)
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/func/suf.hpp"
#include "suf/nn/weights.hpp"

namespace suf::nn {

inline constexpr int kPlanVersion = 1;

// Group: one piece width of a function on octaves; row_lut reads them.
using Group = func::Group;

// Norm: y = round(x rsqrt(sum x^2 + eps) / 2^shift), x = round(z / 2^cut) in Z_{2^(kz - cut)} with |z| + 2^(cut-1) <
// 2^(kz-2).
struct Norm {
  int kz = 0, cut = 0;  // ring of z; rescale before (0: x = z)
  int square = 0;       // ring of the sum of squares
  int64_t eps = 0;
  // Calibrated: 2^floor <= sum x^2 + eps < 2^top. Outside it y loses accuracy, never its certificate.
  int floor = 0, top = 0;
  std::vector<Group> rsqrt;  // values at scale such that y has the plan's scale after `shift`
  int product = 0;           // ring of x rsqrt; |x rsqrt| + 2^(shift-1) < 2^(product-2)
  int shift = 0;
  int out = 0;  // ring of y: its widest reader
};

// Layer: ring widths, scales and tables of one encoder layer in one length class. Names as in DESIGN 9.
struct Layer {
  int qk = 0, v = 0;               // rings of z_qk, z_v
  int shift_qk = 0, shift_v = 0;   // their rescales
  int score = 0, shift_score = 0;  // ring of q k^T (no gap); its slice drops shift_score bits
  std::vector<int64_t> offset;     // (heads) added to q k^T before the slice: places each head's window in [0, 2^score)
  int low = 0, level = 0;          // bits of the low digit (a) and of the level (lg)
  int64_t floor = 0;               // rows whose maximum level is lower use this one
  int elo_bits = 0, ehi_bits = 0;  // rings in which Elo, Ehi are opened
  std::vector<int64_t> elo, ehi;   // 2^low and 2^level entries
  int row_sum = 0, ev = 0;         // rings of the row sum and of e V
  std::vector<Group> recip;
  int count_bits = 0;            // modulus of the column counts, 2^count_bits > n
  int o = 0, shift_o = 0;        // ring of eV recip; its own exact rescale (0: it goes un-truncated into W_o, o = proj)
  int proj = 0;                  // ring of z_o
  int diag_o = 0, mean_o = 0;    // shifts of gamma o n (2^diag) and of the mean (2^(diag - mean))
  int bias_o = 0;                // the bias bo is shifted left by so much: 0 unless shift_o = 0
  Norm attention;                // kz = proj
  int ffn1 = 0, shift_ffn1 = 0;  // ring of z_1 (no gap); the low digit starts at shift_ffn1
  int piece_width = 0, piece = 0;       // a, p: 2^p pieces of width 2^a over the whole ring
  std::vector<int64_t> gelu_a, gelu_b;  // 2^piece entries
  int gelu_u = 0, gelu_v = 0;           // rings in which U and V are opened
  int ffn2 = 0;                         // ring of z_2; the GELU result is opened in it
  int diag_2 = 0, mean_2 = 0;
  Norm output;  // kz = ffn2
};

// Class: widths for texts of at most max_n tokens.
struct Class {
  int max_n = 0;
  Norm embedding;  // kz = 16, cut = 0
  std::vector<Layer> layers;
  int pool = 0;  // ring of the pooled, scaled sum
  Norm result;   // kz = pool; one row; y at the plan's result scale
};

// Certificate: why a wire stays inside its ring. bits: |value| < 2^bits; hard: for every sequence of token ids; else
// calibrated.
struct Certificate {
  int bits = 0;
  bool hard = false;
};

// Scales: binary scales of weights and wires.
struct Scales {
  int f = 0, embedding = 0, gamma = 0;               // activations, embedding tables, gamma
  int w_qk = 0, w_v = 0, w_o = 0, w_1 = 0, w_2 = 0;  // weights
  int qk = 0, v = 0, o = 0, x = 0;                   // q and k; v; attention output; GELU input
  int gelu = 0;                                      // slopes of GELU: its result is at x + gelu
  int mean = 0;                                      // gamma / d is kept with up to so many bits more than gamma
  int result = 16;
  bool operator==(const Scales&) const = default;
};

struct Plan {
  Dims dims;
  Hash tokenizer{};  // SHA-256 of vocab.txt
  int max_tokens = 0;
  Scales scales;
  std::vector<Class> classes;                       // by increasing max_n
  std::map<std::string, Certificate> certificates;  // "class/layer/wire"
  std::string calibration;                          // SHA-256 of the calibration text, hex

  // For: the class for n tokens; throws Cause::kInput over max_tokens or under 3.
  const Class& For(int n) const;
};

// Serialize: canonical JSON text, on one line unless indent >= 0; equal tables are written once ("tables"), "hash" is
// PlanHash.
std::string Serialize(const Plan& plan, int indent = -1);
// Parse: the inverse. Throws Cause::kRefused, naming the field, for another version, a field that is unknown, missing,
// of another type or out of range, a hash that does not match, and any plan that Check does not accept.
Plan Parse(const std::string& json);
// Check: internal consistency (widths, table sizes, no overflow); throws Cause::kRefused with a sentence.
void Check(const Plan& plan);
// PlanHash: SHA-256 of the canonical one-line text without its hash.
Hash PlanHash(const Plan& plan);

}  // namespace suf::nn
