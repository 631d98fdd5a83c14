// A wall clock that jumps by up to two years, forwards and backwards, at every call. Monotonic clocks stay as they are.
// Preloaded into the roles by sessions_test.py, because the product may use the wall clock only for certificates and
// log lines.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

static time_t Jump(void) {
  static atomic_uint looks;
  return (time_t)(atomic_fetch_add(&looks, 1) * 7919 % 700) * 86400;
}
int clock_gettime(clockid_t id, struct timespec* t) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int r = real(id, t);
  if (!r && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += Jump();
  return r;
}
int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  (void)zone;
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  t->tv_sec = s.tv_sec, t->tv_usec = s.tv_nsec / 1000;
  return 0;
}
time_t time(time_t* out) {
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  if (out) *out = s.tv_sec;
  return s.tv_sec;
}
