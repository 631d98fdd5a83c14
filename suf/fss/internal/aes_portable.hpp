// AES-128 (FIPS 197) in bit planes, 8 blocks at a time, without tables. Plane b holds bit b of the 16 state bytes of
// all blocks. Byte p of a plane holds that bit of state byte p, one bit per block. Included inside a variant's
// namespace, so it has no guard and no includes of its own.
namespace {

typedef uint8_t Plane __attribute__((vector_size(16)));
typedef uint32_t PlaneColumns __attribute__((vector_size(16)));

// Reduces a polynomial modulo x^8 + x^4 + x^3 + x + 1, to an element of GF(2^8).
inline void Reduce(Plane (&c)[15], Plane* out) {
  for (int d = 14; d >= 8; --d) {
    c[d - 4] ^= c[d];
    c[d - 5] ^= c[d];
    c[d - 7] ^= c[d];
    c[d - 8] ^= c[d];
  }
  for (int i = 0; i < 8; ++i) out[i] = c[i];
}
inline void Times(const Plane* a, const Plane* b, Plane* out) {
  Plane c[15] = {};
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) c[i + j] ^= a[i] & b[j];
  }
  Reduce(c, out);
}
inline void Square(const Plane* a, Plane* out) {
  Plane c[15] = {};
  for (int i = 0; i < 8; ++i) c[2 * i] = a[i];
  Reduce(c, out);
}

// Computes x^254, then the affine map.
inline void SubBytes(Plane* x) {
  Plane x2[8], x3[8], x12[8], x14[8], y[8];
  Square(x, x2);
  Times(x2, x, x3);
  Square(x3, x12);
  Square(x12, x12);
  Times(x12, x2, x14);
  Times(x12, x3, y);
  for (int i = 0; i < 4; ++i) Square(y, y);  // x^240
  Times(y, x14, y);
  for (int b = 0; b < 8; ++b) {
    x[b] = y[b] ^ y[(b + 4) & 7] ^ y[(b + 5) & 7] ^ y[(b + 6) & 7] ^ y[(b + 7) & 7];
    if (0x63 >> b & 1) x[b] = ~x[b];
  }
}

inline Plane Turn(Plane x, int bytes) {  // moves the bytes of each column up by `bytes` rows
  const PlaneColumns c = (PlaneColumns)x;
  return (Plane)(c >> (8 * bytes) | c << (32 - 8 * bytes));
}

inline void MixColumns(Plane* x) {
  Plane t[8], y[8];
  for (int b = 0; b < 8; ++b) {
    t[b] = x[b] ^ Turn(x[b], 1);
    y[b] = Turn(x[b], 1) ^ Turn(t[b], 2);
  }
  for (int b = 0; b < 8; ++b) {
    x[b] = b ? y[b] ^ t[b - 1] : y[b];
    if (0x1b >> b & 1) x[b] ^= t[7];
  }
}

inline void AddRoundKey(Plane* x, const uint8_t* key) {
  Plane k;
  __builtin_memcpy(&k, key, 16);
  for (int b = 0; b < 8; ++b) x[b] ^= -(k >> b & 1);
}

// Transposes the 8 x 8 bit matrix whose row i is byte i.
inline uint64_t Transpose8(uint64_t x) {
  uint64_t t = (x ^ x >> 7) & 0x00aa00aa00aa00aa;
  x ^= t ^ t << 7;
  t = (x ^ x >> 14) & 0x0000cccc0000cccc;
  x ^= t ^ t << 14;
  t = (x ^ x >> 28) & 0x00000000f0f0f0f0;
  return x ^ t ^ t << 28;
}

inline void ToPlanes(const uint8_t* in, size_t blocks, Plane* x) {
  for (int p = 0; p < 16; ++p) {
    uint64_t w = 0;
    for (size_t i = 0; i < blocks; ++i) w |= uint64_t{in[16 * i + size_t(p)]} << (8 * i);
    w = Transpose8(w);
    for (int b = 0; b < 8; ++b) x[b][p] = uint8_t(w >> (8 * b));
  }
}
inline void FromPlanes(const Plane* x, size_t blocks, uint8_t* out) {
  for (int p = 0; p < 16; ++p) {
    uint64_t w = 0;
    for (int b = 0; b < 8; ++b) w |= uint64_t{x[b][p]} << (8 * b);
    w = Transpose8(w);
    for (size_t i = 0; i < blocks; ++i) out[16 * i + size_t(p)] = uint8_t(w >> (8 * i));
  }
}

inline void AesExpand(const uint8_t* key, uint8_t* rk) {
  __builtin_memcpy(rk, key, 16);
  uint8_t rcon = 1;
  for (int i = 16; i < 176; i += 4) {
    alignas(16) uint8_t t[16] = {};
    __builtin_memcpy(t, rk + i - 4, 4);
    if (i % 16 == 0) {
      Plane x[8], turned = {t[1], t[2], t[3], t[0]};
      for (int b = 0; b < 8; ++b) x[b] = turned >> b & 1;
      SubBytes(x);
      turned = Plane{};
      for (int b = 0; b < 8; ++b) turned |= (x[b] & 1) << b;
      __builtin_memcpy(t, &turned, 4);
      t[0] ^= rcon;
      rcon = uint8_t(rcon << 1 ^ (rcon >> 7) * 0x1b);
    }
    for (int j = 0; j < 4; ++j) rk[i + j] = rk[i - 16 + j] ^ t[j];
  }
}

inline void AesEncrypt(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    const size_t now = n - i < 8 ? n - i : 8;
    Plane x[8];
    ToPlanes(in + 16 * i, now, x);
    AddRoundKey(x, rk);
    for (int r = 1; r <= 10; ++r) {
      SubBytes(x);
      for (int b = 0; b < 8; ++b) {  // ShiftRows
        x[b] = __builtin_shufflevector(x[b], x[b], 0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11);
      }
      if (r < 10) MixColumns(x);
      AddRoundKey(x, rk + 16 * r);
    }
    FromPlanes(x, now, out + 16 * i);
  }
}

inline void AesCtr(const uint8_t* rk, const uint8_t* nonce, uint32_t counter, uint8_t* out, size_t bytes) {
  uint8_t block[128];
  for (; bytes; counter += 8) {
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t c = counter + i;
      __builtin_memcpy(block + 16 * i, nonce, 12);
      __builtin_memcpy(block + 16 * i + 12, &c, 4);
    }
    AesEncrypt(rk, block, block, 8);
    const size_t now = bytes < sizeof block ? bytes : sizeof block;
    __builtin_memcpy(out, block, now);
    out += now;
    bytes -= now;
  }
  Wipe(block, sizeof block);
}

// Computes H(x) = AES(sigma(x)) ^ sigma(x), sigma(xL || xR) = (xL ^ xR) || xL with xL the high quadword.
inline void AesHash(const uint8_t* rk, const uint8_t* in, uint8_t* out, size_t n) {
  uint64_t s[16], e[16];
  for (size_t i = 0; i < n; i += 8) {
    const size_t now = n - i < 8 ? n - i : 8;
    for (size_t j = 0; j < now; ++j) {
      uint64_t x[2];
      __builtin_memcpy(x, in + 16 * (i + j), 16);
      s[2 * j] = x[1];
      s[2 * j + 1] = x[0] ^ x[1];
    }
    AesEncrypt(rk, reinterpret_cast<const uint8_t*>(s), reinterpret_cast<uint8_t*>(e), now);
    for (size_t j = 0; j < 2 * now; ++j) e[j] ^= s[j];
    __builtin_memcpy(out + 16 * i, e, 16 * now);
  }
}

// Encrypts n blocks. Without AES instructions no path is faster than the ordinary one.
inline uint64_t AesBound(uint64_t n) {
  alignas(16) uint8_t rk[176] = {}, x[128] = {};
  for (uint64_t i = 0; i < n; i += 8) AesEncrypt(rk, x, x, 8);
  return x[0];
}

}  // namespace
