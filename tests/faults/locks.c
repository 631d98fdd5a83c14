// Writes the flags of mlockall to the file named by SUF_LOCKED, and locks nothing. With SUF_UNLIMITED set, locked
// memory has no limit. Preloaded into the roles by isolation_test.py, because not every root may raise that limit.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int mlockall(int flags) {
  char line[16];
  const int n = snprintf(line, sizeof line, "%d\n", flags);
  const int fd = open(getenv("SUF_LOCKED"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, (size_t)n) != n) abort();
  close(fd);
  return 0;
}

static int limit_of(int resource, void* limit) {
  if (syscall(SYS_prlimit64, 0, resource, NULL, limit)) return -1;
  if (resource == RLIMIT_MEMLOCK && getenv("SUF_UNLIMITED")) {
    unsigned long* both = limit;
    both[0] = both[1] = ~0ul;
  }
  return 0;
}
int getrlimit(__rlimit_resource_t resource, struct rlimit* limit) { return limit_of((int)resource, limit); }
int getrlimit64(__rlimit_resource_t resource, struct rlimit64* limit) { return limit_of((int)resource, limit); }
