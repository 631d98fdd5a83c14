// How many streams a session may have, where file descriptors are few.
#pragma once
#include <cstddef>

namespace suf::net {

// Returns how many of `wanted` streams a new session of this process may have, at least 1: they take at most half of
// the descriptors that are free, so that another session finds some. promised: streams that are on their way to us.
int StreamsWithin(int wanted, size_t promised = 0);

}  // namespace suf::net
