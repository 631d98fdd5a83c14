// The dealer's reading of a trace. It makes both parties' key bodies from their PRG keys and the dealer's own inputs
// (B), in schedule order. It sees no weight, no text and no message.
#pragma once
#include "suf/pfss/backend.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"
#include "suf/store/bundle.hpp"

namespace suf::run {

// Returns the layout of party p's body: its sections in schedule order.
store::BodyLayout LayoutOf(const pfss::Schedule& schedule, int p);

// Returns the bytes of keys that each party must be able to hold ahead of its run. With less, dealer and parties could
// wait for each other in a ring. One party waits for a section. The other one waits for a message of the first and
// takes no more keys.
uint64_t WindowOf(const pfss::Schedule& schedule);

// Fills every section of both bodies; the sinks have their layouts (LayoutOf). It is counted as a RunningInference. If
// `times` is set, its `wire` is the time that the sinks took. With `timed`, the executor measures each scope
// (pfss::Io::NeedsScopeTimes).
void Deal(const pfss::Schedule& schedule, pfss::Backend& backend, const pfss::Randomness& randomness, Inputs& inputs,
          store::Sink& to_p0, store::Sink& to_p1, Times* times = nullptr, bool timed = false);
// Deals both bodies into memory, for a process with all roles.
std::array<Bytes, 2> DealBodies(const pfss::Schedule& schedule, pfss::Backend& backend,
                                const pfss::Randomness& randomness, Inputs& inputs);

}  // namespace suf::run
