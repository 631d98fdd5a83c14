#include "suf/fss/table.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "suf/fss/internal/table_kernels.hpp"

namespace suf::fss {
namespace {

constexpr int kLeastRun = 64;  // a run of equal entries from which counting bits is faster than adding

const internal::TableKernels& TablesOf(Isa v) {
  const internal::TableKernels* const kTables[] = {&portable::kTable, &avx2::kTable, &avx512::kTable};
  return *ring::Pick(kTables, v);
}

void CheckWidth(int w) { SUF_CHECK(w >= 1 && w <= kMaxTableWidth); }

const uint8_t* BytesOf(const void* t) { return static_cast<const uint8_t*>(t); }

}  // namespace

void Hot(int w, const uint16_t* pos, size_t n, void* out, Isa v) {
  CheckWidth(w);
  TablesOf(v).hot(w, pos, n, static_cast<uint8_t*>(out));
}

void Cmp(int w, const void* t, const uint16_t* a, size_t n, uint8_t* out, Isa v) {
  CheckWidth(w);
  TablesOf(v).cmp(w, BytesOf(t), a, n, out);
}

void Point(int w, const void* t, const uint16_t* a, size_t n, uint8_t* out, Isa v) {
  CheckWidth(w);
  TablesOf(v).point(w, BytesOf(t), a, n, out);
}

void Rotate(int w, const void* t, const uint16_t* lo, int m, size_t n, uint64_t* out, Isa v) {
  CheckWidth(w);
  SUF_CHECK(m >= 1);
  TablesOf(v).rotate(w, BytesOf(t), lo, m, n, out);
}

template <class T>
void Select(int w, const void* t, const uint16_t* idx, std::span<const T* const> tables, size_t n, T* const* out,
            Isa v) {
  CheckWidth(w);
  SUF_CHECK(tables.size() == 1 || tables.size() == 2);
  const size_t size = size_t{1} << w;
  std::vector<T> turned(2 * size * tables.size());
  const T* columns[2] = {};
  for (size_t c = 0; c < tables.size(); ++c) {
    T* column = turned.data() + 2 * size * c;
    for (size_t q = 0; q < 2 * size; ++q) column[q] = tables[c][(size - 1 - q) & (size - 1)];
    columns[c] = column;
  }
  const internal::TableKernels& k = TablesOf(v);
  if constexpr (sizeof(T) == 4) {
    k.select32(w, BytesOf(t), idx, columns, int(tables.size()), n, out);
  } else {
    k.select64(w, BytesOf(t), idx, columns, int(tables.size()), n, out);
  }
}

template <class T>
void SelectX(int w, const void* t, const uint16_t* idx, std::span<const T* const> tables, size_t n, T* const* out,
             Isa v) {
  CheckWidth(w);
  SUF_CHECK(tables.size() == 1 || tables.size() == 2);
  const internal::TableKernels& k = TablesOf(v);
  if constexpr (sizeof(T) == 4) {
    k.selectx32(w, BytesOf(t), idx, tables.data(), int(tables.size()), n, out);
  } else {
    k.selectx64(w, BytesOf(t), idx, tables.data(), int(tables.size()), n, out);
  }
}

void Above(int w, const void* t, const uint16_t* x, std::span<const uint16_t> b, size_t n, uint64_t* out, Isa v) {
  CheckWidth(w);
  SUF_CHECK(!b.empty());
  TablesOf(v).above(w, BytesOf(t), x, b.data(), b.size(), n, out);
}

void Dense(int w, const void* t, const uint16_t* x, const uint64_t* table, int bits, size_t n, uint64_t* out, Isa v) {
  CheckWidth(w);
  SUF_CHECK(bits >= 1 && bits <= 64);
  const size_t size = size_t{1} << w, words = (size + 63) / 64;
  std::vector<uint64_t> columns(words * size_t(bits));
  for (size_t q = 0; q < 64 * words; ++q) {
    const uint64_t entry = table[(size - 1 - q) & (size - 1)];
    for (size_t c = 0; c < size_t(bits); ++c) columns[c * words + q / 64] |= (entry >> c & 1) << (q % 64);
  }
  TablesOf(v).dense(w, BytesOf(t), x, columns.data(), bits, n, out);
}

template <class T>
void Dot(const uint64_t* bits, size_t stride_words, int first, int m, const T* table, size_t n, T* out, Isa v) {
  SUF_CHECK(first >= 0 && m >= 0);
  const internal::TableKernels& k = TablesOf(v);
  // A table that saturates begins with many equal entries.
  int run = 0;
  while (run < m && table[run] == table[0]) ++run;
  if (run < kLeastRun) run = 0;
  if constexpr (sizeof(T) == 4) {
    k.dot32(bits, stride_words, first, m, run, table, n, out);
  } else {
    const T* end = table + m;
    const bool small = std::all_of(table, end, [](T x) { return x >> 32 == 0; });
    if (small && n > 1 && std::accumulate(table, end, T(0)) >> 32 == 0) {
      const std::vector<uint32_t> narrow(table, end);
      k.dot_narrow(bits, stride_words, first, m, run, narrow.data(), n, out);
    } else {
      k.dot64(bits, stride_words, first, m, run, table, n, out);
    }
  }
}

template void Select<uint32_t>(int, const void*, const uint16_t*, std::span<const uint32_t* const>, size_t,
                               uint32_t* const*, Isa);
template void Select<uint64_t>(int, const void*, const uint16_t*, std::span<const uint64_t* const>, size_t,
                               uint64_t* const*, Isa);
template void SelectX<uint32_t>(int, const void*, const uint16_t*, std::span<const uint32_t* const>, size_t,
                                uint32_t* const*, Isa);
template void SelectX<uint64_t>(int, const void*, const uint16_t*, std::span<const uint64_t* const>, size_t,
                                uint64_t* const*, Isa);
template void Dot<uint32_t>(const uint64_t*, size_t, int, int, const uint32_t*, size_t, uint32_t*, Isa);
template void Dot<uint64_t>(const uint64_t*, size_t, int, int, const uint64_t*, size_t, uint64_t*, Isa);

}  // namespace suf::fss
