// Tables and borrows of clear.
#include "suf/pfss/poly.hpp"
#include "suf/reference/clear_executor.hpp"
#include "suf/ring/modular.hpp"

namespace suf::reference {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

// Returns the borrow polynomial's monomials in the order of V_j (poly.hpp). A monomial is a set of bits of rho: bit 2j
// is lt_j, bit 2j-1 is eq_j.
std::vector<uint64_t> Terms(int j) {
  if (j == 0) return {0, 1};
  std::vector<uint64_t> v = Terms(j - 1), out = v;
  for (uint64_t m : v) out.push_back(m | uint64_t{1} << (2 * j - 1));
  out.push_back(uint64_t{1} << (2 * j));
  return out;
}

// Returns the coefficients of Terms(j) for opened bits h: -1, 0 or 1, as words modulo 2^64. Their low bits are those of
// the XOR world.
std::vector<uint64_t> Coefficients(int j, uint64_t h) {
  uint64_t l = h >> (2 * j) & 1;
  if (j == 0) return {l, 1 - 2 * l};
  uint64_t e = h >> (2 * j - 1) & 1;
  std::vector<uint64_t> v = Coefficients(j - 1, h), out;
  for (uint64_t c : v) out.push_back(e * c);
  out[0] += l;
  for (uint64_t c : v) out.push_back((1 - 2 * e) * c);
  out.push_back(1 - 2 * l);
  return out;
}

}  // namespace

WordVector ClearExecutor::Table(const Node& n) const {
  const int64_t size = Size(n.shape), m = Arg(n, 0).ring.bits, rows = Size(Arg(n, 0).shape), w = WordsOf(n.ring);
  WordVector out(size_t(size * w));
  const auto operand = [&](size_t k) { return k < n.args.size() ? In(n, k).data() : nullptr; };
  const uint64_t *const x = operand(0), *const places = operand(1), *const values = operand(2);
  const auto table = [&, words = WordsOf(Arg(n, 0).ring)](int64_t i, int64_t j) { return Bit(x + i * words, j); };
  const auto at = [&](int64_t i) { return int64_t(places[i]); };
  const auto to = [&](int64_t i) { return &out[size_t(i * w)]; };
  switch (n.op) {
    case Op::kUnit:
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = x[i / n.attrs[0]] == uint64_t(i % n.attrs[0]);
      return out;
    case Op::kHot:
      for (int64_t i = 0; i < size; ++i) Set(to(i), int64_t(x[i]), 1);
      return out;
    case Op::kPoint:
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = table(i, at(i));
      return out;
    case Op::kRotate:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t b = 0; b < n.attrs[0]; ++b) Set(to(i), b, table(i, (at(i) + b) % m));
      return out;
    case Op::kSelect:
    case Op::kSelectX:
      for (int64_t c = 0; c < n.shape[0]; ++c)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < m; ++j) {
            const int64_t place = n.op == Op::kSelect ? (at(i) - j) & (m - 1) : at(i) ^ j;
            out[size_t(c * rows + i)] += table(i, j) * values[c * m + place];
          }
      return out;
    case Op::kAbove:
      for (int64_t i = 0; i < size; ++i)
        for (size_t j = 0; j < n.attrs.size(); ++j) {
          uint64_t bit = 0;
          for (int64_t v = ((at(i) - n.attrs[j]) & (m - 1)) + 1; v < m; ++v) bit ^= table(i, v);
          Set(to(i), int64_t(j), bit);
        }
      return out;
    case Op::kDense:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < m; ++j)
          out[size_t(i)] ^= table(i, j) * values[(at(i) - j) & (m - 1)] & ring::Mask(n.ring.bits);
      return out;
    default:
      return BitString(n);
  }
}

WordVector ClearExecutor::BitString(const Node& n) const {
  const int64_t size = Size(n.shape), rows = Size(Arg(n, 0).shape), w = WordsOf(n.ring);
  WordVector out(size_t(size * w));
  const int64_t words = WordsOf(Arg(n, 0).ring);
  const uint64_t *const x = In(n, 0).data(), *const table = n.args.size() > 1 ? In(n, 1).data() : nullptr;
  const auto string = [&](int64_t i, int64_t j) { return Bit(x + i * words, j); };
  switch (n.op) {
    case Op::kDot:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < Arg(n, 1).shape[0]; ++j) out[size_t(i)] += string(i, n.attrs[0] + j) * table[j];
      return out;
    case Op::kLess:
      for (int64_t i = 0; i < size; ++i)
        for (size_t j = 0; j < n.attrs.size(); ++j) Set(&out[size_t(i * w)], int64_t(j), x[i] < uint64_t(n.attrs[j]));
      return out;
    case Op::kUnbits:
      for (int64_t j = 0; j < n.shape[0]; ++j)
        for (int64_t i = 0; i < rows; ++i) out[size_t(j * rows + i)] = string(i, j);
      return out;
    case Op::kMix:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t l = 0; l < n.ring.bits; ++l) {
          uint64_t bit = 0;
          for (int64_t j = 0; j < Arg(n, 0).ring.bits; ++j) bit ^= string(i, j) & Bit(table + l * words, j);
          Set(&out[size_t(i * w)], l, bit);
        }
      return out;
    default:
      return Borrow(n);
  }
}

WordVector ClearExecutor::Digits(const Node& n) const {
  WordVector out(size_t(Size(n.shape)));
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t z = In(n, 0)[i];
    for (size_t j = 0; j < n.attrs.size(); ++j) {
      const int d = int(n.attrs[j]);
      const uint64_t* t = Element(n, j + 1, int64_t(i));
      const int64_t v = int64_t(z & ring::Mask(d));
      uint64_t lt = 0;
      for (int64_t b = v + 1; b < 1 << d; ++b) lt ^= Bit(t, b);
      out[i] |= lt << (2 * j);
      if (j) out[i] |= Bit(t, v) << (2 * j - 1);
      z >>= d;
    }
  }
  return out;
}

WordVector ClearExecutor::Monomials(const Node& n) const {
  const int64_t w = WordsOf(n.ring), rows = Size(Arg(n, 0).shape);
  WordVector out(size_t(Size(n.shape) * w));
  const int j = int(n.attrs[0]);
  const std::vector<uint64_t> terms = Terms(j);
  const int64_t first = j ? PolySize(j - 1) : 1, count = PolySize(j) - first;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t g = 0; g < count; ++g) {
      const uint64_t m = terms[size_t(first + g)], bit = (In(n, 0)[size_t(i)] & m) == m;
      if (n.op == Op::kMono)
        out[size_t(g * rows + i)] = bit;
      else if (g > 0 && g < count - 1)
        Set(&out[size_t(i * w)], g - 1, bit);
    }
  return out;
}

WordVector ClearExecutor::Borrow(const Node& n) const {
  const WordVector& h = In(n, 0);
  const int64_t size = Size(n.shape);
  const int top = int(n.attrs[0]) - 1;
  WordVector out(static_cast<size_t>(size));
  switch (n.op) {
    case Op::kDigits:
      return Digits(n);
    case Op::kMono:
    case Op::kMonoX:
      return Monomials(n);
    case Op::kBorrowA:
      for (int64_t i = 0; i < size; ++i) {
        const std::vector<uint64_t> c = Coefficients(top, h[size_t(i)]);
        size_t term = 1;
        for (size_t j = 1; j < n.args.size(); ++j)
          for (int64_t g = 0; g < GroupSize(int(j) - 1); ++g)
            out[size_t(i)] += c[term++] * In(n, j)[size_t(g * size + i)];
      }
      return out;
    case Op::kBorrowX:
      for (int64_t i = 0; i < size; ++i) {
        const std::vector<uint64_t> c = Coefficients(top, h[size_t(i)]);
        const uint64_t rho = In(n, 1)[size_t(i)];
        uint64_t sum = c[1] & rho;
        for (int j = 1; j <= top; ++j) {
          const int64_t first = PolySize(j - 1), count = PolySize(j) - first;
          const uint64_t* group = Element(n, size_t(j) + 1, i);
          sum ^= (c[size_t(first)] & rho >> (2 * j - 1)) ^ (c[size_t(first + count - 1)] & rho >> (2 * j));
          for (int64_t g = 1; g < count - 1; ++g) sum ^= c[size_t(first + g)] & Bit(group, g - 1);
        }
        out[size_t(i)] = sum & 1;
      }
      return out;
    case Op::kBorrowAt0:
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = Coefficients(top, h[size_t(i)])[0];
      return out;
    default:
      SUF_CHECK(false);
      return {};
  }
}

}  // namespace suf::reference
