#include "suf/compiler/passes.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "suf/func/text.hpp"
#include "suf/ring/modular.hpp"

namespace suf::compiler {

using func::Formula;
using func::Suf;
using func::Term;
using func::U128;

namespace {

// Returns the elements that are in exactly one of two increasing lists.
std::vector<int> Either(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> out;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}
Bit operator!(Bit a) {
  a.constant = !a.constant;
  return a;
}
bool Constant(const Bit& b) { return b.compares.empty() && b.products.empty(); }

// Turns formulas and cutpoints into bits. Equal comparisons share a number, and so do equal products.
class Primitives {
 public:
  explicit Primitives(CompiledFunction* c) : c_(*c) {}

  // Returns 1[x mod 2^f < beta], 0 <= beta <= 2^f. If beta is the middle, it is a top bit, whose view is narrower.
  Bit Less(int f, U128 beta) {
    if (beta == 0 || beta == U128{1} << f) return {.constant = beta != 0, .compares = {}, .products = {}};
    if (beta == U128{1} << (f - 1)) return !Top(f, 0);
    return One({false, f, uint64_t(beta)});
  }
  Bit Top(int f, uint64_t c) { return One({true, f, c & ring::Mask(f)}); }
  Bit In(int f, U128 a, U128 b) {
    if (a >= b) return {};
    const Bit above = Less(f, b);  // first, because this order numbers the comparisons
    return Less(f, a) ^ above;
  }

  Bit And(const Bit& a, const Bit& b) {
    if (Constant(a)) return a.constant ? b : a;
    if (Constant(b)) return b.constant ? a : b;
    if (a == b) return a;
    if (a == !b) return {};
    std::vector<Bit> factors = FactorsOf(a);
    for (const Bit& f : FactorsOf(b))
      if (std::find(factors.begin(), factors.end(), f) == factors.end()) factors.push_back(f);
    if (factors.size() > kMostInProduct) factors = {a, b};
    auto before = [](const Bit& x, const Bit& y) {
      return std::tie(x.products, x.compares, x.constant) < std::tie(y.products, y.compares, y.constant);
    };
    std::sort(factors.begin(), factors.end(), before);
    auto it = std::find(c_.products.begin(), c_.products.end(), factors);
    if (it == c_.products.end()) {
      c_.products.push_back(factors);
      it = c_.products.end() - 1;
    }
    return {.constant = false, .compares = {}, .products = {int(it - c_.products.begin())}};
  }

  Bit Of(const Formula& g) {
    std::vector<Bit> stack;
    auto pop = [&] {
      Bit b = std::move(stack.back());
      stack.pop_back();
      return b;
    };
    const int n = c_.f.n;
    for (const Term& t : g) {
      if (t.kind == Term::kLt) {
        stack.push_back(Less(n, t.value));
      } else if (t.kind == Term::kLtLow) {
        stack.push_back(t.f == 0 ? Bit{.constant = t.value != 0, .compares = {}, .products = {}} : Less(t.f, t.value));
      } else if (t.kind == Term::kMsb) {
        stack.push_back(Top(n, uint64_t(t.value)));
      } else if (t.kind == Term::kIn) {
        stack.push_back(In(n, t.value, t.upper));
      } else if (t.kind == Term::kTrue || t.kind == Term::kFalse) {
        stack.push_back({.constant = t.kind == Term::kTrue, .compares = {}, .products = {}});
      } else if (t.kind == Term::kNot) {
        stack.back() = !stack.back();
      } else {
        Bit b = pop(), a = pop();
        stack.push_back(t.kind == Term::kXor ? a ^ b : t.kind == Term::kAnd ? And(a, b) : !And(!a, !b));
      }
    }
    return pop();
  }

 private:
  Bit One(const Compare& c) {
    auto [it, fresh] = number_.try_emplace(c, int(c_.compares.size()));
    if (fresh) c_.compares.push_back(c);
    return {.constant = false, .compares = {it->second}, .products = {}};
  }
  // Returns the factors of a bit that is one product, otherwise the bit itself.
  std::vector<Bit> FactorsOf(const Bit& b) const {
    bool one = !b.constant && b.compares.empty() && b.products.size() == 1;
    return one ? c_.products[size_t(b.products[0])] : std::vector<Bit>{b};
  }
  CompiledFunction& c_;
  std::map<Compare, int> number_;
};

// Removes products that no bit reads. They remain when factors of products are joined.
void Prune(CompiledFunction* c) {
  const std::vector<int> kept_ones = UsedBy(*c, c->bits).products;
  const std::set<int> read(kept_ones.begin(), kept_ones.end());
  std::vector<int> number(c->products.size());
  std::vector<std::vector<Bit>> kept;
  for (size_t i = 0; i < c->products.size(); ++i) {
    number[i] = int(kept.size());
    if (read.count(int(i))) kept.push_back(std::move(c->products[i]));
  }
  auto renumber = [&](Bit& b) {
    for (int& p : b.products) p = number[size_t(p)];
  };
  for (auto& product : kept)
    for (Bit& b : product) renumber(b);
  for (Bit& b : c->bits) renumber(b);
  c->products = std::move(kept);
}

bool Holds(const CompiledFunction& c, const Bit& b, uint64_t x) {
  bool v = b.constant;
  for (int i : b.compares) {
    const Compare& p = c.compares[size_t(i)];
    uint64_t low = x & ring::Mask(p.f);
    v ^= p.top ? ((low + p.beta) >> (p.f - 1) & 1) != 0 : low < p.beta;
  }
  for (int i : b.products) {
    bool all = true;
    for (const Bit& factor : c.products[size_t(i)]) all = all && Holds(c, factor, x);
    v ^= all;
  }
  return v;
}

std::string Name(const Bit& b) {
  std::string s = b.constant ? "1" : "";
  auto add = [&](const std::string& t) { s += (s.empty() ? "" : " ^ ") + t; };
  for (int i : b.compares) add("c" + std::to_string(i));
  for (int i : b.products) add("p" + std::to_string(i));
  return s.empty() ? "0" : s;
}

}  // namespace

Bit operator^(const Bit& a, const Bit& b) {
  return {a.constant != b.constant, Either(a.compares, b.compares), Either(a.products, b.products)};
}

BitOperands UsedBy(const CompiledFunction& c, std::span<const Bit> bits) {
  std::set<int> compares, products;
  auto mark = [&](const Bit& b) {
    compares.insert(b.compares.begin(), b.compares.end());
    products.insert(b.products.begin(), b.products.end());
  };
  for (const Bit& b : bits) mark(b);
  for (size_t i = c.products.size(); i-- > 0;)  // factors precede their product
    if (products.count(int(i)))
      for (const Bit& b : c.products[i]) mark(b);
  return {{compares.begin(), compares.end()}, {products.begin(), products.end()}};
}

std::vector<uint64_t> Powers(const std::vector<uint64_t>& local, uint64_t begin, int ring) {
  // Horner's scheme in (x - begin)
  std::vector<uint64_t> out(local.size());
  for (size_t i = local.size(); i-- > 0;) {
    for (size_t k = local.size(); k-- > 0;) out[k] = (k ? out[k - 1] : 0) - out[k] * begin;
    out[0] += local[i];
  }
  for (uint64_t& v : out) v &= ring::Mask(ring);
  return out;
}

func::Suf Normalise(const Suf& given) {
  func::Verify(given);
  Suf f = given;
  if (f.end < U128{1} << f.n) {
    f.pieces.push_back({f.end, std::vector(size_t(f.outputs), std::vector<uint64_t>(size_t(f.degree) + 1))});
    f.end = U128{1} << f.n;
  }
  if (f.outputs == 0) f.pieces.resize(1);
  int degree = 0;
  for (const func::Piece& p : f.pieces)
    for (auto& c : p.poly)
      for (int i = 0; i <= f.degree; ++i)
        if (c[size_t(i)]) degree = std::max(degree, i);
  f.degree = degree;
  std::vector<func::Piece> kept;
  std::vector<std::vector<uint64_t>> last;
  for (func::Piece& p : f.pieces) {
    std::vector<std::vector<uint64_t>> here;
    for (auto& c : p.poly) {
      c.resize(size_t(degree) + 1);
      here.push_back(Powers(c, uint64_t(p.begin), f.ring));
    }
    if (!kept.empty() && here == last) continue;
    kept.push_back(std::move(p));
    last = std::move(here);
  }
  f.pieces = std::move(kept);
  return f;
}

CompiledFunction Compile(const Suf& given) {
  CompiledFunction c;
  c.f = Normalise(given);
  if (given.formulas.empty() && given.outputs == 1 && given.degree == 0 && given.n <= 63) {
    try {
      c.groups = func::ToGroups(given);
    } catch (const Error&) {  // not on octaves
    }
    if (!std::is_sorted(c.groups.begin(), c.groups.end(), [](auto& a, auto& b) { return a.w < b.w; })) c.groups.clear();
  }
  Primitives p(&c);
  for (size_t j = 1; j < c.pieces(); ++j) c.steps.push_back(!p.Less(c.f.n, c.f.pieces[j].begin));
  for (const Formula& g : c.f.formulas) c.bits.push_back(p.Of(g));
  Prune(&c);
  for (const func::Piece& piece : c.f.pieces)
    for (auto& local : piece.poly) {
      std::vector<uint64_t> powers = Powers(local, uint64_t(piece.begin), c.f.ring);
      c.coefficients.insert(c.coefficients.end(), powers.begin(), powers.end());
    }
  return c;
}

CompiledFunction OnOctaves(std::string name, std::vector<func::Octave> groups, int n, int ring) {
  CompiledFunction c;
  c.f.name = std::move(name);
  c.f.n = n;
  c.f.ring = ring;
  c.groups = std::move(groups);
  return c;
}

int CompiledFunction::grid() const {
  int a = f.n;
  for (const func::Piece& p : f.pieces)
    if (p.begin) a = std::min(a, std::countr_zero(uint64_t(p.begin)));
  return a;
}

int CompiledFunction::index_bits() const { return std::bit_width(pieces() - 1); }

func::Value Eval(const CompiledFunction& c, uint64_t x) {
  func::Value v;
  size_t piece = 0;
  for (const Bit& s : c.steps) piece += Holds(c, s, x);
  for (int o = 0; o < c.f.outputs; ++o) {
    uint64_t y = 0;
    for (int i = c.f.degree; i >= 0; --i) y = y * x + c.coefficient(piece, o, i);
    v.poly.push_back(y & ring::Mask(c.f.ring));
  }
  for (const Bit& b : c.bits) v.bits.push_back(Holds(c, b, x));
  return v;
}

std::string PassText(const CompiledFunction& c, std::string_view pass) {
  if (pass == "normalised") return func::Print(c.f);
  std::string s;
  std::map<int, int> views;
  if (pass == "primitives") {
    for (size_t i = 0; i < c.compares.size(); ++i) {
      const Compare& p = c.compares[i];
      s += Str("c", i, p.top ? " = top bit of x mod 2^" : " = x mod 2^", p.f, p.top ? " + " : " < ", p.beta, "\n");
    }
    for (size_t i = 0; i < c.products.size(); ++i) {
      s += Str("p", i, " =");
      for (size_t k = 0; k < c.products[i].size(); ++k) s += (k ? " & (" : " (") + Name(c.products[i][k]) + ")";
      s += "\n";
    }
    for (size_t i = 0; i < c.steps.size(); ++i) s += Str("step ", i + 1, " = ", Name(c.steps[i]), "\n");
    for (size_t i = 0; i < c.bits.size(); ++i) s += Str("bit ", i, " = ", Name(c.bits[i]), "\n");
    return s;
  }
  SUF_CHECK(pass == "views");
  for (const Compare& p : c.compares) ++views[p.top ? p.f - 1 : p.f];
  auto many = [](auto count, const char* what) { return Str(count, " ", what, count == 1 ? "" : "s"); };
  for (auto [f, count] : views) s += Str("r mod 2^", f, ": ", many(count, "comparison"), "\n");
  return s +
         Str("grid 2^", c.grid(), ", ", many(c.pieces(), "piece"), ", a number of ", many(c.index_bits(), "bit"), "\n");
}

}  // namespace suf::compiler
