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
  const Node& a = Arg(n, 0);
  const WordVector& x = In(n, 0);
  int64_t size = Size(n.shape), w = WordsOf(n.ring), aw = WordsOf(a.ring), rows = Size(a.shape);
  WordVector out(size_t(size * w));
  auto at = [&](size_t arg, int64_t i) { return In(n, arg)[size_t(i)]; };
  switch (n.op) {
    case Op::kUnit: {
      int64_t m = n.attrs[0];
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = x[size_t(i / m)] == uint64_t(i % m);
      return out;
    }
    case Op::kHot:
      for (int64_t i = 0; i < size; ++i) Set(&out[size_t(i * w)], int64_t(x[size_t(i)]), 1);
      return out;
    case Op::kPoint:
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = Bit(&x[size_t(i * aw)], int64_t(at(1, i)));
      return out;
    case Op::kRotate:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t b = 0; b < n.attrs[0]; ++b)
          Set(&out[size_t(i * w)], b, Bit(&x[size_t(i * aw)], (int64_t(at(1, i)) + b) % a.ring.bits));
      return out;
    case Op::kSelect:
      for (int64_t c = 0; c < n.shape[0]; ++c)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < a.ring.bits; ++j)
            out[size_t(c * rows + i)] +=
                Bit(&x[size_t(i * aw)], j) * at(2, c * a.ring.bits + ((int64_t(at(1, i)) - j) & (a.ring.bits - 1)));
      return out;
    case Op::kDot:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < Arg(n, 1).shape[0]; ++j)
          out[size_t(i)] += Bit(&x[size_t(i * aw)], n.attrs[0] + j) * at(1, j);
      return out;
    case Op::kLess:
      for (int64_t i = 0; i < size; ++i)
        for (size_t j = 0; j < n.attrs.size(); ++j)
          Set(&out[size_t(i * w)], int64_t(j), x[size_t(i)] < uint64_t(n.attrs[j]));
      return out;
    case Op::kUnbits:
      for (int64_t j = 0; j < n.shape[0]; ++j)
        for (int64_t i = 0; i < rows; ++i) out[size_t(j * rows + i)] = Bit(&x[size_t(i * aw)], j);
      return out;
    case Op::kMix:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t l = 0; l < n.ring.bits; ++l) {
          uint64_t bit = 0;
          for (int64_t j = 0; j < a.ring.bits; ++j)
            bit ^= Bit(&x[size_t(i * aw)], j) & Bit(&In(n, 1)[size_t(l * aw)], j);
          Set(&out[size_t(i * w)], l, bit);
        }
      return out;
    case Op::kAbove:
      for (int64_t i = 0; i < size; ++i)
        for (size_t j = 0; j < n.attrs.size(); ++j) {
          uint64_t bit = 0;
          int64_t from = int64_t((at(1, i) - uint64_t(n.attrs[j])) & uint64_t(a.ring.bits - 1));
          for (int64_t v = from + 1; v < a.ring.bits; ++v) bit ^= Bit(&x[size_t(i * aw)], v);
          Set(&out[size_t(i * w)], int64_t(j), bit);
        }
      return out;
    case Op::kSelectX:
      for (int64_t c = 0; c < n.shape[0]; ++c)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < a.ring.bits; ++j)
            out[size_t(c * rows + i)] += Bit(&x[size_t(i * aw)], j) * at(2, c * a.ring.bits + (int64_t(at(1, i)) ^ j));
      return out;
    case Op::kDense:
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < a.ring.bits; ++j)
          out[size_t(i)] ^=
              Bit(&x[size_t(i * aw)], j) * at(2, (int64_t(at(1, i)) - j) & (a.ring.bits - 1)) & ring::Mask(n.ring.bits);
      return out;
    default:
      return Borrow(n);
  }
}

WordVector ClearExecutor::Borrow(const Node& n) const {
  const WordVector& x = In(n, 0);
  int64_t size = Size(n.shape), w = WordsOf(n.ring), rows = Size(Arg(n, 0).shape);
  WordVector out(size_t(size * w));
  auto at = [&](size_t arg, int64_t i) { return In(n, arg)[size_t(i)]; };
  switch (n.op) {
    case Op::kDigits:
      for (int64_t i = 0; i < size; ++i) {
        uint64_t z = x[size_t(i)], bits = 0;
        for (size_t j = 0; j < n.attrs.size(); ++j) {
          int d = int(n.attrs[j]), tw = WordsOf(Arg(n, j + 1).ring);
          const uint64_t* t = &In(n, j + 1)[size_t(i * tw)];
          int64_t v = int64_t(z & ring::Mask(d));
          uint64_t lt = 0;
          for (int64_t b = v + 1; b < 1 << d; ++b) lt ^= Bit(t, b);
          bits |= lt << (2 * j);
          if (j) bits |= Bit(t, v) << (2 * j - 1);
          z >>= d;
        }
        out[size_t(i)] = bits;
      }
      return out;
    case Op::kMono:
    case Op::kMonoX: {
      int j = int(n.attrs[0]);
      std::vector<uint64_t> terms = Terms(j);
      int64_t first = j ? PolySize(j - 1) : 1, count = PolySize(j) - first;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t g = 0; g < count; ++g) {
          uint64_t m = terms[size_t(first + g)], bit = (x[size_t(i)] & m) == m;
          if (n.op == Op::kMono)
            out[size_t(g * rows + i)] = bit;
          else if (g > 0 && g < count - 1)
            Set(&out[size_t(i * w)], g - 1, bit);
        }
      return out;
    }
    case Op::kBorrowA:
      for (int64_t i = 0; i < size; ++i) {
        std::vector<uint64_t> c = Coefficients(int(n.attrs[0]) - 1, x[size_t(i)]);
        size_t term = 1;
        for (size_t j = 1; j < n.args.size(); ++j)
          for (int64_t g = 0; g < GroupSize(int(j) - 1); ++g) out[size_t(i)] += c[term++] * at(j, g * size + i);
      }
      return out;
    case Op::kBorrowX:
      for (int64_t i = 0; i < size; ++i) {
        int top = int(n.attrs[0]) - 1;
        std::vector<uint64_t> c = Coefficients(top, x[size_t(i)]);
        uint64_t rho = at(1, i), sum = c[1] & rho;
        for (int j = 1; j <= top; ++j) {
          int64_t first = PolySize(j - 1), count = PolySize(j) - first;
          const uint64_t* group = &In(n, size_t(j) + 1)[size_t(i * WordsOf(Xor(GroupBits(j))))];
          sum ^= (c[size_t(first)] & rho >> (2 * j - 1)) ^ (c[size_t(first + count - 1)] & rho >> (2 * j));
          for (int64_t g = 1; g < count - 1; ++g) sum ^= c[size_t(first + g)] & Bit(group, g - 1);
        }
        out[size_t(i)] = sum & 1;
      }
      return out;
    case Op::kBorrowAt0:
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = Coefficients(int(n.attrs[0]) - 1, x[size_t(i)])[0];
      return out;
    default:
      SUF_CHECK(false);
      return {};
  }
}

}  // namespace suf::reference
