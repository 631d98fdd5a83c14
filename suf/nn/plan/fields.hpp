// The fields that a plan stores of an operator, each listed once with its range. They are visited by the writer and the
// strict reader of the JSON text, the drawing, and the fuzz targets.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "suf/compiler/lower.hpp"
#include "suf/func/fit.hpp"
#include "suf/nn/graph/expr.hpp"

namespace suf::nn {

inline constexpr int64_t kBig = int64_t{1} << 62;
inline constexpr int kRing = 64, kTokens = 1 << 16;

class Visitor {
 public:
  virtual ~Visitor() = default;
  // Visits a whole number in [lo, hi].
  template <class T>
  void Int(const char* name, T& x, int64_t lo, int64_t hi) {
    int64_t v = int64_t(x);
    Whole(name, &v, lo, hi);
    x = T(v);
  }
  // Visits one of `names`, by its index. `said` begins the error message about an unknown name.
  template <class E>
  void Choice(const char* name, E* x, std::span<const char* const> names, const char* said) {
    *x = E(Place(name, size_t(*x), names, said));
  }
  virtual void Real(const char* name, double* x, double lo, double hi) = 0;
  virtual void Flag(const char* name, bool* x) = 0;
  // Visits a text of printable characters, of at most `limit` bytes.
  virtual void Text(const char* name, std::string* x, size_t limit) = 0;
  // Visits a text of any characters of UTF-8, which must be escaped where it is printed.
  virtual void AnyText(const char* name, std::string* x, size_t limit) = 0;
  virtual void Many(const char* name, Ints* x, size_t most, int64_t lo, int64_t hi) = 0;
  // Visits an expression, which may be empty if it is `optional`.
  virtual void Weight(const char* name, Expr* x, bool optional) = 0;
  // Visits a function. The plan keeps the text forms of functions in a table of their own.
  virtual void Function(const char* name, func::Suf* x) = 0;
  // Visits a list of `size` items: resize(count) is called first, then item(visitor, i) for each.
  virtual void List(const char* name, size_t size, size_t most, const std::function<void(size_t)>& resize,
                    const std::function<void(Visitor&, size_t)>& item) = 0;
  // Whether the visitor sets the fields. A reader sets them, a writer reads them, and a fuzzer does both.
  virtual bool fills() const = 0;
  // Whether the visitor reads the values of the fields.
  virtual bool sees() const { return !fills(); }
  // Whether an optional field is present. A visitor that fills leaves an absent field at its default.
  virtual bool Has(const char*) const { return false; }

  // Visits the number of stages in which a value is cut, from `least` on.
  void Stages(const char* name, compiler::Stages* stages, compiler::Stages least = compiler::Stages::kOne);
  // Visits the way in which a function's numbers are made, by name.
  void Lowering(const char* name, compiler::Lowering* lowering);
  // Visits constant pieces on octaves below 2^n.
  void Octaves(const char* name, std::vector<func::Octave>* groups, int n);
  // Visits a table as a function of constants.
  void Table(const char* name, Ints* entries);
  // Visits lines as a function: all of one width, or those and one more on each side.
  void Lines(const char* name, func::Lines* lines);

 private:
  size_t Place(const char* name, size_t at, std::span<const char* const> names, const char* said);

 protected:
  virtual void Whole(const char* name, int64_t* x, int64_t lo, int64_t hi) = 0;
};

}  // namespace suf::nn
