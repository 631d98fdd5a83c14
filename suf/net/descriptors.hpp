// The number of streams that a session may have if file descriptors are few.
#pragma once
#include <cstddef>

namespace suf::net {

// Returns how many of `wanted` streams a new session of this process may have, at least 1. They take at most half of
// the free descriptors, so that another session finds some. `promised` streams are already on their way to us.
int StreamsWithin(int wanted, size_t promised = 0);

}  // namespace suf::net
