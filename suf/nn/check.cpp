// What a plan must satisfy beyond its fields' ranges: sizes that follow from one another, tables that cover their
// rings.
#include <algorithm>

#include "suf/nn/plan.hpp"

namespace suf::nn {

namespace {

// Want: a sentence naming the place when `holds` is false.
void Want(bool holds, const std::string& where, const char* what) {
  if (!holds) Fail(Cause::kRefused, "the plan is inconsistent at ", where, ": ", what, "; compile the plan again");
}

bool Within(const std::vector<int64_t>& t, int bits) {
  for (int64_t x : t)
    if (bits < 63 && (x < 0 ? -x : x) >> bits) return false;
  return true;
}

// Most: the largest magnitude in a table, whose entries are within 2^62.
func::U128 Most(const std::vector<int64_t>& t) {
  int64_t most = 0;
  for (int64_t x : t) most = std::max({most, x, -x});
  return func::U128(most);
}

// HasGap: values of at most this magnitude can be opened in a ring: they are below 2^(ring - 2), as compiler::Signed
// asks.
bool HasGap(func::U128 most, int ring) { return ring >= 3 && most >> (ring - 2) == 0; }

// Cover: groups are contiguous from 0 and end at 2^ring; values are below 2^value_bits.
void Cover(const std::vector<Group>& groups, int ring, int value_bits, const std::string& where) {
  Want(ring < 62, where, "the table's domain must be below 2^62");
  int64_t end = 0;
  for (const Group& g : groups) {
    Want(g.w < 62 && g.lo < g.hi && g.hi <= int64_t{1} << (62 - g.w), where, "a group of pieces is empty or too wide");
    Want(g.lo << g.w == end, where, "the groups of pieces leave a hole or overlap");
    Want(g.values.size() == size_t(g.hi - g.lo), where, "a group does not have one value a piece");
    for (int64_t x : g.values) Want(x >= 0, where, "a table value is negative");
    Want(Within(g.values, value_bits), where, "a table value exceeds its ring");
    end = g.hi << g.w;
  }
  Want(end == int64_t{1} << ring, where, "the table does not cover its ring");
}

void CheckNorm(const Norm& n, int kz, const std::string& where) {
  Want(n.kz == kz, where + ".kz", "it is not the ring of the sum that the norm reads");
  Want(n.cut < n.kz - 2, where + ".cut", "it leaves no bits");
  Want(n.floor < n.top && n.top <= n.square, where + ".top", "floor < top <= square does not hold");
  Want(n.shift < n.product - 2, where + ".shift", "it leaves no bits");
  Want(n.product >= n.kz - n.cut, where + ".product", "the product's ring is narrower than x");
  Cover(n.rsqrt, n.square, n.product, where + ".rsqrt");
}

void CheckLayer(const Plan& p, const Layer& y, int max_n, const std::string& at) {
  const Scales& s = p.scales;
  const size_t low = size_t{1} << y.low, levels = size_t{1} << y.level, pieces = size_t{1} << y.piece;
  Want(y.shift_qk == s.f + s.w_qk - s.qk && y.shift_v == s.f + s.w_v - s.v, at + ".shift_qk",
       "the rescales do not follow from the scales");
  Want(y.shift_qk < y.qk - 2 && y.shift_v < y.v - 2, at + ".qk", "a rescale leaves no bits of its ring");
  Want(y.score < 62 && y.score == y.shift_score + y.low + y.level, at + ".score",
       "score = shift_score + low + level does not hold");
  Want(y.offset.size() == size_t(p.dims.heads), at + ".offset", "there is not one offset a head");
  Want(Within(y.offset, y.score + 8), at + ".offset", "an offset is far outside the ring of the scores");
  Want(y.elo.size() == low && y.ehi.size() == levels, at + ".elo",
       "a table of the exponential has another size than its digit");
  for (auto* t : {&y.elo, &y.ehi})
    for (int64_t x : *t) Want(x >= 0, at + ".elo", "an entry of the exponential is negative");
  Want(HasGap(Most(y.elo), y.elo_bits), at + ".elo_bits", "an entry leaves the gap of its ring");
  Want(HasGap(Most(y.ehi), y.ehi_bits), at + ".ehi_bits", "an entry leaves the gap of its ring");
  Want(y.floor + 2 <= int64_t(levels), at + ".floor", "it leaves no level above it");
  Want(y.row_sum <= y.ev && y.ev <= y.o, at + ".ev", "row_sum <= ev <= o does not hold");
  Want(max_n < 1 << y.count_bits, at + ".count_bits", "the modulus of the counts does not exceed the number of tokens");
  Cover(y.recip, y.row_sum, y.o, at + ".recip");
  Want(y.shift_o ? y.shift_o < y.o - 2 && y.bias_o == 0 : y.o == y.proj && y.bias_o > 0, at + ".shift_o",
       "the attention's output is neither rescaled within its ring nor in the ring of z_o");
  Want(y.diag_o == s.o + s.w_o - s.f - s.gamma + y.bias_o && y.mean_o == std::min(s.mean, y.diag_o - y.bias_o) &&
           y.diag_o < y.proj,
       at + ".diag_o", "the residual's shifts do not follow from the scales");
  Want(y.diag_2 == s.x + s.gelu + s.w_2 - s.f - s.gamma && y.mean_2 == std::min(s.mean, y.diag_2) && y.diag_2 < y.ffn2,
       at + ".diag_2", "the residual's shifts do not follow from the scales");
  Want(y.shift_ffn1 == s.f + s.w_1 - s.x && y.ffn1 < 62 && y.ffn1 == y.shift_ffn1 + y.piece_width + y.piece,
       at + ".ffn1", "ffn1 = shift_ffn1 + piece_width + piece does not hold");
  Want(y.gelu_a.size() == pieces && y.gelu_b.size() == pieces, at + ".gelu_a",
       "a table of GELU has another size than its pieces");
  // U = A + B p is opened: p, the public part of the place in a piece, has piece_width + 1 bits (compiler::WindowLut)
  Want(HasGap(Most(y.gelu_a) + (Most(y.gelu_b) << (y.piece_width + 1)), y.gelu_u), at + ".gelu_u",
       "a line of GELU leaves the gap of its ring");
  Want(HasGap(Most(y.gelu_b), y.gelu_v), at + ".gelu_v", "an entry leaves the gap of its ring");
  CheckNorm(y.attention, y.proj, at + ".attention");
  CheckNorm(y.output, y.ffn2, at + ".output");
  Want(y.attention.out >= std::max(y.ffn1, y.ffn2 - y.diag_2 + y.mean_2), at + ".attention.out",
       "it is narrower than its widest reader");
}

}  // namespace

void Check(const Plan& p) {
  const Dims& d = p.dims;
  Want(d.d % d.heads == 0, "dims", "the heads do not divide d");
  Want(p.max_tokens >= 3 && p.max_tokens <= d.positions, "max_tokens", "it is outside 3 to the model's positions");
  Want(!p.classes.empty() && p.classes.back().max_n == p.max_tokens, "classes", "the last class is not for max_tokens");
  for (size_t i = 0; i < p.classes.size(); ++i) {
    const Class& c = p.classes[i];
    const std::string at = Str("classes[", i, "]");
    Want(c.max_n >= 3 && (i == 0 || c.max_n > p.classes[i - 1].max_n), at + ".max_n", "the classes do not increase");
    Want(c.layers.size() == size_t(d.layers), at + ".layers", "there is not one entry a layer");
    Want(c.embedding.cut == 0, at + ".embedding.cut", "the embedding is not rescaled");
    CheckNorm(c.embedding, 16, at + ".embedding");
    CheckNorm(c.result, c.pool, at + ".result");
    for (size_t l = 0; l < c.layers.size(); ++l) {
      const Layer& y = c.layers[l];
      const Norm& before = l ? c.layers[l - 1].output : c.embedding;
      const std::string name = Str(at, ".layers[", l, "]");
      CheckLayer(p, y, c.max_n, name);
      Want(before.out >= std::max({y.qk, y.v, y.proj - y.diag_o + y.mean_o}), name,
           "the ring of its input is narrower than its widest reader");
    }
    Want(c.layers.back().output.out >= c.pool, at + ".pool", "the last layer's ring is narrower than the pooled sum");
  }
}

}  // namespace suf::nn
