// A job: which inference a bundle is for. Both parties and the dealer read the same four numbers into the same trace.
#pragma once
#include <compare>

#include "suf/base/bytes.hpp"

namespace suf::store {

// The entry is which graph of the plan, the variant is which of the plan's variants, each with its own trace of
// that graph; so many tokens come in, and so many a cache holds already. A plan has one graph and no cache: entry and
// past are 0.
struct Job {
  uint32_t entry = 0, variant = 0, tokens = 0, past = 0;
  auto operator<=>(const Job&) const = default;
};
// The job of so many tokens of a plan with one graph.
inline Job JobOf(uint32_t tokens, uint32_t variant = 0) { return {.variant = variant, .tokens = tokens}; }

// Put, GetJob: kJobBytes bytes, in the order of the fields.
inline constexpr size_t kJobBytes = 16;
inline void Put(Writer& w, const Job& j) { w.Put(j.entry), w.Put(j.variant), w.Put(j.tokens), w.Put(j.past); }
inline Job GetJob(Reader& r) {
  Job j;
  for (uint32_t* field : {&j.entry, &j.variant, &j.tokens, &j.past}) *field = r.Get<uint32_t>();
  return j;
}

}  // namespace suf::store
