// A job names the inference that a bundle is for. Both parties and the dealer derive the same trace from its five
// numbers.
#pragma once
#include <compare>

#include "suf/base/bytes.hpp"

namespace suf::store {

// `entry` is a graph of the plan. `variant` is a variant of the plan, with its own trace of that graph. `tokens` is how
// many tokens come in, `past` how many a cache already holds. A plan has one graph and no cache, so `entry` and `past`
// are 0. `texts` is how many texts of `tokens` tokens each run in one trace.
struct Job {
  uint32_t entry = 0, variant = 0, tokens = 0, past = 0, texts = 1;
  auto operator<=>(const Job&) const = default;
};
// Returns a job of `texts` texts of `tokens` tokens for a plan with one graph.
inline Job JobOf(uint32_t tokens, uint32_t variant = 0, uint32_t texts = 1) {
  return {.variant = variant, .tokens = tokens, .texts = texts};
}

// Bytes of an encoded job: its fields in order.
inline constexpr size_t kJobBytes = 20;
inline void Put(Writer& w, const Job& j) {
  for (uint32_t field : {j.entry, j.variant, j.tokens, j.past, j.texts}) w.Put(field);
}
inline Job GetJob(Reader& r) {
  Job j;
  for (uint32_t* field : {&j.entry, &j.variant, &j.tokens, &j.past, &j.texts}) *field = r.Get<uint32_t>();
  return j;
}

}  // namespace suf::store
