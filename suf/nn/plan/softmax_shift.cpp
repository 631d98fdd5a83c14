#include "suf/nn/plan/softmax_shift.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "suf/base/plural.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/read/forward.hpp"

namespace suf::nn {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr int kFolds = 5, kOwn = 2;
constexpr double kSixteenth = 16;

// Returns the map of q, or of q and k, behind whose rescale a softmax's scores stand. It is null if there is none.
GraphNode* Queries(const GraphNode& softmax) {
  const GraphNode* scores = softmax.in[0];
  if (!scores->As<Scores>()) return nullptr;
  GraphNode* x = scores->in[0];
  while (x->As<Rescale>()) x = x->in[0];
  const LinearMap* m = x->As<LinearMap>();
  return m && m->terms.size() == 1 && m->terms[0].kind == LinearMap::kFull ? x : nullptr;
}

// The rows of one softmax's fit: x (rows, d), the log-sum-exp y (rows, heads), own (rows, 2 heads), all in nats.
struct Rows {
  std::vector<double> x, y, own;
  int64_t d = 0, heads = 0;
  int64_t count() const { return d ? int64_t(x.size()) / d : 0; }
};

// Adds the rows of one text, from its scores (heads, n, n).
void Take(const RealArray& x, const RealArray& z, const Softmax& softmax, Rows* rows) {
  const int64_t heads = z.shape[0], n = z.shape[1];
  const double unit = std::sqrt(double(softmax.head_dim));
  rows->d = x.cols();
  rows->heads = heads;
  rows->x.insert(rows->x.end(), x.at.begin(), x.at.end());
  for (int64_t i = 0; i < n; ++i) {
    const int64_t count = softmax.causal ? i + 1 : n;
    for (int64_t h = 0; h < heads; ++h) {
      const double* s = &z.at[size_t((h * n + i) * n)];
      const double most = *std::max_element(s, s + count);
      double sum = 0;
      for (int64_t j = 0; j < count; ++j) sum += std::exp((s[j] - most) / unit);
      rows->y.push_back(most / unit + std::log(sum));
      rows->own.push_back(s[i] / unit);
      rows->own.push_back(s[std::max<int64_t>(i - 1, 0)] / unit);
    }
  }
}

// Least squares on the columns of A, of which the last is 1 and not shrunk. All heads share one factorisation. Its
// Schur complement adds two columns for a head.
class Ridge {
 public:
  Ridge(const Matrix& a, const Matrix& own) : a_(a), own_(own) {
    Matrix g = a.transpose() * a;
    g.diagonal().head(g.rows() - 1).array() += kRidge;
    solver_.compute(g);
    image_ = solver_.solve(a.transpose() * own);
  }
  Matrix Plain(const Matrix& y) const { return solver_.solve(a_.transpose() * y); }
  // Returns the coefficients of head h's own scores.
  Eigen::Vector2d WithOwn(int64_t h, const Vector& y) const {
    const auto f = own_.middleCols(h * kOwn, kOwn);
    const auto w = image_.middleCols(h * kOwn, kOwn);
    Eigen::Matrix2d s = f.transpose() * f - (f.transpose() * a_) * w;
    s.diagonal().array() += kRidge;
    const Eigen::Vector2d right = f.transpose() * y - w.transpose() * (a_.transpose() * y);
    return s.ldlt().solve(right);
  }

 private:
  const Matrix &a_, &own_;
  Eigen::LDLT<Matrix> solver_;
  Matrix image_;
};

double Quantile(Vector v, double at) {
  std::sort(v.begin(), v.end());
  const double place = at * double(v.size() - 1);
  const int64_t i = int64_t(place), j = std::min<int64_t>(i + 1, v.size() - 1);
  return v[i] + (place - double(i)) * (v[j] - v[i]);
}

// One head's predictor, in nats.
struct Head {
  Vector row;  // coefficients of A's columns
  Eigen::Vector2d own{0, 0};
  double low = 0, high = 0;  // residuals less the quantile
};

std::vector<Head> FitHeads(const Rows& r) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t rows = r.count();
  Matrix a(rows, r.d + 1);
  a.leftCols(r.d) = Eigen::Map<const RowMajor>(r.x.data(), rows, r.d);
  a.col(r.d).setOnes();
  const Matrix y = Eigen::Map<const RowMajor>(r.y.data(), rows, r.heads);
  const Matrix own = Eigen::Map<const RowMajor>(r.own.data(), rows, r.heads * kOwn);
  // out-of-fold residuals of both forms; a fold is a run of rows, so a text is in one or two
  Matrix plain(rows, r.heads), with(rows, r.heads);
  for (int64_t f = 0; f < kFolds; ++f) {
    const int64_t begin = (f * rows + kFolds - 1) / kFolds, end = ((f + 1) * rows + kFolds - 1) / kFolds;
    auto rest = [&](const Matrix& m) {
      Matrix out(rows - (end - begin), m.cols());
      out.topRows(begin) = m.topRows(begin);
      out.bottomRows(rows - end) = m.bottomRows(rows - end);
      return out;
    };
    const Matrix fa = rest(a), fy = rest(y), fo = rest(own);
    const Ridge ridge(fa, fo);
    const auto held = [&](const Matrix& m) { return m.middleRows(begin, end - begin); };
    plain.middleRows(begin, end - begin) = held(y) - held(a) * ridge.Plain(fy);
    for (int64_t h = 0; h < r.heads; ++h) {
      const Eigen::Vector2d c = ridge.WithOwn(h, fy.col(h));
      const Vector left = fy.col(h) - fo.middleCols(h * kOwn, kOwn) * c;
      with.col(h).segment(begin, end - begin) =
          held(y).col(h) - held(own).middleCols(h * kOwn, kOwn) * c - held(a) * ridge.Plain(left);
    }
  }
  const Ridge ridge(a, own);
  std::vector<Head> out(size_t(r.heads));
  for (int64_t h = 0; h < r.heads; ++h) {
    Head& head = out[size_t(h)];
    auto range = [](const auto& v) { return v.maxCoeff() - v.minCoeff(); };
    const bool takes = range(with.col(h)) < kOwnGain * range(plain.col(h));
    if (takes) {  // public ones are dyadic; the row's part is fitted to the rest
      head.own = ridge.WithOwn(h, y.col(h));
      for (double& c : head.own) c = std::clamp(std::round(c * kSixteenth), -32.0, 32.0) / kSixteenth;
    }
    head.row = ridge.Plain(y.col(h) - own.middleCols(h * kOwn, kOwn) * head.own);
    const Vector residual = takes ? with.col(h) : plain.col(h);
    const double above = Quantile(residual, kQuantile);
    head.row[r.d] += above;
    head.low = residual.minCoeff() - above;
    head.high = residual.maxCoeff() - above;
  }
  return out;
}

std::string LeafName(const GraphNode& softmax) {
  std::string scope = softmax.scope;
  std::replace(scope.begin(), scope.end(), '/', '.');
  return "shift." + scope;
}

// Stores the predictor as leaves of the shift's map and as the softmax's own coefficients.
void Keep(const std::vector<Head>& heads, const GraphNode& softmax, int64_t d, Checkpoint* weights) {
  Softmax& op = *softmax.As<Softmax>();
  op.by = Softmax::kShift;  // calibration sees the row sums of this form
  const double unit = std::sqrt(double(op.head_dim));
  const int64_t count = int64_t(heads.size());
  Checkpoint::CheckpointTensor w{{d, count}, std::vector<float>(size_t(d * count))},
      b{{count}, std::vector<float>(size_t(count))};
  op.own.assign(size_t(kOwn * count), 0);
  for (int64_t h = 0; h < count; ++h) {
    const Head& head = heads[size_t(h)];
    for (int64_t j = 0; j < d; ++j) w.values[size_t(j * count + h)] = float(head.row[j] * unit);
    b.values[size_t(h)] = float(head.row[d] * unit);
    for (int k = 0; k < kOwn; ++k) op.own[size_t(kOwn * h + k)] = int64_t(head.own[k] * kSixteenth);
  }
  if (std::all_of(op.own.begin(), op.own.end(), [](int64_t c) { return c == 0; })) op.own.clear();
  weights->Set(LeafName(softmax), std::move(w));
  weights->Set(LeafName(softmax) + ".bias", std::move(b));
}

}  // namespace

int AddShifts(Graph* g) {
  std::vector<GraphNode*> all;
  for (auto& n : g->nodes())
    if (n->As<Softmax>() && n->in.size() == 1) all.push_back(n.get());
  int added = 0;
  for (GraphNode* n : all) {
    GraphNode* queries = Queries(*n);
    if (!queries) continue;
    const int64_t d = queries->As<LinearMap>()->terms[0].weight.shape()[0], heads = n->in[0]->As<Scores>()->heads;
    LinearMap m;
    m.terms = {{LinearMap::kFull, 0, Expr::Leaf(LeafName(*n), {d, heads})}};
    m.bias = Expr::Leaf(LeafName(*n) + ".bias", {heads});
    m.key = "shift";
    GraphNode* row = queries->in[size_t(queries->As<LinearMap>()->terms[0].input)];
    n->in.push_back(g->After(queries, std::make_unique<LinearMap>(std::move(m)), {row}, "shift"));
    ++added;
  }
  g->Number();
  return added;
}

std::map<std::string, Shape> ShiftLeaves(const Graph& g) {
  std::map<std::string, Shape> out;
  for (auto& n : g.nodes()) {
    if (!n->As<Softmax>() || n->in.size() != 2) continue;
    const LinearMap& m = *n->in[1]->As<LinearMap>();
    m.terms[0].weight.Leaves(&out);
    m.bias.Leaves(&out);
  }
  return out;
}

Graph RemoveShifts(Graph g) {
  for (auto& n : g.nodes())
    if (Softmax* s = n->As<Softmax>(); s && n->in.size() == 2) {
      n->in.pop_back();
      s->own.clear();
    }
  g.Prune();
  g.Number();
  return g;
}

Shifts FitShifts(Graph* g, const Checkpoint& weights, std::span<const std::vector<int32_t>> texts, exec::Pool& pool,
                 const std::function<void(double)>& progress) {
  Shifts out;
  size_t tokens = 0;
  for (auto& t : texts) tokens += t.size();
  out.softmaxes = int(ShiftLeaves(*g).size()) / 2;  // a map and its bias each
  if (texts.size() < kLeastTexts || tokens < kLeastTokens) {
    out.why_not = Str("a fit needs ", kLeastTexts, " texts and ", kLeastTokens, " tokens, there are ",
                      Plural(texts.size(), "text"), " with ", Plural(tokens, "token"));
    out.enough = std::max(kLeastTexts, tokens ? (kLeastTokens * texts.size() + tokens - 1) / tokens : kLeastTexts);
    *g = RemoveShifts(*g);
    return out;
  }
  const Graph plain = RemoveShifts(*g);  // the fit sees no shift yet; every row is a sample
  const RealModel model(plain, weights, pool);
  std::map<std::string, Rows> rows;  // by the softmax's place
  for (size_t i = 0; i < texts.size(); ++i) {
    std::map<int, RealArray> kept;  // the queries' inputs, by node
    model.Run(texts[i], nullptr, [&](const GraphNode& n, const RealArray& y) {
      for (auto& s : plain.nodes()) {
        if (!s->As<Softmax>()) continue;
        const GraphNode* queries = Queries(*s);
        if (!queries) continue;
        const GraphNode* row = queries->in[size_t(queries->As<LinearMap>()->terms[0].input)];
        if (&n == row) kept[row->index] = y;
        if (&n == s->in[0]) Take(kept.at(row->index), y, *s->As<Softmax>(), &rows[Graph::Where(*s)]);
      }
    });
    if (progress) progress(0.5 * double(i + 1) / double(texts.size()));
  }
  size_t done = 0;
  for (auto& n : g->nodes()) {
    Softmax* s = n->As<Softmax>();
    if (!s || n->in.size() != 2) continue;
    const Rows& r = rows.at(Graph::Where(*n));
    const std::vector<Head> heads = FitHeads(r);
    ShiftFit fit{Graph::Where(*n), true, 0, 0, 0, 0};
    for (size_t h = 0; h < heads.size(); ++h) {
      const Head& head = heads[h];
      fit.own_heads += head.own.norm() > 0;
      if (head.high - head.low > fit.high - fit.low) {
        fit.low = head.low;
        fit.high = head.high;
        fit.worst = int(h);
      }
      fit.fits = fit.fits && head.low >= -kMarginBelow;
    }
    if (fit.fits)
      Keep(heads, *n, r.d, &out.weights);
    else
      n->in.pop_back();
    out.fits.push_back(fit);
    if (progress) progress(0.5 + 0.5 * double(++done) / double(rows.size()));
  }
  g->Prune();
  g->Number();
  return out;
}

}  // namespace suf::nn
