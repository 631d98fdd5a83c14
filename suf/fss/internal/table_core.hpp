// One-hot tables, once for all variants; a variant defines CmpVectors, MaskedSum and Ones. Included inside a variant's
// namespace, so it has no guard and no includes of its own.
namespace {

// Computes Cmp of the leading tables of n that fill whole vectors of word type E. Returns the number of these tables.
template <class E>
inline size_t CmpVectors(const uint8_t* t, const uint16_t* a, size_t n, unsigned low, E used, uint8_t* out);

// Computes sum[c] = sum_{j < m} bit[first + j] row[c][j]; the bits are secret.
template <class T, int C>
inline void MaskedSum(const uint8_t* bits, size_t first, size_t m, const T* const (&row)[C], T (&sum)[C]);

// Counts the set bits of a secret word.
inline uint64_t Ones(uint64_t x);
// Counts the set bits of `count` consecutive secret words.
inline uint64_t Ones(const uint64_t* x, size_t count);

// Loads table i, which is one word of type E.
template <class E>
inline E Load(const uint8_t* t, size_t i) {
  E x;
  __builtin_memcpy(&x, t + i * sizeof(E), sizeof(E));
  return x;
}
template <class E>
inline void Store(uint8_t* t, size_t i, E x) {
  __builtin_memcpy(t + i * sizeof(E), &x, sizeof(E));
}

// Calls f with a value of the word type that stores 2^w bits, w <= 6.
template <class F>
inline void WithWord(int w, F f) {
  if (w <= 3) return f(uint8_t());
  if (w == 4) return f(uint16_t());
  if (w == 5) return f(uint32_t());
  f(uint64_t());
}

inline unsigned LowBits(int w) { return (1u << w) - 1; }
// Returns the bits of a table's word that count (w < 3 uses only part of a byte).
inline uint64_t UsedBits(int w) { return w >= 6 ? ~uint64_t{0} : (uint64_t{1} << (1 << w)) - 1; }

// Returns all ones if a = b, both below 2^63.
inline uint64_t EqualMask(uint64_t a, uint64_t b) {
  uint64_t differ = a ^ b;
  asm("" : "+r"(differ));
  return uint64_t{0} - ((differ - 1) >> 63);
}

void HotAll(int w, const uint16_t* pos, size_t n, uint8_t* out) {
  const unsigned low = LowBits(w);
  if (w <= 6) {
    return WithWord(w, [&]<class E>(E) {
      for (size_t i = 0; i < n; ++i) Store<E>(out, i, E(E(1) << (pos[i] & low)));
    });
  }
  const size_t words = size_t{1} << (w - 6);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t at = pos[i] & low, one = uint64_t{1} << (at & 63);
    for (size_t q = 0; q < words; ++q) Store<uint64_t>(out, i * words + q, one & EqualMask(q, at >> 6));
  }
}

template <class E>
inline uint8_t CmpOne(E t, unsigned a) {
  E above = E(E(t >> a) >> 1);
  for (int s = 4 * int(sizeof(E)); s; s /= 2) above ^= E(above >> s);
  return uint8_t((above & 1) | (t >> a & 1) << 1);
}

void CmpAll(int w, const uint8_t* t, const uint16_t* a, size_t n, uint8_t* out) {
  const unsigned low = LowBits(w);
  if (w <= 6) {
    return WithWord(w, [&]<class E>(E) {
      const E used = E(UsedBits(w));
      for (size_t i = CmpVectors<E>(t, a, n, low, used, out); i < n; ++i) {
        out[i] = CmpOne<E>(E(Load<E>(t, i) & used), a[i] & low);
      }
    });
  }
  const size_t words = size_t{1} << (w - 6);
  for (size_t i = 0; i < n; ++i) {
    const size_t at = a[i] & low, word = i * words + at / 64;
    uint64_t all = 0;
    for (size_t q = word + 1; q < (i + 1) * words; ++q) all ^= Load<uint64_t>(t, q);
    out[i] = CmpOne<uint64_t>(Load<uint64_t>(t, word), unsigned(at % 64)) ^ (__builtin_popcountll(all) & 1);
  }
}

// Returns bit `at` of a word, both secret. It shifts, because valgrind takes the bit test that compilers prefer for a
// load.
inline uint8_t BitAt(uint64_t word, unsigned at) {
  word >>= at;
  asm("" : "+r"(word));
  return uint8_t(word & 1);
}

// Reads every word of the table, because the index may be secret.
void PointAll(int w, const uint8_t* t, const uint16_t* a, size_t n, uint8_t* out) {
  const unsigned low = LowBits(w);
  if (w <= 6) {
    return WithWord(w, [&]<class E>(E) {
      for (size_t i = 0; i < n; ++i) out[i] = BitAt(Load<E>(t, i), a[i] & low);
    });
  }
  const size_t words = size_t{1} << (w - 6);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t at = a[i] & low;
    uint64_t word = 0;
    for (size_t q = 0; q < words; ++q) word |= Load<uint64_t>(t, i * words + q) & EqualMask(q, at >> 6);
    out[i] = BitAt(word, unsigned(at & 63));
  }
}

inline uint64_t TailMask(int m) { return m % 64 ? ~uint64_t{0} >> (64 - m % 64) : ~uint64_t{0}; }

void RotateAll(int w, const uint8_t* t, const uint16_t* lo, int m, size_t n, uint64_t* out) {
  const size_t low = LowBits(w), count = size_t(m + 63) / 64;
  const uint64_t tail = TailMask(m);
  if (w <= 6) {  // a period of at most a word: all result words are the same rotation
    const uint64_t used = UsedBits(w), repeat = ~uint64_t{0} / used;
    return WithWord(w, [&]<class E>(E) {
      if (count == 1) {
        for (size_t i = 0; i < n; ++i) {
          const uint64_t x = (Load<E>(t, i) & used) * repeat, s = lo[i] & low;
          out[i] = (x >> s | x << (-s & 63)) & tail;
        }
        return;
      }
      for (size_t i = 0; i < n; ++i) {
        const uint64_t x = (Load<E>(t, i) & used) * repeat, s = lo[i] & low, y = x >> s | x << (-s & 63);
        for (size_t q = 0; q < count; ++q) out[i * count + q] = q + 1 == count ? y & tail : y;
      }
    });
  }
  const size_t words = size_t{1} << (w - 6);
  for (size_t i = 0; i < n; ++i) {
    const size_t at = lo[i] & low, s = at % 64;
    for (size_t q = 0; q < count; ++q) {
      const uint64_t x = Load<uint64_t>(t, i * words + ((at / 64 + q) & (words - 1)));
      const uint64_t y = Load<uint64_t>(t, i * words + ((at / 64 + q + 1) & (words - 1)));
      const uint64_t r = x >> s | y << 1 << (63 - s);
      out[i * count + q] = q + 1 == count ? r & tail : r;
    }
  }
}

// Returns 64 bits from bit `at` of a string that ends at bit `end` > at. It reads no word without any of them.
inline uint64_t Bits64(const uint8_t* bits, size_t at, size_t end) {
  const size_t word = at / 64, s = at % 64;
  const uint64_t next = (word + 1) * 64 < end && s ? Load<uint64_t>(bits, word + 1) : 0;
  return Load<uint64_t>(bits, word) >> s | next << 1 << (63 - s);
}

template <class T, int C>
void SelectAll(int w, const uint8_t* t, const uint16_t* idx, const T* const* columns, size_t n, T* const* out) {
  const size_t size = size_t{1} << w, bytes = ElementBytes(1 << w);
  auto element = [&](const uint8_t* bits, size_t i) {
    const size_t skip = size - 1 - (idx[i] & (size - 1));
    T sum[C];
    const T* row[C];
    for (int c = 0; c < C; ++c) row[c] = columns[c] + skip;
    MaskedSum<T, C>(bits, 0, size, row, sum);
    for (int c = 0; c < C; ++c) out[c][i] = sum[c];
  };
  if (w >= 6) {
    for (size_t i = 0; i < n; ++i) element(t + i * bytes, i);
    return;
  }
  WithWord(w, [&]<class E>(E) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t bits = Load<E>(t, i);
      element(reinterpret_cast<const uint8_t*>(&bits), i);
    }
  });
}

template <class T>
void Select(int w, const uint8_t* t, const uint16_t* idx, const T* const* columns, int count, size_t n, T* const* out) {
  count == 1 ? SelectAll<T, 1>(w, t, idx, columns, n, out) : SelectAll<T, 2>(w, t, idx, columns, n, out);
}

// Returns word q of a table of width w, without bits that do not count.
inline uint64_t TableWord(int w, const uint8_t* t, size_t i, size_t q) {
  if (w > 6) return Load<uint64_t>(t, (i << (w - 6)) + q);
  uint64_t x = 0;
  WithWord(w, [&]<class E>(E) { x = Load<E>(t, i); });
  return x & UsedBits(w);
}

// Returns the word whose bit v is bit v ^ at of x, at < 64.
inline uint64_t Exchanged(uint64_t x, unsigned at) {
  constexpr uint64_t kLow[6] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                                0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
  for (unsigned b = 0; b < 6; ++b) {
    const uint64_t y = (x >> (1 << b) & kLow[b]) | (x & kLow[b]) << (1 << b);
    x ^= (x ^ y) & (uint64_t{0} - (at >> b & 1));
  }
  return x;
}

// Exchanges the bits, not the columns: sum_j t[j] c[idx ^ j] = sum_v t[v ^ idx] c[v].
template <class T, int C>
void SelectXAll(int w, const uint8_t* t, const uint16_t* idx, const T* const* columns, size_t n, T* const* out) {
  const size_t size = size_t{1} << w, words = (size + 63) / 64;
  uint64_t bits[16];
  T sum[C];
  const T* row[C];
  for (int c = 0; c < C; ++c) row[c] = columns[c];
  for (size_t i = 0; i < n; ++i) {
    const unsigned at = idx[i] & LowBits(w);
    for (size_t q = 0; q < words; ++q) bits[q] = Exchanged(TableWord(w, t, i, q ^ (at >> 6)), at & 63);
    MaskedSum<T, C>(reinterpret_cast<const uint8_t*>(bits), 0, size, row, sum);
    for (int c = 0; c < C; ++c) out[c][i] = sum[c];
  }
  Wipe(bits, sizeof bits);
}

template <class T>
void SelectX(int w, const uint8_t* t, const uint16_t* idx, const T* const* columns, int count, size_t n,
             T* const* out) {
  count == 1 ? SelectXAll<T, 1>(w, t, idx, columns, n, out) : SelectXAll<T, 2>(w, t, idx, columns, n, out);
}

// Rows of tables of one word each, for loops that compilers vectorize; zeros after the last table.
constexpr size_t kRows = 64;
struct TableRows {
  uint64_t t[kRows] = {}, x[kRows] = {};
  TableRows(int w, const uint8_t* tables, const uint16_t* at, size_t first, size_t some) {
    for (size_t i = 0; i < some; ++i) x[i] = at[first + i] & LowBits(w);
    WithWord(w, [&]<class E>(E) {
      for (size_t i = 0; i < some; ++i) t[i] = Load<E>(tables, first + i) & UsedBits(w);
    });
  }
  ~TableRows() { Wipe(t, sizeof t); }
};

void AboveRows(int w, const uint8_t* t, const uint16_t* x, const uint16_t* b, size_t m, size_t n, uint64_t* out) {
  const uint64_t low = LowBits(w);
  const size_t count = (m + 63) / 64;
  for (size_t lo = 0; lo < n; lo += kRows) {
    const size_t some = n - lo < kRows ? n - lo : kRows;
    TableRows rows(w, t, x, lo, some);
    for (uint64_t& y : rows.t) {  // bit v: parity of the bits above v
      y ^= y >> 1;
      y ^= y >> 2;
      y ^= y >> 4;
      y ^= y >> 8;
      y ^= y >> 16;
      y ^= y >> 32;
      y >>= 1;
    }
    for (size_t k = 0; k < count; ++k) {
      uint64_t word[kRows] = {};
      for (size_t j = 64 * k, to = m < j + 64 ? m : j + 64; j < to; ++j) {
        const uint64_t place = b[j];
        for (size_t i = 0; i < kRows; ++i) word[i] |= (rows.t[i] >> ((rows.x[i] - place) & low) & 1) << (j % 64);
      }
      for (size_t i = 0; i < some; ++i) out[(lo + i) * count + k] = word[i];
    }
  }
}

void DenseRows(int w, const uint8_t* t, const uint16_t* x, const uint64_t* columns, int bits, size_t n, uint64_t* out) {
  for (size_t lo = 0; lo < n; lo += kRows) {
    const size_t some = n - lo < kRows ? n - lo : kRows;
    TableRows rows(w, t, x, lo, some);
    uint64_t all[kRows] = {};
    for (int c = 0; c < bits; ++c) {
      const uint64_t column = columns[c];
      for (size_t i = 0; i < kRows; ++i) {
        const uint64_t s = LowBits(w) - rows.x[i];
        uint64_t y = rows.t[i] & (column >> s | column << 1 << (63 - s));
        y ^= y >> 32;
        y ^= y >> 16;
        y ^= y >> 8;
        y ^= y >> 4;
        y ^= y >> 2;
        y ^= y >> 1;
        all[i] |= (y & 1) << c;
      }
    }
    __builtin_memcpy(out + lo, all, 8 * some);
  }
}

// Turns a table into its parities in one pass; every threshold is then a read at a public place.
void AboveAll(int w, const uint8_t* t, const uint16_t* x, const uint16_t* b, size_t m, size_t n, uint64_t* out) {
  if (w <= 6) return AboveRows(w, t, x, b, m, n, out);
  const size_t low = LowBits(w), words = size_t{1} << (w - 6), count = (m + 63) / 64;
  uint64_t above[16];  // bit v: parity of the bits above v
  for (size_t i = 0; i < n; ++i) {
    uint64_t beyond = 0;  // all ones if the words above hold an odd number of set bits
    for (size_t q = words; q-- > 0;) {
      uint64_t y = TableWord(w, t, i, q);
      for (int s = 1; s < 64; s *= 2) y ^= y >> s;
      above[q] = y >> 1 ^ beyond;
      beyond ^= uint64_t{0} - (y & 1);
    }
    for (size_t k = 0; k < count; ++k) {
      uint64_t word = 0;
      for (size_t j = 64 * k, to = m < j + 64 ? m : j + 64; j < to; ++j) {
        const size_t at = (size_t(x[i]) - b[j]) & low;
        word |= (above[at / 64] >> (at % 64) & 1) << (j % 64);
      }
      out[i * count + k] = word;
    }
  }
  Wipe(above, sizeof above);
}

void DenseAll(int w, const uint8_t* t, const uint16_t* x, const uint64_t* columns, int bits, size_t n, uint64_t* out) {
  if (w <= 6) return DenseRows(w, t, x, columns, bits, n, out);
  const size_t low = LowBits(w), words = size_t{1} << (w - 6);
  uint64_t table[16];
  for (size_t i = 0; i < n; ++i) {
    // Bit j of a column shifted by `skip` is that of table[(x - j) mod 2^w].
    const size_t skip = low - (x[i] & low), first = skip / 64, s = skip % 64;
    for (size_t q = 0; q < words; ++q) table[q] = TableWord(w, t, i, q);
    uint64_t all = 0;
    for (int c = 0; c < bits; ++c) {
      const uint64_t* column = columns + size_t(c) * words;
      uint64_t sum = 0;
      for (size_t q = 0; q < words; ++q) {
        const uint64_t here = column[(first + q) & (words - 1)], next = column[(first + q + 1) & (words - 1)];
        sum ^= table[q] & (here >> s | next << 1 << (63 - s));
      }
      all |= uint64_t(__builtin_parityll(sum)) << c;
    }
    out[i] = all;
  }
  Wipe(table, sizeof table);
}

// Counts the set bits in [begin, end) of a string, begin < end.
inline uint64_t OnesIn(const uint64_t* x, size_t begin, size_t end) {
  const size_t first = begin / 64, last = (end - 1) / 64;
  const uint64_t from = ~uint64_t{0} << begin % 64, to = ~uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) return Ones(x[first] & from & to);
  return Ones(x[first] & from) + Ones(x + first + 1, last - first - 1) + Ones(x[last] & to);
}

// Counts the bits of the first `run` entries, which are equal, instead of adding these entries.
template <class T, class Sum>
void DotAll(const uint64_t* bits, size_t stride, int first, int m, int run, const T* table, size_t n, Sum* out) {
  const size_t begin = size_t(first), rest = begin + size_t(run);
  const T* const row[1] = {table + run};
  for (size_t i = 0; i < n; ++i) {
    const uint64_t* const string = bits + i * stride;
    const uint64_t ones = run > 0 ? OnesIn(string, begin, rest) : 0;
    T sum[1] = {};
    if (run < m) MaskedSum<T, 1>(reinterpret_cast<const uint8_t*>(string), rest, size_t(m - run), row, sum);
    out[i] = Sum(sum[0]) + (run > 0 ? Sum(ones * table[0]) : 0);
  }
}

constexpr internal::TableKernels Kernels() {
  return {HotAll,
          CmpAll,
          PointAll,
          RotateAll,
          Select<uint32_t>,
          Select<uint64_t>,
          SelectX<uint32_t>,
          SelectX<uint64_t>,
          AboveAll,
          DenseAll,
          DotAll<uint32_t, uint32_t>,
          DotAll<uint64_t, uint64_t>,
          DotAll<uint32_t, uint64_t>};
}

}  // namespace
