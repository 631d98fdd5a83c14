// Bit packing by byte permutes (VBMI) and double-width shifts (VBMI2), between a vector of elements and its packed
// bytes.
#include <immintrin.h>

#include "suf/ring/internal/pack_kernels.hpp"

namespace suf::ring::avx512 {
#include "suf/ring/internal/pack_core.hpp"

namespace {

__m512i Load(const void* p) { return _mm512_loadu_si512(p); }

template <class T>
struct Lanes;
template <>
struct Lanes<uint16_t> {
  static __m512i Left(__m512i x, __m512i s) { return _mm512_sllv_epi16(x, s); }
  static __m512i Right(__m512i x, __m512i s) { return _mm512_srlv_epi16(x, s); }
  static __m512i Right(__m512i lo, __m512i hi, __m512i s) { return _mm512_shrdv_epi16(lo, hi, s); }
  static __m512i All(uint64_t x) { return _mm512_set1_epi16(short(x)); }
};
template <>
struct Lanes<uint32_t> {
  static __m512i Left(__m512i x, __m512i s) { return _mm512_sllv_epi32(x, s); }
  static __m512i Right(__m512i x, __m512i s) { return _mm512_srlv_epi32(x, s); }
  static __m512i Right(__m512i lo, __m512i hi, __m512i s) { return _mm512_shrdv_epi32(lo, hi, s); }
  static __m512i All(uint64_t x) { return _mm512_set1_epi32(int(x)); }
};
template <>
struct Lanes<uint64_t> {
  static __m512i Left(__m512i x, __m512i s) { return _mm512_sllv_epi64(x, s); }
  static __m512i Right(__m512i x, __m512i s) { return _mm512_srlv_epi64(x, s); }
  static __m512i Right(__m512i lo, __m512i hi, __m512i s) { return _mm512_shrdv_epi64(lo, hi, s); }
  static __m512i All(uint64_t x) { return _mm512_set1_epi64(int64_t(x)); }
};

// Permutation tables for one k. A vector of G = 64 / S elements, S = sizeof(T), is G k / 8 packed bytes.
template <class T>
struct Plan {
  alignas(64) uint8_t lo[64], hi[64];         // Unpack: bytes 0..S-1 and S.. of the string that starts with the element
  alignas(64) uint8_t first[64], second[64];  // Pack: byte of the element that begins a byte, and of the next element
  alignas(64) T shift[64 / sizeof(T)];
  uint64_t has_second;
};

template <class T>
struct Plans {
  Plan<T> of[8 * sizeof(T)];
};

template <class T>
constexpr Plans<T> MakePlans() {
  constexpr int S = sizeof(T), G = 64 / S;
  Plans<T> plans{};
  for (int k = 1; k < 8 * S; ++k) {
    Plan<T>& p = plans.of[k];
    for (int e = 0; e < G; ++e) {
      p.shift[e] = T(e * k % 8);
      for (int j = 0; j < S; ++j) {
        p.lo[e * S + j] = uint8_t((e * k / 8 + j) & 63);
        p.hi[e * S + j] = uint8_t((e * k / 8 + S + j) & 63);
      }
    }
    for (int b = 0; k >= 8 && b < G * k / 8; ++b) {  // a byte has bits of at most two elements
      const int e = 8 * b / k, j = b - e * k / 8;
      p.first[b] = uint8_t(j < S ? e * S + j : 64 + e * S);
      if (e + 1 < G && (e + 1) * k < 8 * b + 8) {
        p.second[b] = uint8_t((e + 1) * S);
        p.has_second |= uint64_t{1} << b;
      }
    }
  }
  return plans;
}

template <class T>
constexpr Plans<T> kPlans = MakePlans<T>();

// Returns the mask of the first `bytes` <= 64 bytes.
__mmask64 LowBytes(size_t bytes) { return bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1; }

template <class T>
void PackVectors(const T* x, size_t n, int k, uint8_t* out) {
  constexpr size_t S = sizeof(T), G = 64 / S;
  using L = Lanes<T>;
  const Plan<T>& p = kPlans<T>.of[k];
  const __m512i keep = L::All(~uint64_t{0} >> (64 - k)), first = Load(p.first), second = Load(p.second);
  const __m512i left = Load(p.shift), right = _mm512_sub_epi8(L::All(8 * S), left);
  auto squeeze = [&](__m512i v) {
    v = _mm512_and_si512(v, keep);
    const __m512i low = L::Left(v, left), over = L::Right(v, right);
    return _mm512_or_si512(_mm512_permutex2var_epi8(low, first, over),
                           _mm512_maskz_permutexvar_epi8(p.has_second, second, low));
  };
  const size_t step = G * size_t(k) / 8;
  size_t left_bytes = n / 8 * size_t(k) + (n % 8 * size_t(k) + 7) / 8;
  for (; n >= G && left_bytes >= 64; n -= G, x += G, out += step, left_bytes -= step) {
    _mm512_storeu_si512(out, squeeze(Load(x)));
  }
  for (; n; x += G, out += step, left_bytes -= step) {
    const size_t now = n < G ? n : G;
    const __m512i v = squeeze(_mm512_maskz_loadu_epi8(LowBytes(now * S), x));
    _mm512_mask_storeu_epi8(out, LowBytes(now < G ? left_bytes : step), v);
    n -= now;
  }
}

template <class T>
void UnpackVectors(const uint8_t* in, size_t n, int k, T* x) {
  constexpr size_t S = sizeof(T), G = 64 / S;
  using L = Lanes<T>;
  const Plan<T>& p = kPlans<T>.of[k];
  const __m512i keep = L::All(~uint64_t{0} >> (64 - k)), lo = Load(p.lo), hi = Load(p.hi), shift = Load(p.shift);
  auto spread = [&](__m512i v) {
    v = L::Right(_mm512_permutexvar_epi8(lo, v), _mm512_permutexvar_epi8(hi, v), shift);
    return _mm512_and_si512(v, keep);
  };
  const size_t step = G * size_t(k) / 8;
  size_t left_bytes = n / 8 * size_t(k) + (n % 8 * size_t(k) + 7) / 8;
  for (; n >= G && left_bytes >= 64; n -= G, x += G, in += step, left_bytes -= step) {
    _mm512_storeu_si512(x, spread(Load(in)));
  }
  for (; n; x += G, in += step, left_bytes -= step) {
    const size_t now = n < G ? n : G;
    const __m512i v = spread(_mm512_maskz_loadu_epi8(LowBytes(left_bytes), in));
    _mm512_mask_storeu_epi8(x, LowBytes(now * S), v);
    n -= now;
  }
}

// Joins neighbours, first two, then four and eight, into the low k bytes of each quadword, and moves these together.
void PackBytes(const uint8_t* x, size_t n, int k, uint8_t* out) {
  alignas(64) uint8_t where[64] = {};
  for (int i = 0; i < 8 * k; ++i) where[i] = uint8_t(i / k * 8 + i % k);
  const __m512i w = Load(where), keep = _mm512_set1_epi8(char((1 << k) - 1));
  const __m128i one = _mm_cvtsi32_si128(8 - k), two = _mm_cvtsi32_si128(16 - 2 * k),
                four = _mm_cvtsi32_si128(32 - 4 * k);
  const __m512i low1 = _mm512_set1_epi16(short((1 << k) - 1)), low2 = _mm512_set1_epi32((1 << 2 * k) - 1),
                low4 = _mm512_set1_epi64((int64_t{1} << 4 * k) - 1);
  auto join = [](__m512i low, __m512i v, __m512i moved) { return _mm512_ternarylogic_epi64(low, v, moved, 0xca); };
  auto squeeze = [&](__m512i v) {
    v = _mm512_and_si512(v, keep);
    v = join(low1, v, _mm512_srl_epi16(v, one));
    v = join(low2, v, _mm512_srl_epi32(v, two));
    return _mm512_permutexvar_epi8(w, join(low4, v, _mm512_srl_epi64(v, four)));
  };
  const size_t step = size_t(8 * k);
  for (; n / 8 * size_t(k) >= 64; n -= 64, x += 64, out += step) _mm512_storeu_si512(out, squeeze(Load(x)));
  for (size_t now; n; n -= now, x += 64, out += step) {
    now = n < 64 ? n : 64;
    const __m512i v = squeeze(_mm512_maskz_loadu_epi8(LowBytes(now), x));
    _mm512_mask_storeu_epi8(out, LowBytes((now * size_t(k) + 7) / 8), v);
  }
}

// Cuts 8 elements out of the k bytes of each quadword, by eight unaligned byte reads (vpmultishiftqb).
void UnpackBytes(const uint8_t* in, size_t n, int k, uint8_t* x) {
  alignas(64) uint8_t where[64], shift[64];
  for (int i = 0; i < 64; ++i) {
    where[i] = uint8_t((i / 8 * k + i % 8) & 63);
    shift[i] = uint8_t(i % 8 * k);
  }
  const __m512i w = Load(where), s = Load(shift), keep = _mm512_set1_epi8(char((1 << k) - 1));
  size_t left_bytes = n / 8 * size_t(k) + (n % 8 * size_t(k) + 7) / 8;
  while (n) {
    const size_t now = n < 64 ? n : 64;
    __m512i v = left_bytes >= 64 ? Load(in) : _mm512_maskz_loadu_epi8(LowBytes(left_bytes), in);
    v = _mm512_and_si512(_mm512_multishift_epi64_epi8(s, _mm512_permutexvar_epi8(w, v)), keep);
    if (now == 64) {
      _mm512_storeu_si512(x, v);
    } else {
      _mm512_mask_storeu_epi8(x, LowBytes(now), v);
    }
    n -= now;
    x += 64;
    in += 8 * k;
    left_bytes -= now == 64 ? size_t(8 * k) : left_bytes;
  }
}

}  // namespace

template <class T>
void Pack(const T* x, size_t n, int k, uint8_t* out) {
  if constexpr (sizeof(T) == 1) {
    PackBytes(x, n, k, out);
  } else if (k >= 8) {
    PackVectors(x, n, k, out);
  } else {
    uint8_t narrow[512];  // a multiple of 8 elements ends at a byte's end
    for (size_t i = 0; i < n; i += sizeof narrow) {
      const size_t now = n - i < sizeof narrow ? n - i : sizeof narrow;
      for (size_t j = 0; j < now; ++j) narrow[j] = uint8_t(x[i + j]);
      PackBytes(narrow, now, k, out + i / 8 * size_t(k));
    }
  }
}
template <class T>
void Unpack(const uint8_t* in, size_t n, int k, T* x) {
  if constexpr (sizeof(T) == 1) {
    UnpackBytes(in, n, k, x);
  } else {
    UnpackVectors(in, n, k, x);
  }
}
SUF_PACK_INSTANTIATE(uint8_t)
SUF_PACK_INSTANTIATE(uint16_t)
SUF_PACK_INSTANTIATE(uint32_t)
SUF_PACK_INSTANTIATE(uint64_t)

}  // namespace suf::ring::avx512
