// A gate: parameters, a name, what it means on cleartext integers (Spec), and how it is emitted (Build). Spec never
// calls Build: tests and the simulator compare two independent statements of one function. Values are int64_t: numbers
// where the gate says so, else words of a ring in two's complement (a k-bit word may be given with any upper bits).
#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>
#include <vector>

#include "suf/compiler/lower.hpp"
#include "suf/ring/words.hpp"

namespace suf::gates {

using compiler::Owing;
using compiler::Stages;
using pfss::kPub;
using pfss::Pub;
using pfss::Sh;
using pfss::SharedWire;
using pfss::Trace;
using pfss::Wire;

using Ints = std::vector<int64_t>;

template <class G>
concept Gate = requires {
  { G::kName } -> std::convertible_to<std::string_view>;
  &G::Spec;
  &G::Build;
};

// The low k bits; Number: the same in two's complement.
inline uint64_t Word(int64_t v, int k) { return uint64_t(v) & ring::Mask(k); }
inline int64_t Number(uint64_t v, int k) { return ring::Signed(v, k); }

}  // namespace suf::gates
