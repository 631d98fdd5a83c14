// Sums, products and reads along axes, and views, of clear.
#include "suf/reference/clear_executor.hpp"

namespace suf::reference {

using namespace pfss;  // NOLINT: the whole file speaks of traces

WordVector ClearExecutor::Axes(const Node& n) const {
  const Shape& from = Arg(n, 0).shape;
  const WordVector& x = In(n, 0);
  const int64_t size = Size(n.shape);
  WordVector out(static_cast<size_t>(size));
  switch (n.op) {
    case Op::kMatmul:
      return Matmul(n);
    case Op::kRotSum:
      return RotSum(n);
    case Op::kSum: {
      int64_t inner = 1, len = from[size_t(n.attrs[0])];
      for (size_t d = size_t(n.attrs[0]) + 1; d < from.size(); ++d) inner *= from[d];
      for (int64_t i = 0; i < Size(from); ++i) out[size_t(i / (inner * len) * inner + i % inner)] += x[size_t(i)];
      return out;
    }
    case Op::kSuffix: {
      int64_t len = from.back();
      for (int64_t i = size - 1; i >= 0; --i)
        out[size_t(i)] = x[size_t(i)] + (i % len == len - 1 ? 0 : out[size_t(i) + 1]);
      return out;
    }
    case Op::kTake: {
      int64_t m = from.back();
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = x.at(size_t(i * m + int64_t(In(n, 1)[size_t(i)])));
      return out;
    }
    case Op::kTurn: {
      const int64_t m = n.shape.back();
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = In(n, 1)[size_t((i - int64_t(x[size_t(i / m)])) & (m - 1))];
      return out;
    }
    default:
      SUF_CHECK(false);
      return {};
  }
}

WordVector ClearExecutor::Matmul(const Node& n) const {
  const WordVector &x = In(n, 0), &y = In(n, 1);
  const int64_t m = n.shape[n.shape.size() - 2], cols = n.shape.back(), k = Arg(n, 0).shape.back(),
                batch = Size(n.shape) / (m * cols);
  const bool one = Arg(n, 1).shape.size() == 2, transposed = n.attrs[0];
  WordVector out(size_t(Size(n.shape)));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < m; ++r)
      for (int64_t c = 0; c < cols; ++c) {
        uint64_t sum = 0;
        for (int64_t j = 0; j < k; ++j) {
          const int64_t at = (one ? 0 : b * k * cols) + (transposed ? c * k + j : j * cols + c);
          sum += x[size_t((b * m + r) * k + j)] * y[size_t(at)];
        }
        out[size_t((b * m + r) * cols + c)] = sum;
      }
  return out;
}

WordVector ClearExecutor::RotSum(const Node& n) const {
  const WordVector &x = In(n, 0), &turn = In(n, 1);
  const Shape& from = Arg(n, 0).shape;
  const int64_t size = Size(n.shape), m = from.back(), len = from[from.size() - 2];
  const bool packed = !n.attrs.empty();
  WordVector out(static_cast<size_t>(size));
  for (int64_t r = 0, at = 0; r < size / m; ++r)
    for (int64_t many = packed ? r % n.attrs[0] + 1 : len; many > 0; --many, ++at)
      for (int64_t v = 0; v < m; ++v) {
        const int64_t place = (int64_t(turn[size_t(at)]) - v) % m;
        out[size_t(r * m + v)] += x[size_t(at * m + (place + m) % m)];
      }
  return out;
}

WordVector ClearExecutor::Views(const Node& n) const {
  const Shape& from = Arg(n, 0).shape;
  const WordVector& x = In(n, 0);
  const int64_t w = WordsOf(n.ring), words = Size(n.shape) * w;
  WordVector out(static_cast<size_t>(words));
  switch (n.op) {
    case Op::kPermute:
      return Permute(n);
    case Op::kPack:
    case Op::kUnpack:
      return Triangle(n);
    case Op::kBetween: {
      int64_t inner = w, len = from[size_t(n.attrs[0])], keep = n.attrs[2] - n.attrs[1];
      for (size_t d = size_t(n.attrs[0]) + 1; d < from.size(); ++d) inner *= from[d];
      for (int64_t o = 0; o < words / (inner * keep); ++o)
        std::copy_n(&x[size_t((o * len + n.attrs[1]) * inner)], inner * keep, &out[size_t(o * inner * keep)]);
      return out;
    }
    case Op::kConcat: {
      int64_t outer = 1, at = 0;
      for (size_t d = 0; d < size_t(n.attrs[0]); ++d) outer *= n.shape[d];
      const int64_t row = words / outer;
      for (size_t j = 0; j < n.args.size(); ++j) {
        const int64_t part = int64_t(In(n, j).size()) / outer;
        for (int64_t o = 0; o < outer; ++o) std::copy_n(&In(n, j)[size_t(o * part)], part, &out[size_t(o * row + at)]);
        at += part;
      }
      return out;
    }
    case Op::kStack:
      for (size_t j = 0; j < n.args.size(); ++j) {
        SUF_CHECK(WordsOf(Arg(n, j).ring) == w);
        std::copy(In(n, j).begin(), In(n, j).end(), out.begin() + int64_t(j) * int64_t(In(n, j).size()));
      }
      return out;
    default:
      SUF_CHECK(false);
      return {};
  }
}

WordVector ClearExecutor::Permute(const Node& n) const {
  const Shape& from = Arg(n, 0).shape;
  const int64_t size = Size(n.shape), w = WordsOf(n.ring);
  WordVector out(size_t(size * w));
  Shape stride(from.size(), 1);
  for (size_t d = from.size() - 1; d-- > 0;) stride[d] = stride[d + 1] * from[d + 1];
  for (int64_t i = 0; i < size; ++i) {
    int64_t at = 0, rest = i;
    for (size_t d = n.shape.size(); d-- > 0; rest /= n.shape[d]) at += rest % n.shape[d] * stride[size_t(n.attrs[d])];
    std::copy_n(&In(n, 0)[size_t(at * w)], w, &out[size_t(i * w)]);
  }
  return out;
}

WordVector ClearExecutor::Triangle(const Node& n) const {
  const Shape& from = Arg(n, 0).shape;
  const int64_t size = Size(n.shape), w = WordsOf(n.ring);
  WordVector out(size_t(size * w));
  const bool pack = n.op == Op::kPack;
  const int64_t m = pack ? from.back() : n.attrs[0], pairs = m * (m + 1) / 2;
  for (int64_t b = 0; b < (pack ? size : Size(from)) / pairs; ++b)
    for (int64_t i = 0, at = b * pairs; i < m; ++i)
      for (int64_t j = 0; j <= i; ++j, ++at) {
        const int64_t square = (b * m + i) * m + j;
        std::copy_n(&In(n, 0)[size_t((pack ? square : at) * w)], w, &out[size_t((pack ? at : square) * w)]);
      }
  return out;
}

}  // namespace suf::reference
