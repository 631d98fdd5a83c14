// Preloaded into a role: the machine seems to have 64 MB of memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

long sysconf(int name) {
  long (*next)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  return name == _SC_PHYS_PAGES ? (64L << 20) / next(_SC_PAGESIZE) : next(name);
}
