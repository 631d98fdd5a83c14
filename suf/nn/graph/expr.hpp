// Weights as expressions of a checkpoint's tensors. Passes over a graph (fold.hpp) rewrite expressions, which are
// public; P0 alone evaluates them. Every operation is one IEEE double operation an element, and sums run from left to
// right.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "suf/nn/graph/array.hpp"

namespace suf::nn {

class Checkpoint;

// A tree of operations, which its copies share. An empty one stands for "no such weight".
class Expr {
 public:
  Expr() = default;
  // Returns the tensor of the checkpoint with this name.
  static Expr Leaf(std::string name, Shape shape);
  static Expr Zeros(Shape shape);
  // The next three return (heads, 2 positions - 1): the diagonals of a matrix (positions, positions) for each head.
  // Column positions - 1 + (j - i) is that of row i and column j.
  //
  // Relative reads a table of relative positions (buckets, heads): row clamp(j - i, -buckets / 2, (buckets - 1) / 2) +
  // buckets / 2 (Shaw et al. 2018).
  static Expr Relative(const Expr& table, int64_t positions);
  // Bucketed reads a table of 32 buckets of distances (32, heads), as T5 has them (Raffel et al. 2020). The bucket is b
  // for j <= i, and 16 + b for j > i. With d = |i - j|, b is d below 8. Otherwise b is 8 + floor(2 log2(d / 8)), at
  // most 15.
  static Expr Bucketed(const Expr& table, int64_t positions);
  // Alibi returns -m |i - j|, with a slope m for each head (Press et al. 2022). If `heads` is a power of two, m is
  // 2^(-8 (h + 1) / heads). Otherwise let c be the largest power of two below. The first c heads have the slopes of c
  // heads. The others have every second slope of 2 c heads.
  static Expr Alibi(int64_t heads, int64_t positions);

  Expr Transposed() const;             // (a, b) -> (b, a)
  Expr Rows(const Expr& g) const;      // diag(g) W
  Expr Centred() const;                // each row less its mean
  Expr Folded(const Expr& v) const;    // v W, (b), for v (a) and this W (a, b)
  Expr Plus(const Expr& b) const;      // elementwise sum; b (cols) is added to every row; an empty b changes nothing
  Expr Over(double by) const;          // divided by `by`
  Expr Times(double by) const;         // multiplied by `by`
  Expr Beside(const Expr& b) const;    // the columns of both
  Expr Above(const Expr& b) const;     // the rows of both
  Expr Repeated(int64_t times) const;  // (a) -> (times a), its numbers again and again
  Expr Columns(int64_t begin, int64_t end) const;  // columns [begin, end)
  Expr Row(int64_t i) const;                       // row i, (cols)

  explicit operator bool() const { return node_ != nullptr; }
  const Shape& shape() const;
  int64_t cols() const { return shape().back(); }
  // Returns the text form, such as "rows(0.gamma[16], transposed(0.query[16,16]))".
  std::string Text() const;
  // Reads the text form. Throws Cause::kRefused, naming `what`, for other text, shapes that do not fit, or more than
  // kMostTerms operations.
  static Expr Parse(std::string_view text, const std::string& what);
  // Adds the names and shapes of the tensors that it reads. Throws Cause::kRefused if one name has two shapes.
  void Leaves(std::map<std::string, Shape>* out) const;
  bool operator==(const Expr& o) const { return node_ == o.node_ || (node_ && o.node_ && Text() == o.Text()); }

  static constexpr int kMostTerms = 64;

 private:
  friend class Checkpoint;
  struct Node;
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Expr Make(std::string_view op, std::vector<Expr> args, std::vector<double> numbers);
  std::shared_ptr<const Node> node_;
};

// The tensors of a checkpoint by name, row-major, and the values of expressions of them.
class Checkpoint {
 public:
  struct CheckpointTensor {
    Shape shape;
    std::vector<float> values;
  };
  Checkpoint() = default;
  // Starts without tensors of its own. Names that are not set here are read from `base`, which must outlive it.
  explicit Checkpoint(const Checkpoint* base) : base_(base) {}
  void Set(const std::string& name, CheckpointTensor t);
  const CheckpointTensor& Get(const std::string& name) const;
  const std::map<std::string, CheckpointTensor>& tensors() const { return tensors_; }
  // Returns the value of an expression. Throws Cause::kInput if a tensor is missing or has another shape.
  Reals Value(const Expr& e) const;

 private:
  const Checkpoint* base_ = nullptr;
  std::map<std::string, CheckpointTensor> tensors_;
};

}  // namespace suf::nn
