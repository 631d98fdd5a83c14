#include "suf/net/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "suf/base/bytes.hpp"
#include "suf/base/plural.hpp"

namespace suf::net {

namespace {

constexpr size_t kPlenty = 16384;   // with this many nothing is counted
constexpr size_t kFiles = 4;        // of a session, such as a bundle and a recording
constexpr size_t kOfStream = 2;     // its socket, and the eventfd that wakes its thread
constexpr size_t kOfProcess = 128;  // handshakes, libraries, logs and stores

size_t FreeDescriptors() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= kPlenty) return kPlenty;
  size_t free = 0;
  for (int fd = 0; fd < int(files.rlim_cur); ++fd) free += fcntl(fd, F_GETFD) == -1;
  return free;
}

}  // namespace

size_t DescriptorsFor(int sessions, int streams) {
  return kOfProcess + size_t(sessions) * (kFiles + 2 * kOfStream * size_t(streams));
}

std::string AllowDescriptors(int sessions, int streams) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files)) return {};
  if (const rlim_t wanted = std::min<rlim_t>(DescriptorsFor(sessions, streams), files.rlim_max);
      files.rlim_cur < wanted) {
    const rlimit more{wanted, files.rlim_max};
    if (!setrlimit(RLIMIT_NOFILE, &more)) files = more;
  }
  const size_t least = DescriptorsFor(sessions, 1);
  if (files.rlim_cur >= least) return {};
  return Str(Plural(sessions, "session"), " may take ", least, " file descriptors, and this process may open ",
             files.rlim_cur, "; raise its limit of open files, or a client will be refused when they are used up");
}

int StreamsWithin(int wanted, size_t promised) {
  if (wanted == 1) return 1;
  const size_t free = FreeDescriptors(), taken = kFiles + kOfStream * promised;
  const size_t half = free > taken ? (free - taken) / 2 : 0;
  return int(std::clamp<size_t>(half / kOfStream, 1, size_t(wanted)));
}

}  // namespace suf::net
