// The inputs of a node with the rows that it takes, for the float model and the specification.
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "suf/nn/graph/graph.hpp"

namespace suf::nn {

// Returns the first or the last row of values (rows, d), or of values (heads, rows, n).
template <class T>
Array<T> OneRow(const Array<T>& x, WantedRows which) {
  const int64_t cols = x.cols(), blocks = x.shape.size() == 3 ? x.shape[0] : 1, rows = x.rows() / blocks;
  const int64_t at = RangeOf(which, int(rows)).from;
  Array<T> y{x.shape, {}};
  y.shape[x.shape.size() - 2] = 1;
  for (int64_t b = 0; b < blocks; ++b) {
    const auto row = x.at.begin() + (b * rows + at) * cols;
    y.at.insert(y.at.end(), row, row + cols);
  }
  return y;
}

template <class T>
class NodeInputs {
 public:
  // `op_of` gives the operators whose wanted rows are computed. `x` are the values of the node's inputs.
  NodeInputs(const GraphNode& n, const std::function<const Operator&(const GraphNode&)>& op_of,
             std::span<const Array<T>* const> x)
      : in_(x.begin(), x.end()) {
    const Operator& op = op_of(n);
    for (size_t k = 0; k < in_.size(); ++k) {
      const TakenRows taken = op.InputRows(int(k), in_.size());
      const WantedRows own = OwnRows(taken, op.wanted);
      if (taken == TakenRows::kBoth || own == WantedRows::kAll || x[k]->at.empty()) continue;
      if (op_of(*n.in[k]).wanted == WantedRows::kAll) in_[k] = &rows_.emplace_back(OneRow(*x[k], own));
    }
  }
  NodeInputs(const NodeInputs&) = delete;
  NodeInputs& operator=(const NodeInputs&) = delete;
  std::span<const Array<T>* const> all() const { return in_; }

 private:
  std::vector<const Array<T>*> in_;
  std::deque<Array<T>> rows_;
};

}  // namespace suf::nn
