// File descriptors: the number that sessions take, and the number of streams if they are few.
#pragma once
#include <cstddef>
#include <string>

namespace suf::net {

// Returns the descriptors of a process with this many sessions of this many streams. Each has a link to the dealer
// with as many streams.
size_t DescriptorsFor(int sessions, int streams);

// Raises this process's limit of descriptors to DescriptorsFor, as far as the system allows it. Returns a notice for
// the operator if even sessions of one stream exceed the limit; otherwise an empty text.
std::string AllowDescriptors(int sessions, int streams);

// Returns how many of `wanted` streams a new session of this process may have, at least 1. They take at most half of
// the free descriptors, so that another session finds some. `promised` streams are already on their way to us.
int StreamsWithin(int wanted, size_t promised = 0);

}  // namespace suf::net
