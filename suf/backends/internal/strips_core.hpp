// The loops behind strips.hpp. Included inside the namespace of one variant by strips_<variant>.cpp; no include guard, no includes.

template <class A, class B>
void Move(const void* from, size_t n, void* to) {
  auto* a = static_cast<const A*>(from);
  auto* b = static_cast<B*>(to);
  for (size_t i = 0; i < n; ++i) b[i] = B(a[i]);
}
template <class B>
void Splat(uint64_t value, size_t n, void* to) {
  auto* b = static_cast<B*>(to);
  for (size_t i = 0; i < n; ++i) b[i] = B(value);
}
template <class T, int kOp>
void Binary(const void* pa, const void* pb, size_t n, void* po) {
  auto* a = static_cast<const T*>(pa);
  auto* b = static_cast<const T*>(pb);
  auto* o = static_cast<T*>(po);
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) o[i] = kOp == kPlus ? a[i] + b[i] : kOp == kMinus ? a[i] - b[i] : kOp == kTimes ? a[i] * b[i] : a[i] ^ b[i];
}
template <class T, bool kRight>
void Shift(const void* pa, int s, uint64_t mask, size_t n, void* po) {
  auto* a = static_cast<const T*>(pa);
  auto* o = static_cast<T*>(po);
  T m = T(mask);
  int bits = 8 * int(sizeof(T));
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) o[i] = kRight ? (s < bits ? T((a[i] & m) >> s) : T(0)) : (s < bits ? T(a[i] << s) : T(0));
}

// V_j = (he_j V_{j-1} with const + hl_j | (1 - 2 he_j) V_{j-1} | 1 - 2 hl_j); poly.hpp. Folded from the highest digit down: words of the two
// upper parts are added into the lower one. The constant has no word: its weight is zero on the way down until a re_j lifts it.
template <class T>
void BorrowFold(const uint32_t* h, void* const* words, int digits, size_t n, void* po) {
  T* o = static_cast<T*>(po);
  auto word = [&](size_t i) { return static_cast<T*>(words[i - 1]); };  // position i >= 1 of V; position 0 is the constant
  for (size_t i = 0; i < n; ++i) o[i] = 0;
  size_t size = 2;
  for (int j = 1; j < digits; ++j) size = 2 * size + 1;
  bool constant = false;  // does position 0 carry a weight? it lives in `zero`
  T zero[kStrip];
  for (int j = digits - 1; j > 0; --j) {
    size_t half = (size - 1) / 2;
    const T* last = word(size - 1);
    T e[kStrip], l[kStrip];
    for (size_t i = 0; i < n; ++i) e[i] = T(0) - T(h[i] >> (2 * j - 1) & 1), l[i] = T(0) - T(h[i] >> (2 * j) & 1);
    for (size_t i = 0; i < n; ++i) o[i] += last[i] - ((last[i] + last[i]) & l[i]) + (constant ? zero[i] & l[i] : T(0));
    for (size_t p = 1; p < half; ++p) {
      T* low = word(p);
      const T* up = word(half + p);
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) low[i] = up[i] + ((low[i] - up[i] - up[i]) & e[i]);
    }
    const T* up = word(half);
    for (size_t i = 0; i < n; ++i) zero[i] = up[i] + (((constant ? zero[i] : T(0)) - up[i] - up[i]) & e[i]);
    constant = true;
    size = half;
  }
  const T* first = word(1);
  for (size_t i = 0; i < n; ++i) {
    T l = T(0) - T(h[i] & 1);
    o[i] += first[i] - ((first[i] + first[i]) & l) + (constant ? zero[i] & l : T(0));
  }
}

inline void BorrowConstant(const uint32_t* h, int digits, size_t n, uint32_t* o) {
  for (size_t i = 0; i < n; ++i) {
    uint32_t c = h[i] & 1;
    for (int j = 1; j < digits; ++j) c = (h[i] >> (2 * j) & 1) + ((h[i] >> (2 * j - 1) & 1) * c);
    o[i] = c;
  }
}
template <class T>
void Digit(const void* pz, int shift, int width, size_t n, uint16_t* o) {
  auto* z = static_cast<const T*>(pz);
  T m = T((1u << width) - 1);
  for (size_t i = 0; i < n; ++i) o[i] = uint16_t(z[i] >> shift & m);
}
inline void File(const uint8_t* cmp, int j, size_t n, uint32_t* h) {
  if (j == 0)
    for (size_t i = 0; i < n; ++i) h[i] = cmp[i] & 1u;
  else
    for (size_t i = 0; i < n; ++i) h[i] |= (cmp[i] & 1u) << (2 * j) | (cmp[i] >> 1 & 1u) << (2 * j - 1);
}

const Strips kStrips = {
    {{Move<uint8_t, uint8_t>, Move<uint8_t, uint16_t>, Move<uint8_t, uint32_t>, Move<uint8_t, uint64_t>},
     {Move<uint16_t, uint8_t>, Move<uint16_t, uint16_t>, Move<uint16_t, uint32_t>, Move<uint16_t, uint64_t>},
     {Move<uint32_t, uint8_t>, Move<uint32_t, uint16_t>, Move<uint32_t, uint32_t>, Move<uint32_t, uint64_t>},
     {Move<uint64_t, uint8_t>, Move<uint64_t, uint16_t>, Move<uint64_t, uint32_t>, Move<uint64_t, uint64_t>}},
    {Splat<uint8_t>, Splat<uint16_t>, Splat<uint32_t>, Splat<uint64_t>},
    {{Binary<uint32_t, kPlus>, Binary<uint32_t, kMinus>, Binary<uint32_t, kTimes>, Binary<uint32_t, kExclusiveOr>},
     {Binary<uint64_t, kPlus>, Binary<uint64_t, kMinus>, Binary<uint64_t, kTimes>, Binary<uint64_t, kExclusiveOr>}},
    {{Shift<uint32_t, false>, Shift<uint32_t, true>}, {Shift<uint64_t, false>, Shift<uint64_t, true>}},
    {BorrowFold<uint32_t>, BorrowFold<uint64_t>},
    BorrowConstant,
    {Digit<uint32_t>, Digit<uint64_t>},
    File,
};
