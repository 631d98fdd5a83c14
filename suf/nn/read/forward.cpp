#include "suf/nn/read/forward.hpp"

#include <cmath>

#include "suf/base/error.hpp"
#include "suf/nn/read/rows.hpp"

namespace suf::nn {

struct RealModel::State {
  const Graph& graph;
  const Checkpoint& weights;
  exec::Pool& pool;
  std::map<std::string, Reals> values;  // by the text of an expression
};

RealModel::RealModel(const Graph& graph, const Checkpoint& weights, exec::Pool& pool)
    : s_(new State{graph, weights, pool, {}}) {}
RealModel::~RealModel() = default;

RealArray RealModel::Run(std::span<const int32_t> ids, std::vector<Seen>* see, const RealVisitor& each) const {
  SUF_CHECK(!ids.empty());
  if (see) see->resize(s_->graph.size());
  const int tokens = int(ids.size());
  RealCall call{tokens, ids, s_->pool, [this](const Expr& e) -> const Reals& {
                  auto [at, fresh] = s_->values.try_emplace(e.Text());
                  if (fresh) at->second = s_->weights.Value(e);
                  return at->second;
                }};
  const auto op_of = [](const GraphNode& n) -> const Operator& { return *n.op; };
  return Forward<RealArray>(s_->graph, [&](const GraphNode& n, std::span<const RealArray* const> values) {
    const NodeInputs<double> x(n, op_of, values);
    const TextRows own = RangeOf(n.op->wanted, tokens);
    call.from = own.from;
    call.rows = own.rows;
    if (see) n.op->See(call, x.all(), &(*see)[size_t(n.index)]);
    RealArray y = n.op->Float(call, x.all());
    if (each) each(n, y);
    return y;
  });
}

double Cosine(std::span<const double> a, std::span<const double> b) {
  SUF_CHECK(a.size() == b.size());
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace suf::nn
