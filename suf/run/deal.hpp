// The dealer's reading of a trace: both parties' key bodies from their PRG keys and the dealer's own inputs (B), in
// schedule order. It sees no weight, no text and no message.
#pragma once
#include <functional>

#include "suf/pfss/backend.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"

namespace suf::run {

// Body: takes a party's key bytes, section by section, in the order of Schedule::key(party).
using Body = std::function<void(View)>;

// Deal: writes exactly Schedule::key_bytes(p) bytes to to[p]. `times`, if set: `wire` is what the bodies took.
void Deal(const pfss::Schedule& schedule, pfss::Backend& backend, const pfss::Randomness& randomness, Inputs& inputs,
          const Body& to_p0, const Body& to_p1, Times* times = nullptr);

}  // namespace suf::run
