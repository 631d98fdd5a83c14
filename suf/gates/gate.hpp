// A gate has parameters, a name, a meaning on cleartext integers (Spec) and an emission (Build). Spec never calls
// Build, so tests and the simulator compare two independent definitions of one function. Values are int64_t. They are
// numbers if the gate says so, otherwise words of a ring in two's complement. The upper bits of a word are ignored.
#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>
#include <vector>

#include "suf/compiler/lower.hpp"
#include "suf/ring/modular.hpp"

namespace suf::gates {

using compiler::OwedWord;
using compiler::Stages;
using pfss::kPub;
using pfss::Pub;
using pfss::Sh;
using pfss::SharedWire;
using pfss::Trace;
using pfss::Wire;

using Ints = std::vector<int64_t>;

// A type with the parts of a gate.
template <class G>
concept Gate = requires {
  { G::kName } -> std::convertible_to<std::string_view>;
  &G::Spec;
  &G::Build;
};

// Returns the low k bits.
inline uint64_t Word(int64_t v, int k) { return uint64_t(v) & ring::Mask(k); }
// Returns the low k bits as a number in two's complement.
inline int64_t Number(uint64_t v, int k) { return ring::Signed(v, k); }

}  // namespace suf::gates
