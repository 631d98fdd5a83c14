// A job names the inference that a bundle is for. Both parties and the dealer derive the same trace from its five
// numbers.
#pragma once
#include <compare>

#include "suf/base/bytes.hpp"

namespace suf::store {

// `entry` is 0 for the plan's model alone. With indexes, 2 i - 1 searches index i, and 2 i fetches from it (i from 1).
// `variant` is a variant of the plan, with its own trace. `tokens` is how many tokens come in, and how many documents a
// fetch brings. `past` is how many tokens a cache already holds; there is none, so it is 0. `texts` is how many texts
// of `tokens` tokens each run in one trace.
struct Job {
  uint32_t entry = 0, variant = 0, tokens = 0, past = 0, texts = 1;
  auto operator<=>(const Job&) const = default;
};
// Returns a job of `texts` texts of `tokens` tokens for a plan with one graph.
inline Job JobOf(uint32_t tokens, uint32_t variant = 0, uint32_t texts = 1) {
  return {.variant = variant, .tokens = tokens, .texts = texts};
}

// The most indexes of a model owner.
inline constexpr size_t kMostIndexes = 16;
// Returns the number of the index that a job searches or fetches from; 0: none.
inline uint32_t IndexOf(const Job& j) { return j.entry / 2 + j.entry % 2; }
inline bool IsSearch(const Job& j) { return j.entry % 2 == 1; }
inline bool IsFetch(const Job& j) { return j.entry && j.entry % 2 == 0; }
// Returns the entry that searches index i, and the one that fetches from it.
inline constexpr uint32_t SearchEntry(uint32_t i) { return 2 * i - 1; }
inline constexpr uint32_t FetchEntry(uint32_t i) { return 2 * i; }

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
