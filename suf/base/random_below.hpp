// Random numbers below a limit.
#pragma once
#include <cstdint>

namespace suf {

// Returns a number below n, which is at least 1. Each is equally likely, by random bytes of the operating system.
uint64_t RandomBelow(uint64_t n);

}  // namespace suf
