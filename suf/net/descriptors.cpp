#include "suf/net/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

namespace suf::net {

namespace {

constexpr size_t kPlenty = 4096;  // with this many nothing is counted
constexpr size_t kFiles = 4;      // of a session, such as a bundle and a recording
constexpr size_t kOfStream = 2;   // its socket, and the eventfd that wakes its thread

size_t FreeDescriptors() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= kPlenty) return kPlenty;
  size_t free = 0;
  for (int fd = 0; fd < int(files.rlim_cur); ++fd) free += fcntl(fd, F_GETFD) == -1;
  return free;
}

}  // namespace

int StreamsWithin(int wanted, size_t promised) {
  if (wanted == 1) return 1;
  const size_t free = FreeDescriptors(), taken = kFiles + kOfStream * promised;
  const size_t half = free > taken ? (free - taken) / 2 : 0;
  return int(std::clamp<size_t>(half / kOfStream, 1, size_t(wanted)));
}

}  // namespace suf::net
