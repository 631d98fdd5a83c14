// What a plan stores of an operator, each field listed once with its range, for whatever visits it: the writer and the
// strict reader of the JSON text, the drawing, and the fuzz targets.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "suf/compiler/lower.hpp"
#include "suf/func/fit.hpp"
#include "suf/nn/expr.hpp"

namespace suf::nn {

inline constexpr int64_t kBig = int64_t{1} << 62;
inline constexpr int kRing = 64, kTokens = 1 << 16;

class Visitor {
 public:
  virtual ~Visitor() = default;
  // Int: a whole number in [lo, hi].
  template <class T>
  void Int(const char* name, T& x, int64_t lo, int64_t hi) {
    int64_t v = int64_t(x);
    Whole(name, &v, lo, hi);
    x = T(v);
  }
  // Choice: one of the names, by its place; said: the sentence up to another one.
  template <class E>
  void Choice(const char* name, E* x, std::span<const char* const> names, const char* said) {
    *x = E(Place(name, size_t(*x), names, said));
  }
  virtual void Real(const char* name, double* x, double lo, double hi) = 0;
  virtual void Flag(const char* name, bool* x) = 0;
  virtual void Text(const char* name, std::string* x, size_t limit) = 0;
  virtual void Many(const char* name, Ints* x, size_t most, int64_t lo, int64_t hi) = 0;
  // An expression; `optional` ones may be empty.
  virtual void Weight(const char* name, Expr* x, bool optional) = 0;
  // In the text form of a function, in a table of the plan's own.
  virtual void Function(const char* name, func::Suf* x) = 0;
  // `size` items, each visited in turn by item(visitor, i) after resize(count).
  virtual void List(const char* name, size_t size, size_t most, const std::function<void(size_t)>& resize,
                    const std::function<void(Visitor&, size_t)>& item) = 0;
  // fills: whether it sets the fields; sees: whether it looks at what they hold. A reader fills, a writer sees, a
  // fuzzer does both.
  virtual bool fills() const = 0;
  virtual bool sees() const { return !fills(); }
  // Whether a field that may be absent, and then has its default, is there for who fills.
  virtual bool Has(const char*) const { return false; }

  // What is chosen by cost: in how many stages a value is cut, from `least` on; how a function's numbers are made, by
  // name.
  void Stages(const char* name, compiler::Stages* stages, compiler::Stages least = compiler::Stages::kOne);
  void Lowering(const char* name, compiler::Lowering* lowering);
  // The function kinds of operators: constant pieces on octaves below 2^n; a table; lines.
  void Octaves(const char* name, std::vector<func::Group>* groups, int n);
  void Table(const char* name, Ints* entries);
  void Lines(const char* name, func::Lines* lines);

 private:
  size_t Place(const char* name, size_t at, std::span<const char* const> names, const char* said);

 protected:
  virtual void Whole(const char* name, int64_t* x, int64_t lo, int64_t hi) = 0;
};

}  // namespace suf::nn
