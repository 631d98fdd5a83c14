#include "suf/base/random_below.hpp"

#include "suf/base/digest.hpp"

namespace suf {

uint64_t RandomBelow(uint64_t n) {
  const uint64_t end = ~uint64_t{0} / n * n;  // numbers from here on would favour small remainders
  for (;;) {
    uint64_t r = 0;
    RandomBytes({reinterpret_cast<uint8_t*>(&r), sizeof r});
    if (r < end) return r % n;
  }
}

}  // namespace suf
