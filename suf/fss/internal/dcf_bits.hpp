// Bit strings for comparison keys: words of any width are read and appended, bits are separated and reversed. The words
// of a key differ in width, so ring/pack.hpp does not fit. `Dcf.KnownAnswers` tests it. Included inside a variant's
// namespace, so it has no guard and no includes of its own.
namespace {

inline uint64_t Word64(const uint8_t* p, size_t k) {
  uint64_t x;
  __builtin_memcpy(&x, p + 8 * k, 8);
  return x;
}
inline uint64_t LowOnes(int n) { return n < 64 ? ~(~uint64_t{0} << n) : ~uint64_t{0}; }
// Reads words of bits from `words` 8-byte words. The bits above a word that was read are arbitrary.
class BitReader {
 public:
  BitReader(const uint8_t* from, size_t words, size_t at) : from_(from), last_(words - 1), at_(at) {}
  uint64_t Take(int len) {
    const size_t word = at_ / 64, shift = at_ % 64;
    // If no bit of the next word is needed, any word will do.
    const uint64_t low = Word64(from_, word), high = Word64(from_, word < last_ ? word + 1 : last_);
    at_ += size_t(len);
    return low >> shift | high << 1 << (63 - shift);
  }

 private:
  const uint8_t* from_;
  size_t last_, at_;
};
// Appends words of bits to whole 8-byte words.
class BitWriter {
 public:
  explicit BitWriter(uint8_t* to) : to_(to) {}
  void Put(uint64_t x, int len) {
    word_ |= x << fill_;
    if (fill_ + len >= 64) {
      Flush();
      word_ = fill_ ? x >> (64 - fill_) : 0;
      fill_ -= 64;
    }
    fill_ += len;
  }
  void End() {
    if (fill_) Flush();
  }

 private:
  void Flush() {
    __builtin_memcpy(to_, &word_, 8);
    to_ += 8;
  }
  uint8_t* to_;
  uint64_t word_ = 0;
  int fill_ = 0;
};

// Gathers every second bit into the low half.
inline uint64_t EvenBits(uint64_t x) {
  x &= 0x5555555555555555;
  x = (x | x >> 1) & 0x3333333333333333;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return (x | x >> 16) & 0xffffffff;
}
// Spreads the low half to every second bit.
inline uint64_t ToEven(uint64_t x) {
  x &= 0xffffffff;
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x << 2) & 0x3333333333333333;
  return (x | x << 1) & 0x5555555555555555;
}

// Moves bit i to 63 - i.
inline uint64_t Reverse(uint64_t x) {
  x = __builtin_bswap64(x);
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
  x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
  return (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
}

}  // namespace
