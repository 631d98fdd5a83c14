// Text form of a Suf, one item a line; Parse(Print(f)) is f. Grammar:
//   suf <name> domain <n> ring <k> outputs <r> degree <d>
//   piece <begin> : <c_0> .. <c_d> [| <c_0> .. <c_d>]..      (signed decimal, reduced to the ring's centred range)
//   run <begin> <w> : <piece> , <piece> , ..      (pieces of width 2^w from begin on, up to the next item's begin)
//   end <end>
//   formula lt <beta> | ltlow <f> <gamma> | msb <c> | not | and | or | xor ..   (postfix)
//   channel bit|unsigned|signed <bits> <source> <name>
#pragma once
#include <string>
#include <string_view>

#include "suf/func/suf.hpp"

namespace suf::func {

// kMostText: bytes that Parse reads at most; what Verify accepts prints as fewer.
inline constexpr size_t kMostText = size_t{128} << 20;
// kLeastRun: from so many pieces of one power-of-two width on, Print makes a run of them.
inline constexpr size_t kLeastRun = 4;

// Print: of a Suf that Verify accepts. Linear.
std::string Print(const Suf& f);
// Parse: throws Cause::kInput with the line number for text that is not a well formed Suf (Verify is run). Linear, and
// its memory is in proportion to the text.
Suf Parse(std::string_view text);

}  // namespace suf::func
