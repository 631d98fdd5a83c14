// Text form of a function, one item a line, # begins a comment; Parse(Print(f)) is f. Grammar of a Suf:
//   suf <name> domain <n> ring <k> outputs <r> degree <d>
//   piece <begin> : <c_0> .. <c_d> [| <c_0> .. <c_d>]..      (signed decimal, reduced to the ring's centred range)
//   run <begin> <w> : <piece> , <piece> , ..      (pieces of width 2^w from begin on, up to the next item's begin)
//   end <end>
//   formula lt <beta> | ltlow <f> <gamma> | msb <c> | in <a> <b> | true | false | not | and | or | xor ..   (postfix)
//   channel bit|unsigned|signed <bits> <source> <name>
// also read: poly <begin> : ..  (as piece, coefficients in x itself);  table <v_0> .. <v_(2^n - 1)>
// Of a Split: split <name> domain <n> ring <k> sum <a> <c> | product <a>;  high <v> ..;  low <v> ..;  end
#pragma once
#include <string>
#include <string_view>

#include "suf/func/split.hpp"
#include "suf/func/suf.hpp"

namespace suf::func {

// kMostText: bytes that Parse reads at most; what Verify accepts prints as fewer.
inline constexpr size_t kMostText = size_t{128} << 20;
// kLeastRun: from so many pieces of one power-of-two width on, Print makes a run of them.
inline constexpr size_t kLeastRun = 4;
// kMostTableBits: the largest domain of a table: kMostPieces points.
inline constexpr int kMostTableBits = 16;

// Of a Suf that Verify accepts. Linear.
std::string Print(const Suf& f);
// Throws Cause::kInput with the line number for text that is not a well formed Suf (Verify is run). Linear, and
// its memory is in proportion to the text.
Suf Parse(std::string_view text);

std::string Print(const Split& f);
std::string Print(const Function& f);
// Of either form, which the first word tells.
Function ParseFunction(std::string_view text);

}  // namespace suf::func
