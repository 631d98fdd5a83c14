#include "suf/net/pipe.hpp"

#include <poll.h>

#include <algorithm>

namespace suf::net {

namespace {

// Returns the milliseconds until the deadline, rounded up; 0 after it.
int Left(Deadline deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return int(std::clamp<int64_t>(left, 0, 1 << 30));
}

}  // namespace

bool WaitOn(int fd, bool read, bool write, Deadline deadline, int also) {
  // an unused socket is not polled: its hang-up would be reported at once, again and again
  pollfd p[2] = {{read || write ? fd : -1, short((read ? POLLIN : 0) | (write ? POLLOUT : 0)), 0}, {also, POLLIN, 0}};
  if (PollUntil(std::min(deadline, PollDeadline()), [&] { return poll(p, 2, 0) > 0; })) return true;
  while (int left = Left(deadline))
    if (poll(p, 2, left) > 0) return true;
  return false;
}

}  // namespace suf::net
