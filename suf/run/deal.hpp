// The dealer's reading of a trace: both parties' key bodies from their PRG keys and the dealer's own inputs (B), in
// schedule order. It sees no weight, no text and no message.
#pragma once
#include "suf/pfss/backend.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"
#include "suf/store/bundle.hpp"

namespace suf::run {

// Of party p's body: its sections in schedule order.
store::Layout LayoutOf(const pfss::Schedule& schedule, int p);

// Bytes of keys that each party must be able to hold ahead of its run, so that dealer and parties never wait
// for each other in a ring: who waits for a section can have it dealt although the other one, who waits for a message
// of his, takes nothing more.
uint64_t WindowOf(const pfss::Schedule& schedule);

// Fills every section of both bodies, which have these layouts. `times`, if set: `wire` is what the sinks took.
// timed: the executor measures each scope (pfss::Io::Timed).
void Deal(const pfss::Schedule& schedule, pfss::Backend& backend, const pfss::Randomness& randomness, Inputs& inputs,
          store::Sink& to_p0, store::Sink& to_p1, Times* times = nullptr, bool timed = false);
// The same into memory, where all roles are in one process.
std::array<Bytes, 2> DealBodies(const pfss::Schedule& schedule, pfss::Backend& backend,
                                const pfss::Randomness& randomness, Inputs& inputs);

}  // namespace suf::run
