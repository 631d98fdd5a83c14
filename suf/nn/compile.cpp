#include "suf/nn/compile.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "suf/nn/bounds.hpp"
#include "suf/nn/forward.hpp"
#include "suf/nn/quantise.hpp"
#include "suf/nn/simulate.hpp"
#include "suf/nn/tables.hpp"

namespace suf::nn {

namespace {

// Windows leave room for texts unlike the calibration texts.
constexpr double kScoreRoom = 1.6, kGeluRoom = 1.25,
                 kBelow = 0.6;                        // kBelow: part of a score window's room that lies under it
constexpr int kVarianceBelow = 2;                     // bits under the smallest sum of squares seen
constexpr double kVarianceAbove = 0.6;                // bits over the largest
constexpr int kLargestTable = 10, kLargestLevel = 7;  // log2 of entries
constexpr int kEmbeddingRing = 16;

int Bits(int64_t v) { return BitLength(double(std::abs(v))) + 2; }  // ring in which a table's values are opened

int64_t Most(const std::vector<int64_t>& t) {
  int64_t m = 0;
  for (int64_t x : t) m = std::max(m, std::abs(x));
  return m;
}

// NormInput: what a norm reads: real scale, calibrated size of x (see kind), and a hard bound of |x| as a vector of
// integers.
struct NormInput {
  enum Kind { kLayer, kUnit } kind = kLayer;  // size: standard deviation, or Euclidean norm
  int scale = 0, kz = 0, cut = 0;
  Range size;
  double longest = 0;
};

class Compiler {
 public:
  Compiler(const Weights& w, const CompileOptions& o, exec::Pool& pool) : w_(w), o_(o), s_(o.scales), pool_(pool) {}
  Plan Run(std::span<const std::vector<int32_t>> texts);

 private:
  void Tell(const std::string& stage, double done) const {
    if (o_.progress) o_.progress(stage, done);
  }
  int Hold(const std::string& wire, double bound, int shift, const char* remedy);
  void Certify(const std::string& wire, int bits, bool hard) { plan_.certificates[prefix_ + wire] = {bits, hard}; }
  Norm MakeNorm(const std::string& wire, const NormInput& in);
  void Score(int64_t l, Layer& y);
  void Attention(int64_t l, int n, double rows, Layer& y);
  void Project(int64_t l, int n, double rows, Layer& y);
  void FeedForward(int64_t l, double rows, Layer& y);
  Class MakeClass(int least, int n);

  const Weights& w_;
  const CompileOptions& o_;
  const Scales& s_;
  exec::Pool& pool_;
  Plan plan_;
  Quantised q_;
  std::optional<Bounds> bounds_;
  Ranges ranges_;
  std::string prefix_;  // of the class's wires
  double rows_ = 0;     // hard bound of a row of the last norm's result, as a vector of integers
};

// Hold: certifies a wire with |value| <= bound that is rounded by `shift` bits; its ring.
int Compiler::Hold(const std::string& wire, double bound, int shift, const char* remedy) {
  const int bits = BitLength(bound), ring = RingOf(bound, shift);
  if (ring > 64)
    Fail(Cause::kRefused, "wire ", prefix_, wire, " needs a ring of ", ring,
         " bits, the limit is 64; lower the scale of ", remedy);
  Certify(wire, bits, true);
  return ring;
}

Norm Compiler::MakeNorm(const std::string& wire, const NormInput& in) {
  const bool unit = in.kind == NormInput::kUnit;
  const double d = double(w_.dims.d), of = unit ? 1 : d;  // y has norm sqrt(of)
  const int out = unit ? s_.result : s_.f, pieces = unit ? o_.pool_pieces : o_.rsqrt_pieces;
  Norm n{.kz = in.kz, .cut = in.cut};
  n.eps = unit ? 0 : std::llround(w_.dims.eps * d * std::ldexp(1.0, 2 * in.scale));
  n.square = BitLength(bounds_->Norm(n, in.longest, unit).square);
  if (n.square > 60)
    Fail(Cause::kRefused, "wire ", prefix_, wire, ".square needs a ring of ", n.square,
         " bits, the limit is 60; lower the LayerNorms' scale");
  const double extra = unit ? 0 : std::log2(d);
  n.top = std::min(n.square, int(std::ceil(2 * (in.scale + std::log2(in.size.high)) + extra + kVarianceAbove)));
  n.floor = std::max(1, int(std::floor(2 * (in.scale + std::log2(in.size.low)) + extra)) - kVarianceBelow);
  if (n.floor >= n.top)
    Fail(Cause::kRefused, "the calibrated sum of squares of ", wire, " is below 2^", n.top,
         " and leaves no precision; raise the LayerNorms' scale");
  const int bits = unit ? o_.pool_bits : o_.rsqrt_bits;
  const int scale = std::max(out + 2, bits + int(std::ceil((n.top - std::log2(of)) / 2)));
  func::Real f = [&](double v) { return std::ldexp(1.0, scale) * std::sqrt(of / v); };
  n.rsqrt = Octaves(f, n.floor, n.top, n.square, pieces, o_.span);
  n.shift = scale - out;
  const NormReach reach = bounds_->Norm(n, in.longest, unit);
  n.product = Hold(wire + ".product", reach.product, n.shift, "the LayerNorms");
  Certify(wire + ".square", n.square, true);
  rows_ = reach.rows;
  return n;
}

// Score: the window of each head, its levels and the exponential's tables.
void Compiler::Score(int64_t l, Layer& y) {
  const Ranges::Layer& r = ranges_.layers[size_t(l)];
  const double dh = double(w_.dims.d / w_.dims.heads);
  double widest = 1;
  for (const Range& s : r.score) widest = std::max(widest, s.high - s.low);
  int window = int(std::ceil(std::log2(kScoreRoom * widest)));  // log2, real scores
  // A level is at most sqrt(2) nats wide, or the two tables lose too much; more levels cost columns of the maximum.
  int step = std::max(int(std::floor(std::log2(std::sqrt(2 * dh)))), window - kLargestLevel);
  window = std::max(window, step + 2);
  y.score = 2 * s_.qk + window, y.shift_score = 2 * s_.qk - o_.slice;
  y.low = step + o_.slice, y.level = window - step;
  if (y.low > kLargestTable || y.low < 1)
    Fail(Cause::kRefused, "the scores of layer ", l, " need a low table of 2^", y.low, " entries, the limit is 2^",
         kLargestTable, "; lower `slice`");
  const double width = std::ldexp(1.0, window), level = std::ldexp(1.0, step);
  double floor = 1e300;
  for (size_t h = 0; h < r.score.size(); ++h) {
    double low = std::floor((r.score[h].low - kBelow * (width - (r.score[h].high - r.score[h].low))) / level);
    y.offset.push_back(-(int64_t(low) << (step + 2 * s_.qk)));
    floor = std::min(floor, r.row_max[h].low / level - low);
  }
  const int64_t levels = int64_t{1} << y.level;
  y.floor = std::clamp<int64_t>(int64_t(std::floor(floor)) - 1, 0, levels - 2);
  auto exp = [&](double units) { return [=](double i) { return std::exp(units * i / std::sqrt(dh)); }; };
  y.ehi = func::FitTable(exp(-level), y.level, o_.exp_high).f;
  y.elo = func::FitTable(exp(std::ldexp(1.0, -o_.slice)), y.low, o_.exp_low).f;
  y.ehi_bits = Bits(Most(y.ehi)), y.elo_bits = Bits(Most(y.elo));
  Certify(Str(l, "/score"), y.score - 1, false);
}

// Attention: up to the scaled e V. rows: bound of a row of the layer's input.
void Compiler::Attention(int64_t l, int n, double rows, Layer& y) {
  const std::string at = Str(l, "/");
  y.shift_qk = s_.f + s_.w_qk - s_.qk, y.shift_v = s_.f + s_.w_v - s_.v;
  y.qk = Hold(at + "z_qk", bounds_->QueryKey(l, rows), y.shift_qk, "the query and key weights");
  y.v = Hold(at + "z_v", bounds_->Value(l, rows), y.shift_v, "the value weights");
  Score(l, y);
  y.row_sum = BitLength(bounds_->RowSum(y, n));
  y.ev = Hold(at + "eV", bounds_->Mixed(l, y, n, rows), 0, "the exponential");
  const int scale = y.row_sum + o_.recip_bits;
  func::Real g = [&](double v) { return std::ldexp(1.0, scale) / v; };
  y.recip = Octaves(g, o_.exp_high + o_.exp_low - 1, y.row_sum, y.row_sum, o_.recip_pieces, o_.span);
  y.count_bits = BitLength(double(n));
  Certify(at + "row_sum", y.row_sum, true);
}

// Project: e V recip goes un-truncated into W_o where z_o then fits 64 bits (two flights fewer), else it is rescaled
// first.
void Compiler::Project(int64_t l, int n, double rows, Layer& y) {
  const std::string at = Str(l, "/");
  const int scale = y.row_sum + o_.recip_bits;
  auto place = [&](int out) {
    y.shift_o = scale + s_.v - out;
    y.bias_o = out - s_.o, y.diag_o = DiagO(s_) + y.bias_o, y.mean_o = MeanO(s_);
    return bounds_->Output(l, y, rows);
  };
  int out = scale + s_.v;
  Reach z = place(out);
  if (n > o_.merge || out <= s_.o || RingOf(z.most, out + s_.w_o - o_.norm) > 64) z = place(out = s_.o);
  const int cut = out + s_.w_o - o_.norm;
  y.proj = Hold(at + "z_o", z.most, cut, "the attention's output map");
  y.o = y.shift_o ? Hold(at + "o", bounds_->Attended(l, y, rows), y.shift_o, "the exponential") : y.proj;
  y.attention = MakeNorm(at + "attention", {.scale = o_.norm,
                                            .kz = y.proj,
                                            .cut = cut,
                                            .size = ranges_.layers[size_t(l)].attention,
                                            .longest = bounds_->Longest(z, cut)});
}

void Compiler::FeedForward(int64_t l, double rows, Layer& y) {
  const Ranges::Layer& r = ranges_.layers[size_t(l)];
  const std::string at = Str(l, "/");
  const int window = std::max(1, int(std::ceil(std::log2(kGeluRoom * std::max(-r.ffn1.low, r.ffn1.high)))));
  y.shift_ffn1 = s_.f + s_.w_1 - s_.x, y.piece_width = o_.gelu_piece, y.piece = window + 1 + s_.x - o_.gelu_piece;
  if (y.piece < 2 || y.piece > kLargestTable)
    Fail(Cause::kRefused, "the GELU of layer ", l, " needs 2^", y.piece, " pieces, the limits are 2^2 and 2^",
         kLargestTable, "; change `gelu_piece`");
  y.ffn1 = y.shift_ffn1 + y.piece_width + y.piece;
  Certify(at + "z_1", y.ffn1 - 1, false);
  const func::Lines lines = func::FitLines(Gelu, y.piece_width, y.piece, s_.x, s_.gelu).f;
  y.gelu_u = Bits(Most(lines.offset) + (Most(lines.rise) << (y.piece_width + 1))), y.gelu_v = Bits(Most(lines.rise));
  y.gelu_a = lines.offset, y.gelu_b = lines.rise;
  y.diag_2 = Diag2(s_), y.mean_2 = Mean2(s_);
  const Reach z = bounds_->FeedForward(l, y, rows);
  const int cut = s_.x + s_.gelu + s_.w_2 - o_.norm;
  y.ffn2 = Hold(at + "z_2", z.most, cut, "the second feed-forward map");
  y.output =
      MakeNorm(at + "output",
               {.scale = o_.norm, .kz = y.ffn2, .cut = cut, .size = r.output, .longest = bounds_->Longest(z, cut)});
}

Class Compiler::MakeClass(int least, int n) {
  Class c{.max_n = n};
  prefix_ = Str(n, "/");
  const Reach e = bounds_->Embedding(n);
  if (Hold("embedding", e.most, 0, "the embedding") > kEmbeddingRing)
    Fail(Cause::kRefused, "wire ", prefix_, "embedding needs ", BitLength(e.most) + 2, " bits, the limit is ",
         kEmbeddingRing, "; lower the scale of the embedding");
  c.embedding =
      MakeNorm("embedding",
               {.scale = s_.embedding, .kz = kEmbeddingRing, .cut = 0, .size = ranges_.embedding, .longest = e.length});
  Norm* last = &c.embedding;
  c.layers.resize(size_t(w_.dims.layers));
  for (int64_t l = 0; l < w_.dims.layers; ++l) {
    Layer& y = c.layers[size_t(l)];
    const double rows = rows_;
    Attention(l, n, rows, y), Project(l, n, rows, y), FeedForward(l, rows_, y);
    last->out = std::max({y.qk, y.v, y.proj - y.diag_o + y.mean_o});
    y.attention.out = std::max(y.ffn1, y.ffn2 - y.diag_2 + y.mean_2);
    last = &y.output;
  }
  const Reach z = bounds_->Pool(n, rows_);
  const int cut = s_.f + s_.gamma - o_.pool;
  last->out = c.pool = Hold("pool", z.most, cut, "the activations");
  c.result = MakeNorm("result", {.kind = NormInput::kUnit,
                                 .scale = o_.pool,
                                 .kz = c.pool,
                                 .cut = cut,
                                 .size = {ranges_.result.low * least, ranges_.result.high * n},
                                 .longest = bounds_->Longest(z, cut)});
  c.result.out = s_.result + 4;
  return c;
}

Plan Compiler::Run(std::span<const std::vector<int32_t>> texts) {
  if (texts.empty()) Fail(Cause::kInput, "there is no calibration text; give at least one line");
  if (o_.max_tokens < 3 || o_.max_tokens > w_.dims.positions)
    Fail(Cause::kInput, "a limit of ", o_.max_tokens, " tokens is outside the model's 3 to ", w_.dims.positions);
  plan_.dims = w_.dims, plan_.tokenizer = o_.tokenizer, plan_.max_tokens = o_.max_tokens, plan_.scales = s_,
  plan_.calibration = o_.calibration;
  std::vector<std::vector<int32_t>> cut(texts.begin(), texts.end());
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i].size() > size_t(o_.max_tokens))
      cut[i] = {cut[i].begin(), cut[i].begin() + o_.max_tokens - 1}, cut[i].push_back(texts[i].back());
    FloatForward(w_, cut[i], pool_, &ranges_);
    Tell("calibrate", double(i + 1) / double(cut.size()));
  }
  q_ = Quantise(w_, s_, o_.max_tokens);
  bounds_.emplace(w_.dims, s_, q_, pool_, [&](double done) { Tell("certify", done); });
  for (int n = std::min(8, o_.max_tokens), before = 2;; before = n, n = std::min(2 * n, o_.max_tokens)) {
    plan_.classes.push_back(MakeClass(before + 1, n));
    if (n == o_.max_tokens) break;
  }
  Check(plan_);
  Simulator simulator(plan_, q_, pool_);
  for (size_t i = 0; i < cut.size(); ++i) {
    for (const Outside& out : simulator.Run(cut[i]).outside)
      Fail(Cause::kRefused, "the calibration text ", i + 1, " leaves its own plan: ", Sentence(out));
    Tell("simulate", double(i + 1) / double(cut.size()));
  }
  return std::move(plan_);
}

}  // namespace

Plan Compile(const Weights& weights, std::span<const std::vector<int32_t>> texts, const CompileOptions& options,
             exec::Pool& pool) {
  return Compiler(weights, options, pool).Run(texts);
}

}  // namespace suf::nn
