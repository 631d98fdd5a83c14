// Text form of a Suf, one item a line; Parse(Print(f)) is f. Grammar:
//   suf <name> domain <n> ring <k> outputs <r> degree <d>
//   piece <begin> : <c_0> .. <c_d> [| <c_0> .. <c_d>]..      (signed decimal, reduced to the ring's centred range)
//   end <end>
//   formula lt <beta> | ltlow <f> <gamma> | msb <c> | not | and | or | xor ..   (postfix)
//   channel bit|unsigned|signed <bits> <source> <name>
#pragma once
#include <string>
#include <string_view>

#include "suf/func/suf.hpp"

namespace suf::func {

std::string Print(const Suf& f);
// Parse: throws Cause::kInput with the line number for text that is not a well formed Suf (Verify is run).
Suf Parse(std::string_view text);

}  // namespace suf::func
