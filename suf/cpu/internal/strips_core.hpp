// The loops behind strips.hpp. Included inside the namespace of one variant by strips_<variant>.cpp, so it has no
// include guard and no includes.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wunknown-pragmas"  // GCC ivdep: clang checks for overlap instead
#endif

template <class A, class B>
void Move(const void* from, size_t n, void* to) {
  auto* a = static_cast<const A*>(from);
  auto* b = static_cast<B*>(to);
  for (size_t i = 0; i < n; ++i) b[i] = B(a[i]);
}
template <class A, class B>
void Gather(const void* from, size_t stride, size_t n, void* to) {
  auto* a = static_cast<const A*>(from);
  auto* b = static_cast<B*>(to);
  for (size_t i = 0; i < n; ++i) b[i] = B(a[i * stride]);
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
  for (size_t i = 0; i < n; ++i)
    o[i] = T(kOp == kPlus ? a[i] + b[i] : kOp == kMinus ? a[i] - b[i] : kOp == kTimes ? 1u * a[i] * b[i] : a[i] ^ b[i]);
}
template <class T>
uint64_t Total(const void* pa, size_t n) {
  auto* a = static_cast<const T*>(pa);
  T sum = 0;
  for (size_t i = 0; i < n; ++i) sum = T(sum + a[i]);
  return sum;
}
template <class T, bool kRight>
void Shift(const void* pa, int s, uint64_t mask, size_t n, void* po) {
  auto* a = static_cast<const T*>(pa);
  auto* o = static_cast<T*>(po);
  T m = T(mask);
  int bits = 8 * int(sizeof(T));
  if (kRight && s == 0) {  // bytes have no shift by lanes
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) o[i] = a[i] & m;
    return;
  }
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i)
    o[i] = kRight ? (s < bits ? T((a[i] & m) >> s) : T(0)) : (s < bits ? T(a[i] << s) : T(0));
}

// V_j = (he_j V_{j-1} with const + hl_j | (1 - 2 he_j) V_{j-1} | 1 - 2 hl_j); poly.hpp.
// Folds from the highest digit down: words of the two upper parts are added to the lower one. The constant has no word.
// Its weight is zero on the way down until a re_j lifts it.
template <class T>
void BorrowFold(const uint32_t* h, void* const* words, int digits, size_t n, void* po) {
  T* o = static_cast<T*>(po);
  auto word = [&](size_t i) {
    return static_cast<T*>(words[i - 1]);
  };  // position i >= 1 of V; position 0 is the constant
  for (size_t i = 0; i < n; ++i) o[i] = 0;
  size_t size = 2;
  for (int j = 1; j < digits; ++j) size = 2 * size + 1;
  bool constant = false;  // whether position 0 carries a weight; that is in `zero`
  T zero[kStrip];
  for (int j = digits - 1; j > 0; --j) {
    size_t half = (size - 1) / 2;
    const T* last = word(size - 1);
    T e[kStrip], l[kStrip];
    for (size_t i = 0; i < n; ++i) {
      e[i] = T(T(0) - T(h[i] >> (2 * j - 1) & 1));
      l[i] = T(T(0) - T(h[i] >> (2 * j) & 1));
    }
    for (size_t i = 0; i < n; ++i)
      o[i] = T(o[i] + last[i] - ((last[i] + last[i]) & l[i]) + (constant ? zero[i] & l[i] : T(0)));
    for (size_t p = 1; p < half; ++p) {
      T* low = word(p);
      const T* up = word(half + p);
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) low[i] = T(up[i] + ((low[i] - up[i] - up[i]) & e[i]));
    }
    const T* up = word(half);
    for (size_t i = 0; i < n; ++i) zero[i] = T(up[i] + (((constant ? zero[i] : T(0)) - up[i] - up[i]) & e[i]));
    constant = true;
    size = half;
  }
  const T* first = word(1);
  for (size_t i = 0; i < n; ++i) {
    T l = T(T(0) - T(h[i] & 1));
    o[i] = T(o[i] + first[i] - ((first[i] + first[i]) & l) + (constant ? zero[i] & l : T(0)));
  }
}

inline void BorrowConstant(const uint32_t* h, int digits, size_t n, uint32_t* o) {
  for (size_t i = 0; i < n; ++i) o[i] = h[i] & 1;
  for (int j = 1; j < digits; ++j)
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) o[i] = (h[i] >> (2 * j) & 1) + ((0 - (h[i] >> (2 * j - 1) & 1)) & o[i]);
}
// Bit strings of up to 768 bits for kLanes elements side by side: word w of element i is s[w][i]. Lengths are public
// constants, so all lanes have the same shifts.
inline constexpr size_t kLanes = 32, kWords = 12;
using LaneWords = uint64_t[kWords][kLanes];

// Appends `len` bits of x, ANDed with each element's mask, at bit `at` of s, which is zero there.
inline void Append(LaneWords& s, int at, const LaneWords& x, int len, const uint64_t* mask) {
  int shift = at % 64, first = at / 64;
  for (int w = 0; w * 64 < len; ++w) {
    for (size_t i = 0; i < kLanes; ++i) s[first + w][i] |= (x[w][i] & mask[i]) << shift;
    if (shift && first + w + 1 < int(kWords))
      for (size_t i = 0; i < kLanes; ++i) s[first + w + 1][i] |= (x[w][i] & mask[i]) >> (64 - shift);
  }
}
// Reads a word of each of m rows of a string of `stride` bytes, or less if `stride` is 1, 2 or 4. A fixed length avoids
// a call of memcpy per row.
template <class T>
inline void RowsOf(const uint8_t* p, size_t stride, size_t m, uint64_t* to) {
  for (size_t i = 0; i < m; ++i) {
    T x;
    __builtin_memcpy(&x, p + i * stride, sizeof x);
    to[i] = x;
  }
}
inline void Rows(const uint8_t* p, size_t stride, size_t m, uint64_t* to) {
  if (stride == 1) return RowsOf<uint8_t>(p, 1, m, to);
  if (stride == 2) return RowsOf<uint16_t>(p, 2, m, to);
  if (stride == 4) return RowsOf<uint32_t>(p, 4, m, to);
  RowsOf<uint64_t>(p, stride, m, to);
}
// Writes word w of m elements to their rows of `stride` bytes, the inverse of RowsOf.
template <class T>
inline void PutRowsOf(const uint64_t* from, size_t stride, size_t m, uint8_t* p) {
  for (size_t i = 0; i < m; ++i) {
    const T x = T(from[i]);
    __builtin_memcpy(p + i * stride, &x, sizeof x);
  }
}
inline void PutRows(const uint64_t* from, size_t stride, size_t m, uint8_t* p) {
  if (stride == 1) return PutRowsOf<uint8_t>(from, 1, m, p);
  if (stride == 2) return PutRowsOf<uint16_t>(from, 2, m, p);
  if (stride == 4) return PutRowsOf<uint32_t>(from, 4, m, p);
  PutRowsOf<uint64_t>(from, stride, m, p);
}
inline void AppendBit(LaneWords& s, int at, const uint64_t* bit) {
  for (size_t i = 0; i < kLanes; ++i) s[at / 64][i] |= bit[i] << (at % 64);
}
inline void ZeroFrom(LaneWords& s, int at, int end) {
  for (int w = (at + 63) / 64; w <= end / 64 && w < int(kWords); ++w)
    for (size_t i = 0; i < kLanes; ++i) s[w][i] = 0;
}

// Returns the parity of a word, by shifts that a loop over lanes vectorises.
inline uint64_t ParityOf(uint64_t s) {
  s ^= s >> 32;
  s ^= s >> 16;
  s ^= s >> 8;
  s ^= s >> 4;
  s ^= s >> 2;
  s ^= s >> 1;
  return s & 1;
}

// The coefficients without the constant are C_j = (he_j C_{j-1} | c_{j-1}, C_{j-1} | 1), with c_j = he_j c_{j-1} +
// hl_j.
// With them acc_j = he_j acc_{j-1} + <C_{j-1}, group_j> + c_{j-1} re_j + rl_j.
// The parity of a word, taken at the end, is acc.
inline void BorrowShare(const uint32_t* h, const uint32_t* rho, const uint8_t* const* groups, const size_t* stride,
                        int digits, size_t n, uint8_t* out) {
  for (size_t lo = 0; lo < n; lo += kLanes) {
    size_t m = n - lo < kLanes ? n - lo : kLanes;
    uint64_t x[kLanes] = {}, r[kLanes] = {}, acc[kLanes], c0[kLanes], all[kLanes], one[kLanes];
    for (size_t i = 0; i < m; ++i) {
      x[i] = h[lo + i];
      r[i] = rho[lo + i];
    }
    for (size_t i = 0; i < kLanes; ++i) {
      acc[i] = r[i] & 1;
      c0[i] = x[i] & 1;
      all[i] = ~uint64_t{0};
      one[i] = 1;
    }
    LaneWords c, low;
    for (size_t i = 0; i < kLanes; ++i) c[0][i] = 1;
    int size = 1;  // of C_0 = (1)
    for (int j = 1; j < digits; ++j) {
      uint64_t e[kLanes], sum[kLanes] = {};
      for (size_t i = 0; i < kLanes; ++i) e[i] = uint64_t{0} - (x[i] >> (2 * j - 1) & 1);
      int words = (size + 63) / 64;
      for (int w = 0; w < words; ++w) {
        uint64_t g[kLanes] = {};
        Rows(groups[j - 1] + lo * stride[j - 1] + 8 * size_t(w), stride[j - 1], m, g);
        for (size_t i = 0; i < kLanes; ++i) sum[i] ^= g[i] & c[w][i];
      }
      for (size_t i = 0; i < kLanes; ++i)
        acc[i] = (acc[i] & e[i]) ^ sum[i] ^ (c0[i] & r[i] >> (2 * j - 1)) ^ (r[i] >> (2 * j) & 1);
      if (j + 1 < digits) {
        for (int w = 0; w < words; ++w)
          for (size_t i = 0; i < kLanes; ++i) {
            low[w][i] = c[w][i];
            c[w][i] &= e[i];
          }
        ZeroFrom(c, size, 2 * size + 2);
        AppendBit(c, size, c0);
        Append(c, size + 1, low, size, all);
        AppendBit(c, 2 * size + 1, one);
        size = 2 * size + 2;
      }
      for (size_t i = 0; i < kLanes; ++i) c0[i] = (c0[i] & e[i] & 1) ^ (x[i] >> (2 * j) & 1);
    }
    for (size_t i = 0; i < kLanes; ++i) acc[i] = ParityOf(acc[i]);
    for (size_t i = 0; i < m; ++i) out[lo + i] = uint8_t(acc[i]);
  }
}

// The monomials without the constant are M_0 = (rl_0) and M_j = (M_{j-1} | re_j, re_j M_{j-1} | rl_j). Group j in the
// XOR world is re_j M_{j-1}.
inline void MonomialStrings(const uint32_t* rho, int j, size_t stride, size_t n, uint8_t* out) {
  for (size_t lo = 0; lo < n; lo += kLanes) {
    size_t m = n - lo < kLanes ? n - lo : kLanes;
    uint64_t r[kLanes] = {}, e[kLanes], bit[kLanes];
    for (size_t i = 0; i < m; ++i) r[i] = rho[lo + i];
    LaneWords v, low;
    for (size_t i = 0; i < kLanes; ++i) v[0][i] = r[i] & 1;
    int size = 1;
    for (int d = 1; d <= j; ++d) {
      for (size_t i = 0; i < kLanes; ++i) {
        bit[i] = r[i] >> (2 * d - 1) & 1;
        e[i] = uint64_t{0} - bit[i];
      }
      int words = (size + 63) / 64;
      if (d == j) {
        for (int w = 0; w < words; ++w)
          for (size_t i = 0; i < kLanes; ++i) v[w][i] &= e[i];
        break;
      }
      for (int w = 0; w < words; ++w)
        for (size_t i = 0; i < kLanes; ++i) low[w][i] = v[w][i];
      ZeroFrom(v, size, 2 * size + 2);
      AppendBit(v, size, bit);
      Append(v, size + 1, low, size, e);
      for (size_t i = 0; i < kLanes; ++i) bit[i] = r[i] >> (2 * d) & 1;
      AppendBit(v, 2 * size + 1, bit);
      size = 2 * size + 2;
    }
    // A row is as wide as its string, so all its words are made.
    for (size_t w = 0; 8 * w < stride; ++w) PutRows(v[w], stride, m, out + lo * stride + 8 * w);
  }
}

template <class T>
void MonomialPlanes(const uint32_t* rho, int j, size_t plane, size_t n, T* out) {
  if (j == 0) {
    for (size_t i = 0; i < n; ++i) out[i] = T(rho[i] & 1);
    return;
  }
  // V_{j-1} grows in the output's own planes; then every plane is multiplied by re_j.
  size_t size = 2;
  for (size_t i = 0; i < n; ++i) {
    out[i] = 1;
    out[plane + i] = T(rho[i] & 1);
  }
  for (int d = 1; d < j; ++d) {
    for (size_t p = 0; p < size; ++p)
      for (size_t i = 0; i < n; ++i) out[(size + p) * plane + i] = T(out[p * plane + i] & (rho[i] >> (2 * d - 1) & 1));
    size *= 2;
    for (size_t i = 0; i < n; ++i) out[size * plane + i] = T(rho[i] >> (2 * d) & 1);
    ++size;
  }
  for (size_t p = 0; p < size; ++p)
    for (size_t i = 0; i < n; ++i) out[p * plane + i] = T(out[p * plane + i] & (rho[i] >> (2 * j - 1) & 1));
  for (size_t i = 0; i < n; ++i) out[size * plane + i] = T(rho[i] >> (2 * j) & 1);
}
inline void Monomials(const uint32_t* rho, int j, int element, size_t plane, size_t n, uint8_t* out) {
  if (element == 1)
    MonomialPlanes(rho, j, plane, n, out);
  else if (element == 2)
    MonomialPlanes(rho, j, plane, n, reinterpret_cast<uint16_t*>(out));
  else if (element == 4)
    MonomialPlanes(rho, j, plane, n, reinterpret_cast<uint32_t*>(out));
  else
    MonomialPlanes(rho, j, plane, n, reinterpret_cast<uint64_t*>(out));
}

template <class T>
void Digit(const void* pz, int shift, int width, size_t n, uint16_t* o) {
  auto* z = static_cast<const T*>(pz);
  uint16_t m = uint16_t((1u << width) - 1);
  for (size_t i = 0; i < n; ++i) o[i] = uint16_t(uint16_t(z[i] >> shift) & m);
}
template <class T>
void UnitAt(uint32_t first, uint32_t x, size_t n, void* po) {
  T* o = static_cast<T*>(po);
  for (size_t i = 0; i < n; ++i) o[i] = T(first + uint32_t(i) == x);
}
template <class T>
void File(const uint8_t* cmp, int j, size_t n, void* ph) {
  T* h = static_cast<T*>(ph);
  if (j == 0) {
    for (size_t i = 0; i < n; ++i) h[i] = cmp[i] & 1;
    return;
  }
  // -2 has every bit but the lowest, and eq is never the lowest. Bytes have no shift by lanes.
  const T lt = T(1u << (2 * j)), eq = T(1u << (2 * j - 1));
  for (size_t i = 0; i < n; ++i) h[i] = T(h[i] | (T(0u - (cmp[i] & 1u)) & lt) | (T(0u - (cmp[i] & 2u)) & eq));
}

// Takes the borrow of x - b without a comparison, because x may be secret.
inline void Less(const uint64_t* x, const uint64_t* b, size_t m, size_t n, uint64_t* out) {
  const size_t count = (m + 63) / 64;
  for (size_t lo = 0; lo < n; lo += kLanes) {
    const size_t some = n - lo < kLanes ? n - lo : kLanes;
    uint64_t v[kLanes] = {};
    for (size_t i = 0; i < some; ++i) v[i] = x[lo + i];
    for (size_t w = 0; w < count; ++w) {
      uint64_t acc[kLanes] = {};
      for (size_t j = 64 * w, end = m < j + 64 ? m : j + 64; j < end; ++j) {
        const uint64_t at = b[j];
        for (size_t i = 0; i < kLanes; ++i) acc[i] |= ((~v[i] & at) | ((~v[i] | at) & (v[i] - at))) >> 63 << (j % 64);
      }
      for (size_t i = 0; i < some; ++i) out[(lo + i) * count + w] = acc[i];
    }
  }
}

// Takes 64 rows at a time, a word of each. They stay in registers and the cache while their planes are filled.
inline void BitPlanes(const uint8_t* x, size_t stride, size_t m, size_t plane, size_t n, uint8_t* out) {
  constexpr size_t kRows = 64;
  for (size_t lo = 0; lo < n; lo += kRows) {
    const size_t some = n - lo < kRows ? n - lo : kRows;
    for (size_t first = 0; first < m; first += 64) {
      uint64_t v[kRows] = {};
      Rows(x + lo * stride + first / 8, stride, some, v);
      for (size_t j = first, end = m < j + 64 ? m : j + 64; j < end; ++j) {
        uint8_t bit[kRows];
        for (size_t i = 0; i < kRows; ++i) bit[i] = uint8_t(v[i] >> (j - first) & 1);
        __builtin_memcpy(out + j * plane + lo, bit, some);
      }
    }
  }
}

inline void Parities(const uint64_t* x, size_t stride, const uint32_t* first, const uint32_t* word,
                     const uint64_t* mask, size_t m, size_t n, uint64_t* out) {
  const size_t count = (m + 63) / 64;
  for (size_t lo = 0; lo < n; lo += kLanes) {
    const size_t some = n - lo < kLanes ? n - lo : kLanes;
    for (size_t w = 0; w < count; ++w) {
      uint64_t acc[kLanes] = {};
      for (size_t j = 64 * w, end = m < j + 64 ? m : j + 64; j < end; ++j) {
        uint64_t sum[kLanes] = {};
        for (uint32_t t = first[j]; t < first[j + 1]; ++t)
          for (size_t i = 0; i < some; ++i) sum[i] ^= x[(lo + i) * stride + word[t]] & mask[t];
        for (size_t i = 0; i < kLanes; ++i) acc[i] |= ParityOf(sum[i]) << (j % 64);
      }
      for (size_t i = 0; i < some; ++i) out[(lo + i) * count + w] = acc[i];
    }
  }
}

template <class T>
void Turn(const void* table, uint64_t r, int width, void* spare, void* out) {
  const size_t size = size_t{1} << width;
  // The last stage writes `out`.
  T *to = static_cast<T*>(width % 2 ? out : spare), *other = static_cast<T*>(width % 2 ? spare : out);
  const T* from = static_cast<const T*>(table);
  for (int s = 0; s < width; ++s) {
    const size_t by = size_t{1} << s;
    uint64_t bit = uint64_t{0} - (r >> s & 1);
    asm("" : "+r"(bit));  // a mask, never a branch
    const T on = T(bit);
    for (size_t u = 0; u < by; ++u) to[u] = T(from[u] ^ ((from[u] ^ from[u + size - by]) & on));
#pragma GCC ivdep
    for (size_t u = by; u < size; ++u) to[u] = T(from[u] ^ ((from[u] ^ from[u - by]) & on));
    from = to;
    T* last = to;
    to = other;
    other = last;
  }
}

const StripLoops kLoops = {
    {{Move<uint8_t, uint8_t>, Move<uint8_t, uint16_t>, Move<uint8_t, uint32_t>, Move<uint8_t, uint64_t>},
     {Move<uint16_t, uint8_t>, Move<uint16_t, uint16_t>, Move<uint16_t, uint32_t>, Move<uint16_t, uint64_t>},
     {Move<uint32_t, uint8_t>, Move<uint32_t, uint16_t>, Move<uint32_t, uint32_t>, Move<uint32_t, uint64_t>},
     {Move<uint64_t, uint8_t>, Move<uint64_t, uint16_t>, Move<uint64_t, uint32_t>, Move<uint64_t, uint64_t>}},
    {{Move<int8_t, uint8_t>, Move<int8_t, uint16_t>, Move<int8_t, uint32_t>, Move<int8_t, uint64_t>},
     {Move<int16_t, uint8_t>, Move<int16_t, uint16_t>, Move<int16_t, uint32_t>, Move<int16_t, uint64_t>},
     {Move<int32_t, uint8_t>, Move<int32_t, uint16_t>, Move<int32_t, uint32_t>, Move<int32_t, uint64_t>},
     {Move<int64_t, uint8_t>, Move<int64_t, uint16_t>, Move<int64_t, uint32_t>, Move<int64_t, uint64_t>}},
    {{Gather<uint8_t, uint8_t>, Gather<uint8_t, uint16_t>, Gather<uint8_t, uint32_t>, Gather<uint8_t, uint64_t>},
     {Gather<uint16_t, uint8_t>, Gather<uint16_t, uint16_t>, Gather<uint16_t, uint32_t>, Gather<uint16_t, uint64_t>},
     {Gather<uint32_t, uint8_t>, Gather<uint32_t, uint16_t>, Gather<uint32_t, uint32_t>, Gather<uint32_t, uint64_t>},
     {Gather<uint64_t, uint8_t>, Gather<uint64_t, uint16_t>, Gather<uint64_t, uint32_t>, Gather<uint64_t, uint64_t>}},
    {Splat<uint8_t>, Splat<uint16_t>, Splat<uint32_t>, Splat<uint64_t>},
    {{Binary<uint8_t, kPlus>, Binary<uint8_t, kMinus>, Binary<uint8_t, kTimes>, Binary<uint8_t, kExclusiveOr>},
     {Binary<uint16_t, kPlus>, Binary<uint16_t, kMinus>, Binary<uint16_t, kTimes>, Binary<uint16_t, kExclusiveOr>},
     {Binary<uint32_t, kPlus>, Binary<uint32_t, kMinus>, Binary<uint32_t, kTimes>, Binary<uint32_t, kExclusiveOr>},
     {Binary<uint64_t, kPlus>, Binary<uint64_t, kMinus>, Binary<uint64_t, kTimes>, Binary<uint64_t, kExclusiveOr>}},
    {Total<uint8_t>, Total<uint16_t>, Total<uint32_t>, Total<uint64_t>},
    {{Shift<uint8_t, false>, Shift<uint8_t, true>},
     {Shift<uint16_t, false>, Shift<uint16_t, true>},
     {Shift<uint32_t, false>, Shift<uint32_t, true>},
     {Shift<uint64_t, false>, Shift<uint64_t, true>}},
    {BorrowFold<uint8_t>, BorrowFold<uint16_t>, BorrowFold<uint32_t>, BorrowFold<uint64_t>},
    BorrowConstant,
    BorrowShare,
    MonomialStrings,
    Monomials,
    {Digit<uint8_t>, Digit<uint16_t>, Digit<uint32_t>, Digit<uint64_t>},
    {UnitAt<uint8_t>, UnitAt<uint16_t>, UnitAt<uint32_t>, UnitAt<uint64_t>},
    Less,
    BitPlanes,
    Parities,
    {Turn<uint8_t>, Turn<uint16_t>, Turn<uint32_t>, Turn<uint64_t>},
    {File<uint8_t>, File<uint16_t>, File<uint32_t>},
};
