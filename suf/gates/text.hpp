// Text of functions (suf/func/text.hpp), for gates that the compiler lowers.
#pragma once
#include <cstdint>
#include <string>

namespace suf::gates {

// Returns 2^n in decimal, n <= 64.
inline std::string PowerText(int n) { return n < 64 ? std::to_string(uint64_t{1} << n) : "18446744073709551616"; }

}  // namespace suf::gates
