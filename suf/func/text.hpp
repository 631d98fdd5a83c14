// The text form of functions, for plans, files and people. Parse(Print(f)) is f. A line has one item, and # begins a
// comment.
#pragma once
#include <string>
#include <string_view>

#include "suf/func/split.hpp"
#include "suf/func/suf.hpp"

namespace suf::func {

// The most bytes that Parse reads. A Suf that Verify accepts has a shorter text.
inline constexpr size_t kMostText = size_t{128} << 20;
// The fewest consecutive pieces of one power-of-two width that Print writes as a run.
inline constexpr size_t kLeastRun = 4;
// The most bits of the domain of a table, which has kMostPieces points.
inline constexpr int kMostTableBits = 16;

// Prints a Suf that Verify accepts, in linear time.
std::string Print(const Suf& f);
// Parses and verifies a Suf. Throws Cause::kInput, with the line number, if it is not well formed. Linear in time and
// memory. The grammar:
//    suf <name> domain <n> ring <k> outputs <r> degree <d>
//    piece <begin> : <c_0> .. <c_d> [| <c_0> .. <c_d>]..      (signed decimal, reduced to the ring's centred range)
//    run <begin> <w> : <piece> , <piece> , ..      (pieces of width 2^w from begin on, up to the next item's begin)
//    end <end>
//    formula lt <beta> | ltlow <f> <gamma> | msb <c> | in <a> <b> | true | false | not | and | or | xor ..   (postfix)
//    channel bit|unsigned|signed <bits> <source> <name>
// Two more items are only parsed:
//    poly <begin> : ..      (as piece, with coefficients in x itself)
//    table <v_0> .. <v_(2^n - 1)>
Suf Parse(std::string_view text);

// Prints a Split that Verify accepts. The grammar:
//    split <name> domain <n> ring <k> sum <a> <c> | product <a>
//    high <v> ..
//    low <v> ..
//    end
std::string Print(const Split& f);
// Prints a function that Verify accepts.
std::string Print(const Function& f);
// Parses and verifies a function. The first word of the text shows its form.
Function ParseFunction(std::string_view text);

}  // namespace suf::func
