#include "suf/nn/graph/expr.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "suf/base/error.hpp"
#include "suf/nn/plan/norms.hpp"

namespace suf::nn {

struct Expr::Node {
  std::string op, name;  // name: only of a leaf
  std::vector<Expr> args;
  std::vector<double> numbers;
  Shape shape;
  int terms = 1;
};

namespace {

// Throws for a shape or a number that does not fit. Parse and the builders add its place.
[[noreturn]] void Unfit(const std::string& why) { Fail(Cause::kRefused, "a weight's expression ", why); }

void Want(bool holds, const char* why) {
  if (!holds) Unfit(why);
}

constexpr int64_t kMostElements = int64_t{1} << 34;

Shape Checked(Shape s) {
  Want(!s.empty() && s.size() <= 3, "has no shape of one to three dimensions");
  int64_t size = 1;
  for (int64_t d : s) {
    Want(d >= 1 && d <= kMostElements && size <= kMostElements / d, "is too large");
    size *= d;
  }
  return s;
}

int64_t Whole(double v) {
  Want(v >= 0 && v <= double(kMostElements) && v == std::floor(v), "has a number that is no place in a tensor");
  return int64_t(v);
}

// Returns the shape of op's result; refuses operands that do not fit.
Shape ShapeOf(std::string_view op, const std::vector<Shape>& a, const std::vector<double>& x) {
  auto takes = [&](size_t args, size_t numbers) {
    Want(a.size() == args && x.size() == numbers, "has another number of operands than its operation");
  };
  if (op == "zeros") {
    Want(a.empty(), "has another number of operands than its operation");
    Shape s;
    for (double v : x) s.push_back(Whole(v));
    return s;
  }
  Want(!a.empty(), "has another number of operands than its operation");
  const Shape& s = a[0];
  const Shape none;
  const Shape& b = a.size() > 1 ? a[1] : none;
  if (op == "transposed") return takes(1, 0), Want(s.size() == 2, "transposes what is no matrix"), Shape{s[1], s[0]};
  if (op == "rows") return takes(2, 0), Want(s.size() == 1 && b.size() == 2 && s[0] == b[0], "scales other rows"), b;
  if (op == "fold")
    return takes(2, 0), Want(s.size() == 1 && b.size() == 2 && s[0] == b[0], "folds another matrix"), Shape{b[1]};
  if (op == "plus") return takes(2, 0), Want(s == b || (b.size() == 1 && s.back() == b[0]), "adds another shape"), s;
  if (op == "centre") return takes(1, 0), s;
  if (op == "over" || op == "times") return takes(1, 1), Want(std::isfinite(x[0]) && x[0] != 0, "scales by nothing"), s;
  if (op == "beside") {
    takes(2, 0);
    Want(s.size() == b.size() && s.size() <= 2 && (s.size() == 1 || s[0] == b[0]), "puts other shapes beside");
    Shape r = s;
    r.back() += b.back();
    return r;
  }
  if (op == "columns") {
    takes(1, 2);
    Want(x[0] < x[1] && Whole(x[1]) <= s.back(), "takes columns that are not there");
    Shape r = s;
    r.back() = Whole(x[1]) - Whole(x[0]);
    return r;
  }
  if (op == "row")
    return takes(1, 1), Want(s.size() == 2 && Whole(x[0]) < s[0], "takes a row that is not there"), Shape{s[1]};
  if (op == "relative") return takes(1, 1), Want(s.size() == 2, "has no table"), Shape{s[1], Whole(x[0]), Whole(x[0])};
  Unfit(Str("has an unknown operation ", std::string(op.substr(0, 30))));
}

std::string Number(double v) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, v).ptr};
}

bool OfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

Expr Expr::Make(std::string_view op, std::vector<Expr> args, std::vector<double> numbers) {
  auto n = std::make_shared<Node>();
  std::vector<Shape> shapes;
  for (const Expr& a : args) {
    SUF_CHECK(a);
    shapes.push_back(a.shape());
    n->terms += a.node_->terms;
  }
  Want(n->terms <= kMostTerms, "has more than 64 operations");
  n->op = op;
  n->shape = Checked(ShapeOf(op, shapes, numbers));
  n->args = std::move(args);
  n->numbers = std::move(numbers);
  return Expr(n);
}

Expr Expr::Leaf(std::string name, Shape shape) {
  auto n = std::make_shared<Node>();
  n->op = "leaf";
  n->name = std::move(name);
  n->shape = Checked(std::move(shape));
  return Expr(n);
}
Expr Expr::Zeros(Shape shape) { return Make("zeros", {}, {shape.begin(), shape.end()}); }
Expr Expr::Relative(const Expr& table, int64_t positions) { return Make("relative", {table}, {double(positions)}); }
Expr Expr::Transposed() const { return Make("transposed", {*this}, {}); }
Expr Expr::Rows(const Expr& g) const { return Make("rows", {g, *this}, {}); }
Expr Expr::Centred() const { return Make("centre", {*this}, {}); }
Expr Expr::Folded(const Expr& v) const { return Make("fold", {v, *this}, {}); }
Expr Expr::Plus(const Expr& b) const { return b ? Make("plus", {*this, b}, {}) : *this; }
Expr Expr::Over(double by) const { return Make("over", {*this}, {by}); }
Expr Expr::Times(double by) const { return Make("times", {*this}, {by}); }
Expr Expr::Beside(const Expr& b) const { return Make("beside", {*this, b}, {}); }
Expr Expr::Columns(int64_t begin, int64_t end) const { return Make("columns", {*this}, {double(begin), double(end)}); }
Expr Expr::Row(int64_t i) const { return Make("row", {*this}, {double(i)}); }

const Shape& Expr::shape() const {
  SUF_CHECK(node_);
  return node_->shape;
}

std::string Expr::Text() const {
  if (!node_) return "";
  std::string s;
  if (node_->op == "leaf") {
    s = node_->name + "[";
    for (size_t i = 0; i < node_->shape.size(); ++i) s += (i ? "," : "") + std::to_string(node_->shape[i]);
    return s + "]";
  }
  s = node_->op + "(";
  const char* comma = "";
  for (const Expr& a : node_->args) {
    s += comma + a.Text();
    comma = ", ";
  }
  for (double v : node_->numbers) {
    s += comma + Number(v);
    comma = ", ";
  }
  return s + ")";
}

namespace {

// A reader of the text form. The number of terms bounds its depth.
struct Input {
  std::string_view s;
  size_t at = 0;
  int terms = 0;

  char Peek() const { return at < s.size() ? s[at] : '\0'; }
  void Skip() {
    while (Peek() == ' ') ++at;
  }
  double Read() {
    double v = 0;
    auto [end, error] = std::from_chars(s.data() + at, s.data() + s.size(), v);
    Want(error == std::errc{}, "is cut short or not written as this program does");
    at = size_t(end - s.data());
    return v;
  }
};

}  // namespace

Expr Expr::Parse(std::string_view text, const std::string& what) {
  Input in{text};
  auto parse = [&in](auto&& self) -> Expr {
    Want(++in.terms <= kMostTerms, "has more than 64 operations");
    size_t begin = in.at;
    while (OfName(in.Peek())) ++in.at;
    std::string name(in.s.substr(begin, in.at - begin));
    const char open = in.Peek();
    Want(!name.empty() && name.size() <= 200 && (open == '[' || open == '('),
         "is cut short or not written as this program does");
    ++in.at;
    std::vector<Expr> args;
    std::vector<double> numbers;
    const char close = open == '[' ? ']' : ')';
    while (in.Skip(), in.Peek() != close) {
      const char c = in.Peek();
      if (open == '[' || (c >= '0' && c <= '9') || c == '-') {
        // a leaf may begin with a digit: it has a '[' before the next ',' or ')'
        size_t end = in.s.find_first_of(",)[]", in.at);
        if (open == '(' && end != std::string_view::npos && in.s[end] == '[')
          args.push_back(self(self));
        else
          numbers.push_back(in.Read());
      } else {
        args.push_back(self(self));
      }
      in.Skip();
      if (in.Peek() == ',') ++in.at;
    }
    ++in.at;
    if (open == '(') return Make(name, std::move(args), std::move(numbers));
    Shape shape;
    for (double v : numbers) shape.push_back(Whole(v));
    return Leaf(std::move(name), std::move(shape));
  };
  try {
    Expr e = parse(parse);
    Want(in.at == text.size() && e.Text() == text, "is cut short or not written as this program does");
    return e;
  } catch (const Error& e) {
    Fail(Cause::kRefused, what, ": ", e.what(), "; compile the plan again");
  }
}

void Expr::Leaves(std::map<std::string, Shape>* out) const {
  if (!node_) return;
  if (node_->op == "leaf") {
    auto [it, fresh] = out->try_emplace(node_->name, node_->shape);
    if (!fresh && it->second != node_->shape) Unfit(Str("reads ", node_->name, " in two shapes"));
  }
  for (const Expr& a : node_->args) a.Leaves(out);
}

void Checkpoint::Set(const std::string& name, CheckpointTensor t) {
  SUF_CHECK(Size(t.shape) == int64_t(t.values.size()));
  tensors_[name] = std::move(t);
}

const Checkpoint::CheckpointTensor& Checkpoint::Get(const std::string& name) const {
  auto it = tensors_.find(name);
  if (it == tensors_.end() && base_) return base_->Get(name);
  if (it == tensors_.end())
    Fail(Cause::kInput, "the model has no tensor ", name, "; use the model that the plan was made from");
  return it->second;
}

Reals Checkpoint::Value(const Expr& e) const {
  SUF_CHECK(e);
  const Expr::Node& n = *e.node_;
  const int64_t cols = n.shape.back();
  if (n.op == "leaf") {
    const CheckpointTensor& t = Get(n.name);
    if (t.shape != n.shape)
      Fail(Cause::kInput, "the model's tensor ", n.name,
           " has another shape than the plan's; use the model that the plan was made from");
    return Reals(t.values.begin(), t.values.end());
  }
  if (n.op == "zeros") return Reals(size_t(Size(n.shape)), 0.0);
  Reals a = Value(n.args[0]);
  if (n.op == "centre") {
    for (size_t r = 0; r < a.size(); r += size_t(cols)) {
      double sum = a[r];
      for (int64_t j = 1; j < cols; ++j) sum += a[r + size_t(j)];
      const double mean = sum / double(cols);
      for (int64_t j = 0; j < cols; ++j) a[r + size_t(j)] -= mean;
    }
    return a;
  }
  if (n.op == "over" || n.op == "times") {
    for (double& x : a) x = n.op == "over" ? x / n.numbers[0] : x * n.numbers[0];
    return a;
  }
  const Shape& from = n.args[0].shape();
  if (n.op == "transposed") return Transposed(a, from[1]);
  if (n.op == "row") return {a.begin() + int64_t(n.numbers[0]) * cols, a.begin() + (int64_t(n.numbers[0]) + 1) * cols};
  if (n.op == "columns") return Part(a, from.back(), int64_t(n.numbers[0]), cols);
  if (n.op == "relative") {
    const int64_t buckets = from[0], heads = from[1], p = n.shape[1];
    Reals t;
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < p; ++i)
        for (int64_t j = 0; j < p; ++j)
          t.push_back(a[size_t((std::clamp(j - i, -(buckets / 2), (buckets - 1) / 2) + buckets / 2) * heads + h)]);
    return t;
  }
  Reals b = Value(n.args[1]);
  if (n.op == "rows") {
    for (size_t i = 0; i < b.size(); ++i) b[i] = a[i / size_t(cols)] * b[i];
    return b;
  }
  if (n.op == "plus") {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i % b.size()];
    return a;
  }
  if (n.op == "fold") {
    Reals y(size_t(cols), 0.0);
    for (size_t i = 0; i < a.size(); ++i)  // from left to right in every column
      for (int64_t j = 0; j < cols; ++j)
        y[size_t(j)] = i ? y[size_t(j)] + a[i] * b[i * size_t(cols) + size_t(j)] : a[i] * b[size_t(j)];
    return y;
  }
  SUF_CHECK(n.op == "beside");
  Reals t;
  const int64_t left = from.back(), right = cols - left;
  for (size_t r = 0; r * size_t(left) < a.size(); ++r) {
    t.insert(t.end(), a.begin() + int64_t(r) * left, a.begin() + int64_t(r + 1) * left);
    t.insert(t.end(), b.begin() + int64_t(r) * right, b.begin() + int64_t(r + 1) * right);
  }
  return t;
}

}  // namespace suf::nn
