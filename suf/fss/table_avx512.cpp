// One-hot tables with AVX-512: comparisons by byte shuffles and popcounts, sums by masked adds.
#include <immintrin.h>

#include "suf/base/bytes.hpp"
#include "suf/fss/internal/table_kernels.hpp"

namespace suf::fss::avx512 {
#include "suf/fss/internal/table_core.hpp"

namespace {

// Compares whole vectors of tables. The two bits of an answer are made in the lane of its table, then narrowed to
// bytes.
template <class E>
inline size_t CmpVectors(const uint8_t* t, const uint16_t* a, size_t n, unsigned low, E used, uint8_t* out) {
  constexpr size_t L = 64 / sizeof(E);
  size_t i = 0;
  for (; i + L <= n; i += L) {
    const __m512i x = _mm512_loadu_si512(t + i * sizeof(E));
    if constexpr (sizeof(E) == 1) {
      const __m256i a0 = _mm512_cvtepi16_epi8(_mm512_loadu_si512(a + i)),
                    a1 = _mm512_cvtepi16_epi8(_mm512_loadu_si512(a + i + 32));
      const __m512i at =
          _mm512_and_si512(_mm512_inserti64x4(_mm512_castsi256_si512(a0), a1, 1), _mm512_set1_epi8(char(low)));
      const __m512i here = _mm512_shuffle_epi8(_mm512_set1_epi64(int64_t(0x8040201008040201)), at);
      const __m512i above = _mm512_shuffle_epi8(_mm512_set1_epi64(0x0080c0e0f0f8fcfe), at);
      const __m512i y = _mm512_and_si512(x, _mm512_set1_epi8(char(used)));
      const __m512i lt = _mm512_and_si512(_mm512_popcnt_epi8(_mm512_and_si512(y, above)), _mm512_set1_epi8(1));
      const __m512i eq = _mm512_maskz_set1_epi8(_mm512_test_epi8_mask(y, here), 2);
      _mm512_storeu_si512(out + i, _mm512_or_si512(lt, eq));
    } else if constexpr (sizeof(E) == 2) {
      const __m512i one = _mm512_set1_epi16(1),
                    at = _mm512_and_si512(_mm512_loadu_si512(a + i), _mm512_set1_epi16(short(low)));
      const __m512i y = _mm512_srlv_epi16(x, at);
      const __m512i lt = _mm512_and_si512(_mm512_popcnt_epi16(_mm512_srli_epi16(y, 1)), one);
      const __m512i r = _mm512_or_si512(lt, _mm512_slli_epi16(_mm512_and_si512(y, one), 1));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm512_cvtepi16_epi8(r));
    } else if constexpr (sizeof(E) == 4) {
      const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i)));
      const __m512i one = _mm512_set1_epi32(1), at = _mm512_and_si512(wide, _mm512_set1_epi32(int(low)));
      const __m512i y = _mm512_srlv_epi32(x, at);
      const __m512i lt = _mm512_and_si512(_mm512_popcnt_epi32(_mm512_srli_epi32(y, 1)), one);
      const __m512i r = _mm512_or_si512(lt, _mm512_slli_epi32(_mm512_and_si512(y, one), 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_cvtepi32_epi8(r));
    } else {
      const __m512i wide = _mm512_cvtepu16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i)));
      const __m512i one = _mm512_set1_epi64(1), at = _mm512_and_si512(wide, _mm512_set1_epi64(low));
      const __m512i y = _mm512_srlv_epi64(x, at);
      const __m512i lt = _mm512_and_si512(_mm512_popcnt_epi64(_mm512_srli_epi64(y, 1)), one);
      const __m512i r = _mm512_or_si512(lt, _mm512_slli_epi64(_mm512_and_si512(y, one), 1));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), _mm512_cvtepi64_epi8(r));
    }
  }
  return i;
}

inline uint64_t Ones(uint64_t x) { return uint64_t(_mm_popcnt_u64(x)); }
inline uint64_t Ones(const uint64_t* x, size_t count) {
  __m512i n = _mm512_setzero_si512();
  size_t q = 0;
  for (; q + 8 <= count; q += 8) n = _mm512_add_epi64(n, _mm512_popcnt_epi64(_mm512_loadu_si512(x + q)));
  const __mmask8 rest = __mmask8((1u << (count - q)) - 1);
  n = _mm512_add_epi64(n, _mm512_popcnt_epi64(_mm512_maskz_loadu_epi64(rest, x + q)));
  return uint64_t(_mm512_reduce_add_epi64(n));
}

template <class T>
struct Lanes;
template <>
struct Lanes<uint32_t> {
  static __m512i AddWhere(uint64_t on, __m512i s, const uint32_t* x) {
    return _mm512_mask_add_epi32(s, __mmask16(on), s, _mm512_loadu_si512(x));
  }
  static __m512i AddSome(uint64_t on, uint64_t have, __m512i s, const uint32_t* x) {
    return _mm512_mask_add_epi32(s, __mmask16(on & have), s, _mm512_maskz_loadu_epi32(__mmask16(have), x));
  }
  static __m512i Add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
  static uint32_t Sum(__m512i a) { return uint32_t(_mm512_reduce_add_epi32(a)); }
};
template <>
struct Lanes<uint64_t> {
  static __m512i AddWhere(uint64_t on, __m512i s, const uint64_t* x) {
    return _mm512_mask_add_epi64(s, __mmask8(on), s, _mm512_loadu_si512(x));
  }
  static __m512i AddSome(uint64_t on, uint64_t have, __m512i s, const uint64_t* x) {
    return _mm512_mask_add_epi64(s, __mmask8(on & have), s, _mm512_maskz_loadu_epi64(__mmask8(have), x));
  }
  static __m512i Add(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
  static uint64_t Sum(__m512i a) { return uint64_t(_mm512_reduce_add_epi64(a)); }
};

// Computes sum[c] = sum_{j < m} bit[first + j] row[c][j]. The share bits are lane masks; the loads depend on m alone.
template <class T, int C>
inline void MaskedSum(const uint8_t* bits, size_t first, size_t m, const T* const (&row)[C], T (&sum)[C]) {
  constexpr size_t L = 64 / sizeof(T);
  __m512i even[C], odd[C];
  for (int c = 0; c < C; ++c) even[c] = odd[c] = _mm512_setzero_si512();
  size_t j = 0;
  for (; j + 64 <= m; j += 64) {
    const uint64_t chunk = Bits64(bits, first + j, first + m);
#pragma GCC unroll 8
    for (size_t v = 0; v < 64; v += 2 * L) {
#pragma GCC unroll 2
      for (int c = 0; c < C; ++c) {
        even[c] = Lanes<T>::AddWhere(chunk >> v, even[c], row[c] + j + v);
        odd[c] = Lanes<T>::AddWhere(chunk >> (v + L), odd[c], row[c] + j + v + L);
      }
    }
  }
  if (j < m) {
    uint64_t chunk = Bits64(bits, first + j, first + m);
    for (; j < m; j += L, chunk >>= L) {
      const uint64_t have = m - j < L ? (uint64_t{1} << (m - j)) - 1 : (uint64_t{1} << L) - 1;
      for (int c = 0; c < C; ++c) even[c] = Lanes<T>::AddSome(chunk, have, even[c], row[c] + j);
    }
  }
  for (int c = 0; c < C; ++c) sum[c] = Lanes<T>::Sum(Lanes<T>::Add(even[c], odd[c]));
}

}  // namespace

const internal::TableKernels kTable = Kernels();

}  // namespace suf::fss::avx512
