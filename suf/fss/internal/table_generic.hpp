// The functions that table_core.hpp needs of a variant, in the compilers' own vectors: no vector comparison, sums by
// lane masks. Included inside a variant's namespace, so it has no guard and no includes of its own.
namespace {

template <class E>
inline size_t CmpVectors(const uint8_t*, const uint16_t*, size_t, unsigned, E, uint8_t*) {
  return 0;
}

inline uint64_t Ones(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return x * 0x0101010101010101 >> 56;
}
inline uint64_t Ones(const uint64_t* x, size_t count) {
  uint64_t n = 0;
  for (size_t q = 0; q < count; ++q) n += Ones(x[q]);
  return n;
}

template <class T, int C>
inline void MaskedSum(const uint8_t* bits, size_t first, size_t m, const T* const (&row)[C], T (&sum)[C]) {
  constexpr size_t L = 32 / sizeof(T);
  typedef T V __attribute__((vector_size(32)));
  V lane, total[C] = {};
  for (size_t l = 0; l < L; ++l) lane[l] = T(1) << l;
  for (int c = 0; c < C; ++c) sum[c] = 0;
  for (size_t j = 0; j < m; j += 64) {
    const size_t now = m - j < 64 ? m - j : 64;
    uint64_t chunk = Bits64(bits, first + j, first + m);
    size_t i = 0;
    for (; i + L <= now; i += L, chunk >>= L) {
      const V on = (V)(((T(chunk) - V{}) & lane) == lane);
      for (int c = 0; c < C; ++c) {
        V x;
        __builtin_memcpy(&x, row[c] + j + i, sizeof x);
        total[c] += on & x;
      }
    }
    for (; i < now; ++i, chunk >>= 1) {
      uint64_t on = uint64_t{0} - (chunk & 1);
      asm("" : "+r"(on));  // a mask, never a branch
      for (int c = 0; c < C; ++c) sum[c] += row[c][j + i] & T(on);
    }
  }
  for (int c = 0; c < C; ++c) {
    for (size_t l = 0; l < L; ++l) sum[c] += total[c][l];
  }
}

}  // namespace
