#include "suf/nn/graph/expr.hpp"

#include <algorithm>
#include <bit>
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

// The operands of an operation, and the shapes of the first one, if there is one, and of the result.
struct Operands {
  Reals a, b;
  const Shape &from, &to;
  const std::vector<double>& numbers;
  int64_t cols() const { return to.back(); }
};

// An operation on up to two weights. `shape` refuses operands that do not fit, and `value` computes.
struct Operation {
  std::string_view name;
  size_t args, numbers;
  Shape (*shape)(const std::vector<Shape>& a, const std::vector<double>& x);
  Reals (*value)(Operands& o);
};

Shape SameShape(const std::vector<Shape>& a, const std::vector<double>&) { return a[0]; }

Shape ScaledShape(const std::vector<Shape>& a, const std::vector<double>& x) {
  Want(std::isfinite(x[0]) && x[0] != 0, "scales by nothing");
  return a[0];
}

// Whether the first operand has a number for each row of the second one.
bool OnePerRow(const std::vector<Shape>& a) { return a[0].size() == 1 && a[1].size() == 2 && a[0][0] == a[1][0]; }

// Returns the shape of the diagonals of each head.
Shape DiagonalsShape(int64_t heads, double positions) { return {heads, 2 * Whole(positions) - 1}; }
// Returns value(h, j - i) for every head and diagonal.
template <class F>
Reals Diagonals(const Shape& shape, F value) {
  const int64_t most = shape[1] / 2;
  Reals t;
  for (int64_t h = 0; h < shape[0]; ++h)
    for (int64_t d = -most; d <= most; ++d) t.push_back(value(h, d));
  return t;
}
// Returns column h of the table's row row_of(j - i).
template <class F>
Reals DiagonalsOf(const Operands& o, F row_of) {
  return Diagonals(o.to, [&](int64_t h, int64_t d) { return o.a[size_t(row_of(d) * o.from[1] + h)]; });
}

// Returns the slope of head h (Expr::Alibi).
double AlibiSlope(int64_t h, int64_t heads) {
  const int64_t power = int64_t(std::bit_floor(uint64_t(heads)));
  if (h < power) return std::exp2(-8.0 * double(h + 1) / double(power));
  return std::exp2(-8.0 * double(2 * (h - power) + 1) / double(2 * power));
}

constexpr int64_t kDistanceBuckets = 32;  // half of them for positions behind

// Returns the bucket of j - i (Expr::Bucketed). 2 log2(d / 8) >= k is d^2 >= 64 2^k.
int64_t DistanceBucket(int64_t ahead) {
  const int64_t half = kDistanceBuckets / 2, exact = half / 2, d = std::abs(ahead);
  int64_t b = std::min(d, exact);
  if (d >= exact)
    while (b < half - 1 && d * d >= (exact * exact) << (b - exact + 1)) ++b;
  return (ahead > 0 ? half : 0) + b;
}

constexpr Operation kOperations[] = {
    {"transposed", 1, 0,
     [](const auto& a, const auto&) {
       Want(a[0].size() == 2, "transposes what is no matrix");
       return Shape{a[0][1], a[0][0]};
     },
     [](Operands& o) { return Transposed(o.a, o.from[1]); }},
    {"rows", 2, 0,
     [](const auto& a, const auto&) {
       Want(OnePerRow(a), "scales other rows");
       return a[1];
     },
     [](Operands& o) {
       for (size_t i = 0; i < o.b.size(); ++i) o.b[i] = o.a[i / size_t(o.cols())] * o.b[i];
       return std::move(o.b);
     }},
    {"fold", 2, 0,
     [](const auto& a, const auto&) {
       Want(OnePerRow(a), "folds another matrix");
       return Shape{a[1][1]};
     },
     [](Operands& o) {
       const size_t cols = size_t(o.cols());
       Reals y(cols, 0.0);
       for (size_t i = 0; i < o.a.size(); ++i)  // from left to right in every column
         for (size_t j = 0; j < cols; ++j) y[j] = i ? y[j] + o.a[i] * o.b[i * cols + j] : o.a[i] * o.b[j];
       return y;
     }},
    {"plus", 2, 0,
     [](const auto& a, const auto&) {
       Want(a[0] == a[1] || (a[1].size() == 1 && a[0].back() == a[1][0]), "adds another shape");
       return a[0];
     },
     [](Operands& o) {
       for (size_t i = 0; i < o.a.size(); ++i) o.a[i] += o.b[i % o.b.size()];
       return std::move(o.a);
     }},
    {"centre", 1, 0, SameShape,
     [](Operands& o) {
       const size_t cols = size_t(o.cols());
       for (size_t r = 0; r < o.a.size(); r += cols) {
         double sum = o.a[r];
         for (size_t j = 1; j < cols; ++j) sum += o.a[r + j];
         const double mean = sum / double(cols);
         for (size_t j = 0; j < cols; ++j) o.a[r + j] -= mean;
       }
       return std::move(o.a);
     }},
    {"over", 1, 1, ScaledShape,
     [](Operands& o) {
       for (double& x : o.a) x = x / o.numbers[0];
       return std::move(o.a);
     }},
    {"times", 1, 1, ScaledShape,
     [](Operands& o) {
       for (double& x : o.a) x = x * o.numbers[0];
       return std::move(o.a);
     }},
    {"beside", 2, 0,
     [](const auto& a, const auto&) {
       const Shape &s = a[0], &b = a[1];
       Want(s.size() == b.size() && s.size() <= 2 && (s.size() == 1 || s[0] == b[0]), "puts other shapes beside");
       Shape r = s;
       r.back() += b.back();
       return r;
     },
     [](Operands& o) {
       Reals t;
       const int64_t left = o.from.back(), right = o.cols() - left;
       for (size_t r = 0; r * size_t(left) < o.a.size(); ++r) {
         t.insert(t.end(), o.a.begin() + int64_t(r) * left, o.a.begin() + int64_t(r + 1) * left);
         t.insert(t.end(), o.b.begin() + int64_t(r) * right, o.b.begin() + int64_t(r + 1) * right);
       }
       return t;
     }},
    {"above", 2, 0,
     [](const auto& a, const auto&) {
       Want(a[0].size() == 2 && a[1].size() == 2 && a[0][1] == a[1][1], "puts rows of another width below");
       return Shape{a[0][0] + a[1][0], a[0][1]};
     },
     [](Operands& o) {
       o.a.insert(o.a.end(), o.b.begin(), o.b.end());
       return std::move(o.a);
     }},
    {"repeat", 1, 1,
     [](const auto& a, const auto& x) {
       Want(a[0].size() == 1, "repeats what is no vector");
       Want(Whole(x[0]) <= kMostElements / a[0][0], "is too large");
       return Shape{Whole(x[0]) * a[0][0]};
     },
     [](Operands& o) {
       Reals t;
       while (int64_t(t.size()) < o.cols()) t.insert(t.end(), o.a.begin(), o.a.end());
       return t;
     }},
    {"columns", 1, 2,
     [](const auto& a, const auto& x) {
       Want(x[0] < x[1] && Whole(x[1]) <= a[0].back(), "takes columns that are not there");
       Shape r = a[0];
       r.back() = Whole(x[1]) - Whole(x[0]);
       return r;
     },
     [](Operands& o) { return Part(o.a, o.from.back(), int64_t(o.numbers[0]), o.cols()); }},
    {"row", 1, 1,
     [](const auto& a, const auto& x) {
       Want(a[0].size() == 2 && Whole(x[0]) < a[0][0], "takes a row that is not there");
       return Shape{a[0][1]};
     },
     [](Operands& o) {
       const auto begin = o.a.begin() + int64_t(o.numbers[0]) * o.cols();
       return Reals(begin, begin + o.cols());
     }},
    {"relative", 1, 1,
     [](const auto& a, const auto& x) {
       Want(a[0].size() == 2, "has no table");
       return DiagonalsShape(a[0][1], x[0]);
     },
     [](Operands& o) {
       const int64_t least = -(o.from[0] / 2), most = (o.from[0] - 1) / 2;
       return DiagonalsOf(o, [=](int64_t d) { return std::clamp(d, least, most) - least; });
     }},
    {"bucketed", 1, 1,
     [](const auto& a, const auto& x) {
       Want(a[0].size() == 2 && a[0][0] == kDistanceBuckets, "has no table of 32 buckets");
       return DiagonalsShape(a[0][1], x[0]);
     },
     [](Operands& o) { return DiagonalsOf(o, DistanceBucket); }},
    {"alibi", 0, 2, [](const auto&, const auto& x) { return DiagonalsShape(Whole(x[0]), x[1]); },
     [](Operands& o) {
       return Diagonals(o.to, [&](int64_t h, int64_t d) { return AlibiSlope(h, o.to[0]) * -double(std::abs(d)); });
     }},
};

// Returns the operation of this name, or null.
const Operation* OperationNamed(std::string_view name) {
  const auto* at =
      std::find_if(std::begin(kOperations), std::end(kOperations), [&](const Operation& o) { return o.name == name; });
  return at == std::end(kOperations) ? nullptr : at;
}

// Returns the shape of op's result; refuses operands that do not fit.
Shape ShapeOf(std::string_view op, const std::vector<Shape>& a, const std::vector<double>& x) {
  const char* operands = "has another number of operands than its operation";
  if (op == "zeros") {
    Want(a.empty(), operands);
    Shape s;
    for (double v : x) s.push_back(Whole(v));
    return s;
  }
  const Operation* o = OperationNamed(op);
  Want(!a.empty() || (o && o->args == 0), operands);
  if (!o) Unfit(Str("has an unknown operation ", std::string(op.substr(0, 30))));
  Want(a.size() == o->args && x.size() == o->numbers, operands);
  return o->shape(a, x);
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
Expr Expr::Bucketed(const Expr& table, int64_t positions) { return Make("bucketed", {table}, {double(positions)}); }
Expr Expr::Alibi(int64_t heads, int64_t positions) { return Make("alibi", {}, {double(heads), double(positions)}); }
Expr Expr::Transposed() const { return Make("transposed", {*this}, {}); }
Expr Expr::Rows(const Expr& g) const { return Make("rows", {g, *this}, {}); }
Expr Expr::Centred() const { return Make("centre", {*this}, {}); }
Expr Expr::Folded(const Expr& v) const { return Make("fold", {v, *this}, {}); }
Expr Expr::Plus(const Expr& b) const { return b ? Make("plus", {*this, b}, {}) : *this; }
Expr Expr::Over(double by) const { return Make("over", {*this}, {by}); }
Expr Expr::Times(double by) const { return Make("times", {*this}, {by}); }
Expr Expr::Beside(const Expr& b) const { return Make("beside", {*this, b}, {}); }
Expr Expr::Above(const Expr& b) const { return Make("above", {*this, b}, {}); }
Expr Expr::Repeated(int64_t times) const { return Make("repeat", {*this}, {double(times)}); }
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
    in.Skip();
    while (in.Peek() != close) {
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
      in.Skip();
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
  if (n.op == "leaf") {
    const CheckpointTensor& t = Get(n.name);
    if (t.shape != n.shape)
      Fail(Cause::kInput, "the model's tensor ", n.name,
           " has another shape than the plan's; use the model that the plan was made from");
    return Reals(t.values.begin(), t.values.end());
  }
  if (n.op == "zeros") return Reals(size_t(Size(n.shape)), 0.0);
  const Operation* op = OperationNamed(n.op);
  SUF_CHECK(op);
  const auto arg = [&](size_t i) { return n.args.size() > i ? Value(n.args[i]) : Reals(); };
  Operands o{arg(0), arg(1), n.args.empty() ? n.shape : n.args[0].shape(), n.shape, n.numbers};
  return op->value(o);
}

}  // namespace suf::nn
