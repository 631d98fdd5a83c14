// For gates that are functions: their text, which the compiler reads (suf/func/text.hpp).
#pragma once
#include <cstdint>
#include <string>

namespace suf::gates {

// 2^n in decimal, n <= 64.
inline std::string PowerText(int n) { return n < 64 ? std::to_string(uint64_t{1} << n) : "18446744073709551616"; }

}  // namespace suf::gates
