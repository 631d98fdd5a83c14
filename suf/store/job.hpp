// A job names the inference that a bundle is for. Both parties and the dealer derive the same trace from its four
// numbers.
#pragma once
#include <compare>

#include "suf/base/bytes.hpp"

namespace suf::store {

// The id of a lane: 128 random bits that P1 draws.
using LaneId = std::array<uint8_t, 16>;

// `entry` is a graph of the plan. `variant` is a variant of the plan, with its own trace of that graph. `tokens` is how
// many tokens come in, `past` how many a cache already holds. A plan has one graph and no cache, so `entry` and `past`
// are 0.
struct Job {
  uint32_t entry = 0, variant = 0, tokens = 0, past = 0;
  auto operator<=>(const Job&) const = default;
};
// Returns a job of `tokens` tokens for a plan with one graph.
inline Job JobOf(uint32_t tokens, uint32_t variant = 0) { return {.variant = variant, .tokens = tokens}; }

// Bytes of an encoded job: its fields in order.
inline constexpr size_t kJobBytes = 16;
inline void Put(Writer& w, const Job& j) {
  w.Put(j.entry);
  w.Put(j.variant);
  w.Put(j.tokens);
  w.Put(j.past);
}
inline Job GetJob(Reader& r) {
  Job j;
  for (uint32_t* field : {&j.entry, &j.variant, &j.tokens, &j.past}) *field = r.Get<uint32_t>();
  return j;
}

}  // namespace suf::store
