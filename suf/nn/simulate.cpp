#include "suf/nn/simulate.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include "suf/ring/gemm.hpp"
#include "suf/ring/words.hpp"

namespace suf::nn {

namespace {

using Words = std::vector<int64_t>;
using ring::Mask;
using ring::RoundShift;
using ring::Signed;

// All sums and products wrap in 64 bits, so nothing here is undefined for a plan whose certificates lie.
int64_t Mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
int64_t Sum(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t Shl(int64_t a, int s) { return s >= 64 ? 0 : int64_t(uint64_t(a) << s); }

// Lookup: the piece that holds x; 0 above the last group.
int64_t Lookup(const std::vector<Group>& groups, uint64_t x) {
  for (const Group& g : groups) {
    uint64_t v = x >> g.w;
    if (v < uint64_t(g.hi)) return g.values[size_t(std::max(int64_t(v), g.lo) - g.lo)];
  }
  return 0;
}

// Matrix: a right operand. Products are taken modulo 2^bits, a few bits above the ring, so that a broken certificate is
// seen.
struct Matrix {
  int bits = 0;
  std::variant<ring::Prepared<uint32_t>, ring::Prepared<uint64_t>> map;
};

Matrix MakeMatrix(const Tensor& t, int ring_bits) {
  Matrix m;
  const size_t rows = size_t(t.rows()), cols = size_t(t.cols());
  if (ring_bits + 2 <= 32) {
    m.bits = 32;
    std::vector<uint32_t> w(rows * cols);
    t.Visit([&](const auto* p) { std::copy_n(p, w.size(), w.begin()); });
    m.map = ring::Prepare(w.data(), rows, cols, cols, 32);
  } else {
    m.bits = ring_bits + 2 <= 52 ? 52 : 64;
    m.map = ring::Prepare(t.Words().data(), rows, cols, cols, m.bits);
  }
  return m;
}

// Watch: what every wire saw.
class Watch {
 public:
  explicit Watch(std::string prefix) : prefix_(std::move(prefix)) {}
  void See(const std::string& wire, int64_t low, int64_t high) {
    auto [at, fresh] = seen_.try_emplace(prefix_ + wire, Seen{prefix_ + wire, low, high});
    if (!fresh) at->second.low = std::min(at->second.low, low), at->second.high = std::max(at->second.high, high);
  }
  void See(const std::string& wire, const Words& x) {
    auto [low, high] = std::minmax_element(x.begin(), x.end());
    See(wire, *low, *high);
  }
  void Leave(const std::string& wire, int64_t value, int64_t limit) {
    outside_.push_back({prefix_ + wire, value, limit, false});
  }
  // Finish: compares with the certificates.
  void Finish(const Plan& plan, Simulation& out) {
    for (auto& [wire, s] : seen_) {
      out.seen.push_back(s);
      auto c = plan.certificates.find(wire);
      if (c == plan.certificates.end() || c->second.bits >= 63) continue;
      int64_t limit = int64_t{1} << c->second.bits;
      if (s.high >= limit) outside_.push_back({wire, s.high, limit, c->second.hard});
      if (s.low <= -limit) outside_.push_back({wire, s.low, -limit, c->second.hard});
    }
    out.outside = std::move(outside_);
  }

 private:
  std::string prefix_;
  std::map<std::string, Seen> seen_;
  std::vector<Outside> outside_;
};

}  // namespace

std::string Sentence(const Outside& o) {
  return Str("wire ", o.wire, " reached ", o.value, ", its ", o.hard ? "hard" : "calibrated", " limit is ", o.limit,
             o.hard ? "; compile the plan again from these weights"
                    : "; the result may be less accurate, calibrate with texts like this one");
}

struct Simulator::State {
  const Plan& plan;
  const Quantised& weights;
  exec::Pool& pool;
  std::map<std::string, Matrix> maps;

  const Tensor& Weight(int64_t l, const char* name) const { return weights.at(Str(l, ".", name)); }
  const Matrix& Map(int64_t l, const char* name) const { return maps.at(Str(l, ".", name)); }

  // Linear: x W + 2^bias_shift b. (n, cols)
  Words Linear(const Words& x, const Matrix& m, const Tensor* bias, int bias_shift = 0) const;
  // Product: a b or a b^T of one head, modulo 2^64. a (m, k), strides lda and ldb
  void Product(const int64_t* a, size_t lda, const int64_t* b, size_t ldb, ring::Layout layout, size_t m, size_t k,
               size_t n, int64_t* c, size_t ldc) const;
  Words Normalise(Words z, int64_t width, const Norm& o, const std::string& wire, Watch& watch) const;
  Words Attention(const Words& n, int64_t l, const Layer& y, Watch& watch) const;
  void Head(const Words& qk, const Words& v, int64_t l, int64_t h, const Layer& y, Words& o, Watch& watch) const;
  Words Gelu(const Words& n, int64_t l, const Layer& y, Watch& watch) const;
  // Residual: adds 2^diag gamma n - 2^(diag - mean) (n . u) 1 to z, rows of d.
  void Residual(Words& z, const Words& n, const Tensor& gamma, const Tensor& u, int diag, int mean) const;
};

Words Simulator::State::Linear(const Words& x, const Matrix& m, const Tensor* bias, int bias_shift) const {
  Words y;
  std::visit(
      [&](const auto& map) {
        using T = std::conditional_t<std::is_same_v<std::decay_t<decltype(map)>, ring::Prepared<uint32_t>>, uint32_t,
                                     uint64_t>;
        const size_t in = map.depth(), out = map.columns(), n = x.size() / in;
        std::vector<T> a(x.begin(), x.end()), c(n * out);
        ring::Multiply(a.data(), in, n, map, c.data(), out, false, pool);
        y.resize(c.size());
        for (size_t i = 0; i < c.size(); ++i)
          y[i] = Sum(Signed(uint64_t(c[i]), m.bits), bias ? Shl((*bias)[int64_t(i % out)], bias_shift) : 0);
      },
      m.map);
  return y;
}

void Simulator::State::Product(const int64_t* a, size_t lda, const int64_t* b, size_t ldb, ring::Layout layout,
                               size_t m, size_t k, size_t n, int64_t* c, size_t ldc) const {
  ring::Gemm(m, n, k, reinterpret_cast<const uint64_t*>(a), lda, reinterpret_cast<const uint64_t*>(b), ldb, layout,
             reinterpret_cast<uint64_t*>(c), ldc, false, pool);
}

Words Simulator::State::Normalise(Words z, int64_t width, const Norm& o, const std::string& wire, Watch& watch) const {
  for (int64_t& x : z) x = RoundShift(x, o.cut);
  Words squares, products(z.size());
  for (size_t row = 0; row < z.size(); row += size_t(width)) {
    int64_t v = o.eps;
    for (size_t j = row; j < row + size_t(width); ++j) v = Sum(v, Mul(z[j], z[j]));
    squares.push_back(v);
    int64_t root = Lookup(o.rsqrt, uint64_t(v) & Mask(o.square));
    for (size_t j = row; j < row + size_t(width); ++j) products[j] = Mul(z[j], root);
  }
  watch.See(wire + ".square", squares), watch.See(wire + ".product", products);
  auto [low, high] = std::minmax_element(squares.begin(), squares.end());
  if (*low < Shl(1, o.floor)) watch.Leave(wire + ".square", *low, Shl(1, o.floor));
  if (o.top < 63 && *high >= Shl(1, o.top)) watch.Leave(wire + ".square", *high, Shl(1, o.top));
  for (int64_t& y : products) y = RoundShift(y, o.shift);
  return products;
}

void Simulator::State::Head(const Words& qk, const Words& v, int64_t l, int64_t h, const Layer& y, Words& o,
                            Watch& watch) const {
  const size_t d = size_t(plan.dims.d), dh = d / size_t(plan.dims.heads), n = v.size() / d, at = size_t(h) * dh;
  Words s(n * n), ev(n * dh);
  Product(&qk[at], 2 * d, &qk[d + at], 2 * d, ring::Layout::kTransposed, n, dh, n, s.data(), n);
  const int64_t middle = int64_t{1} << (y.score - 1);
  for (int64_t& z : s) z = Sum(z, y.offset[size_t(h)] - middle);
  const std::string wire = Str(l, "/");
  watch.See(wire + "score", s);
  for (size_t i = 0; i < n; ++i) {
    int64_t* row = &s[i * n];
    int64_t most = 0, sum = 0;
    for (size_t j = 0; j < n; ++j) {
      uint64_t x = uint64_t(Sum(row[j], middle + (int64_t{1} << (y.shift_score - 1))));
      row[j] = int64_t((x & Mask(y.score)) >> y.shift_score);
      most = std::max(most, row[j] >> y.low);
    }
    if (most < y.floor) watch.Leave(wire + "row_max", most, y.floor);
    most = std::max(most, y.floor);
    for (size_t j = 0; j < n; ++j) {
      row[j] = Mul(y.ehi[size_t(most - (row[j] >> y.low))], y.elo[size_t(row[j]) & Mask(y.low)]);
      sum = Sum(sum, row[j]);
    }
    watch.See(wire + "row_sum", sum, sum);
  }
  Product(s.data(), n, &v[at], d, ring::Layout::kPlain, n, n, dh, ev.data(), dh);
  watch.See(wire + "eV", ev);
  for (size_t i = 0; i < n; ++i) {
    int64_t sum = 0;
    for (size_t j = 0; j < n; ++j) sum = Sum(sum, s[i * n + j]);
    int64_t recip = Lookup(y.recip, uint64_t(sum) & Mask(y.row_sum));
    for (size_t c = 0; c < dh; ++c) o[i * d + at + c] = Mul(ev[i * dh + c], recip);
  }
}

Words Simulator::State::Attention(const Words& n, int64_t l, const Layer& y, Watch& watch) const {
  const std::string wire = Str(l, "/");
  Words qk = Linear(n, Map(l, "Wqk"), &Weight(l, "bqk")), v = Linear(n, Map(l, "Wv"), nullptr), o(n.size());
  watch.See(wire + "z_qk", qk), watch.See(wire + "z_v", v);
  for (int64_t& x : qk) x = RoundShift(x, y.shift_qk);
  for (int64_t& x : v) x = RoundShift(x, y.shift_v);
  for (int64_t h = 0; h < plan.dims.heads; ++h) Head(qk, v, l, h, y, o, watch);
  if (y.shift_o) watch.See(wire + "o", o);
  for (int64_t& x : o) x = RoundShift(x, y.shift_o);
  return o;
}

Words Simulator::State::Gelu(const Words& n, int64_t l, const Layer& y, Watch& watch) const {
  Words z = Linear(n, Map(l, "W1"), &Weight(l, "b1"));
  watch.See(Str(l, "/z_1"), z);
  const uint64_t middle = uint64_t{1} << (y.ffn1 - 1), half = uint64_t{1} << (y.shift_ffn1 - 1);
  for (int64_t& x : z) {
    uint64_t w = ((uint64_t(x) + middle + half) & Mask(y.ffn1)) >> y.shift_ffn1;
    size_t piece = size_t(w >> y.piece_width);
    x = Sum(y.gelu_a[piece], Mul(y.gelu_b[piece], int64_t(w & Mask(y.piece_width))));
  }
  return z;
}

void Simulator::State::Residual(Words& z, const Words& n, const Tensor& gamma, const Tensor& u, int diag,
                                int mean) const {
  const size_t d = size_t(plan.dims.d);
  for (size_t row = 0; row < z.size(); row += d) {
    int64_t sum = 0;
    for (size_t j = 0; j < d; ++j) sum = Sum(sum, Mul(n[row + j], u[int64_t(j)]));
    sum = Shl(sum, diag - mean);
    for (size_t j = 0; j < d; ++j)
      z[row + j] = Sum(z[row + j], Sum(Shl(Mul(n[row + j], gamma[int64_t(j)]), diag), -sum));
  }
}

Simulator::Simulator(const Plan& plan, const Quantised& weights, exec::Pool& pool)
    : s_(new State{plan, weights, pool, {}}) {
  for (int64_t l = 0; l < plan.dims.layers; ++l) {
    auto put = [&](const char* name, int Layer::*ring) {
      int bits = 0;
      for (const Class& c : plan.classes) bits = std::max(bits, c.layers[size_t(l)].*ring);
      s_->maps[Str(l, ".", name)] = MakeMatrix(s_->Weight(l, name), bits);
    };
    put("Wqk", &Layer::qk), put("Wv", &Layer::v), put("Wo", &Layer::proj), put("W1", &Layer::ffn1),
        put("W2", &Layer::ffn2);
  }
}

Simulator::~Simulator() = default;

Simulation Simulator::Run(std::span<const int32_t> ids) const {
  const Plan& plan = s_->plan;
  const Class& c = plan.For(int(ids.size()));
  const int64_t d = plan.dims.d;
  Watch watch(Str(c.max_n, "/"));
  Words z;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= plan.dims.vocab)
      Fail(Cause::kInput, "a token id is outside the plan's vocabulary of ", plan.dims.vocab,
           "; use the tokenizer of the plan's model");
    Words word = s_->weights.at("E").Row(ids[i]), pos = s_->weights.at("pos").Row(int64_t(i));
    for (size_t j = 0; j < word.size(); ++j) z.push_back(word[j] + pos[j]);
  }
  watch.See("embedding", z);
  Words n = s_->Normalise(std::move(z), d, c.embedding, "embedding", watch);
  for (int64_t l = 0; l < plan.dims.layers; ++l) {
    const Layer& y = c.layers[size_t(l)];
    const std::string wire = Str(l, "/");
    z = s_->Linear(s_->Attention(n, l, y, watch), s_->Map(l, "Wo"), &s_->Weight(l, "bo"), y.bias_o);
    s_->Residual(z, n, s_->Weight(l, "go"), s_->Weight(l, "uo"), y.diag_o, y.mean_o);
    watch.See(wire + "z_o", z);
    n = s_->Normalise(std::move(z), d, y.attention, wire + "attention", watch);
    z = s_->Linear(s_->Gelu(n, l, y, watch), s_->Map(l, "W2"), &s_->Weight(l, "b2"));
    s_->Residual(z, n, s_->Weight(l, "g2"), s_->Weight(l, "u2"), y.diag_2, y.mean_2);
    watch.See(wire + "z_2", z);
    n = s_->Normalise(std::move(z), d, y.output, wire + "output", watch);
  }
  Words pooled(size_t(d), 0);
  for (size_t i = 0; i < n.size(); ++i) pooled[i % size_t(d)] = Sum(pooled[i % size_t(d)], n[i]);
  for (int64_t j = 0; j < d; ++j)
    pooled[size_t(j)] =
        Sum(Mul(pooled[size_t(j)], s_->weights.at("gp")[j]), Mul(int64_t(ids.size()), s_->weights.at("bp")[j]));
  watch.See("pool", pooled);
  Simulation out;
  out.y = s_->Normalise(std::move(pooled), d, c.result, "result", watch);
  watch.Finish(plan, out);
  return out;
}

}  // namespace suf::nn
