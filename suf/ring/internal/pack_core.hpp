// Packing through a 64-bit buffer. With BMI2, one pext squeezes a word of 8 / sizeof(T) elements, and one pdep spreads
// it. Included inside a variant's namespace: no include guard, no includes.
namespace {

template <class T>
struct Squeeze {  // turns kElems elements of k bits into the low kElems * k bits of a word, and back
#ifdef __BMI2__
  static constexpr int kElems = 8 / sizeof(T);
#else
  static constexpr int kElems = 1;
#endif
  explicit Squeeze(int k) {
    for (int i = 0; i < kElems; ++i) mask |= (~uint64_t{0} >> (64 - k)) << (8 * int(sizeof(T)) * i);
  }
  uint64_t In(const T* x) const {
#ifdef __BMI2__
    uint64_t w;
    __builtin_memcpy(&w, x, 8);
    return _pext_u64(w, mask);
#else
    return *x & mask;
#endif
  }
  void Out(uint64_t w, T* x) const {
#ifdef __BMI2__
    w = _pdep_u64(w, mask);
    __builtin_memcpy(x, &w, 8);
#else
    *x = T(w & mask);
#endif
  }
  uint64_t mask = 0;
};

template <class T>
void PackWords(const T* x, size_t n, int k, uint8_t* out) {
  const Squeeze<T> squeeze(k);
  const int bits = k * squeeze.kElems;
  uint64_t buffer = 0;
  int fill = 0;
  auto put = [&](uint64_t w, int count) {
    buffer |= w << fill;
    const int now = fill + count;
    if (now >= 64) {
      __builtin_memcpy(out, &buffer, 8);
      out += 8;
      buffer = w >> 1 >> (63 - fill);
    }
    fill = now & 63;
  };
  size_t i = 0;
  for (; i + squeeze.kElems <= n; i += squeeze.kElems) put(squeeze.In(x + i), bits);
  for (; i < n; ++i) put(x[i] & (~uint64_t{0} >> (64 - k)), k);
  __builtin_memcpy(out, &buffer, size_t(fill + 7) / 8);
}

template <class T>
void UnpackWords(const uint8_t* in, size_t n, int k, T* x) {
  const Squeeze<T> squeeze(k);
  const size_t bits = size_t(k) * squeeze.kElems, bytes = n / 8 * size_t(k) + (n % 8 * size_t(k) + 7) / 8;
  size_t i = 0;
  for (size_t at = 0; i + squeeze.kElems <= n && at / 8 + 9 <= bytes; i += squeeze.kElems, at += bits) {
    uint64_t w;
    __builtin_memcpy(&w, in + at / 8, 8);
    w = w >> (at % 8) | uint64_t{in[at / 8 + 8]} << 1 << (63 - at % 8);
    squeeze.Out(w, x + i);
  }
  for (; i < n; ++i) {  // the last few bytes, one at a time
    const size_t at = i * size_t(k), last = (at + size_t(k) - 1) / 8;
    uint64_t w = 0;
    for (size_t b = at / 8; b <= last; ++b) {
      const int shift = int(8 * b) - int(at);
      w |= shift < 0 ? uint64_t{in[b]} >> -shift : uint64_t{in[b]} << shift;
    }
    x[i] = T(w & (~uint64_t{0} >> (64 - k)));
  }
}

}  // namespace
